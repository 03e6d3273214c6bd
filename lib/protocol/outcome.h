/* How a run ended, in outcome.json and in the lead's last journal entry. Also the tombstone of a
 * run that was declared over. */
#ifndef PHASED_LIB_PROTOCOL_OUTCOME_H
#define PHASED_LIB_PROTOCOL_OUTCOME_H

#include "lib/protocol/words.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

enum { OUTCOME_TOKEN_SIZE = 64 };

struct outcome {
    int64_t run;
    int64_t job_id;
    char token[OUTCOME_TOKEN_SIZE]; /* of the job whose lead reports the outcome; empty: unknown */
    unsigned restarts;
    enum run_outcome kind;
    enum run_cause cause;
    int64_t exit_code, signal; /* of the first rank that failed */
    char message[512];
    char node[256];   /* the nodes to blame, separated by commas; empty: no node */
    json_t *guard;    /* the verdict of the guard that stopped the run, or NULL; owned */
    json_t *evidence; /* what the nodes saw of a hang, or NULL; owned */
    json_t *failure;  /* a told_failure, or NULL; owned */
    double started;   /* when the first rank started, in seconds since 1970; 0: no rank did */
    double ended;
    json_t *finals;    /* the last sequence number of each node; owned */
    int64_t last_step; /* -1: no metric came with a step, and the run has done no shard */
    bool requeues;     /* the lead wants a requeue of its job, for another run of the phase */
};

/* The failure that was recognised: what its entry in the catalogue says, and where it was seen. */
struct told_failure {
    const char *name; /* the name of the entry in the catalogue */
    const char *line; /* the line that was printed */
    int64_t rank;     /* -1: the process has no rank */
    const char *node; /* NULL: no node */
    const char *advice;
    enum failure_blame blame; /* BLAME_COUNT: not told */
};

void outcome_init(struct outcome *outcome, int64_t run);
void outcome_fini(struct outcome *outcome);

/* Sets the message, which says to people what happened. Slurm may print bytes that are not UTF-8;
 * such bytes are replaced. */
void outcome_set_message(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Blames the node that srun names in its message about a lost job step. Blames no node if the
 * message does not name exactly one, or if the agent was killed. */
void outcome_blame(struct outcome *outcome, const char *complaint);

/* A new reference. */
json_t *outcome_to_json(const struct outcome *outcome);

/* Reads what outcome_to_json() made. */
int outcome_from_json(const json_t *json, struct outcome *ret_outcome, struct error *err);

/* Like outcome_from_json(), without any check. The result borrows from the JSON: do not free it. */
struct outcome outcome_view(const json_t *json);

/* A new reference; NULL: a text is not UTF-8. */
json_t *told_failure_to_json(const struct told_failure *failure);
/* Reads a failure. A text that is absent is NULL. */
struct told_failure told_failure_read(const json_t *json);

/* Whether the job with this token has written `outcome`. Also true if one of the two tokens is
 * unknown. A lead that phased took for dead may still write the end of its run into a folder that
 * now belongs to another job. */
bool outcome_is_of(const struct outcome *outcome, const char *token);

/* Reads outcome.json in `run_dir`. `token` is the token of the job that serves the folder. -ENOENT:
 * the run has no outcome yet. -ESTALE: another job has written the outcome. */
int outcome_read(const char *run_dir, const char *token, struct outcome *ret_outcome,
                 struct error *err);
/* Whether the job has written an outcome, also if the outcome cannot be read. */
bool outcome_is_there(const char *run_dir, const char *token);

/* Writes outcome.json into `run_dir`, and syncs it. -EEXIST: another lead of the same job has
 * written another outcome, which stays. Replaces an outcome of another job, and an outcome that
 * cannot be read. */
int outcome_write(const struct outcome *outcome, const char *run_dir, struct error *err);

/* Puts a tombstone into `run_dir`. With it the daemon declares the run over, because its worker has
 * reported nothing. Bytes of `message` that are not UTF-8 are replaced. */
int outcome_seal(const char *run_dir, int64_t run, enum run_outcome outcome, const char *message,
                 struct error *err);
/* Whether the folder has a tombstone. Then the run must not begin, and `err` says why. */
bool outcome_is_sealed(const char *run_dir, struct error *err);

#endif
