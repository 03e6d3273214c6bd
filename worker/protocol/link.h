/* The link of one run's writer (a node agent or the lead) to the daemon: one thread that pushes
 * the journal and, in the lead, asks for commands.
 *
 * It pushes from the journal itself, beginning after what the daemon says it has committed, so the
 * first push, the next one and the replay after a break are the same. What is urgent is pushed at
 * once, the rest once a second. In the lead a push of nothing asks whether the daemon is there.
 * When the daemon is away the link tries again, 0.2 s later at first and 10 s at last, and reads
 * each time anew where the daemon listens. Nothing waits for it. In the lead, meanwhile, the file
 * in which the daemon leaves commands is looked at every 2 s: the site may let no TCP through. */
#ifndef PHASED_WORKER_PROTOCOL_LINK_H
#define PHASED_WORKER_PROTOCOL_LINK_H

#include "lib/mac.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct journal;
struct link;

/* A command came; runs in the link's thread. Takes over the reference to `command`. */
typedef void link_command_came(void *context, json_t *command);

/* What the link borrows must live until link_close(). */
struct link_options {
    const char *daemon_file;
    int64_t run;
    const char *node;
    const struct mac_secret *secret;
    struct journal *journal;
    const char *command_file;        /* where commands lie while the daemon is not heard */
    link_command_came *command_came; /* NULL: commands are not asked for */
    void *context;
};

struct link *link_open(const struct link_options *options);

enum link_urgency { LINK_SOON, LINK_NOW };

/* There is something new in the journal. */
void link_wake(struct link *link, enum link_urgency urgency);

/* Whether the daemon has answered, and not failed to since. */
bool link_is_heard(struct link *link);

/* Ends the link. Waits at most `drain_ms` until all of the journal is committed, and not at all
 * while the daemon cannot be reached. Accepts NULL. */
void link_close(struct link *link, int drain_ms);

#endif
