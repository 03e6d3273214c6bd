/* Whether a job may be submitted now. What must be so:
 *
 *   - the workflow that its own is to come after has succeeded,
 *   - the time of day is within the workflow's window,
 *   - its budget, and that of the month, have something left,
 *   - the jobs and GPUs that limits.yaml allows are not all in Slurm, and
 *   - no other job that waits for that comes first: by priority, then of the workflow with the
 *     fewest jobs in Slurm, then the oldest.
 *
 * What may not be submitted waits in the outbox, and its job's reason says for what. */
#ifndef PHASED_DAEMON_LOOP_QUEUE_H
#define PHASED_DAEMON_LOOP_QUEUE_H

#include "daemon/core/model.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct duty;
struct loop;

enum { QUEUE_LOOK_AGAIN_MS = 2000 };

/* limits.yaml, read again when it changes. */
struct queue {
    json_t *limits;           /* NULL: not read yet, or wrong */
    char problem[REASON_MAX]; /* what is wrong with it */
    struct stat seen;
};

void queue_fini(struct queue *queue);

/* The limits as they are now; empty: none. NULL: the file is wrong, and nothing is submitted. */
const json_t *queue_limits(struct loop *loop);

/* False: `ret_reason` says what it waits for. */
bool queue_may_submit(struct loop *loop, const struct duty *duty, char ret_reason[REASON_MAX]);

/* Whether `minute` of the day is within the window; one that ends before it begins goes over
 * midnight. */
bool queue_is_open(unsigned window_from, unsigned window_to, unsigned minute);

#endif
