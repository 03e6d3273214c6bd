/* How a run ended, as outcome.json and the lead's last journal entry tell it; and the tombstone of
 * a run that was declared over. */
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
    char token[OUTCOME_TOKEN_SIZE]; /* of the job whose lead tells it; empty: not known */
    unsigned restarts;
    enum run_outcome kind;
    enum run_cause cause;
    int exit_code, signal; /* of the first rank that failed */
    char message[512];
    char node[256];   /* which to blame for a failure, with commas between; empty: none */
    json_t *guard;    /* the verdict of the guard that stopped the run, or NULL; owned */
    json_t *evidence; /* what was seen of a hang, or NULL; owned */
    json_t *failure;  /* what was recognised of it (doc/protocol.md), or NULL; owned */
    double started;   /* when the first rank was executed, seconds since 1970; 0 if none was */
    double ended;
    json_t *finals; /* by node its last sequence number; owned */
    bool has_step;
    int64_t last_step;
    bool requeues; /* the lead has its job requeued, for another run of the phase */
};

void outcome_init(struct outcome *outcome, int64_t run);
void outcome_fini(struct outcome *outcome);

/* What happened, in words, for people. Bytes that are no UTF-8 (as Slurm may print) are replaced.
 */
void outcome_set_message(struct outcome *outcome, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Blames the node that srun's complaint of a lost step names, if it names exactly one, and not for
 * an agent that was killed. */
void outcome_blame(struct outcome *outcome, const char *complaint);

/* A new reference. */
json_t *outcome_to_json(const struct outcome *outcome);

/* Reads what outcome_to_json() made. */
int outcome_from_json(const json_t *json, struct outcome *ret_outcome, struct error *err);

/* A lead that was believed gone may still tell the end of a run of its own, in a folder that is
 * another job's by now. Whether `outcome` is the word of the job with this token, as far as both
 * are known. */
bool outcome_is_of(const json_t *outcome, const char *token);

/* Reads outcome.json in `run_dir`, which the job with this token serves. -ENOENT: the run has none
 * yet. -ESTALE: it is another job's. */
int outcome_read(const char *run_dir, const char *token, struct outcome *ret_outcome,
                 struct error *err);
/* Whether it is there, as above, readable or not. */
bool outcome_is_there(const char *run_dir, const char *token);

/* Writes outcome.json into `run_dir`, synced, where it has none of this job. -EEXIST: another lead
 * of the job has written one, and that stays; the same one once more is no error. What another job
 * has left is replaced, and what nobody can read. */
int outcome_write(const struct outcome *outcome, const char *run_dir, struct error *err);

/* The daemon declares the run in `run_dir` over, because its worker has told nothing: the folder
 * gets a tombstone. */
int outcome_seal(const char *run_dir, int64_t run, enum run_outcome outcome, const char *message,
                 struct error *err);
/* Whether the folder has a tombstone. Then the run must not begin, and `err` tells why. */
bool outcome_is_sealed(const char *run_dir, struct error *err);

#endif
