/* Makes metrics from samples of GPUs. */
#include "worker/telemetry/gpu_metrics.h"

#include "lib/clock.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "worker/metrics/rows.h"

#include <math.h>

static const char *const gpu_metrics_names[GPU_METRICS_COUNT] = {"gpu_util", "gpu_util_min",
                                                                 "gpu_mem_gb", "gpu_power_w"};

static double gb_of_mib(double mib)
{
    return mib * 1048576 / 1e9;
}

/* Computes the metrics of a second, or of the mean of several seconds. NaN: no GPU has the value.
 */
static void gpu_metrics_values(const struct gpu_second *second, double *ret_values)
{
    ret_values[0] = second_mean(second, GPU_UTIL);
    ret_values[1] = second_min(second, GPU_UTIL);
    ret_values[2] = gb_of_mib(second_max(second, GPU_MEMORY));
    ret_values[3] = second_mean(second, GPU_POWER);
}

static void gpu_metrics_tell(struct gpu_metrics *metrics)
{
    struct extract_value values[GPU_METRICS_COUNT];
    double numbers[GPU_METRICS_COUNT];
    struct means so_far = metrics->so_far; /* a copy, because counting continues */
    struct gpu_second second;
    size_t count = 0;
    (void)means_take(&so_far, &second); /* a second has just been added */
    gpu_metrics_values(&second, numbers);
    for (unsigned i = 0; i < GPU_METRICS_COUNT; i++)
        if (!isnan(numbers[i]))
            values[count++] =
                (struct extract_value){gpu_metrics_names[i], round(numbers[i] * 100) / 100};
    if (count)
        rows_add_samples(metrics->rows, values, count);
    metrics->has_row = true;
    metrics->step = rows_step(metrics->rows);
    metrics->seconds = 0;
}

/* Begins a new span if the step has advanced since the last row, because that row has the values of
 * the old step. */
static void gpu_metrics_begin(struct gpu_metrics *metrics)
{
    if (metrics->has_row && metrics->rows->has_row && metrics->rows->last_step != metrics->step) {
        metrics->so_far = (struct means){0};
        metrics->has_row = false;
    }
}

/* Adds this second. Returns the mean of the least busy GPU over the last ten seconds. */
static double gpu_metrics_least(struct gpu_metrics *metrics, const struct gpu_second *second)
{
    struct means means = {0};
    struct gpu_second mean;
    metrics->recent[metrics->recent_count++ % GPU_METRICS_EVERY_S] = *second;
    uint64_t end = metrics->recent_count;
    for (uint64_t i = end > GPU_METRICS_EVERY_S ? end - GPU_METRICS_EVERY_S : 0; i < end; i++)
        means_add(&means, &metrics->recent[i % GPU_METRICS_EVERY_S]);
    (void)means_take(&means, &mean); /* there is at least one second */
    return second_min(&mean, GPU_UTIL);
}

void gpu_metrics_add(struct gpu_metrics *metrics, const struct gpu_second *second)
{
    double values[GPU_METRICS_COUNT];
    double time_s = (double)(clock_steady_ms() - metrics->rows->began_ms) / 1000;
    gpu_metrics_begin(metrics);
    means_add(&metrics->so_far, second);
    gpu_metrics_values(second, values);
    values[1] = gpu_metrics_least(metrics, second);
    for (unsigned i = 0; i < GPU_METRICS_COUNT; i++) {
        const struct extract_value value = {gpu_metrics_names[i], values[i]};
        if (!isnan(values[i]))
            guards_sample(metrics->rows->guards, time_s, &value);
    }
    if (++metrics->seconds >= GPU_METRICS_EVERY_S && metrics->is_told)
        gpu_metrics_tell(metrics);
}
