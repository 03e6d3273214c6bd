/* The agent's side of telemetry: a sampler, `phase-worker gpus`, reads the node's GPUs every
 * second, and what it tells goes to the journal and to whoever asks.
 *
 * The sampler is a process of its own, because a call into the driver of a wedged GPU may never
 * return; and it is no descendant of the agent, which counts those to know when a run is over. It
 * ends when the agent closes its pipe. When it is silent, or cannot work, that is told once as a
 * warning, and the run goes on without samples. On a node without a driver there is nothing to
 * tell.
 *
 * Into the journal go, as `sample` entries: means of 10 s during the first ten minutes, then of a
 * minute; and, when the owner asks, the last minute second by second (watch_tell_last_minute). */
#ifndef PHASED_WORKER_TELEMETRY_WATCH_H
#define PHASED_WORKER_TELEMETRY_WATCH_H

#include "worker/telemetry/second.h"

#include <uv.h>

struct error;
struct journal;
struct watch;

/* All borrowed until watch_close(), but for the last two. */
struct watch_options {
    uv_loop_t *loop;
    struct journal *journal;
    /* Each second. May be NULL. */
    void (*second)(void *context, const struct gpu_second *second);
    /* The GPUs' model, once, as the driver names it. May be NULL. */
    void (*model)(void *context, const char *model);
    /* The driver told of a fault of a GPU; `line` is the warning in the journal. May be NULL. */
    void (*fault)(void *context, const char *line);
    void *context;
    const char *program; /* path of phase-worker */
    /* Of the ranks: what finds the driver for them finds it for the sampler. */
    char *const *environment;
};

/* Before the ranks start: the process is for a moment no subreaper. */
int watch_open(const struct watch_options *options, struct watch **ret_watch, struct error *err);

/* The newest second; NULL when none came in the last five. Borrowed until the loop goes on. */
const struct gpu_second *watch_latest(const struct watch *watch);

/* Writes the mean of what was not yet a whole one: the run is over. */
void watch_tell_rest(struct watch *watch);
/* Writes the last seconds, up to 60, one by one: of a run that did not end well. */
void watch_tell_last_minute(struct watch *watch);

/* Ends the sampler; frees in the loop. Accepts NULL. */
void watch_close(struct watch *watch);

#endif
