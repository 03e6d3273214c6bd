/* What a run's folder says is to be done: run.json with the resolved phase in it, and the secret.
 * Read once, never changed; everything in it is borrowed from the document that it owns. */
#ifndef PHASED_WORKER_PROTOCOL_ASSIGNMENT_H
#define PHASED_WORKER_PROTOCOL_ASSIGNMENT_H

#include "lib/mac.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

/* Beside seconds of silence. */
enum { ASSIGNMENT_HANG_AUTOMATIC = -1, ASSIGNMENT_HANG_OFF = 0 };

/* How many processes work together; a tensor of 0: the phase does not say. */
struct assignment_sizes {
    unsigned tensor, pipeline, data;
};

enum assignment_launch { ASSIGNMENT_LAUNCH_RANK, ASSIGNMENT_LAUNCH_NODE, ASSIGNMENT_LAUNCH_GROUP };

struct assignment {
    json_t *json;      /* owns what the pointers below mean */
    int64_t run;       /* 0 when `is_alone` */
    int64_t known_run; /* `run`; when alone, the newest one before it that has a number */
    unsigned attempt;
    bool is_alone; /* made by a lead without the daemon: no secret, nothing can be pushed yet */
    const char *run_dir, *job_dir, *out_dir, *daemon_file;
    const char *phase, *script;
    const char *workdir;       /* NULL: where the worker is */
    char *address;             /* 7/validate#2 */
    const json_t *environment; /* as captured at submission */
    const json_t *spec;        /* with what is for the GPU that is there put over it */
    json_t *laid;              /* the same, owned */
    json_t *hardware;          /* that was found (hardware.json); NULL: nobody looked */
    bool needs_hardware;       /* somebody has to, first: the spec is not yet as it will be */
    const json_t *inputs;      /* may be NULL */
    const json_t *changed;     /* names of params that remedies have changed; may be NULL */
    const char *resume;        /* path of the checkpoint to go on from, or NULL */
    int64_t resume_step;       /* 0 without one */
    unsigned nodes, gpus;      /* gpus per node; 0 for none */
    const char *gpu_type;      /* Slurm's name for them; NULL: any, or one of several */
    bool has_part;             /* others have the rest of the job's GPUs: its own begin at ... */
    unsigned gpu_first;        /* ... this one */
    enum assignment_launch launch;
    struct assignment_sizes parallel;
    const char *preflight;   /* its level; NULL: none */
    bool preflight_observes; /* what it finds is only reported */
    const char *shard_input; /* a path, which may hold $PHASED_; NULL: nothing is split */
    const char *join;        /* a script for when all groups have succeeded, or NULL */
    const json_t *outputs;   /* paths below out_dir that must be there in the end; may be NULL */
    bool is_anew;            /* the phase begins from the start: what was done before is void */
    int umask;               /* -1: leave */
    int linger_s;
    const char *checkpoint_path; /* pattern, or NULL */
    int stop_signal;             /* SIGTERM by default */
    const char *stop_signal_name;
    int save_time_s; /* how long a stop at a boundary may take */
    unsigned keep;   /* checkpoints to keep; 0: all */
    int idle_s;      /* how long GPUs may do nothing; 0: for ever */
    int hang_s;      /* how long a silence may be; or ASSIGNMENT_HANG_... */
    struct mac_secret secret;
};

/* Reads RUN_DIR/run.json and, unless it was made alone, RUN_DIR/secret. -ENOENT or -ESTALE: perhaps
 * not yet visible here. */
int assignment_read(const char *run_dir, struct assignment **ret_assignment, struct error *err);
void assignment_free(struct assignment *assignment);

/* Reads the member `parallel` of a resolved phase, which may be absent. -EINVAL: it is damaged. */
int assignment_read_sizes(const json_t *parallel, struct assignment_sizes *ret_sizes,
                          struct error *err);

/* How many ranks each node has: processes that the worker starts, so that a group counts as one. */
unsigned assignment_ranks_per_node(const struct assignment *assignment);

#endif
