/* One phase of a resolved workflow (lib/spec/spec.h), typed: what the daemon submits and the worker
 * runs.
 *
 * The phase keeps a reference to the JSON document from which it was loaded. Its strings and JSON
 * values are borrowed from the document, so the document must not change. Checks stay JSON, and
 * lib/expr reads them. */
#ifndef PHASED_LIB_SPEC_PHASE_H
#define PHASED_LIB_SPEC_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;
struct text;

/* How long a program without checkpoints has between TERM and KILL when it is stopped. Slurm may
 * leave it less time. Slurm's KillWait has the same default. */
enum { PHASE_STOP_S = 30 };

enum phase_launch { PHASE_LAUNCH_NODE, PHASE_LAUNCH_RANK, PHASE_LAUNCH_GROUP };
enum phase_promote { PHASE_PROMOTE_AUTO, PHASE_PROMOTE_MANUAL };
enum phase_on_fail { PHASE_ON_FAIL_HOLD, PHASE_ON_FAIL_FAIL };
enum phase_metrics_kind { PHASE_METRICS_AUTO, PHASE_METRICS_PATTERN, PHASE_METRICS_FILE };

struct phase_resources {
    uint32_t nodes;             /* at least 1 */
    uint32_t gpus;              /* per node; 0: no GPUs */
    const char *gpu_type;       /* NULL: any type */
    const json_t *alternatives; /* array of {"gpus", "gpu_type"}, with `gpu_type`; or NULL */
    uint32_t cpus;              /* per node; 0: not asked for */
    uint32_t cpus_per_gpu;      /* 0: not asked for */
    uint32_t time_s;            /* at least 1 */
};

/* Groups of tensor x pipeline GPUs, `data` of them. */
struct phase_parallel {
    uint32_t tensor, pipeline, data; /* their product is nodes x gpus; all 0: not given */
};

struct phase_metrics {
    enum phase_metrics_kind kind;
    const char *pattern; /* PCRE2; only of kind PATTERN */
    const char *path;    /* of a JSON-lines file, may hold $PHASED_...; only of kind FILE */
};

struct phase_progress {
    const char *step; /* the metric that counts; NULL: the phase does not report progress */
    double total;
};

struct phase_checkpoint {
    const char *path; /* holds {step} once, may hold $PHASED_...; NULL: no checkpoints */
    int stop_signal;  /* SIGTERM, SIGUSR1, SIGUSR2 or SIGINT */
    uint32_t save_time_s;
    uint32_t keep; /* 0: all */
};

struct phase_spec {
    json_t *json;
    const char *name;
    const char **after; /* the phases before it */
    size_t after_count;
    const char *colocate; /* the phase that it shares its allocations with; NULL: no phase */
    struct phase_resources resources;
    const json_t *slurm; /* object: names of lib/spec/slurm_options.h to strings, numbers, bools */
    enum phase_launch launch;
    struct phase_parallel parallel; /* launch GROUP always has it; a group is on one node */
    const char *shard_input;        /* split by lines among groups; NULL: no input is split */
    const char *join;      /* a bash script that runs when all groups have succeeded; or NULL */
    const json_t *outputs; /* array of paths below $PHASED_OUT; NULL in older records */
    const json_t *params;  /* object: numbers, strings, bools */
    const char *run;       /* a bash script */
    const char *workdir;   /* NULL: the folder in which `submit` was called */
    const json_t *env;     /* object: names to strings, which may hold $PHASED_... */
    struct phase_metrics metrics;
    struct phase_progress progress;
    struct phase_checkpoint checkpoint;
    const json_t *gate, *guards; /* objects: names of checks to checks, in the file's order */
    const json_t *remedies; /* object: causes and checks to lists; NULL: there are no remedies */
    bool nan_ok;
    enum phase_promote promote;
    enum phase_on_fail on_fail;
    uint32_t linger_s;
};

/* Returns the phase of this name in a resolved document, borrowed; NULL: there is no such phase. */
json_t *phase_spec_find(const json_t *resolved, const char *name);

/* Loads `json`, one member of `phases` of the resolved document, and takes a reference to it.
 * Returns -EINVAL if it is not a phase (a damaged run.json); the message names the member. */
int phase_spec_init(struct phase_spec *phase, json_t *json, struct error *err);

/* Accepts a zeroed phase. */
void phase_spec_fini(struct phase_spec *phase);

/* Returns the options of sbatch that a job of `parts` such phases, side by side, asks for: those of
 * `slurm`, and those that `resources` stands for. `json` is as for phase_spec_init(). A new
 * reference. */
json_t *phase_spec_options(const json_t *json, unsigned parts);

/* Adds the value of a param as `run` finds it in the environment and as strings show it. Numbers
 * have their shortest exact form. Real numbers have a point or an exponent (5.0). Booleans are true
 * and false. */
void phase_value_text(const json_t *value, struct text *text);

#endif
