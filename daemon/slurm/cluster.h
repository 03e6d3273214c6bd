/* The batch system as the daemon sees it: an interface, so that a simulator can stand in for Slurm.
 *
 * The caller puts requests in and takes results out. Neither call blocks. Every accepted request
 * gives exactly one result. The result carries the request's `target`: the id of what the request
 * is about, mostly of an allocation (core_effect_target()). The id has no meaning here. Requests
 * are carried out one after another, in order. If the results of CLUSTER_REQUESTS_MAX requests are
 * not taken yet, another request is refused with -EAGAIN. The cluster is made with a callback,
 * `wake`, which runs on any thread when results wait. The caller then calls cluster_take() until it
 * returns false.
 *
 * The caller must make submissions exactly-once. After CLUSTER_UNREACHABLE a job may or may not
 * exist. Wait some seconds: a slow controller may still be reading the submission. Then look the
 * token up, and adopt the job that is found. Submit again only after CLUSTER_ABSENT, which only a
 * controller that answers can give. An id alone does not identify a job: a controller that crashed
 * gives ids out again. The cluster's name, the id and the token together identify a job. The caller
 * compares the name (daemon/loop/binding.c). Every function that changes a job takes its token, and
 * does not touch a job without that token.
 *
 * All functions belong to one thread, the loop's, except the code that runs on the real cluster's
 * own thread. */
#ifndef PHASED_DAEMON_SLURM_CLUSTER_H
#define PHASED_DAEMON_SLURM_CLUSTER_H

#include "lib/protocol/job_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cluster_survey;
struct error;

enum {
    CLUSTER_TOKEN_LENGTH = 32, /* lower-case hexadecimal digits: 128 random bits */
    CLUSTER_NAME_SIZE = 64,
    CLUSTER_REQUESTS_MAX = 1024, /* as many as one second of submissions; more would only wait
                                  * elsewhere */
};

/* The kinds of requests and their possible outcomes. Every kind can also have the outcomes
 * CLUSTER_UNREACHABLE and CLUSTER_REFUSED. */
#define CLUSTER_KINDS(X)                                                                           \
    X(SUBMIT, "submit") /* DONE (job_id), LIMITED */                                               \
    X(LOOKUP, "lookup") /* DONE (job_id, jobs: the one job), ABSENT */                             \
    X(POLL, "poll")     /* DONE (jobs: all that carry a token) */                                  \
    X(CANCEL, "cancel") /* DONE, ABSENT: no such job with this token, or it has ended */           \
    X(BEGIN, "begin")   /* DONE, ABSENT */                                                         \
    X(SURVEY, "survey") /* DONE (survey) */

enum cluster_kind {
#define X(symbol, name) CLUSTER_##symbol,
    CLUSTER_KINDS(X)
#undef X
};
enum { CLUSTER_KIND_COUNT = CLUSTER_SURVEY + 1 };

enum cluster_outcome {
    CLUSTER_DONE,
    CLUSTER_ABSENT,      /* the controller answered, and knows no such job */
    CLUSTER_REFUSED,     /* permanently: `message` says why; the same request fails again */
    CLUSTER_LIMITED,     /* a limit of the site on jobs: no job exists, try later */
    CLUSTER_UNREACHABLE, /* nobody answered: the request may or may not have been carried out */
};

/* One job as the controller last reported it. Times are seconds since 1970; 0: not set. */
struct cluster_job {
    uint32_t id;
    char token[CLUSTER_TOKEN_LENGTH + 1];
    enum cluster_job_state state;
    bool completing; /* Slurm is still cleaning up its processes or nodes */
    bool requeuing;  /* Slurm will make it pending once it has completed */
    bool held;       /* pending with priority 0: by its owner, or by Slurm after a failed launch */
    uint32_t restarts;
    int64_t submit_time; /* changes on every requeue, so it does not identify a job */
    int64_t eligible_time;
    int64_t start_time, end_time; /* expected times if the job has not started or ended */
    uint32_t time_limit_minutes;  /* UINT32_MAX: no limit */
    char *reason;                 /* Slurm's word, such as Resources or BeginTime; never NULL */
    char *nodes;                  /* in Slurm's short form, n[1-2]; empty before the start */
};

struct cluster_option {
    const char *name;  /* as in lib/spec/slurm_options.h */
    const char *value; /* as written in the spec; for a flag: true or false */
};

/* A job to submit. cluster_submit() copies everything. */
struct cluster_description {
    const char *token; /* CLUSTER_TOKEN_LENGTH digits; goes into the job's comment */
    const char *name;
    const char *script;   /* the text of the batch script */
    const char *work_dir; /* absolute path of the folder in which the script starts */
    /* Absolute path to which Slurm appends the output and errors of the batch script. It must
     * contain "phased-<token>", for sites that rewrite comments. A '%' is taken literally. */
    const char *output;

    /* The environment in which the workflow was submitted; NULL-terminated. SLURM_*, SBATCH_* and
     * SRUN_* are left out, and the variables that sbatch would set are added. */
    const char *const *environment;
    const char *const *limits; /* resource limits as limits_capture() gives them */
    unsigned umask;
    const char *submit_dir; /* SLURM_SUBMIT_DIR */
    int64_t submitted;      /* when the user submitted, in s since 1970: `begin: now+1hour` counts
                             * from then for every job, as it does for a job that Slurm requeues */

    unsigned nodes;
    unsigned gpus_per_node;
    const char *gpu_type; /* such as "h100"; NULL: any */
    unsigned cpus_per_node;
    unsigned time_minutes;     /* 0: the partition's default */
    bool can_chain;            /* may get less time than that, but at least ... */
    unsigned time_min_minutes; /* ... this, to start before a reservation; 0: no less time */
    unsigned warn_s; /* Slurm sends SIGUSR2 to the batch script this long before the time limit; 0:
                      * no signal */
    bool requeue;    /* Slurm may requeue the job on preemption and node failure */

    /* The last part of the value of the option `exclude`: node names that do not come from the
     * spec, with commas between. Names that Slurm does not know any more are dropped. NULL: no
     * names. */
    const char *excluded;
    const struct cluster_option *options; /* the spec's `slurm:` map */
    size_t option_count;
};

/* The result of one request. The caller frees its memory with cluster_result_fini(). */
struct cluster_result {
    uint64_t target;
    enum cluster_kind kind;
    enum cluster_outcome outcome;
    bool has_dropped;  /* of a submission: excluded nodes that do not exist were dropped; the
                        * message names them */
    uint32_t job_id;   /* 0: no job */
    char message[256]; /* the reason in Slurm's words, for REFUSED, LIMITED and UNREACHABLE */
    char cluster[CLUSTER_NAME_SIZE]; /* its name, for polls and lookups; empty until it is known */
    struct cluster_job *jobs;
    size_t job_count;
    struct cluster_survey *survey; /* the result of a survey (survey.h); else NULL */
};

struct cluster {
    const struct cluster_operations *operations;
    unsigned requests; /* whose results are not taken */
};

/* The operations of an implementation. Callers use the functions below. */
struct cluster_operations {
    int (*submit)(struct cluster *cluster, uint64_t target,
                  const struct cluster_description *description, struct error *err);
    int (*lookup)(struct cluster *cluster, uint64_t target, const char *token, struct error *err);
    int (*poll)(struct cluster *cluster, struct error *err);
    int (*change)(struct cluster *cluster, uint64_t target, enum cluster_kind kind, uint32_t job_id,
                  const char *token, int64_t begin, struct error *err);
    int (*survey)(struct cluster *cluster, uint64_t target,
                  const struct cluster_description *const *descriptions, size_t count,
                  struct error *err);
    bool (*take)(struct cluster *cluster, struct cluster_result *ret_result);
    void (*free)(struct cluster *cluster);
};

/* Requests. Each function returns 0, -EAGAIN (too many results are not taken) or -EINVAL (no
 * cluster can take the description, for example because of an unknown option; nothing was
 * queued). */
int cluster_submit(struct cluster *cluster, uint64_t target,
                   const struct cluster_description *description, struct error *err);
/* Finds the job that carries `token`. A job that has ended is found as long as the controller
 * remembers the job. */
int cluster_lookup(struct cluster *cluster, uint64_t target, const char *token, struct error *err);
/* Lists all jobs of this user that carry any token, including the jobs of another daemon of the
 * same user. The target of the result is 0. */
int cluster_poll(struct cluster *cluster, struct error *err);
/* CLUSTER_CANCEL ends the job as scancel does (TERM, then KILL). CLUSTER_BEGIN sets the begin of a
 * pending job to `begin`. CLUSTER_CANCEL ignores `begin`. Slurm delays a requeued job by two
 * minutes. The time "now + 2 s", sent once the job's restart count has risen, starts the job soon.
 * The time "now" makes the job fail. */
int cluster_change(struct cluster *cluster, uint64_t target, enum cluster_kind kind,
                   uint32_t job_id, const char *token, int64_t begin, struct error *err);

/* Asks what the cluster has, and when each of these jobs would start if it were submitted now.
 * Nothing is submitted. Takes at most SURVEY_FORECASTS_MAX jobs. */
int cluster_survey(struct cluster *cluster, uint64_t target,
                   const struct cluster_description *const *descriptions, size_t count,
                   struct error *err);

/* Whether another request would be accepted, and one of every kind after it. */
bool cluster_can_take(const struct cluster *cluster);

/* Takes the oldest waiting result; false: no result waits. */
bool cluster_take(struct cluster *cluster, struct cluster_result *ret_result);
void cluster_result_fini(struct cluster_result *result);

/* Ends the cluster and drops the requests that have not begun. The real cluster may have to wait
 * for its current request. When the controller is away, that takes at most 36 s: no request goes on
 * after two calls without an answer, of 18 s each. */
void cluster_free(struct cluster *cluster);

const char *cluster_kind_name(enum cluster_kind kind);
/* Whether the job has ended and will not run again. */
bool cluster_job_is_final(const struct cluster_job *job);
/* Whether CLUSTER_BEGIN can end the wait of a pending job. That is so if Slurm has delayed the
 * job's begin to later than a moment after `now`. A begin long after the requeue comes from a
 * person, or from the option `begin`, and stays. While Slurm cleans up the job's last run,
 * CLUSTER_BEGIN can do nothing: Slurm sets the begin only after that. */
bool cluster_job_is_waiting(const struct cluster_job *job, int64_t now);
/* Whether Slurm holds the job because it could not be launched. Such a job stays held until
 * somebody acts. A job that its owner or an administrator holds is not stuck. */
bool cluster_job_is_stuck(const struct cluster_job *job);

#endif
