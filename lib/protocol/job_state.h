/* What Slurm says of a job. lib/protocol/words.h has the names. phased and a module of daemon/slurm
 * must agree on these rows, so they have a file of their own. */
#ifndef PHASED_LIB_PROTOCOL_JOB_STATE_H
#define PHASED_LIB_PROTOCOL_JOB_STATE_H

/* Make the constant of an enum and its name from a row of its table. */
#define WORD_SYMBOL(symbol, ...)     symbol,
#define WORD_TEXT(symbol, name, ...) name,

/* {symbol, stored name, whether the job has ended}. A job that Slurm requeues becomes pending
 * again. */
#define CLUSTER_JOB_STATES(X)                                                                      \
    X(CLUSTER_JOB_NONE, "none", false) /* Slurm has not shown the job */                           \
    X(CLUSTER_JOB_PENDING, "pending", false)                                                       \
    X(CLUSTER_JOB_RUNNING, "running", false)                                                       \
    X(CLUSTER_JOB_SUSPENDED, "suspended", false)                                                   \
    X(CLUSTER_JOB_COMPLETED, "completed", true)                                                    \
    X(CLUSTER_JOB_CANCELLED, "cancelled", true)                                                    \
    X(CLUSTER_JOB_FAILED, "failed", true)                                                          \
    X(CLUSTER_JOB_TIMEOUT, "timeout", true)                                                        \
    X(CLUSTER_JOB_NODE_FAIL, "node_fail", true)                                                    \
    X(CLUSTER_JOB_PREEMPTED, "preempted", true)                                                    \
    X(CLUSTER_JOB_BOOT_FAIL, "boot_fail", true)                                                    \
    X(CLUSTER_JOB_DEADLINE, "deadline", true)                                                      \
    X(CLUSTER_JOB_OUT_OF_MEMORY, "out_of_memory", true)                                            \
    X(CLUSTER_JOB_UNKNOWN, "unknown", false)

enum cluster_job_state { CLUSTER_JOB_STATES(WORD_SYMBOL) CLUSTER_JOB_STATE_COUNT };

#endif
