/* The names of the cluster's words, and the calls through its operations. */
#include "daemon/slurm/cluster.h"

#include "daemon/slurm/survey.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    BEGIN_SOON_S = 3, /* the time that CLUSTER_BEGIN leaves, and one second of rounding */
    /* From a requeue to the begin that Slurm gives, at most. Slurm adds one second to the lifetime
     * of a credential: 120 s, unless the site sets cred_expire. A later begin is a person's. */
    REQUEUE_DELAY_S = 900,
};

static const char *const kind_names[] = {
#define X(symbol, name) [CLUSTER_##symbol] = name,
    CLUSTER_KINDS(X)
#undef X
};

/* `status` is that of a request. */
static int counted(struct cluster *cluster, int status)
{
    cluster->requests += status == 0;
    return status;
}

int cluster_submit(struct cluster *cluster, uint64_t target,
                   const struct cluster_description *description, struct error *err)
{
    return counted(cluster, cluster->operations->submit(cluster, target, description, err));
}

int cluster_lookup(struct cluster *cluster, uint64_t target, const char *token, struct error *err)
{
    return counted(cluster, cluster->operations->lookup(cluster, target, token, err));
}

int cluster_poll(struct cluster *cluster, struct error *err)
{
    return counted(cluster, cluster->operations->poll(cluster, err));
}

int cluster_change(struct cluster *cluster, uint64_t target, enum cluster_kind kind,
                   uint32_t job_id, const char *token, int64_t begin, struct error *err)
{
    return counted(cluster,
                   cluster->operations->change(cluster, target, kind, job_id, token, begin, err));
}

int cluster_survey(struct cluster *cluster, uint64_t target,
                   const struct cluster_description *const *descriptions, size_t count,
                   struct error *err)
{
    assert(count <= SURVEY_FORECASTS_MAX);
    return counted(cluster, cluster->operations->survey(cluster, target, descriptions, count, err));
}

bool cluster_can_take(const struct cluster *cluster)
{
    return cluster->requests + CLUSTER_KIND_COUNT < CLUSTER_REQUESTS_MAX;
}

bool cluster_take(struct cluster *cluster, struct cluster_result *ret_result)
{
    bool is_taken = cluster->operations->take(cluster, ret_result);
    cluster->requests -= is_taken;
    return is_taken;
}

void cluster_result_fini(struct cluster_result *result)
{
    if (!result)
        return;
    for (size_t i = 0; i < result->job_count; i++) {
        free(result->jobs[i].reason);
        free(result->jobs[i].nodes);
    }
    free(result->jobs);
    cluster_survey_free(result->survey);
    *result = (struct cluster_result){0};
}

void cluster_free(struct cluster *cluster)
{
    if (cluster)
        cluster->operations->free(cluster);
}

const char *cluster_kind_name(enum cluster_kind kind)
{
    assert((size_t)kind < sizeof kind_names / sizeof kind_names[0]);
    return kind_names[kind];
}

bool cluster_job_is_final(const struct cluster_job *job)
{
    return cluster_job_state_is_final(job->state) && !job->completing && !job->requeuing;
}

bool cluster_job_is_waiting(const struct cluster_job *job, int64_t now)
{
    return job->state == CLUSTER_JOB_PENDING && !job->completing && !job->requeuing && !job->held &&
           job->eligible_time > now + BEGIN_SOON_S &&
           job->eligible_time <= job->submit_time + REQUEUE_DELAY_S;
}

/* Compares with Slurm's own texts in job_mgr.c: "launch failed requeued held" after a failure of a
 * Prolog or of slurmd, "user env retrieval failed requeued held", and "launch failure limit
 * exceeded requeued held", whose word is JobHoldMaxRequeue. A hold by a person has the words
 * JobHeldUser or JobHeldAdmin. A hold by `scontrol requeuehold` has the text "job requeued in held
 * state". */
bool cluster_job_is_stuck(const struct cluster_job *job)
{
    return job->state == CLUSTER_JOB_PENDING && job->held &&
           (strstr(job->reason, "requeued held") || text_equal(job->reason, "JobHoldMaxRequeue"));
}
