/* Asks the controller for its configuration, partitions and nodes, and when jobs would start. */
#include "daemon/slurm/surveyor.h"

#include "daemon/slurm/answer.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/partitions.h"
#include "daemon/slurm/submission.h"
#include "daemon/slurm/survey.h"
#include "daemon/slurm/versions.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- Nodes ------------------------------------------------------------------------------------ */

static bool node_is_usable(const node_info_t *node)
{
    uint32_t base = node->node_state & NODE_STATE_BASE;
    uint32_t away = NODE_STATE_DRAIN | NODE_STATE_FAIL | NODE_STATE_NO_RESPOND | NODE_STATE_MAINT;
    return (base == NODE_STATE_IDLE || base == NODE_STATE_ALLOCATED || base == NODE_STATE_MIXED) &&
           !(node->node_state & away);
}

/* Adds the nodes. A node without a name is a node that this user may not see. It stays in the list
 * as unusable, because partitions refer to nodes by index. */
static void add_nodes(struct cluster_survey *survey, const node_info_msg_t *loaded)
{
    survey->nodes = xcalloc(loaded->record_count + 1, sizeof *survey->nodes);
    survey->node_count = loaded->record_count;
    for (size_t i = 0; i < survey->node_count; i++) {
        const node_info_t *node = &loaded->node_array[i];
        bool is_usable = node->name && node_is_usable(node);
        survey->nodes[i] = (struct survey_node){
            .name = xstrdup(node->name ? node->name : ""),
            .gres = xstrdup(node->gres ? node->gres : ""),
            .is_usable = is_usable,
            .is_idle = is_usable && (node->node_state & NODE_STATE_BASE) == NODE_STATE_IDLE &&
                       !(node->node_state & (NODE_STATE_COMPLETING | NODE_STATE_RES)),
            .cpus = node->cpus,
            .memory_mb = node->real_memory,
        };
    }
}

/* --- Partitions ------------------------------------------------------------------------------- */

/* `pairs` holds the first and last index of each range. -1 ends the list. */
static void add_members(struct survey_partition *partition, const int32_t *pairs, size_t node_count)
{
    partition->nodes = xcalloc(node_count + 1, sizeof *partition->nodes);
    for (size_t i = 0; pairs && pairs[i] >= 0 && pairs[i + 1] >= pairs[i]; i += 2)
        for (size_t node = (size_t)pairs[i]; node <= (size_t)pairs[i + 1]; node++)
            if (node < node_count && partition->node_count < node_count)
                partition->nodes[partition->node_count++] = node;
}

static bool shares_a_node(const partition_info_t *a, const partition_info_t *b)
{
    const int32_t *x = a->node_inx, *y = b->node_inx;
    for (size_t i = 0; x && y && x[i] >= 0; i += 2)
        for (size_t j = 0; y[j] >= 0; j += 2)
            if (x[i] <= y[j + 1] && y[j] <= x[i + 1])
                return true;
    return false;
}

/* With preemption by partition priority, a job is preempted for a job in a partition of a higher
 * tier. */
static bool is_below_another(const partition_info_msg_t *loaded, const partition_info_t *partition)
{
    for (uint32_t i = 0; i < loaded->record_count; i++) {
        const partition_info_t *other = &loaded->partition_array[i];
        if ((other->state_up & PARTITION_SCHED) &&
            other->priority_tier > partition->priority_tier && shares_a_node(other, partition))
            return true;
    }
    return false;
}

static enum survey_preemption preemption_of(const slurm_conf_t *conf,
                                            const partition_info_msg_t *loaded,
                                            const partition_info_t *partition)
{
    const char *type = conf->preempt_type ? conf->preempt_type : "";
    uint16_t mode =
        partition->preempt_mode == NO_VAL16 ? conf->preempt_mode : partition->preempt_mode;
    if (!strstr(type, "partition_prio") || !is_below_another(loaded, partition))
        return SURVEY_PREEMPT_NEVER;
    if (mode & PREEMPT_MODE_REQUEUE)
        return SURVEY_PREEMPT_REQUEUE;
    if (mode & PREEMPT_MODE_CANCEL)
        return SURVEY_PREEMPT_CANCEL;
    return mode & PREEMPT_MODE_SUSPEND ? SURVEY_PREEMPT_SUSPEND : SURVEY_PREEMPT_NEVER;
}

static uint32_t limit_of(uint32_t number)
{
    return number == INFINITE || number == NO_VAL ? UINT32_MAX : number;
}

static void add_partitions(struct cluster_survey *survey, const slurm_conf_t *conf,
                           const partition_info_msg_t *loaded)
{
    survey->partitions = xcalloc(loaded->record_count + 1, sizeof *survey->partitions);
    survey->partition_count = loaded->record_count;
    survey->qos_preempts = conf->preempt_type && strstr(conf->preempt_type, "qos");
    for (size_t i = 0; i < survey->partition_count; i++) {
        const partition_info_t *partition = &loaded->partition_array[i];
        survey->partitions[i] = (struct survey_partition){
            .name = xstrdup(partition->name ? partition->name : ""),
            .is_default = (partition->flags & PART_FLAG_DEFAULT) != 0,
            .is_up = partition->state_up == PARTITION_UP,
            .max_time_minutes = limit_of(partition->max_time),
            .max_nodes = limit_of(partition->max_nodes),
            .preemption = preemption_of(conf, loaded, partition),
            .grace_s = partition->grace_time == NO_VAL ? 0 : partition->grace_time,
        };
        add_members(&survey->partitions[i], partition->node_inx, survey->node_count);
    }
}

/* --- Forecasts -------------------------------------------------------------------------------- */

/* False: nobody answered. */
static bool forecast_job(struct partitions *partitions, struct submission *submission,
                         struct survey_forecast *forecast)
{
    will_run_response_msg_t *response = NULL;
    struct cluster_result failure = {0};
    struct error err;
    uint32_t limit = partitions_limit(partitions, submission->job.partition, time(NULL));
    if (submission_fit(submission, limit, &err) < 0) {
        forecast->is_refused = true;
        (void)snprintf(forecast->message, sizeof forecast->message, "%.255s", err.message);
        return true;
    }
    if (slurm_job_will_run2(&submission->job, &response) != SLURM_SUCCESS) {
        answer_failure(&failure, errno);
        forecast->is_refused = failure.outcome == CLUSTER_REFUSED;
        memcpy(forecast->message, failure.message, sizeof forecast->message);
        return failure.outcome != CLUSTER_UNREACHABLE;
    }
    if (response) {
        forecast->start_time = response->start_time;
        forecast->partition = xstrdup(response->part_name ? response->part_name : "");
        forecast->nodes = xstrdup(response->node_list ? response->node_list : "");
        slurm_free_will_run_response_msg(response);
    }
    if (forecast->start_time <= 0)
        (void)snprintf(forecast->message, sizeof forecast->message, "Slurm names no start");
    return true;
}

/* When nobody answers, the other jobs get the same message: each of them would wait as long. */
static void add_forecasts(struct cluster_survey *survey, struct partitions *partitions,
                          struct submission *const *submissions, size_t count)
{
    bool is_answered = true;
    survey->forecasts = xcalloc(count + 1, sizeof *survey->forecasts);
    survey->forecast_count = count;
    for (size_t i = 0; i < count; i++) {
        struct survey_forecast *forecast = &survey->forecasts[i];
        if (is_answered)
            is_answered = forecast_job(partitions, submissions[i], forecast);
        else
            memcpy(forecast->message, survey->forecasts[i - 1].message, sizeof forecast->message);
    }
}

void surveyor_look(struct partitions *partitions, struct submission *const *submissions,
                   size_t count, struct cluster_result *result)
{
    slurm_conf_t *conf = NULL;
    partition_info_msg_t *parts = NULL;
    node_info_msg_t *nodes = NULL;
    if (slurm_load_ctl_conf(0, &conf) != SLURM_SUCCESS ||
        slurm_load_partitions(0, &parts, SHOW_ALL) != SLURM_SUCCESS ||
        slurm_load_node(0, &nodes, SHOW_ALL) != SLURM_SUCCESS) {
        answer_failure(result, errno);
        goto out;
    }
    struct cluster_survey *survey = xcalloc(1, sizeof *survey);
    add_nodes(survey, nodes);
    add_partitions(survey, conf, parts);
    partitions_keep(partitions, parts, time(NULL));
    parts = NULL;
    add_forecasts(survey, partitions, submissions, count);
    result->outcome = CLUSTER_DONE;
    result->survey = survey;
out:
    if (nodes)
        slurm_free_node_info_msg(nodes);
    if (parts)
        slurm_free_partition_info_msg(parts);
    if (conf)
        slurm_free_conf(conf);
}
