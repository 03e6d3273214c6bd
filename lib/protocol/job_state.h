/* What Slurm says of a job. lib/protocol/words.h has the names. phased and a module of daemon/slurm
 * must agree on these rows, so they have a file of their own. */
#ifndef PHASED_LIB_PROTOCOL_JOB_STATE_H
#define PHASED_LIB_PROTOCOL_JOB_STATE_H

/* {symbol, stored name, whether the job has ended}. A job that Slurm requeues becomes pending
 * again. */
#define CLUSTER_JOB_STATES(X)                                                                      \
    X(NONE, "none", false) /* Slurm has not shown the job */                                       \
    X(PENDING, "pending", false)                                                                   \
    X(RUNNING, "running", false)                                                                   \
    X(SUSPENDED, "suspended", false)                                                               \
    X(COMPLETED, "completed", true)                                                                \
    X(CANCELLED, "cancelled", true)                                                                \
    X(FAILED, "failed", true)                                                                      \
    X(TIMEOUT, "timeout", true)                                                                    \
    X(NODE_FAIL, "node_fail", true)                                                                \
    X(PREEMPTED, "preempted", true)                                                                \
    X(BOOT_FAIL, "boot_fail", true)                                                                \
    X(DEADLINE, "deadline", true)                                                                  \
    X(OUT_OF_MEMORY, "out_of_memory", true)                                                        \
    X(UNKNOWN, "unknown", false)

enum cluster_job_state {
#define X(symbol, name, final) CLUSTER_JOB_##symbol,
    CLUSTER_JOB_STATES(X)
#undef X
        CLUSTER_JOB_STATE_COUNT
};

#endif
