/* Decides which run comes next: by the daemon's command, or alone without a daemon. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/lead_command.h"
#include "worker/lead/alone.h"
#include "worker/lead/job_folder.h"
#include "worker/lead/lead.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LEAD_WAIT_TICK_MS = 200,
    LEAD_ALONE_MS = 10000, /* without an answer of the daemon, before the lead continues alone */
    LEAD_WAIT_MS = 60000,  /* for the decision of a daemon that answers; plus the linger time */
    LEAD_NEXT_MS = 60000,  /* for the folder of the next run to become visible */
    LEAD_NEXT_AGAIN_MS = 200,
    LEAD_NUMBER_MS = 1000, /* between two looks at the files that the daemon writes */
};

/* --- Another run ------------------------------------------------------------------------------ */

/* Makes `next` the run that the lead serves. The old run is closed, or kept for its channel. */
static void lead_serve(struct lead *lead, struct lead_run *next)
{
    struct error err;
    lead->run = next;
    uv_timer_stop(&lead->later); /* the number of the old run no longer matters */
    /* The run may be of another phase, with other claims. A late answer of Slurm would be about an
     * old claim. */
    lead->claim.holder = (struct phase_holder){0};
    lead->claim.passed = (struct phase_passed){0};
    lead->claim.ending = lead->claim.gone = 0;
    if (job_folder_replace_current(lead->job_dir, next->assignment->file.run_dir, &err) < 0)
        fprintf(stderr, "phase-worker lead: %s\n", err.message); /* the run can go on */
    lead->state = LEAD_LAUNCHING;
    /* The timer is needed even if all agents are ready: another job may have the phase, and the
     * timer of lingering must end. */
    lead_set_timer(lead, lead_launch_done, LEAD_LAUNCH_MS);
    if (lead->job_step && lead->ready == lead->count)
        lead_begin(lead);
}

/* Opens a run that is not over. */
static int lead_open_next(struct lead *lead, const char *run_dir, struct lead_run **ret_next,
                          struct error *err)
{
    struct lead_run *next = NULL;
    char *phase_dir = file_parent(run_dir);
    file_look_again(phase_dir);
    free(phase_dir);
    if (outcome_is_sealed(run_dir, err))
        return -ECANCELED;
    int status = lead_run_open(run_dir, &lead->commands, &next, err);
    if (status < 0)
        return status;
    if (next->is_ended) {
        lead_run_close(next, 0);
        return error_set(err, -EALREADY, "the run in %s has its outcome already", run_dir);
    }
    *ret_next = next;
    return 0;
}

/* Opens the run in `next_dir` and serves it. */
static void lead_next_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    struct lead_run *next;
    struct error err;
    int status = lead_open_next(lead, lead->next_dir, &next, &err);
    bool is_missing = status == -ENOENT || status == -ESTALE;
    if (is_missing && clock_steady_ms() < lead->next_by_ms) {
        if (!lead->awaits_next)
            printf("phase-worker lead: waiting for the next run: %s\n", err.message);
        lead->awaits_next = true;
        /* Agents may become ready meanwhile, and must not begin the old run. */
        lead->state = LEAD_LINGERING;
        uv_timer_start(timer, lead_next_done, LEAD_NEXT_AGAIN_MS, 0);
        return;
    }
    if (status < 0) {
        fprintf(stderr, "phase-worker lead: cannot go on with %s: %s\n", lead->next_dir,
                err.message);
        lead_leave(lead);
        /* The job goes on with its other leads, and the run waits for this lead. */
        bool is_over = status == -ECANCELED || status == -EALREADY;
        if (lead->is_guest && !is_over && lead->exit_code != GUEST_REQUEUE)
            lead->exit_code = GUEST_AGAIN;
        return;
    }
    (void)lead_run_write(lead->run, NULL); /* the daemon has decided, so it knows the outcome */
    lead_run_close(lead->run, 0);
    lead_run_close(lead->known, 0);
    lead->known = NULL;
    lead_serve(lead, next);
}

/* The daemon gives another run for the same allocation. The daemon has written the folder of the
 * run, but it may become visible here later. */
void lead_next(struct lead *lead)
{
    commands_clear(&lead->commands);
    lead->awaits_next = false;
    lead->next_by_ms = clock_steady_ms() + LEAD_NEXT_MS;
    lead_next_done(&lead->timer);
}

/* --- Alone ------------------------------------------------------------------------------------ */

void lead_open_known(struct lead *lead)
{
    struct error err;
    char *run_dir = alone_find_numbered(lead->run->assignment);
    if (run_dir && lead_run_open(run_dir, &lead->commands, &lead->known, &err) < 0)
        fprintf(stderr, "phase-worker lead: %s\n", err.message);
    free(run_dir);
}

static void lead_go_alone(struct lead *lead)
{
    struct lead_run *next;
    struct error err;
    char *run_dir = NULL;
    commands_clear(&lead->commands);
    if (alone_make_run(lead->run->assignment, &run_dir, &err) < 0 ||
        lead_open_next(lead, run_dir, &next, &err) < 0) {
        fprintf(stderr, "phase-worker lead: cannot go on alone: %s\n", err.message);
        lead_leave(lead);
    } else {
        printf("phase-worker lead: no daemon answers: going on alone with %s\n", run_dir);
        bool keeps = next->assignment->file.is_alone && !lead->run->assignment->file.is_alone;
        (void)lead_run_write(lead->run, NULL); /* the next run was made, so nobody tries again */
        if (!keeps)
            lead_run_close(lead->run, 0);
        if (!next->assignment->file.is_alone || keeps)
            lead_run_close(lead->known, 0);
        if (keeps)
            lead->known = lead->run;
        else if (!next->assignment->file.is_alone)
            lead->known = NULL;
        lead_serve(lead, next);
    }
    free(run_dir);
}

static void lead_wait_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    struct link *link = lead->known ? lead->known->link : lead->run->link;
    int64_t now_ms = clock_steady_ms();
    if (lead_is_late(lead->tick_ms)) { /* the daemon could not be heard */
        lead->waiting_ms += now_ms - lead->tick_ms;
        lead->heard_ms += now_ms - lead->tick_ms;
    }
    lead->tick_ms = now_ms + LEAD_WAIT_TICK_MS;
    if (link && link_is_heard(link))
        lead->heard_ms = now_ms;
    if (now_ms - lead->heard_ms >= LEAD_ALONE_MS && lead->run->outcome.requeues)
        lead_go_alone(lead);
    else if (now_ms - lead->heard_ms >= LEAD_ALONE_MS ||
             now_ms - lead->waiting_ms >=
                 LEAD_WAIT_MS + (int64_t)lead->run->assignment->file.linger_s * 1000)
        lead_leave(lead);
}

void lead_wait(struct lead *lead)
{
    lead->state = LEAD_LINGERING;
    lead->waiting_ms = lead->heard_ms = clock_steady_ms();
    lead->tick_ms = lead->waiting_ms + LEAD_WAIT_TICK_MS;
    uv_timer_start(&lead->timer, lead_wait_done, LEAD_WAIT_TICK_MS, LEAD_WAIT_TICK_MS);
}

/* --- Commands --------------------------------------------------------------------------------- */

/* The daemon has given a number to a run that was begun alone. From now on the link can push the
 * run's journal, and commands come by the run's own channel. */
static void lead_number_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    struct error err;
    int status = lead_run_number(lead->run, &lead->commands, &err);
    if (status < 0) {
        /* The file that the daemon has written may become visible here later. */
        fprintf(stderr, "phase-worker lead: %s\n", err.message);
        uv_timer_start(&lead->later, lead_number_done, LEAD_NUMBER_MS, 0);
        return;
    }
    commands_clear(&lead->commands);
    lead_run_close(lead->known, 0);
    lead->known = NULL;
    if (lead->state == LEAD_RUNNING)
        job_step_send(lead->job_step, AGENT_NUMBERED, NULL);
}

/* While Slurm is asked about a run that has ended, nothing of the run can be stopped. */
void lead_cancel(struct lead *lead)
{
    if (lead->is_asking && lead_all_ended(lead))
        return;
    const char *why = stop_reason_name(lead->stop_why);
    if (lead_run_stop(lead->run, lead->stop_why, "stopped: %s", why))
        lead_stop(lead, lead_run_stop_seconds(lead->run));
}

/* Another lead of the job may have served the run, and the disk may have kept no trace of that. */
void lead_over(struct lead *lead)
{
    lead->stop_why = STOP_OVER;
    lead_cancel(lead);
}

void lead_obey(void *context, const json_t *json)
{
    struct lead *lead = context;
    struct lead_command command = lead_command_read(json);
    if (command.verb == LEAD_VERB_COUNT || lead->state == LEAD_LEAVING)
        return;
    bool is_next = command.verb == VERB_NEXT && command.run_dir;
    /* `end` for the last run that the daemon knows also means: no next run. */
    bool is_stop = command.verb == VERB_STOP || (command.verb == VERB_END && lead->known);
    /* A newer daemon may give a reason that this lead does not know. */
    bool is_reason =
        command.why != STOP_REASON_COUNT && stop_reason_outcome(command.why) == OUTCOME_CANCELLED;
    if (is_next && file_is_same(lead->run->assignment->file.run_dir, command.run_dir)) {
        if (lead->run->assignment->file.is_alone)
            lead_number_done(&lead->later);
        return;
    }
    if (is_next) {
        free(lead->next_dir);
        lead->next_dir = xstrdup(command.run_dir);
    }
    lead->stop_why = is_reason ? command.why : STOP_CANCELLED;
    lead->handle(lead, is_next ? LEAD_NEXT : is_stop ? LEAD_STOP : LEAD_END);
}
