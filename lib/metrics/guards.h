/* The guards of a run: checks that watch the metrics of the run and stop it.
 *
 * The caller adds values as they are read, and guards_judge() evaluates the guards. A guard's
 * verdict is told when the guard fails for the first time, and again when it fails after it has
 * passed. If a guard or `until` cannot be judged, its verdict is told once, and the run goes on.
 * A check that takes too long is judged more and more rarely. A NaN in any metric with `loss` in
 * its name also stops the run, unless the phase has nan_ok. So does an infinity, after the metric
 * has been finite. `until` ends the run successfully when its condition is true and no guard has
 * failed. Only metrics that guards and `until` use are kept, so that a run of a million steps needs
 * little memory. */
#ifndef PHASED_LIB_METRICS_GUARDS_H
#define PHASED_LIB_METRICS_GUARDS_H

#include <jansson.h>
#include <stdint.h>

struct error;
struct extract;
struct extract_value;
struct guards;

/* `spec` is the resolved phase, which must live as long as the guards. `skip` counts steps from
 * `begin_step`. */
int guards_new(const json_t *spec, int64_t begin_step, struct guards **ret_guards,
               struct error *err);
void guards_free(struct guards *guards);

/* Lets the stream keep room for all metrics that guards, until, gate and matrix use. */
void guards_want_of(const struct guards *guards, struct extract *extract);

/* `time_s` counts from the start of the ranks. */
void guards_add(struct guards *guards, int64_t step, double time_s,
                const struct extract_value *value);

/* As guards_add(), for a value that is sampled by the clock. It is a value of the newest step,
 * beside other values of that step. */
void guards_sample(struct guards *guards, double time_s, const struct extract_value *value);

enum guards_judgement { GUARDS_FINE, GUARDS_FAILED, GUARDS_NAN, GUARDS_REACHED };

/* Gets a verdict to record; borrowed during the call. */
typedef void guards_verdict(void *context, json_t *verdict);

/* Why the run must stop. */
struct guards_reason {
    json_t *verdict; /* of the failed guard, a new reference; NULL for other reasons */
    char *message;   /* one line; the caller frees it */
    /* For a guard or NaN: checkpoints of this step and later are suspect. This is the step after
     * the last step at which the guard did not fail, or at which the metric was finite. The size of
     * the guard's window does not matter. */
    int64_t since;
};

/* Evaluates the guards if there are new rows, and `until` also if it uses the time. Sets
 * `ret_reason` if the run must stop. */
enum guards_judgement guards_judge(struct guards *guards, double elapsed_s, guards_verdict *told,
                                   void *context, struct guards_reason *ret_reason);

/* Returns a step. No guard that fails later, and no NaN in a metric that has come, makes
 * checkpoints before that step suspect. INT64_MAX: nothing stops the run. */
int64_t guards_vouched(const struct guards *guards);

/* Returns the metrics that guards, until and gate use and that have not come, as "a, b"; empty if
 * all have come. The caller frees the text. */
char *guards_missing(const struct guards *guards);
/* Returns the metrics that have come, in the same form; only the first ones if there are many. */
char *guards_seen(const struct guards *guards);

#endif
