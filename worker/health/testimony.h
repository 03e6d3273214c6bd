/* The agent's side of `phase-worker witness` (worker/health/witness.h): asks it about processes,
 * and waits no longer than a deadline.
 *
 * The witness and the tools that it starts must not count as the run's own, and one may hang in the
 * kernel for ever: the witness is made nobody's child (worker/process/child.h). */
#ifndef PHASED_WORKER_HEALTH_TESTIMONY_H
#define PHASED_WORKER_HEALTH_TESTIMONY_H

#include <jansson.h>
#include <sys/types.h>
#include <uv.h>

enum { TESTIMONY_DEADLINE_MS = 5000, TESTIMONY_PIDS_MAX = 512 };

struct testimony;

struct testimony_options {
    uv_loop_t *loop;
    const char *program;      /* path of phase-worker */
    char *const *environment; /* of the ranks: what they find on their PATH */
    /* Called once, from the loop, within the deadline, with what the witness printed, or NULL.
     * Takes over the reference; the testimony is over after it. */
    void (*done)(void *context, json_t *report);
    void *context;
};

/* About up to TESTIMONY_PIDS_MAX of these. Never NULL. */
struct testimony *testimony_ask(const struct testimony_options *options, const pid_t *pids,
                                size_t count);

/* Ends it without an answer. Accepts NULL. */
void testimony_cancel(struct testimony *testimony);

#endif
