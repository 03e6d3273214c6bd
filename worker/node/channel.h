/* The channel: what scripts inside a run tell the worker, with `phase-worker metric step=10
 * loss=1.5` and `phase-worker checkpoint PATH --step N`.
 *
 * These commands append one line to the file PHASED_CHANNEL, by a single write. The agent of the
 * node follows that file. A file works from inside containers, too. It waits while the agent is
 * busy, and people can read it afterwards.
 *
 *     {"metric": {"step": 10, "values": {"loss": 1.5, "grad_norm": "nan"}}}
 *     {"checkpoint": {"path": "/...", "step": 500}} */
#ifndef PHASED_WORKER_NODE_CHANNEL_H
#define PHASED_WORKER_NODE_CHANNEL_H

#include "lib/metrics/extract.h"

#include <stdint.h>

/* The commands; argv[0] is "metric" or "checkpoint". They return an exit code: 0; 1 if the
 * channel cannot be written; 2 for wrong usage. */
int channel_metric_main(int argc, char **argv);
int channel_checkpoint_main(int argc, char **argv);

/* Takes the content of a line, borrowed during the call. */
struct channel_listener {
    void (*metric)(void *context, const struct extract_row *row);
    void (*checkpoint)(void *context, const char *path, int64_t step);
    void *context;
};

/* Reads one line. A line that is not understood is ignored. More values than a row has are several
 * rows of the same step. */
void channel_read(const struct channel_listener *listener, const char *line, size_t size);

#endif
