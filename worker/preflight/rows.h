/* The rows of a preflight. Each row judges one property of a node by the facts that were read.
 *
 * Pure: the same facts, thresholds and wish give the same results. A row fails only for what was
 * seen. If it could not see something, its outcome is "could not tell", and it does not pass. */
#ifndef PHASED_WORKER_PREFLIGHT_ROWS_H
#define PHASED_WORKER_PREFLIGHT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct fact_gpu;
struct facts;
struct thresholds;

/* The values are the exit codes of the program. */
enum row_outcome {
    ROW_PASSED = 0,
    ROW_FAILED = 1,
    ROW_UNKNOWN = 3, /* could not tell */
};

enum { ROWS_COUNT_MAX = 24, ROW_TEXT_SIZE = 400 };

/* What was allocated. */
struct row_wish {
    unsigned gpus;       /* 0: not known, at least one */
    const char *model;   /* part of the name of the GPUs; NULL: any model, but the same for all */
    const char *devices; /* as CUDA_VISIBLE_DEVICES: indices and UUIDs; NULL: all visible GPUs */
    /* As SLURM_JOB_GPUS: indices on the whole node. They count only if more GPUs are visible than
     * allocated, because Slurm then does not confine the job to its GPUs. NULL: not known. */
    const char *unconfined;
};

struct row_result {
    const char *name; /* static */
    enum row_outcome outcome;
    bool is_essential;        /* if this row could not tell, the node cannot pass */
    char text[ROW_TEXT_SIZE]; /* the value, or the reason */
};

/* Judges all rows. `ret_results` has room for ROWS_COUNT_MAX. Returns how many there are. */
size_t rows_judge(const struct facts *facts, const struct thresholds *thresholds,
                  const struct row_wish *wish, struct row_result *ret_results);

/* Makes the result at least as bad as `outcome`. The text of a worse outcome replaces the text; the
 * text of an equal outcome is added to it. */
void row_add(struct row_result *result, enum row_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds the allocated GPUs, which are those that rows_judge() judges. `ret_gpus` has room for
 * FACTS_GPUS_MAX. Returns how many there are; 0: that is not known. */
unsigned rows_allocated(const struct facts *facts, const struct row_wish *wish,
                        const struct fact_gpu **ret_gpus);

/* Returns failed if a row failed; otherwise could not tell if an essential row could not tell;
 * otherwise passed. */
enum row_outcome rows_outcome(const struct row_result *results, size_t count);

/* "passed", "failed", "could not tell" */
const char *row_outcome_text(enum row_outcome outcome);

#endif
