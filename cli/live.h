/* The live area of `watch`: one line with a bar for each phase that has not ended. */
#ifndef PHASED_CLI_LIVE_H
#define PHASED_CLI_LIVE_H

#include <jansson.h>

struct terminal;
struct text;

/* Adds lines that fit the width of the terminal, for an array of workflows. If there are several,
 * the lines name them. `now` is seconds since 1970. */
void live_write(const struct terminal *terminal, const json_t *workflows, double now,
                struct text *text);

#endif
