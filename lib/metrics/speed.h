/* Tokens and samples per second and MFU of a run as metrics, `tokens_per_s`, `samples_per_s` and
 * `mfu`, out of what its program prints. Pure: who calls it tells the time.
 *
 * `tokens_per_s` is that of the whole run, whatever the program calls it, and of whatever: some
 * trainers tell it of one GPU, some only how many tokens a step has and how long it took. Names
 * that may mean anything are left alone; a program may print tokens_per_s itself.
 *
 * Of a program that prints its steps alone, a phase may say what a step is made of (`tokens` and
 * `samples` of `progress`): then the pace of the steps tells both, from one row to the next that
 * is a second later at least, so that lines which come in bursts are no bursts of speed. What the
 * program prints itself goes first.
 *
 * `mfu` is told where the phase says how large its model is (`mfu:`), in percent, by PaLM's
 * convention (Chowdhery et al. 2022, appendix B): a token takes
 *
 *   6 * params + 12 * layers * width * sequence
 *
 * operations, of the forward and the backward pass; attention is taken whole, also where a causal
 * mask leaves half of it out, and what is computed again is not counted. All tokens of a second,
 * over what all GPUs of the run can do at most (speed_peak_tflops()), of dense bf16. The
 * program's own `mfu`, of a convention that only it knows, is called `mfu_printed` then. */
#ifndef PHASED_LIB_METRICS_SPEED_H
#define PHASED_LIB_METRICS_SPEED_H

#include "lib/metrics/extract.h"

#include <stdbool.h>

enum { SPEED_VALUES = 3 }; /* that a row can get */

struct speed {
    double operations;                /* of a token; 0: MFU is not asked for */
    double sequence;                  /* tokens; 0: not known */
    double tflops;                    /* of a GPU at most; 0: not known */
    double step_samples, step_tokens; /* that a step is made of; 0: not said */
    bool has_mark;
    int64_t mark_step, mark_ms; /* from where on the pace is measured */
    unsigned gpus;              /* of the run */
    char *model;                /* of the GPUs; NULL: not known */
    bool has_tokens, has_mfu;
    double too_much; /* the highest above 100, which was not told; 0: none */
    struct extract_value values[EXTRACT_VALUES_MAX + SPEED_VALUES];
    struct extract_row row;
};

/* `spec` is the resolved phase. */
void speed_init(struct speed *speed, const json_t *spec, unsigned gpus);
void speed_fini(struct speed *speed);
/* The GPUs are of this model, as the driver names it. */
void speed_model(struct speed *speed, const char *model);

/* The row, which came at this time of a steady clock, with what it tells of speed: itself, or one
 * that is borrowed until the next call. */
const struct extract_row *speed_read(struct speed *speed, const struct extract_row *row,
                                     int64_t now_ms);

/* Why MFU is not told, for people, the caller's to free(); NULL when it is, or was not asked for.
 */
char *speed_trouble(const struct speed *speed);

/* What a GPU can do at most: 10^12 dense bf16 operations a second of the GPU that the driver names
 * so; 0: not known. */
double speed_peak_tflops(const char *model);

#endif
