/* Whether a job may be submitted now. What must be so:
 *
 *   - the workflow that its own is to come after has succeeded,
 *   - the time of day is within the workflow's window,
 *   - its budget, and that of the month, have something left,
 *   - the jobs and GPUs that limits.yaml allows are not all in Slurm, and
 *   - no other job that waits for that comes first: turns.h.
 *
 * What may not be submitted waits in the outbox: its duty knows for what, and its job's reason says
 * it to people. All of them are looked at together, every QUEUE_LOOK_AGAIN_MS. */
#ifndef PHASED_DAEMON_LOOP_QUEUE_H
#define PHASED_DAEMON_LOOP_QUEUE_H

#include "daemon/core/model.h"
#include "lib/map.h"
#include "daemon/loop/turns.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct duty;
struct loop;
struct queue_line;

enum { QUEUE_LOOK_AGAIN_MS = 2000 };

struct queue {
    /* limits.yaml, read again when it changes: */
    json_t *limits;           /* NULL: not read yet, or wrong */
    char problem[REASON_MAX]; /* what is wrong with it */
    struct stat seen;
    /* Since queue_look(): */
    int64_t now_ms;
    bool is_looking; /* something was asked for, and the rest is known */
    bool has_file;   /* limits.yaml can be read */
    struct turn_limits bounds;
    /* The newest round of turns: */
    unsigned round;
    struct queue_line *lines; /* a workflow each */
    struct map by_workflow;   /* these, by id */
};

void queue_fini(struct queue *queue);

/* The limits as they are now; empty: none. NULL: the file is wrong, and nothing is submitted. */
const json_t *queue_limits(struct loop *loop);

/* Before submissions that are due at `now_ms` are carried out. */
void queue_look(struct loop *loop, int64_t now_ms);
/* Of a submission that is due, and is carried out now unless it has to wait. False: `ret_reason`
 * says for what; it is to be due again at queue_look_again_ms(), with the others. */
bool queue_may_submit(struct loop *loop, struct duty *duty, char ret_reason[REASON_MAX]);
/* What a job with so many GPUs would wait for if it were submitted now, as far as limits.yaml says;
 * `ret_reason` says it, unless it goes. */
enum turn_wait queue_forecast(struct loop *loop, unsigned gpus, char ret_reason[REASON_MAX]);
int64_t queue_look_again_ms(const struct loop *loop);

/* Whether `minute` of the day is within the window; one that ends before it begins goes over
 * midnight. */
bool queue_is_open(unsigned window_from, unsigned window_to, unsigned minute);

#endif
