/* What the cluster has, and when jobs would start, from one look at the controller. The daemon
 * uses it to judge whether and when jobs fit. Plain data; its owner frees it with
 * cluster_survey_free(). */
#ifndef PHASED_DAEMON_SLURM_SURVEY_H
#define PHASED_DAEMON_SLURM_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* in one survey: each forecast is a call to the controller, and other requests wait meanwhile */
enum { SURVEY_FORECASTS_MAX = 16 };

struct survey_node {
    char *name;
    char *gres;     /* in Slurm's form, gpu:h100:8(S:0-1); never NULL */
    bool is_usable; /* the node is up and not drained */
    bool is_idle;
    unsigned cpus;
    uint64_t memory_mb;
};

/* What Slurm does to a job that it preempts. */
enum survey_preemption {
    SURVEY_PREEMPT_NEVER, /* also if no other partition has a higher tier */
    SURVEY_PREEMPT_REQUEUE,
    SURVEY_PREEMPT_CANCEL,
    SURVEY_PREEMPT_SUSPEND,
};

struct survey_partition {
    char *name;
    bool is_default, is_up;
    uint32_t max_time_minutes; /* UINT32_MAX: no limit */
    uint32_t max_nodes;        /* UINT32_MAX: no limit */
    enum survey_preemption preemption;
    uint32_t grace_s;
    size_t *nodes; /* indexes into the nodes of the survey */
    size_t node_count;
};

/* Slurm's estimate of when one of the described jobs would start. */
struct survey_forecast {
    int64_t start_time; /* seconds since 1970; 0: Slurm gave no time */
    bool is_refused;    /* Slurm would not take it */
    char *partition, *nodes;
    char message[256]; /* why there is no start time */
};

struct cluster_survey {
    struct survey_node *nodes;
    struct survey_partition *partitions;
    struct survey_forecast *forecasts; /* in the order of the descriptions */
    size_t node_count, partition_count, forecast_count;
    bool qos_preempts; /* preemption goes by QOS; the partitions do not say which QOS */
};

void cluster_survey_free(struct cluster_survey *survey); /* NULL is fine */

/* Counts the GPUs of this type (NULL: of any type) in the gres of a node. */
unsigned survey_gpus(const char *gres, const char *type);

#endif
