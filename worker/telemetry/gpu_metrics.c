/* Metrics of GPUs. */
#include "worker/telemetry/gpu_metrics.h"

#include "worker/clock.h"
#include "worker/metrics/guards.h"
#include "worker/metrics/extract.h"
#include "worker/node/rows.h"
#include "worker/telemetry/second.h"

#include <math.h>
#include <string.h>

enum { GPU_METRICS_EVERY_S = 10 };

static const char *const gpu_metrics_names[GPU_METRICS_COUNT] = {"gpu_util", "gpu_mem_gb",
                                                                 "gpu_power_w"};
enum { GPU_METRICS_MEMORY = 1 }; /* of which the highest counts */

static double gb_of_mib(double mib)
{
    return mib * 1048576 / 1e9;
}

static void gpu_metrics_sum(struct gpu_metrics *metrics, unsigned i, double value)
{
    double *sum = &metrics->sum[i];
    if (metrics->counts[i]++ == 0)
        *sum = value;
    else
        *sum = i == GPU_METRICS_MEMORY ? fmax(*sum, value) : *sum + value;
}

static void gpu_metrics_tell(struct gpu_metrics *metrics)
{
    struct extract_value values[GPU_METRICS_COUNT];
    size_t count = 0;
    const struct rows *rows = metrics->rows;
    int64_t step = rows->has_row ? rows->last_step : metrics->begin_step;
    for (unsigned i = 0; i < GPU_METRICS_COUNT; i++) {
        double divisor = i == GPU_METRICS_MEMORY ? 1 : metrics->counts[i];
        if (metrics->counts[i])
            values[count++] = (struct extract_value){gpu_metrics_names[i],
                                                     round(metrics->sum[i] / divisor * 100) / 100};
    }
    if (count)
        rows_add_samples(metrics->rows, metrics->begin_step, values, count);
    metrics->has_row = true;
    metrics->step = step;
    metrics->seconds = 0;
}

/* The step has moved on since the last row: what led to that row is told. */
static void gpu_metrics_begin(struct gpu_metrics *metrics)
{
    if (metrics->has_row && metrics->rows->has_row && metrics->rows->last_step != metrics->step) {
        memset(metrics->counts, 0, sizeof metrics->counts);
        metrics->has_row = false;
    }
}

void gpu_metrics_add(struct gpu_metrics *metrics, const struct gpu_second *second)
{
    const double values[GPU_METRICS_COUNT] = {
        second_mean(second, GPU_UTIL),
        gb_of_mib(second_max(second, GPU_MEMORY)),
        second_mean(second, GPU_POWER),
    };
    double time_s = (double)(clock_steady_ms() - metrics->rows->began_ms) / 1000;
    gpu_metrics_begin(metrics);
    for (unsigned i = 0; i < GPU_METRICS_COUNT; i++) {
        const struct extract_value value = {gpu_metrics_names[i], values[i]};
        if (isnan(values[i]))
            continue;
        guards_sample(metrics->rows->guards, time_s, &value);
        gpu_metrics_sum(metrics, i, values[i]);
    }
    if (++metrics->seconds >= GPU_METRICS_EVERY_S && metrics->is_told)
        gpu_metrics_tell(metrics);
}
