/* Arrays for the tests of GPU kernels on a processor: the same random numbers as bfloats for the
 * kernels and as floats for the reference. Outputs are not numbers before. */
#ifndef PHASED_TESTS_UNIT_MODEL_ARRAYS_H
#define PHASED_TESTS_UNIT_MODEL_ARRAYS_H

#include "tests/unit/unit.h"

#include "tests/fake/teams.h"
#include "worker/model/kernels.h"
#include "worker/model/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 16, NOTHING = 0x7fc1 }; /* NOTHING: a bfloat that is not a number */

static const double bfloat_bound = 2e-2, float_bound = 1e-4;

/* An array of bfloats, and the same numbers as floats. The numbers at its end must stay. */
struct pair_of_arrays {
    uint16_t *bfloats;
    float *floats;
    size_t count;
};

static uint64_t seed;

static inline void *get(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, (bytes + 127) / 64 * 64); /* floats that are not numbers */
    return memory;
}

static inline struct pair_of_arrays nothing(size_t count)
{
    struct pair_of_arrays made = {get((count + GUARD) * sizeof(uint16_t)),
                                  get((count + GUARD) * sizeof(float)), count};
    for (size_t i = 0; i < count + GUARD; i++)
        made.bfloats[i] = NOTHING;
    return made;
}

static inline struct pair_of_arrays numbers(size_t count, float size)
{
    struct pair_of_arrays made = nothing(count);
    seed++;
    for (size_t i = 0; i < count; i++) {
        made.bfloats[i] = (uint16_t)bfloat_of(size * random_signed_at(seed, i));
        made.floats[i] = float_of(made.bfloats[i]);
    }
    return made;
}

static inline float *floats(size_t count, float size)
{
    float *made = get(count * sizeof *made);
    seed++;
    for (size_t i = 0; i < count; i++)
        made[i] = size * random_signed_at(seed, i);
    return made;
}

static inline float *copy_of(const float *from, size_t count)
{
    float *made = get(count * sizeof *made);
    memcpy(made, from, count * sizeof *made);
    return made;
}

static inline void drop(struct pair_of_arrays arrays)
{
    free(arrays.bfloats);
    free(arrays.floats);
}

/* `bound` is for the errors of the whole array (root mean square), relative to its numbers. Single
 * elements, of which there are many, are compared relative to themselves and to all numbers. */
static inline void assert_near(const float *got, const float *wanted, size_t count, double bound)
{
    double squares = 0, errors = 0;
    for (size_t i = 0; i < count; i++) {
        double error = (double)got[i] - (double)wanted[i];
        squares += (double)wanted[i] * (double)wanted[i];
        errors += error * error;
    }
    double size = sqrt(squares / (double)count);
    if (!(sqrt(errors / (double)count) <= bound * size))
        fail_msg("the errors of %zu numbers of size %g are %g", count, size,
                 sqrt(errors / (double)count));
    for (size_t i = 0; i < count; i++) {
        double error = fabs((double)got[i] - (double)wanted[i]);
        if (!(error <= 4 * bound * (fabs((double)wanted[i]) + size)))
            fail_msg("element %zu of %zu: %g, not %g", i, count, (double)got[i], (double)wanted[i]);
    }
}

static inline void assert_same(struct pair_of_arrays arrays)
{
    float *got = get(arrays.count * sizeof *got);
    for (size_t i = 0; i < arrays.count; i++)
        got[i] = float_of(arrays.bfloats[i]);
    assert_near(got, arrays.floats, arrays.count, bfloat_bound);
    for (size_t i = arrays.count; i < arrays.count + GUARD; i++)
        assert_int_equal(arrays.bfloats[i], NOTHING);
    free(got);
}

/* The arguments of a body under test. */
struct call {
    uint16_t *y, *state;
    const uint16_t *a, *b, *c;
    float *out, *parts;
    const float *gain, *scale, *gradient;
    float *master, *moment1, *moment2;
    const uint32_t *ids;
    size_t rows, width, part_count;
    float factor;
    struct kernel_attention_shape shape;
    struct kernel_pages pages;
    struct kernel_adamw_step step;
};

/* Runs a body with teams of which each has something to do, and more than it needs. */
static inline void run(void (*body)(const struct team *team, void *context), struct call call)
{
    teams_run(3, 32, body, &call);
}

static inline void run_alone(void (*body)(const struct team *team, void *context), struct call call)
{
    teams_run(1, 64, body, &call);
}

static inline int begin(void **state)
{
    seed = (uint64_t)time(NULL);
    print_message("# seed %llu\n", (unsigned long long)seed);
    *state = kernels_new(0, NULL);
    return *state ? 0 : -1;
}

static inline int end(void **state)
{
    kernels_free(*state);
    return 0;
}

#endif
