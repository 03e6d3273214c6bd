/* What the kernels of the full level must compute: the generator, the sums, the bandwidth. */
#include "tests/unit/unit.h"

#include "worker/preflight/reference.h"

#include <math.h>

static void the_generator_is_splitmix64(void **state)
{
    (void)state;
    /* The first outputs of Vigna's published program for the state 0. */
    static const uint64_t known[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                     UINT64_C(0x06c45d188009454f), UINT64_C(0xf88bb8a8724c81ec)};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(reference_word(0, i) == known[i]);
    assert_true(reference_word(1, 0) != reference_word(0, 0));
}

static void elements_are_the_bytes_of_a_word_lowest_first(void **state)
{
    (void)state;
    static const int known[] = {-81, -51, 29, 123, 57, -88, 32, -30}; /* 0xe220a8397b1dcdaf */
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(reference_element(0, i), known[i]);
    assert_int_equal(reference_element(0, 8), -12); /* 0x...f4 */
}

static void elements_are_spread_over_all_bytes(void **state)
{
    (void)state;
    unsigned counts[256] = {0};
    for (unsigned i = 0; i < 65536; i++)
        counts[reference_element(3, i) + 128]++;
    for (unsigned i = 0; i < 256; i++)
        assert_in_range(counts[i], 176, 336); /* 256 plus or minus five deviations of 16 */
}

static void every_element_is_exact_as_bfloat16(void **state)
{
    (void)state;
    static const struct {
        int element;
        uint16_t bits;
    } known[] = {{0, 0x0000}, {1, 0x3c00}, {64, 0x3f00}, {127, 0x3f7e}, {-128, 0xbf80}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_int_equal(reference_bfloat(known[i].element), known[i].bits);
    for (int i = -128; i < 128; i++)
        assert_true((double)reference_from_bfloat(reference_bfloat(i)) == i / 128.0);
}

static void the_checksum_notices_a_flipped_bit_and_swapped_words(void **state)
{
    (void)state;
    uint64_t words[100];
    for (unsigned i = 0; i < 100; i++)
        words[i] = reference_word(5, i);
    uint64_t sum = reference_checksum(words, 100);
    for (unsigned bit = 0; bit < 64; bit++) {
        words[77] ^= UINT64_C(1) << bit;
        assert_true(reference_checksum(words, 100) != sum);
        words[77] ^= UINT64_C(1) << bit;
    }
    words[3] = reference_word(5, 4);
    words[4] = reference_word(5, 3);
    assert_true(reference_checksum(words, 100) != sum);
}

static void a_product_is_that_of_a_row_and_a_column(void **state)
{
    (void)state;
    /* The first row of the stream 0 times itself: the squares of the eight bytes above. */
    assert_int_equal(reference_product(0, 0, 0, 0, 8), 81 * 81 + 51 * 51 + 29 * 29 + 123 * 123 +
                                                           57 * 57 + 88 * 88 + 32 * 32 + 30 * 30);
    assert_int_equal(reference_product(1, 3, 2, 5, 1),
                     reference_element(1, 3) * reference_element(2, 5));
    assert_int_equal(reference_product(1, 3, 2, 5, 2),
                     reference_element(1, 6) * reference_element(2, 10) +
                         reference_element(1, 7) * reference_element(2, 11));
}

/* Returns `value` rounded to the nearest bfloat16. */
static uint16_t rounded(double value)
{
    union {
        float value;
        uint32_t bits;
    } wide = {.value = (float)value};
    return (uint16_t)((wide.bits + 0x7fff + (wide.bits >> 16 & 1)) >> 16);
}

static void a_rounded_product_matches_and_a_damaged_one_does_not(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 200; i++) {
        int64_t product = reference_product(1, i, 2, 7, 512);
        double value = (double)product / 16384;
        assert_true(reference_product_matches(rounded(value), product));
        assert_false(reference_product_matches(rounded(value + 0.5), product));
        assert_false(
            reference_product_matches(rounded(value * 1.02 + copysign(0.1, value)), product));
    }
    assert_false(reference_product_matches(0x7fc0, 0));     /* NaN */
    assert_false(reference_product_matches(0x7f80, 16384)); /* infinity */
    assert_true(reference_product_matches(0x3f80, 16384));
}

static void a_sum_is_over_the_streams_of_the_ranks(void **state)
{
    (void)state;
    assert_int_equal(reference_sum(7, 1, 9), reference_element(7, 9));
    assert_int_equal(reference_sum(7, 3, 9),
                     reference_element(7, 9) + reference_element(8, 9) + reference_element(9, 9));
}

static void the_bus_bandwidth_is_that_of_nccl_tests(void **state)
{
    (void)state;
    static const struct {
        double bytes, seconds;
        unsigned ranks;
        double gbps;
    } known[] = {{1e9, 1, 2, 1},
                 {1e9, 1, 4, 1.5},
                 {1e9, 1, 8, 1.75},
                 {4294967296.0, 0.015618, 8, 481.25},
                 {1e9, 1, 1, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_true(fabs(reference_bus_gbps(known[i].bytes, known[i].seconds, known[i].ranks) -
                         known[i].gbps) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_splitmix64),
        cmocka_unit_test(elements_are_the_bytes_of_a_word_lowest_first),
        cmocka_unit_test(elements_are_spread_over_all_bytes),
        cmocka_unit_test(every_element_is_exact_as_bfloat16),
        cmocka_unit_test(the_checksum_notices_a_flipped_bit_and_swapped_words),
        cmocka_unit_test(a_product_is_that_of_a_row_and_a_column),
        cmocka_unit_test(a_rounded_product_matches_and_a_damaged_one_does_not),
        cmocka_unit_test(a_sum_is_over_the_streams_of_the_ranks),
        cmocka_unit_test(the_bus_bandwidth_is_that_of_nccl_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
