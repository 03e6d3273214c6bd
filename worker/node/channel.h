/* What scripts inside a run tell the worker: `phase-worker metric step=10 loss=1.5` and
 * `phase-worker checkpoint PATH --step N`.
 *
 * They append one line to the file that PHASED_CHANNEL names, by a single write, and the node's
 * agent follows that file. A file reaches the agent from inside containers too, waits while the
 * agent is busy, and is there afterwards to look at.
 *
 *     {"metric": {"step": 10, "values": {"loss": 1.5, "grad_norm": "nan"}}}
 *     {"checkpoint": {"path": "/...", "step": 500}} */
#ifndef PHASED_WORKER_NODE_CHANNEL_H
#define PHASED_WORKER_NODE_CHANNEL_H

#include "lib/metrics/extract.h"

#include <stdint.h>

/* The commands; argv[0] is "metric" or "checkpoint". Return an exit status: 0, 1 when the worker
 * cannot be told, 2 for wrong usage. */
int channel_metric_main(int argc, char **argv);
int channel_checkpoint_main(int argc, char **argv);

/* What a line of the channel tells; borrowed during the call. */
struct channel_listener {
    void (*metric)(void *context, const struct extract_row *row);
    void (*checkpoint)(void *context, const char *path, int64_t step);
    void *context;
};

/* Reads one line; one that is not understood is passed over. */
void channel_read(const struct channel_listener *listener, const char *line, size_t size);

#endif
