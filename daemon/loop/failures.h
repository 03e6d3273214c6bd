/* What is known of failures, as it goes into run.json, and what workers recognise with it.
 *
 * The catalogue is what is built in and, before it, the user's own file in the home. That is read
 * again when it has changed, so that a run has what stood there when it was prepared. What is wrong
 * in it is told once, and never keeps a run from starting. */
#ifndef PHASED_DAEMON_LOOP_FAILURES_H
#define PHASED_DAEMON_LOOP_FAILURES_H

#include <jansson.h>
#include <sys/stat.h>

struct loop;
struct loop_item;
struct run;

struct failures {
    json_t *catalogue; /* NULL: not read yet */
    struct stat seen;  /* the user's file when it was read; zeroed: there was none */
};

void failures_fini(struct failures *failures);

/* The catalogue; borrowed until the next call. `run` is the one that is prepared, in whose history
 * a warning stands if the file has problems. */
const json_t *failures_get(struct loop *loop, const struct run *run);

/* An item that writes what was recognised of the run, for posting with its end; NULL: nothing was.
 */
struct loop_item *failures_item(const struct run *run, const json_t *outcome);

#endif
