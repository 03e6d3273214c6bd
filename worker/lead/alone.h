/* The next run of a phase, made by the lead itself while the daemon is away: its folder beside the
 * last one's, to go on from the newest whole checkpoint (doc/protocol.md, "Requeues"). */
#ifndef PHASED_WORKER_LEAD_ALONE_H
#define PHASED_WORKER_LEAD_ALONE_H

struct assignment;
struct error;

/* The folder of the run after `last`; the caller's to free(). One that is there already, for the
 * same job, is taken: an earlier lead or the daemon made it. Returns -EBUSY when the next run is
 * another job's, -ECANCELED when three runs in a row made no new step. */
int alone_make_run(const struct assignment *last, char **ret_run_dir, struct error *err);

/* The folder of the newest run, `last` or one before it, that the daemon knows by a number and
 * whose channel can carry commands; the caller's to free(). NULL when there is none. */
char *alone_find_numbered(const struct assignment *last);

#endif
