/* The guards of a run: checks that watch its metrics and stop it.
 *
 * Rows come in as they are read; guards_judge() evaluates. A guard's verdict is told when it fails
 * for the first time, and again when it fails after having passed. Besides, a NaN or an infinite
 * value in any metric with `loss` in its name stops the run, unless the phase says nan_ok; and
 * `until` ends it well, once what it says is true and no guard has failed. Only metrics that guards
 * and `until` name are kept, so that a run of a million steps stays small. */
#ifndef PHASED_LIB_METRICS_GUARDS_H
#define PHASED_LIB_METRICS_GUARDS_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct extract_value;
struct guards;

/* `spec` is the resolved phase, borrowed for good. Steps count from `begin_step` in `skip`. */
int guards_new(const json_t *spec, int64_t begin_step, struct guards **ret_guards,
               struct error *err);
void guards_free(struct guards *guards);

/* `time_s` counts from the start of the ranks. */
void guards_add(struct guards *guards, int64_t step, double time_s,
                const struct extract_value *value);

/* Likewise of what is sampled by the clock: a value beside the others of the newest step. */
void guards_sample(struct guards *guards, double time_s, const struct extract_value *value);

enum guards_judgement { GUARDS_FINE, GUARDS_FAILED, GUARDS_NAN, GUARDS_REACHED };

/* A verdict that is to be recorded; borrowed during the call. */
typedef void guards_verdict(void *context, json_t *verdict);

/* Why the run must stop. */
struct guards_reason {
    json_t *verdict; /* of the guard that failed, a new reference; NULL for other reasons */
    char *message;   /* in one line; the caller's to free() */
    /* Of a guard or NaN: what was saved at this step or later is suspect. It follows the last one
     * at which that guard held, however far back its window reaches, or that metric was finite. */
    int64_t since;
};

/* Evaluates what has new rows, and `until` whenever it asks how long the run has taken.
 * `ret_reason` is set when the run must stop. */
enum guards_judgement guards_judge(struct guards *guards, double elapsed_s, guards_verdict *told,
                                   void *context, struct guards_reason *ret_reason);

/* What was saved before this step no guard that fails next makes suspect, nor NaN in a metric that
 * has come; INT64_MAX: nothing stops the run. */
int64_t guards_vouched(const struct guards *guards);

/* The metrics that guards, until and gate name and that have not come, as "a, b"; empty when all
 * have. The caller's to free(). */
char *guards_missing(const struct guards *guards);
/* Likewise those that the program has told, the first of them when they are many. */
char *guards_seen(const struct guards *guards);

#endif
