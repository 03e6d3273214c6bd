/* The speed of a run as metrics: `tokens_per_s`, `samples_per_s` and `mfu`, computed from what its
 * program prints. Nothing here reads a clock: the caller gives the time.
 *
 * `tokens_per_s` counts the whole run. Programs have many names for it. Some print the value of one
 * GPU, and some print only the tokens and the time of a step. Names that can mean anything are
 * ignored; a program can always print tokens_per_s itself.
 *
 * If a program prints only its steps, the phase can say how many `tokens` and `samples` a step has
 * (in `progress`). Then the speed follows from the pace of the steps. It is measured between rows
 * that are at least a second apart, because lines may come in bursts. A value that the program
 * prints itself comes first.
 *
 * `mfu` needs the size of the model (`mfu:` of the phase). It is in percent, by the convention of
 * PaLM (Chowdhery et al. 2022, appendix B). A token takes
 *
 *   6 * params + 12 * layers * width * sequence
 *
 * operations in the forward and the backward pass. Attention counts as a whole, even if a causal
 * mask leaves half out. Recomputation does not count. MFU compares the operations of one
 * second with the most that all GPUs of the run can do in dense bf16 (peak_tflops()). If the
 * program prints an `mfu`, by a convention that only the program knows, it becomes
 * `mfu_printed`. */
#ifndef PHASED_LIB_METRICS_SPEED_H
#define PHASED_LIB_METRICS_SPEED_H

#include "lib/metrics/extract.h"

#include <stdbool.h>

enum { SPEED_VALUES = 3 }; /* values that a row can get */

struct speed {
    double operations;                /* operations of a token; 0: the phase has no `mfu` */
    double sequence;                  /* tokens; 0: not known */
    double tflops;                    /* the most that one GPU can do; 0: not known */
    double step_samples, step_tokens; /* samples and tokens of a step; 0: not given */
    bool has_mark;
    int64_t mark_step, mark_ms; /* where the measurement of the pace began */
    unsigned gpus;              /* GPUs of the run */
    char *model;                /* model of the GPUs; NULL: not known */
    bool has_tokens, has_mfu;
    double too_much; /* the highest MFU above 100, which is impossible; 0: no MFU was above 100 */
    struct extract_value values[EXTRACT_VALUES_MAX + SPEED_VALUES];
    struct extract_row row;
};

/* `spec` is the resolved phase. */
void speed_init(struct speed *speed, const json_t *spec, unsigned gpus);
void speed_fini(struct speed *speed);
/* Sets the model of the GPUs, as the driver names it. */
void speed_model(struct speed *speed, const char *model);

/* Lets the stream keep room for all metrics from which the speed is computed. */
void speed_want_of(struct extract *extract);

/* Adds the speed to the row, which came at this time of a steady clock. Returns the same row if
 * there is nothing to add, otherwise a row that is borrowed until the next call. */
const struct extract_row *speed_read(struct speed *speed, const struct extract_row *row,
                                     int64_t now_ms);

/* Says to people why MFU cannot be computed; the caller frees the text. NULL: there is an MFU, or
 * the phase has no `mfu`. */
char *speed_trouble(const struct speed *speed);

#endif
