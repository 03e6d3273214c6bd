/* Whether a run may begin: its folder has no tombstone, and no lead of another job runs the phase.
 * A lead that holds the phase may be dead: then Slurm says so. As long as neither it nor Slurm
 * does, nothing begins. */
#include "worker/lead/lead_state.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/assignment.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/phase_claim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAD_CLAIM_AGAIN_MS = 2000 };

static void lead_claim_again(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (lead->state == LEAD_LAUNCHING && lead->ready == lead->count)
        lead_begin(lead);
}

/* Whether nothing of the job runs any more. A pending one may come any moment. */
static bool lead_claim_is_over(const struct lead *lead, const struct inquiry_answer *answer)
{
    static const char *const words[] = {"COMPLETED", "CANCELLED",    "FAILED",    "TIMEOUT",
                                        "NODE_FAIL", "PREEMPTED",    "BOOT_FAIL", "DEADLINE",
                                        "REVOKED",   "OUT_OF_MEMORY"};
    if (answer->is_unknown)
        return true;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (text_equal(answer->state, words[i]))
            return true;
    /* Ids are given out again after a controller's crash: then it is no job of this workflow. */
    const char *end = strrchr(lead->job_dir, '/');
    char *log = text_format("%.*s/phased-", (int)(end ? end - lead->job_dir : 0), lead->job_dir);
    bool is_other =
        answer->state[0] && strstr(answer->text, " StdOut=/") && !strstr(answer->text, log);
    free(log);
    return is_other;
}

static void lead_claim_asked(void *context, const struct inquiry_answer *answer)
{
    struct lead *lead = context;
    lead->claim.is_asking = false;
    if (lead->state != LEAD_LAUNCHING)
        return;
    bool is_over = lead_claim_is_over(lead, answer);
    if (is_over)
        lead->claim.over = lead->claim.holder.number;
    uv_timer_start(&lead->claim.timer, lead_claim_again, is_over ? 0 : LEAD_CLAIM_AGAIN_MS, 0);
}

bool lead_claim(struct lead *lead)
{
    struct lead_run *run = lead->run;
    struct error err;
    if (lead->claim.is_asking)
        return false;
    int64_t last = lead->claim.holder.job_id;
    int result = lead_run_is_sealed(run->assignment->run_dir, &err)
                     ? -ECANCELED
                     : phase_claim_take(run->assignment, lead->job_id, lead->claim.over,
                                        &lead->claim.holder, &err);
    if (result == -ECANCELED || result == -ESTALE) {
        bool is_sealed = result == -ECANCELED;
        (void)lead_run_decide(run, is_sealed ? OUTCOME_CANCELLED : OUTCOME_FAILED,
                              is_sealed ? OUTCOME_CAUSE_NONE : OUTCOME_CAUSE_LAUNCH, "%s",
                              err.message);
        lead_conclude(lead);
        return false;
    }
    if (result == -EBUSY) {
        if (last != lead->claim.holder.job_id)
            printf("phase-worker lead: waiting: %s\n", err.message);
        lead->claim.is_asking = true;
        inquiry_start_other(&lead->loop, lead->claim.holder.job_id, lead_claim_asked, lead);
        return false;
    }
    if (result < 0)
        fprintf(stderr, "phase-worker lead: %s\n", err.message); /* the run matters more */
    lead->claim.holder.job_id = 0;
    lead->claim.over = 0; /* the next run may be of another phase, whose claims count anew */
    return true;
}
