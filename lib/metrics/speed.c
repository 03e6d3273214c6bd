/* Computes the speed of a run from what its program prints. */
#include "lib/metrics/speed.h"

#include "lib/memory.h"
#include "lib/metrics/peak.h"
#include "lib/text.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The names as lib/metrics writes them: "tok/sec" becomes tok_sec. */
static const char *const speed_of_all[] = {
    "tokens_per_s", "tok_sec",       "tok_s",          "tokens_s",
    "tokens_sec",   "tokens_second", "tokens_per_sec", "tokens_per_second",
    "tok_per_s",    "tok_per_sec",
};

static const char *const speed_of_one[] = {
    "tokens_per_second_per_gpu",
    "tokens_per_sec_per_gpu",
    "tokens_per_s_per_gpu",
    "tokens_per_gpu_per_second",
    "tokens_s_gpu",
    "tokens_sec_gpu",
    "tok_s_gpu",
    "tok_sec_gpu",
};

static const char *const speed_of_samples[] = {
    "samples_per_s",  "samples_s",       "samples_sec",
    "samples_second", "samples_per_sec", "samples_per_second",
};

/* Names from which the speed is computed: see speed_of_torchtitan() and the functions after it. */
static const char *const speed_parts[] = {
    "tps",
    "tflops",
    "elapsed_time_per_iteration_ms",
    "global_batch_size",
    "perf_total_num_tokens",
    "perf_time_per_step",
};

enum { SPEED_PACE_MS = 1000 }; /* the pace of steps is measured over at least this time */

static double speed_round(double value)
{
    return round(value * 100) / 100;
}

static double speed_number(const json_t *map, const char *name)
{
    return json_number_value(json_object_get(map, name));
}

void speed_init(struct speed *speed, const json_t *spec, unsigned gpus)
{
    const json_t *sizes = json_object_get(spec, "mfu");
    const json_t *progress = json_object_get(spec, "progress");
    *speed = (struct speed){
        .gpus = gpus,
        .step_samples = speed_number(progress, "samples"),
        .step_tokens = speed_number(progress, "tokens"),
    };
    if (!json_is_object(sizes) || gpus == 0)
        return;
    speed->sequence = speed_number(sizes, "sequence");
    speed->operations = 6 * speed_number(sizes, "params") + 12 * speed_number(sizes, "layers") *
                                                                speed_number(sizes, "width") *
                                                                speed->sequence;
    speed->tflops = speed_number(sizes, "peak_tflops");
}

void speed_fini(struct speed *speed)
{
    free(speed->model);
}

void speed_model(struct speed *speed, const char *model)
{
    free(speed->model);
    speed->model = xstrdup(model);
    if (speed->tflops == 0)
        speed->tflops = peak_tflops(model);
}

static void speed_want_any(struct extract *extract, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        extract_want(extract, names[i]);
}

void speed_want_of(struct extract *extract)
{
    speed_want_any(extract, speed_of_all, sizeof speed_of_all / sizeof *speed_of_all);
    speed_want_any(extract, speed_of_one, sizeof speed_of_one / sizeof *speed_of_one);
    speed_want_any(extract, speed_of_samples, sizeof speed_of_samples / sizeof *speed_of_samples);
    speed_want_any(extract, speed_parts, sizeof speed_parts / sizeof *speed_parts);
}

/* Returns NaN if the row does not have the value. */
static double speed_value(const struct extract_row *row, const char *name)
{
    for (size_t i = 0; i < row->count; i++)
        if (text_equal(row->values[i].name, name))
            return row->values[i].value;
    return NAN;
}

static double speed_any(const struct extract_row *row, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = speed_value(row, names[i]);
        if (!isnan(value))
            return value;
    }
    return NAN;
}

/* In torchtitan `tps` counts one GPU, and `tflops` is in the same row. In other programs `tps` can
 * be anything. */
static double speed_of_torchtitan(const struct extract_row *row)
{
    return isnan(speed_value(row, "tflops")) ? NAN : speed_value(row, "tps");
}

/* Megatron-LM prints the samples of a step and its milliseconds. */
static double speed_of_megatron(const struct speed *speed, const struct extract_row *row)
{
    double ms = speed_value(row, "elapsed_time_per_iteration_ms");
    return speed->sequence > 0 ? speed_value(row, "global_batch_size") * speed->sequence * 1000 / ms
                               : NAN;
}

/* verl's perf/throughput counts one GPU, so this uses the two values from which verl computes
 * it. */
static double speed_of_verl(const struct extract_row *row)
{
    return speed_value(row, "perf_total_num_tokens") / speed_value(row, "perf_time_per_step");
}

/* Returns how many steps were made in a second; NaN if it is too early to know. If the step goes
 * back, because a program counts the steps of an epoch, the measurement begins again. */
static double speed_steps_per_s(struct speed *speed, const struct extract_row *row, int64_t now_ms)
{
    if (!row->has_step)
        return NAN;
    double steps = (double)(row->step - speed->mark_step);
    int64_t passed_ms = now_ms - speed->mark_ms;
    if (speed->has_mark && steps >= 0 && (steps == 0 || passed_ms < SPEED_PACE_MS))
        return NAN;
    bool is_told = speed->has_mark && steps > 0;
    speed->has_mark = true;
    speed->mark_step = row->step;
    speed->mark_ms = now_ms;
    return is_told ? steps * 1000 / (double)passed_ms : NAN;
}

static double speed_tokens_per_s(const struct speed *speed, const struct extract_row *row,
                                 double steps_per_s)
{
    double rates[] = {
        speed_any(row, speed_of_all, sizeof speed_of_all / sizeof *speed_of_all),
        speed->gpus * speed_any(row, speed_of_one, sizeof speed_of_one / sizeof *speed_of_one),
        speed->gpus * speed_of_torchtitan(row),
        speed_of_megatron(speed, row),
        speed_of_verl(row),
        speed->step_tokens * steps_per_s,
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        if (isfinite(rates[i]) && rates[i] > 0)
            return rates[i];
    return NAN;
}

static double speed_samples_per_s(const struct speed *speed, const struct extract_row *row,
                                  double steps_per_s)
{
    double told =
        speed_any(row, speed_of_samples, sizeof speed_of_samples / sizeof *speed_of_samples);
    double rate = isnan(told) ? speed->step_samples * steps_per_s : told;
    return isfinite(rate) && rate > 0 ? rate : NAN;
}

static double speed_mfu(struct speed *speed, double tokens_per_s)
{
    if (speed->operations == 0 || speed->tflops == 0)
        return NAN;
    double percent = 100 * speed->operations * tokens_per_s / (speed->gpus * speed->tflops * 1e12);
    if (percent <= 100)
        return percent;
    speed->too_much = fmax(speed->too_much, percent);
    return NAN;
}

/* Adds the value if it is known and the row does not have it. */
static void speed_put(struct speed *speed, const struct extract_row *row, const char *name,
                      double value)
{
    if (!isnan(value) && isnan(speed_value(row, name)))
        speed->values[speed->row.count++] = (struct extract_value){name, speed_round(value)};
}

const struct extract_row *speed_read(struct speed *speed, const struct extract_row *row,
                                     int64_t now_ms)
{
    double steps_per_s = speed_steps_per_s(speed, row, now_ms);
    double tokens_per_s = speed_tokens_per_s(speed, row, steps_per_s);
    double samples_per_s = speed_samples_per_s(speed, row, steps_per_s);
    bool is_renamed = speed->operations > 0 && !isnan(speed_value(row, "mfu"));
    if (isnan(tokens_per_s) && isnan(samples_per_s) && !is_renamed)
        return row;
    assert(row->count <= EXTRACT_VALUES_MAX);
    speed->row = *row;
    speed->row.values = speed->values;
    memcpy(speed->values, row->values, row->count * sizeof *row->values);
    for (size_t i = 0; is_renamed && i < row->count; i++)
        if (text_equal(speed->values[i].name, "mfu"))
            speed->values[i].name = "mfu_printed";
    speed_put(speed, &speed->row, "samples_per_s", samples_per_s);
    if (isnan(tokens_per_s))
        return &speed->row;
    double mfu = speed_mfu(speed, tokens_per_s);
    speed->has_tokens = true;
    speed->has_mfu |= !isnan(mfu);
    speed_put(speed, &speed->row, "tokens_per_s", tokens_per_s);
    speed_put(speed, &speed->row, "mfu", mfu);
    return &speed->row;
}

char *speed_trouble(const struct speed *speed)
{
    if (speed->operations == 0 || speed->has_mfu)
        return NULL;
    if (!speed->has_tokens)
        return text_format("mfu cannot be computed: the program prints no tokens per second");
    if (speed->too_much > 0)
        return text_format("mfu cannot be computed: %.0f percent is impossible; check the sizes in "
                           "mfu, and tokens_per_s",
                           speed->too_much);
    if (speed->model)
        return text_format(
            "mfu cannot be computed: the speed of %s is not known; set mfu.peak_tflops",
            speed->model);
    return text_format("mfu cannot be computed: no driver names the GPUs; set mfu.peak_tflops to "
                       "what one GPU can do");
}
