/* Asks for a requeue with up to three calls of scontrol. The first call asks for the requeue. If
 * Slurm refuses, the second call asks for the permission, and the third call asks for the requeue
 * again. Sometimes the job only has to exit, and then there is no call. */
#include "worker/lead/requeue.h"

#include "lib/text.h"
#include "worker/lead/grace.h"
#include "worker/lead/scontrol.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    /* scontrol blocks up to 18 s when Slurm is down. No other job can start on the nodes then. */
    REQUEUE_TIMEOUT_MS = 20000,
    REQUEUE_KILLED_MS = 10000, /* for Slurm to kill a job that it has requeued */
};

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
    enum requeue_state from;
    enum requeue_event event;
    enum requeue_state to;
} requeue_moves[] = {
    {REQUEUE_NONE, REQUEUE_WANT, REQUEUE_WANTED},
    {REQUEUE_WANTED, REQUEUE_PASS_ON, REQUEUE_OVER},
    {REQUEUE_WANTED, REQUEUE_ASK, REQUEUE_ASKED},
    {REQUEUE_ASKED, REQUEUE_TERM, REQUEUE_ENDING},
    {REQUEUE_ASKED, REQUEUE_ACCEPT, REQUEUE_ACCEPTED},
    {REQUEUE_ASKED, REQUEUE_REFUSE, REQUEUE_OVER},
    {REQUEUE_ASKED, REQUEUE_BY_EXIT, REQUEUE_OVER},
    /* scontrol gets the same SIGTERM, so any answer only shows that scontrol has ended. */
    {REQUEUE_ENDING, REQUEUE_ACCEPT, REQUEUE_OVER},
    {REQUEUE_ENDING, REQUEUE_REFUSE, REQUEUE_OVER},
    {REQUEUE_ENDING, REQUEUE_BY_EXIT, REQUEUE_OVER},
    {REQUEUE_ACCEPTED, REQUEUE_TERM, REQUEUE_OVER},
    {REQUEUE_ACCEPTED, REQUEUE_LATE, REQUEUE_OVER},
};

enum requeue_state requeue_next(enum requeue_state state, enum requeue_event event)
{
    for (size_t i = 0; i < sizeof requeue_moves / sizeof *requeue_moves; i++)
        if (requeue_moves[i].from == state && requeue_moves[i].event == event)
            return requeue_moves[i].to;
    return state;
}

/* --- Asking ----------------------------------------------------------------------------------- */

static void requeue_called(void *context, int code, const char *output);

static void requeue_call(struct requeue *requeue)
{
    char *job = text_format("%lld", (long long)requeue->job_id);
    char *job_option = text_format("JobId=%s", job);
    struct scontrol_call call = {
        .arguments = {"requeue", job},
        .captured_fd = STDERR_FILENO,
        .timeout_ms = REQUEUE_TIMEOUT_MS,
    };
    if (requeue->call == REQUEUE_CALL_ALLOW) {
        call.arguments[0] = "update";
        call.arguments[1] = job_option;
        call.arguments[2] = "Requeue=1";
    }
    scontrol_start(requeue->loop, &call, requeue_called, requeue);
    free(job_option);
    free(job);
}

static void requeue_called(void *context, int code, const char *output)
{
    struct requeue *requeue = context;
    bool is_last = code < 0 || requeue->call == REQUEUE_CALL_AGAIN ||
                   (requeue->call == REQUEUE_CALL_FIRST) == (code == 0);
    if (requeue->call == REQUEUE_CALL_FIRST && code != 0)
        (void)snprintf(requeue->reason, sizeof requeue->reason, "%.*s", (int)strcspn(output, "\n"),
                       output); /* may be cut */
    if (!is_last) {
        requeue->call++;
        requeue_call(requeue);
        return;
    }
    bool is_accepted = code == 0 && requeue->call != REQUEUE_CALL_ALLOW;
    if (code < 0)
        (void)snprintf(requeue->reason, sizeof requeue->reason,
                       "scontrol did not answer"); /* fits */
    requeue_handle(requeue, is_accepted ? REQUEUE_ACCEPT : REQUEUE_REFUSE);
}

static void requeue_grace_known(void *context, bool is_so)
{
    struct requeue *requeue = context;
    if (is_so)
        requeue_handle(requeue, REQUEUE_BY_EXIT);
    else
        requeue_call(requeue);
}

static void requeue_late(uv_timer_t *timer)
{
    requeue_handle(timer->data, REQUEUE_LATE);
}

/* --- The machine ------------------------------------------------------------------------------ */

static void requeue_say(const struct requeue *requeue, enum requeue_event event)
{
    if (requeue->state == REQUEUE_ASKED && event == REQUEUE_REFUSE)
        fprintf(stderr, "phase-worker %s: Slurm does not requeue the job: %s\n", requeue->who,
                requeue->reason);
    if (requeue->state == REQUEUE_ACCEPTED && event == REQUEUE_LATE)
        fprintf(stderr, "phase-worker %s: Slurm accepted the requeue, but did not end the job\n",
                requeue->who);
}

void requeue_handle(struct requeue *requeue, enum requeue_event event)
{
    enum requeue_state next = requeue_next(requeue->state, event);
    if (next == requeue->state)
        return;
    requeue_say(requeue, event);
    requeue->state = next;
    if (next == REQUEUE_ASKED)
        grace_use(requeue->loop, requeue->job_id, requeue_grace_known, requeue);
    else if (next == REQUEUE_ACCEPTED)
        uv_timer_start(&requeue->timer, requeue_late, REQUEUE_KILLED_MS, 0);
    else if (next == REQUEUE_OVER)
        requeue->over(requeue->context);
}

void requeue_init(struct requeue *requeue, uv_loop_t *loop, const char *who, int64_t job_id,
                  void (*over)(void *context), void *context)
{
    *requeue = (struct requeue){
        .loop = loop,
        .who = who,
        .job_id = job_id,
        .over = over,
        .context = context,
    };
    uv_timer_init(loop, &requeue->timer);
    requeue->timer.data = requeue;
}

void requeue_close(struct requeue *requeue)
{
    uv_close((uv_handle_t *)&requeue->timer, NULL);
}
