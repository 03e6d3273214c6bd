/* The batch system as the daemon sees it: an interface, so that a simulator can stand in for Slurm.
 *
 * The caller puts requests in and takes results out; neither blocks. Every accepted request gives
 * exactly one result, carrying the request's `key` (a run id; it means nothing here). Requests are
 * carried out one after another, in order. At most CLUSTER_REQUESTS_MAX of them may be without a
 * taken result: then a request is refused with -EAGAIN, and there is room again once results have
 * been taken. When results wait, the `wake` callback given at the cluster's creation runs, on any
 * thread; then call cluster_take() until it returns false.
 *
 * Exactly-once submission needs the caller: after CLUSTER_UNREACHABLE a job may or may not exist.
 * Look the token up, adopt what is found, and submit again only after CLUSTER_ABSENT, which only a
 * controller that answers can give. Wait some seconds before the look: a controller that was only
 * slow may still be reading the submission that it seemed not to get. An id alone identifies no
 * job: ids are used again after a controller's crash. (Cluster name, id, token) does, so whatever
 * changes a job takes its token too, and leaves a job alone that does not carry it.
 *
 * All functions but the real cluster's own thread belong to one thread, the loop's. */
#ifndef PHASED_DAEMON_SLURM_CLUSTER_H
#define PHASED_DAEMON_SLURM_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster_survey;
struct error;

enum {
    CLUSTER_TOKEN_LENGTH = 32,   /* lower-case hexadecimal digits: 128 random bits */
    CLUSTER_REQUESTS_MAX = 1024, /* a second of submissions; more would only wait elsewhere */
};

/* What each kind asks, and which outcomes it can have besides CLUSTER_UNREACHABLE and
 * CLUSTER_REFUSED, which all can. */
#define CLUSTER_KINDS(X)                                                                           \
    X(SUBMIT, "submit") /* DONE (job_id), LIMITED */                                               \
    X(LOOKUP, "lookup") /* DONE (job_id, jobs: the one job), ABSENT */                             \
    X(POLL, "poll")     /* DONE (jobs: all that carry a token), UNCHANGED */                       \
    X(CANCEL, "cancel") /* DONE, ABSENT: no such job with this token, or it has ended */           \
    X(BEGIN, "begin")   /* DONE, ABSENT */                                                         \
    X(SURVEY, "survey") /* DONE (survey) */

enum cluster_kind {
#define X(symbol, name) CLUSTER_##symbol,
    CLUSTER_KINDS(X)
#undef X
};

enum cluster_outcome {
    CLUSTER_DONE,
    CLUSTER_UNCHANGED,   /* a poll: the same jobs as the last DONE poll gave */
    CLUSTER_ABSENT,      /* the controller answered, and knows no such job */
    CLUSTER_REFUSED,     /* for good: `message` says why; the same again fails again */
    CLUSTER_LIMITED,     /* by a limit of the site on jobs: nothing exists, try later */
    CLUSTER_UNREACHABLE, /* nobody answered: whether it was done is not known */
};

/* {symbol, name, whether the job has ended}. A job that Slurm has requeued is pending again. */
#define CLUSTER_JOB_STATES(X)                                                                      \
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
};

/* One job as the controller last told it. Times are seconds since 1970; 0: none. */
struct cluster_job {
    uint32_t id;
    char token[CLUSTER_TOKEN_LENGTH + 1];
    enum cluster_job_state state;
    bool completing; /* its processes or nodes are still being cleaned up */
    bool requeuing;  /* Slurm will make it pending once it has completed */
    bool held;       /* pending with priority 0: by its owner, or by Slurm after a failed launch */
    uint32_t restarts;
    int64_t submit_time; /* changes on every requeue: evidence, not identity */
    int64_t eligible_time;
    int64_t start_time, end_time; /* the expected ones of a job that has not started or ended */
    int64_t preempt_time;
    uint32_t exit_code, exit_signal;
    uint32_t time_limit_minutes; /* UINT32_MAX: none */
    uint32_t priority;
    char *reason; /* Slurm's word, such as Resources or BeginTime; never NULL */
    char *nodes;  /* as Slurm abbreviates them, n[1-2]; empty before the start */
};

struct cluster_option {
    const char *name;  /* as in lib/spec/slurm_options.h */
    const char *value; /* as written in the spec; of a flag: true or false */
};

/* What to submit. Everything is copied by cluster_submit(). */
struct cluster_description {
    const char *token; /* CLUSTER_TOKEN_LENGTH digits; goes into the job's comment */
    const char *name;
    const char *script;   /* the text of the batch script */
    const char *work_dir; /* where it starts: absolute */
    /* Standard output and error of the batch script, appended to; absolute. Must contain
     * "phased-<token>", for sites that rewrite comments; '%' is written as it is. */
    const char *output;

    /* As captured where the workflow was submitted. SLURM_*, SBATCH_* and SRUN_* are left out and
     * what sbatch would set is added. NULL-terminated. */
    const char *const *environment;
    const char *const *limits; /* resource limits as limits_capture() gives them; NULL: none */
    int umask;                 /* negative: the daemon's own */
    const char *submit_dir;    /* SLURM_SUBMIT_DIR; NULL: work_dir */
    const char *submit_host;   /* SLURM_SUBMIT_HOST; NULL: this host */

    unsigned nodes;
    unsigned gpus_per_node;
    const char *gpu_type; /* such as "h100"; NULL: any */
    unsigned cpus_per_node;
    unsigned time_minutes;     /* 0: the partition's default */
    bool can_chain;            /* may get less, down to ... */
    unsigned time_min_minutes; /* ... this, to start before a reservation; 0: it may not */
    unsigned warn_s; /* SIGUSR2 to the batch script so long before the time limit; 0: none */
    bool requeue;    /* Slurm may requeue it: on preemption and node failure */
    bool hold;       /* submitted held, until somebody releases it */

    /* With commas, the end of the option `exclude`: nodes that nobody has written into the spec, so
     * that those of them that Slurm knows no more are dropped. NULL: none. */
    const char *excluded;
    const struct cluster_option *options; /* the spec's `slurm:` map */
    size_t option_count;
};

/* The answer to one request; its memory is the taker's: cluster_result_fini(). */
struct cluster_result {
    uint64_t key;
    enum cluster_kind kind;
    enum cluster_outcome outcome;
    bool has_dropped;  /* of submissions: excluded nodes that are none; the message says which */
    uint32_t job_id;   /* 0: none */
    char message[256]; /* of REFUSED, LIMITED and UNREACHABLE: the reason, in Slurm's words */
    char cluster[64];  /* of polls and found lookups: its name; empty until learned */
    struct cluster_job *jobs;
    size_t job_count;
    struct cluster_survey *survey; /* of surveys (survey.h); NULL: none */
};

struct cluster {
    const struct cluster_operations *operations;
};

/* What an implementation provides; callers use the functions below. */
struct cluster_operations {
    int (*submit)(struct cluster *cluster, uint64_t key,
                  const struct cluster_description *description, struct error *err);
    int (*lookup)(struct cluster *cluster, uint64_t key, const char *token, struct error *err);
    int (*poll)(struct cluster *cluster, uint64_t key, struct error *err);
    /* CANCEL and BEGIN; `argument` is the signal or the begin time. */
    int (*change)(struct cluster *cluster, uint64_t key, enum cluster_kind kind, uint32_t job_id,
                  const char *token, int64_t argument, struct error *err);
    int (*survey)(struct cluster *cluster, uint64_t key,
                  const struct cluster_description *const *descriptions, size_t count,
                  struct error *err);
    bool (*take)(struct cluster *cluster, struct cluster_result *ret_result);
    void (*free)(struct cluster *cluster);
};

/* Requests. Each returns 0, -EAGAIN (too many without a taken result), or -EINVAL (a description
 * that cannot be submitted anywhere, such as an unknown option; nothing was queued). */
int cluster_submit(struct cluster *cluster, uint64_t key,
                   const struct cluster_description *description, struct error *err);
/* Finds the job that carries `token`, also in the states after its end, as long as the controller
 * remembers it. */
int cluster_lookup(struct cluster *cluster, uint64_t key, const char *token, struct error *err);
/* All jobs of this user that carry any token: also those of another daemon of the same user. */
int cluster_poll(struct cluster *cluster, uint64_t key, struct error *err);
/* Ends the job: `signal` 0 as scancel does (TERM, then KILL); otherwise the signal is sent to the
 * batch script alone. */
int cluster_cancel(struct cluster *cluster, uint64_t key, uint32_t job_id, const char *token,
                   int signal, struct error *err);
/* Lets a pending job begin at `time`. Slurm puts a requeued job off by two minutes; "now + 2 s",
 * sent once its restarts have risen, starts it soon, "now" makes it fail. */
int cluster_begin(struct cluster *cluster, uint64_t key, uint32_t job_id, const char *token,
                  int64_t time, struct error *err);

/* What the cluster is, and when each of these jobs would start if it were submitted now; nothing is
 * submitted. At most SURVEY_FORECASTS_MAX. */
int cluster_survey(struct cluster *cluster, uint64_t key,
                   const struct cluster_description *const *descriptions, size_t count,
                   struct error *err);

/* Takes the oldest waiting result; false when none waits. */
bool cluster_take(struct cluster *cluster, struct cluster_result *ret_result);
void cluster_result_fini(struct cluster_result *result);

/* Ends the cluster; requests not yet begun are forgotten. The real one may have to wait for the
 * call to Slurm that is under way: 18 s at worst, when the controller is away. */
void cluster_free(struct cluster *cluster);

const char *cluster_kind_name(enum cluster_kind kind);
const char *cluster_job_state_name(enum cluster_job_state state);
/* Whether the job has ended and will not run again. */
bool cluster_job_is_final(const struct cluster_job *job);
/* Whether Slurm has put the begin of a pending job off by more than a moment after `now`, and a
 * cluster_begin() may change that: not while its last run is being cleaned up, since Slurm sets
 * the begin only after that. */
bool cluster_job_is_waiting(const struct cluster_job *job, int64_t now);
/* Whether the job is held by Slurm, since it could not be launched: it stays so until somebody
 * acts. A job that its owner or an administrator holds is not stuck. */
bool cluster_job_is_stuck(const struct cluster_job *job);

#endif
