/* The assignment in a run's folder: run.json with the resolved phase, and the secret. It is read
 * once and never changed, except for `resume`. */
#ifndef PHASED_WORKER_PROTOCOL_ASSIGNMENT_H
#define PHASED_WORKER_PROTOCOL_ASSIGNMENT_H

#include "lib/mac.h"
#include "lib/protocol/run_file.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

/* Values of `hang_s` that are not a number of seconds. */
enum { ASSIGNMENT_HANG_AUTOMATIC = -1, ASSIGNMENT_HANG_OFF = 0 };

/* How many processes work together. `tensor` is 0 if the phase does not say it. */
struct assignment_sizes {
    unsigned tensor, pipeline, data;
};

enum assignment_launch { ASSIGNMENT_LAUNCH_RANK, ASSIGNMENT_LAUNCH_NODE, ASSIGNMENT_LAUNCH_GROUP };

struct assignment {
    struct run_file file; /* owns the targets of most pointers below */
    int64_t known_run;    /* the run; if it was begun alone, the newest run with a number */
    const char *script;
    const char *workdir;  /* NULL: the folder of the worker */
    char *address;        /* 7/validate#2 */
    json_t *secrets;      /* owned; see lib/secrets.h; NULL: no secrets, or not read */
    json_t *spec;         /* owned; with the part for the present GPU put over it */
    json_t *hardware;     /* the GPU that was found (hardware.json); NULL: not looked for */
    bool needs_hardware;  /* the GPU must be found first, because the spec depends on it */
    const char *resume;   /* the path of the checkpoint to resume from, or NULL */
    int64_t resume_step;  /* 0 without a checkpoint */
    unsigned nodes, gpus; /* GPUs per node; 0: no GPUs */
    const char *gpu_type; /* Slurm's name for the GPUs; NULL: any type, or several */
    enum assignment_launch launch;
    struct assignment_sizes parallel;
    const char *preflight;       /* its level; NULL: no preflight */
    bool preflight_observes;     /* its findings are only reported */
    const char *shard_input;     /* a path, which may contain $PHASED_; NULL: no input is split */
    const char *join;            /* a script that runs after all groups have succeeded, or NULL */
    const json_t *outputs;       /* paths below out_dir that must exist at the end; may be NULL */
    const char *checkpoint_path; /* a pattern, or NULL */
    int stop_signal;             /* SIGTERM by default */
    const char *stop_signal_name;
    int save_time_s;          /* how long a stop may take */
    unsigned keep;            /* checkpoints to keep; 0: all */
    int idle_s;               /* how long GPUs may be idle; 0: without a limit */
    int hang_s;               /* the allowed silence, or ASSIGNMENT_HANG_... */
    struct mac_secret secret; /* zero for a run that was begun alone, which cannot be pushed */
};

/* Reads RUN_DIR/run.json, and RUN_DIR/secret unless the run was made alone. -ENOENT or -ESTALE: a
 * file may not be visible here yet. */
int assignment_read(const char *run_dir, struct assignment **ret_assignment, struct error *err);
/* Reads the secrets of the workflow. Only a caller that starts ranks needs them: the daemon removes
 * the file when the workflow is over. The values stay out of the JSON of the run, which may be
 * written again. Errors are as for assignment_read(). */
int assignment_read_secrets(struct assignment *assignment, struct error *err);
void assignment_free(struct assignment *assignment);

/* Resumes from this checkpoint instead, {"path", "step"}: here and in run.json, which the agents
 * and the daemon read. On failure nothing has changed. */
int assignment_set_resume(struct assignment *assignment, json_t *resume, struct error *err);

/* Makes the folders of the journals, the logs and the channels of a run. */
int assignment_make_folders(const char *run_dir, struct error *err);

/* Reads the member `parallel` of a resolved phase, which may be absent. -EINVAL: the member is
 * damaged. */
int assignment_read_sizes(const json_t *parallel, struct assignment_sizes *ret_sizes,
                          struct error *err);

/* The number of ranks of each node. A rank is a process that the worker starts, so a group is one
 * rank. */
unsigned assignment_ranks_per_node(const struct assignment *assignment);

#endif
