/* The agent's side of `phase-worker inspect` (worker/health/inspect.h): asks it about processes,
 * with a deadline.
 *
 * `phase-worker inspect` and its tools must not count as processes of the run, and one of them may
 * hang in the kernel for ever. So it is started as no child of the agent (worker/process/child.h).
 */
#ifndef PHASED_WORKER_HEALTH_INSPECTION_H
#define PHASED_WORKER_HEALTH_INSPECTION_H

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>

enum { INSPECTION_DEADLINE_MS = 5000, INSPECTION_PIDS_MAX = 512 };

struct inspection;

struct inspection_options {
    uv_loop_t *loop;
    const char *program;      /* path of phase-worker */
    char *const *environment; /* of the ranks; its PATH is searched for the tools */
    /* Called once, from the loop, within the deadline. `report` is the printed object, or NULL.
     * Takes over the reference. The inspection is freed after the call. */
    void (*done)(void *context, json_t *report);
    void *context;
};

/* Inspects up to INSPECTION_PIDS_MAX of these processes. Never returns NULL. */
struct inspection *inspection_start(const struct inspection_options *options, const pid_t *pids,
                                    size_t count);

/* Ends the inspection without an answer. Accepts NULL. */
void inspection_cancel(struct inspection *inspection);

#endif
