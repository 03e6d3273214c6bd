/* Translates Slurm's numbers and structures. The rest of the daemon does not see them. */
#include "daemon/slurm/answer.h"

#include "daemon/slurm/versions.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char comment_mark[] = "phased:";
static const char path_mark[] = "phased-";

/* Whether the request may have been carried out in spite of the error: the controller, or the way
 * to it, failed. All errors below 1000 are errno values and mean the same. */
static bool is_unreachable(int slurm_error)
{
    return slurm_error < 2000 || (slurm_error >= 5000 && slurm_error < 7000) ||
           slurm_error == ESLURM_IN_STANDBY_MODE || slurm_error == ESLURM_IN_STANDBY_USE_BACKUP;
}

/* Whether the error is a limit that may pass: how much a user may have at once, a time at which the
 * site takes no jobs, or a full disk of the controller. No job exists then.
 * ESLURM_ACCOUNTING_POLICY can also be a limit that never passes: Slurm does not say which. */
static bool is_limited(int slurm_error)
{
    switch (slurm_error) {
    case ESLURM_ACCOUNTING_POLICY:
    case ESLURM_QOS_THRES:
    case ESLURM_SUBMISSIONS_DISABLED:
    case ESLURM_MAX_JOB_COUNT:   /* sbatch tries again as well */
    case ESLURM_WRITING_TO_FILE: /* the job's script and environment */
    case ESLURM_NODES_BUSY:
    case ESLURM_PARTITION_NOT_AVAIL:
    case ESLURM_PARTITION_DOWN:
    case ESLURM_RESERVATION_BUSY:
    case ESLURM_DEFER:
        return true;
    default:
        return false;
    }
}

static bool is_absent(enum cluster_kind kind, int slurm_error)
{
    return slurm_error == ESLURM_INVALID_JOB_ID || slurm_error == ESLURM_ALREADY_DONE ||
           slurm_error == ESLURM_JOB_FINISHED ||
           (kind == CLUSTER_CANCEL && slurm_error == ESLURM_TRANSITION_STATE_NO_UPDATE);
}

void answer_failure(struct cluster_result *result, int slurm_error)
{
    if (is_unreachable(slurm_error))
        result->outcome = CLUSTER_UNREACHABLE;
    else if (result->kind != CLUSTER_SUBMIT && is_absent(result->kind, slurm_error))
        result->outcome = CLUSTER_ABSENT;
    else if (result->kind == CLUSTER_SUBMIT && is_limited(slurm_error))
        result->outcome = CLUSTER_LIMITED;
    else
        result->outcome = CLUSTER_REFUSED;
    const char *said = slurm_error == ESLURM_MAX_JOB_COUNT
                           ? "the cluster has as many jobs as it can keep (MaxJobCount)"
                           : slurm_strerror(slurm_error);
    /* Slurm has one code for limits that pass and for limits that stay. */
    bool is_policy = slurm_error == ESLURM_ACCOUNTING_POLICY || slurm_error == ESLURM_QOS_THRES;
    (void)snprintf(result->message, sizeof result->message, "%s%s%s",
                   result->outcome == CLUSTER_LIMITED ? "Slurm does not take the job yet: " : "",
                   said, is_policy ? "; `sacctmgr show assoc,qos` shows the limits" : "");
}

/* Copies the token that follows `mark` in `text`. False: no token follows. */
static bool token_find(const char *text, const char *mark, char *ret_token)
{
    for (const char *at = text; at && (at = strstr(at, mark));) {
        at += strlen(mark);
        if (strspn(at, "0123456789abcdef") == CLUSTER_TOKEN_LENGTH) {
            memcpy(ret_token, at, CLUSTER_TOKEN_LENGTH);
            ret_token[CLUSTER_TOKEN_LENGTH] = '\0';
            return true;
        }
    }
    return false;
}

/* Sites may rewrite comments, so the token is also looked for in the path of the output, which
 * stays as it was given. */
static bool job_token(const slurm_job_info_t *info, char *ret_token)
{
    return token_find(info->comment, comment_mark, ret_token) ||
           token_find(info->std_out, path_mark, ret_token);
}

static enum cluster_job_state job_state(uint32_t state)
{
    static const enum cluster_job_state states[] = {
        [JOB_PENDING] = CLUSTER_JOB_PENDING,     [JOB_RUNNING] = CLUSTER_JOB_RUNNING,
        [JOB_SUSPENDED] = CLUSTER_JOB_SUSPENDED, [JOB_COMPLETE] = CLUSTER_JOB_COMPLETED,
        [JOB_CANCELLED] = CLUSTER_JOB_CANCELLED, [JOB_FAILED] = CLUSTER_JOB_FAILED,
        [JOB_TIMEOUT] = CLUSTER_JOB_TIMEOUT,     [JOB_NODE_FAIL] = CLUSTER_JOB_NODE_FAIL,
        [JOB_PREEMPTED] = CLUSTER_JOB_PREEMPTED, [JOB_BOOT_FAIL] = CLUSTER_JOB_BOOT_FAIL,
        [JOB_DEADLINE] = CLUSTER_JOB_DEADLINE,   [JOB_OOM] = CLUSTER_JOB_OUT_OF_MEMORY,
    };
    uint32_t base = state & JOB_STATE_BASE;
    return base < sizeof states / sizeof states[0] ? states[base] : CLUSTER_JOB_UNKNOWN;
}

/* Slurm's detailed text, if it has one, says more than its word. Slurm has some two hundred words,
 * and each release adds more, so a table here would lag behind. Slurm's word for no reason is
 * "None". Here no reason is an empty text. */
static char *job_reason(const slurm_job_info_t *info)
{
    if (info->state_desc && *info->state_desc)
        return xstrdup(info->state_desc);
    if (info->state_reason == WAIT_NO_REASON)
        return xstrdup("");
    const char *word = reason_string((enum job_state_reason)info->state_reason);
    return word ? xstrdup(word) : text_format("reason %u", (unsigned)info->state_reason);
}

static void job_fill(struct cluster_job *job, const slurm_job_info_t *info, const char *token)
{
    uint32_t flags = info->job_state;
    *job = (struct cluster_job){
        .id = info->job_id,
        .state = job_state(flags),
        .completing = (flags & JOB_COMPLETING) != 0,
        .requeuing = (flags & (JOB_REQUEUE | JOB_REQUEUE_HOLD | JOB_SPECIAL_EXIT)) != 0,
        .restarts = info->restart_cnt,
        .submit_time = info->submit_time,
        .eligible_time = info->eligible_time,
        .start_time = info->start_time,
        .end_time = info->end_time,
        .time_limit_minutes = info->time_limit == INFINITE ? UINT32_MAX : info->time_limit,
        .reason = job_reason(info),
        .nodes = xstrdup(info->nodes ? info->nodes : ""),
    };
    job->held = job->state == CLUSTER_JOB_PENDING && info->priority == 0;
    memcpy(job->token, token, sizeof job->token);
}

/* Whether `job` is a better answer for its token than `other`. */
static bool job_is_better(const slurm_job_info_t *job, const slurm_job_info_t *other)
{
    bool job_ended = (job->job_state & JOB_STATE_BASE) >= JOB_COMPLETE;
    bool other_ended = (other->job_state & JOB_STATE_BASE) >= JOB_COMPLETE;
    return job_ended != other_ended ? other_ended : job->submit_time > other->submit_time;
}

void answer_jobs(struct cluster_result *result, const job_info_msg_t *loaded, const char *token)
{
    const slurm_job_info_t *best = NULL;
    char found[CLUSTER_TOKEN_LENGTH + 1];
    if (!token)
        result->jobs = xcalloc(loaded->record_count + 1, sizeof *result->jobs);
    for (uint32_t i = 0; i < loaded->record_count; i++) {
        const slurm_job_info_t *info = &loaded->job_array[i];
        if (!job_token(info, found))
            continue;
        if (!token)
            job_fill(&result->jobs[result->job_count++], info, found);
        else if (text_equal(token, found) && (!best || job_is_better(info, best)))
            best = info;
    }
    if (!best)
        return;
    result->jobs = xcalloc(1, sizeof *result->jobs);
    job_fill(&result->jobs[result->job_count++], best, token);
    result->job_id = best->job_id;
}

bool answer_has_token(const job_info_msg_t *loaded, const char *token)
{
    char found[CLUSTER_TOKEN_LENGTH + 1];
    for (uint32_t i = 0; i < loaded->record_count; i++)
        if (job_token(&loaded->job_array[i], found) && text_equal(token, found))
            return true;
    return false;
}
