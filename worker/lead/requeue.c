/* Calls scontrol up to three times, unless the job only has to exit: a requeue; if that is refused,
 * the permission, and the requeue again. */
#include "worker/lead/requeue.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/lead/grace.h"
#include "worker/lead/scontrol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* scontrol blocks up to 18 s when Slurm is down. Then no other job waits for the nodes either. */
enum { REQUEUE_TIMEOUT_MS = 20000 };

enum requeue_state { REQUEUE_FIRST, REQUEUE_ALLOW, REQUEUE_AGAIN };

struct requeue {
    uv_loop_t *loop;
    requeue_done *done;
    void *context;
    char *job;
    enum requeue_state state;
    char reason[256]; /* why the first call was refused */
};

static void requeue_called(void *context, int code, const char *output);

static void requeue_call(struct requeue *requeue)
{
    struct scontrol_call call = {
        .arguments = {"requeue", requeue->job},
        .captured_fd = STDERR_FILENO,
        .timeout_ms = REQUEUE_TIMEOUT_MS,
    };
    char *job = text_format("JobId=%s", requeue->job);
    if (requeue->state == REQUEUE_ALLOW) {
        call.arguments[0] = "update";
        call.arguments[1] = job;
        call.arguments[2] = "Requeue=1";
    }
    scontrol_start(requeue->loop, &call, requeue_called, requeue);
    free(job);
}

static void requeue_end(struct requeue *requeue, enum requeue_answer answer)
{
    requeue->done(requeue->context, answer, requeue->reason);
    free(requeue->job);
    free(requeue);
}

static void requeue_called(void *context, int code, const char *output)
{
    struct requeue *requeue = context;
    bool is_over = code < 0 || requeue->state == REQUEUE_AGAIN ||
                   (requeue->state == REQUEUE_FIRST) == (code == 0);
    if (requeue->state == REQUEUE_FIRST && code != 0)
        (void)snprintf(requeue->reason, sizeof requeue->reason, "%.*s", (int)strcspn(output, "\n"),
                       output); /* may be cut */
    if (!is_over) {
        requeue->state++;
        requeue_call(requeue);
        return;
    }
    bool is_accepted = code == 0 && requeue->state != REQUEUE_ALLOW;
    if (code < 0)
        (void)snprintf(requeue->reason, sizeof requeue->reason,
                       "scontrol did not answer"); /* fits */
    requeue_end(requeue, is_accepted ? REQUEUE_ACCEPTED : REQUEUE_REFUSED);
}

static void requeue_by_exit(void *context, bool is_so)
{
    struct requeue *requeue = context;
    if (is_so)
        requeue_end(requeue, REQUEUE_BY_EXIT);
    else
        requeue_call(requeue);
}

void requeue_start(uv_loop_t *loop, int64_t job_id, requeue_done *done, void *context)
{
    struct requeue *requeue = xcalloc(1, sizeof *requeue);
    requeue->loop = loop;
    requeue->done = done;
    requeue->context = context;
    requeue->job = text_format("%lld", (long long)job_id);
    grace_use(loop, job_id, requeue_by_exit, requeue);
}
