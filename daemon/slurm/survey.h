/* What the cluster is and would do, as its controller told it in one go: for judging whether and
 * when jobs fit. Plain data, of whoever took it: cluster_survey_free(). */
#ifndef PHASED_DAEMON_SLURM_SURVEY_H
#define PHASED_DAEMON_SLURM_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of one survey: each is a call to the controller, and other requests wait meanwhile. */
enum { SURVEY_FORECASTS_MAX = 16 };

struct survey_node {
    char *name;
    char *gres;     /* as Slurm writes it, gpu:h100:8(S:0-1); never NULL */
    bool is_usable; /* it is up, and not drained */
    bool is_idle;
    unsigned cpus;
    uint64_t memory_mb;
};

/* What Slurm does to a job that it preempts. */
enum survey_preemption {
    SURVEY_PREEMPT_NEVER, /* or no other partition is above it */
    SURVEY_PREEMPT_REQUEUE,
    SURVEY_PREEMPT_CANCEL,
    SURVEY_PREEMPT_SUSPEND,
};

struct survey_partition {
    char *name;
    bool is_default, is_up;
    uint32_t max_time_minutes; /* UINT32_MAX: no limit */
    uint32_t max_nodes;        /* likewise */
    enum survey_preemption preemption;
    uint32_t grace_s;
    size_t *nodes; /* indexes into the survey's */
    size_t node_count;
};

/* When one of the described jobs would start, as Slurm thinks. */
struct survey_forecast {
    int64_t start_time; /* seconds since 1970; 0: it did not say */
    bool is_refused;    /* Slurm would not take it */
    char *partition, *nodes;
    char message[256]; /* why there is no start */
};

struct cluster_survey {
    struct survey_node *nodes;
    struct survey_partition *partitions;
    struct survey_forecast *forecasts; /* in the order of the descriptions */
    size_t node_count, partition_count, forecast_count;
    bool qos_preempts; /* preemption goes by QOS: whose, the partitions do not tell */
};

void cluster_survey_free(struct cluster_survey *survey); /* NULL is fine */

/* How many GPUs of that type (NULL: any) the text of a node's gres has. */
unsigned survey_gpus(const char *gres, const char *type);

#endif
