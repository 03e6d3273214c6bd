/* The bodies of the kernels that turn bfloats into numbers of 8 bits, run on a processor. The
 * reference finds the nearest of all numbers of 8 bits. */
#include "tests/unit/model_arrays.h"

#include "worker/model/cuda/fp8_bodies.h"

enum { ROWS = 48, COLUMNS = 80, COUNT = ROWS * COLUMNS, PARTS = 3 };

static const enum fp8_kind kinds[] = {FP8_E4M3, FP8_E5M2};

/* What the bits mean, as the OCP specification of 8-bit numbers says. */
static double value_of(unsigned bits, enum fp8_kind kind)
{
    int mantissa = kind == FP8_E5M2 ? 2 : 3, bias = kind == FP8_E5M2 ? 15 : 7;
    int exponent = (int)(bits & 0x7f) >> mantissa, part = (int)bits & ((1 << mantissa) - 1);
    if (kind == FP8_E5M2 ? exponent == 31 : (bits & 0x7f) == 0x7f)
        return kind == FP8_E5M2 && part == 0 ? INFINITY : NAN;
    double size = exponent ? ldexp(1 + (double)part / (1 << mantissa), exponent - bias)
                           : ldexp((double)part / (1 << mantissa), 1 - bias);
    return bits & 0x80 ? -size : size;
}

/* Returns the bits of the nearest finite number, an even one if two are equally near. */
static unsigned nearest(double value, enum fp8_kind kind)
{
    unsigned best = 0;
    for (unsigned bits = 0; bits < 0x80; bits++) {
        double size = value_of(bits, kind), error = fabs(size - fabs(value));
        double least = fabs(value_of(best, kind) - fabs(value));
        if (isfinite(size) && (error < least || (error == least && bits % 2 == 0)))
            best = bits;
    }
    return best | (signbit(value) ? 0x80 : 0);
}

static void every_number_is_rounded_to_the_nearest(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (unsigned bits = 0; bits < 0x80; bits++) {
            double value = value_of(bits, kinds[k]), next = value_of(bits + 1, kinds[k]);
            if (!isfinite(value))
                continue;
            assert_int_equal(fp8_of((float)value, kinds[k]), bits);
            assert_int_equal(fp8_of(-(float)value, kinds[k]), bits | 0x80);
            double between[] = {(value + next) / 2, value + (next - value) * 0.49,
                                value + (next - value) * 0.51};
            for (size_t i = 0; i < 3 && isfinite(next); i++)
                assert_int_equal(fp8_of((float)between[i], kinds[k]),
                                 nearest((double)(float)between[i], kinds[k]));
        }
        for (size_t i = 0; i < 20000; i++) {
            float value = ldexpf(random_signed_at(seed, i), (int)(i % 40) - 22);
            assert_int_equal(fp8_of(value, kinds[k]), nearest((double)value, kinds[k]));
        }
    }
}

static void what_is_too_large_becomes_the_largest_and_no_number_stays_none(void **state)
{
    (void)state;
    const float large[] = {1e30f, INFINITY};
    for (size_t k = 0; k < 2; k++) {
        assert_true(value_of(fp8_of(fp8_most(kinds[k]), kinds[k]), kinds[k]) ==
                    (double)fp8_most(kinds[k]));
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(fp8_of(large[i], kinds[k]), fp8_of(fp8_most(kinds[k]), kinds[k]));
            assert_int_equal(fp8_of(-large[i], kinds[k]),
                             fp8_of(fp8_most(kinds[k]), kinds[k]) | 0x80);
        }
        assert_true(isnan(value_of(fp8_of(NAN, kinds[k]), kinds[k])));
        assert_true(isnan(value_of(fp8_of(-NAN, kinds[k]), kinds[k])));
    }
}

struct cast {
    _Alignas(16) uint8_t plain[COUNT + GUARD], turned[COUNT + GUARD];
    float scale, parts[PARTS];
    const uint16_t *x;
    enum fp8_kind kind;
};

static void find_largest(const struct team *team, void *context)
{
    struct cast *cast = context;
    body_largest_parts(team, cast->parts, cast->x, COUNT);
}

static void cast_plain(const struct team *team, void *context)
{
    struct cast *cast = context;
    body_cast(team, cast->plain, &cast->scale, cast->parts, PARTS, cast->x, COUNT, cast->kind);
}

static void cast_turned(const struct team *team, void *context)
{
    struct cast *cast = context;
    body_cast_turned(team, cast->turned, cast->parts, PARTS, cast->x, ROWS, COLUMNS, cast->kind);
}

static void run_casts(struct cast *cast, const uint16_t *x, enum fp8_kind kind)
{
    *cast = (struct cast){.x = x, .kind = kind};
    memset(cast->plain, 0x55, sizeof cast->plain);
    memset(cast->turned, 0x55, sizeof cast->turned);
    teams_run(PARTS, 64, find_largest, cast);
    teams_run(2, 64, cast_plain, cast);
    teams_run(2, 64, cast_turned, cast);
}

static void a_tensor_is_scaled_by_its_largest_magnitude_and_cast_in_both_orders(void **state)
{
    (void)state;
    const float sizes[] = {1e-6f, 1, 3e4f};
    for (size_t i = 0; i < 6; i++) {
        enum fp8_kind kind = kinds[i % 2];
        struct pair_of_arrays x = numbers(COUNT, sizes[i / 2]);
        struct cast cast;
        float largest = 0;
        for (size_t j = 0; j < COUNT; j++)
            largest = fmaxf(largest, fabsf(x.floats[j]));
        run_casts(&cast, x.bfloats, kind);
        assert_true(cast.scale == largest / fp8_most(kind));
        for (size_t j = 0; j < COUNT; j++) {
            assert_int_equal(cast.plain[j],
                             nearest((double)(x.floats[j] * (fp8_most(kind) / largest)), kind));
            assert_int_equal(cast.turned[j % COLUMNS * ROWS + j / COLUMNS], cast.plain[j]);
        }
        for (size_t j = COUNT; j < COUNT + GUARD; j++)
            assert_true(cast.plain[j] == 0x55 && cast.turned[j] == 0x55);
        drop(x);
    }
}

static void zeros_stay_zeros_and_what_is_not_finite_is_seen(void **state)
{
    (void)state;
    struct pair_of_arrays x = numbers(COUNT, 0);
    struct cast cast;
    for (size_t j = 0; j < COUNT; j++)
        x.bfloats[j] = 0;
    run_casts(&cast, x.bfloats, FP8_E4M3);
    assert_true(isfinite(cast.scale));
    for (size_t j = 0; j < COUNT; j++)
        assert_true(cast.plain[j] == 0 && cast.turned[j] == 0);
    const float wrong[] = {INFINITY, NAN};
    for (size_t i = 0; i < 2; i++) {
        x.bfloats[17] = (uint16_t)bfloat_of(wrong[i]);
        run_casts(&cast, x.bfloats, FP8_E5M2);
        assert_true(isnan(value_of(cast.plain[17], FP8_E5M2)));
    }
    drop(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_rounded_to_the_nearest),
        cmocka_unit_test(what_is_too_large_becomes_the_largest_and_no_number_stays_none),
        cmocka_unit_test(a_tensor_is_scaled_by_its_largest_magnitude_and_cast_in_both_orders),
        cmocka_unit_test(zeros_stay_zeros_and_what_is_not_finite_is_seen),
    };
    return cmocka_run_group_tests_name("model_fp8_bodies", tests, begin, end);
}
