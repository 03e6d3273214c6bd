/* Combines seconds. */
#include "worker/telemetry/means.h"

#include <math.h>
#include <string.h>

enum means_kind { MEANS_MEAN, MEANS_MAX, MEANS_BITS, MEANS_LAST };

static const enum means_kind means_kinds[] = {
#define X(symbol, name, kind, dcgm, what) MEANS_##kind,
    GPU_COLUMNS(X)
#undef X
};

static double means_join(enum means_kind kind, double so_far, double value)
{
    switch (kind) {
    case MEANS_MEAN:
        return so_far + value;
    case MEANS_MAX:
        return fmax(so_far, value);
    case MEANS_BITS:
        return (double)((unsigned long long)so_far | (unsigned long long)value);
    case MEANS_LAST:
        break;
    }
    return value;
}

static bool means_fit(const struct means *means, const struct gpu_second *second)
{
    return means->sum.count == second->count &&
           memcmp(means->sum.gpus, second->gpus, second->count * sizeof *second->gpus) == 0;
}

void means_add(struct means *means, const struct gpu_second *second)
{
    if (!means->seconds || !means_fit(means, second)) {
        *means = (struct means){0};
        second_init(&means->sum, second->gpus, second->count);
    }
    means->seconds++;
    means->sum.time_s = second->time_s;
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        for (unsigned gpu = 0; gpu < second->count; gpu++) {
            double value = second->values[column][gpu];
            double *sum = &means->sum.values[column][gpu];
            if (isnan(value))
                continue;
            *sum =
                means->counts[column][gpu]++ ? means_join(means_kinds[column], *sum, value) : value;
        }
}

bool means_take(struct means *means, struct gpu_second *ret_second)
{
    if (!means->seconds)
        return false;
    *ret_second = means->sum;
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        for (unsigned gpu = 0; means_kinds[column] == MEANS_MEAN && gpu < ret_second->count; gpu++)
            if (means->counts[column][gpu])
                ret_second->values[column][gpu] /= means->counts[column][gpu];
    means->seconds = 0;
    return true;
}
