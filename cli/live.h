/* The live area of `watch`: one line for each phase that is not over, with a bar. */
#ifndef PHASED_CLI_LIVE_H
#define PHASED_CLI_LIVE_H

#include <jansson.h>

struct terminal;
struct text;

/* Adds the lines, none wider than the terminal. `now` is seconds since 1970. */
void live_write(const struct terminal *terminal, const json_t *workflow, double now,
                struct text *text);

#endif
