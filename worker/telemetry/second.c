/* Converts seconds to JSON and back, and combines them. */
#include "worker/telemetry/second.h"

#include "lib/protocol/sampler_line.h"

#include <math.h>
#include <string.h>

enum means_kind { MEANS_MEAN, MEANS_MAX, MEANS_BITS, MEANS_LAST };

static const enum means_kind second_kinds[] = {
#define X(symbol, name, kind, dcgm, what) MEANS_##kind,
    GPU_COLUMNS(X)
#undef X
};

void second_init(struct gpu_second *second, const unsigned *gpus, unsigned count)
{
    *second = (struct gpu_second){.count = count < SECOND_GPUS_MAX ? count : SECOND_GPUS_MAX};
    for (unsigned gpu = 0; gpu < second->count; gpu++)
        second->gpus[gpu] = gpus[gpu];
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        for (unsigned gpu = 0; gpu < second->count; gpu++)
            second->values[column][gpu] = NAN;
}

static json_t *second_number(double value, enum second_form form)
{
    if (!isfinite(value))
        return json_null();
    double tenths = round(10 * value) / 10;
    if (form == SECOND_SHORT || tenths == round(value))
        return json_integer((json_int_t)llround(value));
    return json_real(tenths);
}

json_t *second_to_json(const struct gpu_second *second, enum second_form form)
{
    struct sample sample = {
        .time = form == SECOND_EXACT ? second->time_s : 0, .gpus = json_array(), .sampled = -1};
    for (unsigned gpu = 0; gpu < second->count; gpu++)
        json_array_append_new(sample.gpus, json_integer((json_int_t)second->gpus[gpu]));
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++) {
        if (isnan(second_max(second, (enum gpu_column)column)))
            continue;
        sample.columns[column] = json_array();
        for (unsigned gpu = 0; gpu < second->count; gpu++)
            json_array_append_new(sample.columns[column],
                                  second_number(second->values[column][gpu], form));
    }
    json_t *json = sample_to_json(&sample);
    json_decref(sample.gpus);
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        json_decref(sample.columns[column]);
    return json;
}

bool second_from_json(const json_t *json, struct gpu_second *ret_second)
{
    const struct sample sample = sample_read(json);
    unsigned gpus[SECOND_GPUS_MAX];
    size_t count = json_array_size(sample.gpus);
    if (!json_is_array(sample.gpus) || count > SECOND_GPUS_MAX)
        return false;
    for (size_t gpu = 0; gpu < count; gpu++)
        gpus[gpu] = (unsigned)json_integer_value(json_array_get(sample.gpus, gpu));
    second_init(ret_second, gpus, (unsigned)count);
    ret_second->time_s = sample.time;
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++) {
        for (size_t gpu = 0; gpu < count; gpu++) {
            const json_t *value = json_array_get(sample.columns[column], gpu);
            if (json_is_number(value))
                ret_second->values[column][gpu] = json_number_value(value);
        }
    }
    return true;
}

double second_mean(const struct gpu_second *second, enum gpu_column column)
{
    double sum = 0;
    unsigned count = 0;
    for (unsigned gpu = 0; gpu < second->count; gpu++)
        if (!isnan(second->values[column][gpu])) {
            sum += second->values[column][gpu];
            count++;
        }
    return count ? sum / count : NAN;
}

double second_max(const struct gpu_second *second, enum gpu_column column)
{
    double max = NAN;
    for (unsigned gpu = 0; gpu < second->count; gpu++)
        max = fmax(max, second->values[column][gpu]); /* fmax() of a number and NaN is the number */
    return max;
}

double second_min(const struct gpu_second *second, enum gpu_column column)
{
    double min = NAN;
    for (unsigned gpu = 0; gpu < second->count; gpu++)
        min = fmin(min, second->values[column][gpu]);
    return min;
}

bool second_is_of(const struct gpu_second *second, const unsigned *gpus, unsigned count)
{
    return second->count == count && memcmp(second->gpus, gpus, count * sizeof *gpus) == 0;
}

/* --- Means ------------------------------------------------------------------------------------ */

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

void means_add(struct means *means, const struct gpu_second *second)
{
    if (!means->seconds || !second_is_of(second, means->sum.gpus, means->sum.count)) {
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
            *sum = means->counts[column][gpu]++ ? means_join(second_kinds[column], *sum, value)
                                                : value;
        }
}

bool means_take(struct means *means, struct gpu_second *ret_second)
{
    if (!means->seconds)
        return false;
    *ret_second = means->sum;
    for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
        for (unsigned gpu = 0; second_kinds[column] == MEANS_MEAN && gpu < ret_second->count; gpu++)
            if (means->counts[column][gpu])
                ret_second->values[column][gpu] /= means->counts[column][gpu];
    means->seconds = 0;
    return true;
}
