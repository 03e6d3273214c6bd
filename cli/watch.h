/* Following workflows on the screen until they end. */
#ifndef PHASED_CLI_WATCH_H
#define PHASED_CLI_WATCH_H

#include <stddef.h>

struct address;
struct cli;

enum watch_form {
    WATCH_LINES,   /* events, bars on a terminal, and a summary at the end */
    WATCH_JSON,    /* each event as JSON in a line */
    WATCH_SILENTLY /* nothing */
};

/* Prints the events of the workflows of `addresses` until each of them has ended or is held. If an
 * address cannot be followed, prints a message and leaves it out. Returns CLI_OK if all have
 * succeeded, otherwise CLI_FAILED. */
int watch_workflows(struct cli *cli, const struct address *addresses, size_t count,
                    enum watch_form form);

#endif
