/* Who serves something: `claim` in the folder of a job, and `lead.<n>` in the folder of a phase.
 * Each is made once, by the lead of a job. A host makes the `claim` of its own job
 * (doc/protocol.md). */
#ifndef PHASED_LIB_PROTOCOL_CLAIM_H
#define PHASED_LIB_PROTOCOL_CLAIM_H

#include <jansson.h>
#include <stdint.h>

enum { CLAIM_TOKEN_SIZE = 64, CLAIM_OF_JOB = -1 };

/* One life of a job. After a crash, a controller may give the same id to another job. A requeued
 * job begins another life. */
struct phase_life {
    int64_t job_id;
    char token[CLAIM_TOKEN_SIZE]; /* of the job; empty: unknown */
    unsigned restarts;
};

struct claim {
    json_t *document;       /* owns what was read; NULL in a claim that is made */
    struct phase_life life; /* job_id 0: this is not a claim */
    int64_t known_run;      /* the run, or the newest known run before it; CLAIM_OF_JOB if no
                               phase is claimed */
    unsigned attempt;       /* the attempt of the run; 0 if no phase is claimed */
    const char *run_dir;    /* the folder of the run; NULL if no phase is claimed */
};

/* Reads the file at `path`. If it cannot be read, the result is as if it were empty. The caller
 * ends it with claim_fini(). */
struct claim claim_read(const char *path);
void claim_fini(struct claim *claim);

/* A new reference; NULL: a text is not UTF-8. */
json_t *claim_to_json(const struct claim *claim);

#endif
