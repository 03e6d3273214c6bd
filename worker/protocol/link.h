/* The link of one writer of a run (an agent or the lead) to the daemon: one thread that pushes the
 * journal and, in the lead, asks for commands.
 *
 * The link pushes from the journal itself, beginning with the first entry that the daemon has not
 * committed. So the first push, the next pushes and the replay after a break work in the same way.
 * Urgent entries are pushed at once, other entries once a second. In the lead, an empty push asks
 * whether the daemon is there. If the daemon is away, the link tries again, after 0.2 s at first
 * and after 10 s at last. Before each try it reads again where the daemon listens. Nothing waits
 * for the link. In the lead, the link also looks every 2 s at the file in which the daemon leaves
 * commands, because the site may block TCP. */
#ifndef PHASED_WORKER_PROTOCOL_LINK_H
#define PHASED_WORKER_PROTOCOL_LINK_H

#include "lib/mac.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct journal;
struct link;

/* A command has come. Runs in the link's thread. Takes over the reference to `command`. */
typedef void link_command_came(void *context, json_t *command);

/* Borrowed members must live until link_close(). */
struct link_options {
    const char *daemon_file;
    int64_t run;
    const char *node;
    const struct mac_secret *secret;
    struct journal *journal;
    const char *command_file;        /* the file of commands, for a daemon that cannot be reached */
    link_command_came *command_came; /* NULL: the link does not ask for commands */
    void *context;
};

struct link *link_open(const struct link_options *options);

enum link_urgency { LINK_SOON, LINK_NOW };

/* The journal has a new entry. */
void link_wake(struct link *link, enum link_urgency urgency);

/* Whether the last try reached the daemon. */
bool link_is_heard(struct link *link);

/* Ends the link. Waits at most `drain_ms` until the whole journal is committed. Does not wait if
 * the daemon cannot be reached. Accepts NULL. */
void link_close(struct link *link, int drain_ms);

#endif
