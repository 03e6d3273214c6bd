/* Makes the next run of a phase while the daemon is away. The lead writes the folder of the next
 * run beside the folder of the last run. The next run resumes from the newest whole checkpoint
 * (doc/protocol.md, "Requeues"). */
#ifndef PHASED_WORKER_LEAD_ALONE_H
#define PHASED_WORKER_LEAD_ALONE_H

struct assignment;
struct error;

/* Makes the folder of the run after `last`; the caller frees the path. If the folder exists already
 * and belongs to the same job, an earlier lead or the daemon made it, and it is used. Returns
 * -EBUSY if the next run belongs to another job, and -ECANCELED if three runs in a row made no new
 * step. */
int alone_make_run(const struct assignment *last, char **ret_run_dir, struct error *err);

/* Returns the folder of the newest run, `last` or an earlier one, to which the daemon has given a
 * number and whose channel can carry commands; the caller frees the path. NULL: there is no such
 * run. */
char *alone_find_numbered(const struct assignment *last);

#endif
