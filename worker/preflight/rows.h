/* The rows of a preflight: each judges one property of a node by what was read of it.
 *
 * Pure: the same facts, thresholds and wish give the same results. A row fails only for what it has
 * seen; what it could not see it says it could not tell, and never passes. */
#ifndef PHASED_WORKER_PREFLIGHT_ROWS_H
#define PHASED_WORKER_PREFLIGHT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct fact_gpu;
struct facts;
struct thresholds;

/* The values are the program's exit statuses. */
enum row_outcome {
    ROW_PASSED = 0,
    ROW_FAILED = 1,
    ROW_UNKNOWN = 3, /* could not tell */
};

enum { ROWS_COUNT_MAX = 24, ROW_TEXT_SIZE = 400 };

/* What was allocated. */
struct row_wish {
    unsigned gpus;       /* 0: not told, at least one */
    const char *model;   /* part of the GPUs' name; NULL: any, all of one model */
    const char *devices; /* as CUDA_VISIBLE_DEVICES: indices and UUIDs; NULL: all GPUs seen */
    /* As SLURM_JOB_GPUS: indices on the whole node. They mean something only where more GPUs are
     * seen than are allocated, so that the job is not confined to its own. NULL: not told. */
    const char *unconfined;
};

struct row_result {
    const char *name; /* static */
    enum row_outcome outcome;
    bool is_essential;        /* the whole cannot pass while this one could not tell */
    char text[ROW_TEXT_SIZE]; /* the figure, or the reason */
};

/* Judges all rows into `ret_results`, which has room for ROWS_COUNT_MAX. Returns how many. */
size_t rows_judge(const struct facts *facts, const struct thresholds *thresholds,
                  const struct row_wish *wish, struct row_result *ret_results);

/* Makes the result at least as bad as `outcome`; the text of what is worse replaces the rest, of
 * what is as bad it joins it. */
void row_add(struct row_result *result, enum row_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Finds the allocated GPUs into `ret_gpus`, which has room for FACTS_GPUS_MAX: those that
 * rows_judge() judges. Returns how many; 0 where that cannot be told. */
unsigned rows_allocated(const struct facts *facts, const struct row_wish *wish,
                        const struct fact_gpu **ret_gpus);

/* Failed if one row failed; could not tell if an essential one could not; else passed. */
enum row_outcome rows_outcome(const struct row_result *results, size_t count);

/* "passed", "failed", "could not tell" */
const char *row_outcome_text(enum row_outcome outcome);

#endif
