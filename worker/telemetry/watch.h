/* The agent's side of telemetry. The sampler, `phase-worker gpus`, reads the node's GPUs every
 * second. Its samples go to the journal and to the agent.
 *
 * The sampler is a separate process, because a call into the driver of a wedged GPU may block
 * forever. The sampler is not a descendant of the agent. Otherwise the crew would wait for it, and
 * the run would never be over. The sampler ends when the agent closes its pipe. If the sampler is
 * silent or cannot work, a warning says so once, and the run continues without samples. On a node
 * without a driver there are no samples.
 *
 * The journal gets entries `sample`: means of 10 s during the first ten minutes, then of a minute.
 * The agent can also ask for the last minute second by second (watch_tell_last_minute). */
#ifndef PHASED_WORKER_TELEMETRY_WATCH_H
#define PHASED_WORKER_TELEMETRY_WATCH_H

#include "worker/telemetry/second.h"

#include <uv.h>

struct error;
struct journal;
struct watch;

/* All members except the last two are borrowed until watch_close(). */
struct watch_options {
    uv_loop_t *loop;
    struct journal *journal;
    /* Called each second. */
    void (*second)(void *context, const struct gpu_second *second);
    /* Called once, with the model of the GPUs in the words of the driver. */
    void (*model)(void *context, const char *model);
    /* The driver has reported a fault of a GPU. `line` is the warning in the journal. */
    void (*fault)(void *context, const char *line);
    void *context;
    const char *program; /* path of phase-worker */
    /* of the ranks, so that the sampler finds the same driver */
    char *const *environment;
};

/* Call it before the ranks start: for a moment, the process is not a subreaper. */
int watch_open(const struct watch_options *options, struct watch **ret_watch, struct error *err);

/* Returns the newest second. NULL: no second came in the last five seconds. Borrowed until the loop
 * continues. */
const struct gpu_second *watch_latest(const struct watch *watch);

/* The run is over. Writes the mean of the last, incomplete span. */
void watch_tell_rest(struct watch *watch);
/* The run did not end well. Writes the last seconds, up to 60, one by one. */
void watch_tell_last_minute(struct watch *watch);

/* Ends the sampler. Frees in the loop. Accepts NULL. */
void watch_close(struct watch *watch);

#endif
