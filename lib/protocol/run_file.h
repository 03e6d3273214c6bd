/* run.json in the folder of a run: what the run is to do. The daemon writes it, or a lead that goes
 * on without a daemon.
 *
 * `environment`, `spec`, `changed` and `failures` are JSON here. They hold what the user, the spec
 * and the catalogue of failures say. */
#ifndef PHASED_LIB_PROTOCOL_RUN_FILE_H
#define PHASED_LIB_PROTOCOL_RUN_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

enum {
    RUN_FILE_NO_CHOICE = -2, /* a known_step: the lead may not choose another checkpoint */
    RUN_FILE_NO_PART = -1,   /* a gpu_first: the run has all GPUs of its job */
};

struct run_file {
    json_t *document; /* owns what was read; NULL in a message that is written anew */
    int64_t run;      /* 0: a lead has begun the run without the daemon (`is_alone`) */
    int64_t workflow;
    const char *workflow_name, *phase;
    const char *phase_id; /* the same for all runs of the phase; NULL: an older daemon wrote it */
    unsigned attempt;
    const char *job_dir, *run_dir, *out_dir, *daemon_file;
    const char *workdir; /* the folder in which submit was called, or NULL */
    json_t *environment; /* captured at submission; with marks in place of secrets */
    const char *secrets; /* the path of the file with the secrets, or NULL */
    json_t *spec, *inputs;
    json_t *resume;     /* the checkpoint to begin from, {"path", "step"}, or NULL */
    int64_t known_step; /* the highest step that the daemon knew, -1, or RUN_FILE_NO_CHOICE */
    bool is_anew;       /* the phase begins anew, and earlier work does not count */
    json_t *changed;    /* params that remedies have changed, or NULL */
    json_t *failures;
    int64_t linger_s;
    int64_t gpu_first; /* the number of its first GPU on the node, or RUN_FILE_NO_PART */
    bool is_alone;
    int64_t known_run; /* of a run begun alone: the newest earlier run with a number */
};

/* What an earlier phase has left: a member of `inputs`, under the name of that phase. */
struct run_input {
    const char *out;        /* its PHASED_OUT */
    const char *checkpoint; /* its newest checkpoint, or NULL */
};

/* Reads RUN_DIR/run.json. Any member may be absent. On failure `ret_run` is as if the file were
 * empty. The caller calls run_file_fini() in any case. */
int run_file_read(const char *run_dir, struct run_file *ret_run, struct error *err);
void run_file_fini(struct run_file *run);
/* -EINVAL: a member that a worker needs is absent. */
int run_file_check(const struct run_file *run, struct error *err);

/* The JSON of the file. Members that this program does not know stay as they are in the document. A
 * new reference; NULL: a text is not UTF-8. */
json_t *run_file_to_json(const struct run_file *run);

/* Writes the file with another `resume`, here and on disk. On failure nothing has changed. */
int run_file_set_resume(struct run_file *run, json_t *resume, struct error *err);

struct run_input run_input_read(const json_t *json);
json_t *run_input_to_json(const struct run_input *input);

#endif
