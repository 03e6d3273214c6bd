/* The kernels of the full level, run on a processor: each kernel computes what the reference
 * computes. Counts are not a multiple of the grid, and buffers end with a guard. */
#include "tests/unit/unit.h"

#include "worker/preflight/gpu/kernels.h"
#include "worker/preflight/reference.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 103, ELEMENTS = WORDS * 8 };

/* A kernel runs at once. */
unsigned serial_queue(struct CUstream_st *stream, const char *kernel, void (*run)(void *body),
                      void *body);
unsigned serial_queue(struct CUstream_st *stream, const char *kernel, void (*run)(void *body),
                      void *body)
{
    (void)stream;
    (void)kernel;
    run(body);
    free(body);
    return 0;
}

static void fills_write_the_streams(void **state)
{
    (void)state;
    static uint64_t words[WORDS + 1];
    static _Alignas(16) float floats[ELEMENTS + 1];
    static _Alignas(16) uint16_t bfloats[ELEMENTS + 1];
    words[WORDS] = 1;
    floats[ELEMENTS] = 2;
    bfloats[ELEMENTS] = 3;
    assert_int_equal(kernels_fill_words(words, WORDS, 11, NULL), 0);
    assert_int_equal(kernels_fill_floats(floats, WORDS, 11, NULL), 0);
    assert_int_equal(kernels_fill_bfloats(bfloats, WORDS, 11, NULL), 0);
    for (unsigned i = 0; i < WORDS; i++)
        assert_true(words[i] == reference_word(11, i));
    for (unsigned i = 0; i < ELEMENTS; i++) {
        assert_true(floats[i] == (float)reference_element(11, i));
        assert_int_equal(bfloats[i], reference_bfloat(reference_element(11, i)));
    }
    assert_true(words[WORDS] == 1 && floats[ELEMENTS] == 2 && bfloats[ELEMENTS] == 3);
}

static void wrong_words_are_counted_wherever_they_are(void **state)
{
    (void)state;
    static uint64_t words[WORDS];
    unsigned long long wrong = 0;
    assert_int_equal(kernels_fill_words(words, WORDS, 4, NULL), 0);
    assert_int_equal(kernels_count_words(words, WORDS, 4, &wrong, NULL), 0);
    assert_int_equal(wrong, 0);
    for (unsigned i = 0; i < WORDS; i++) {
        words[i] ^= UINT64_C(1) << i % 64;
        wrong = 5;
        assert_int_equal(kernels_count_words(words, WORDS, 4, &wrong, NULL), 0);
        assert_int_equal(wrong, 6 + i); /* added to the count before */
    }
}

static void wrong_sums_are_counted_wherever_they_are(void **state)
{
    (void)state;
    static _Alignas(16) float floats[ELEMENTS];
    unsigned long long wrong = 0;
    for (unsigned i = 0; i < ELEMENTS; i++)
        floats[i] = (float)reference_sum(21, 5, i);
    assert_int_equal(kernels_count_sums(floats, WORDS, 21, 5, &wrong, NULL), 0);
    assert_int_equal(wrong, 0);
    for (unsigned i = 0; i < ELEMENTS; i++) {
        if (i % 2)
            floats[i] += 1;
        else
            memset(&floats[i], 0xff, sizeof floats[i]); /* NaN */
        wrong = 0;
        assert_int_equal(kernels_count_sums(floats, WORDS, 21, 5, &wrong, NULL), 0);
        assert_int_equal(wrong, i + 1);
    }
}

static void checksums_equal_those_of_the_reference(void **state)
{
    (void)state;
    static uint64_t words[WORDS];
    unsigned long long sum = 7;
    for (unsigned i = 0; i < WORDS; i++)
        words[i] = reference_word(9, i);
    assert_int_equal(kernels_checksum(words, WORDS, &sum, NULL), 0);
    assert_true(sum == 7 + reference_checksum(words, WORDS));
}

static void copies_and_triads_reach_every_element(void **state)
{
    (void)state;
    enum { EVEN = WORDS + 1 };
    static _Alignas(16) uint64_t from[EVEN], to[EVEN];
    static _Alignas(16) float a[ELEMENTS], b[ELEMENTS], sums[ELEMENTS];
    unsigned long long wrong = 0;
    assert_int_equal(kernels_fill_words(from, EVEN, 1, NULL), 0);
    assert_int_equal(kernels_copy(to, from, EVEN, NULL), 0);
    assert_memory_equal(to, from, sizeof to);
    assert_int_equal(kernels_fill_floats(a, WORDS, 30, NULL), 0);
    assert_int_equal(kernels_fill_floats(b, WORDS, 31, NULL), 0);
    assert_int_equal(kernels_triad(sums, a, b, 3, WORDS, NULL), 0);
    for (unsigned i = 0; i < ELEMENTS; i++)
        assert_true(sums[i] == a[i] + 3 * b[i]);
    /* With a scale of 1 it is the sum of two streams. This is how a GPU's triad is checked. */
    assert_int_equal(kernels_triad(sums, a, b, 1, WORDS, NULL), 0);
    assert_int_equal(kernels_count_sums(sums, WORDS, 30, 2, &wrong, NULL), 0);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_write_the_streams),
        cmocka_unit_test(wrong_words_are_counted_wherever_they_are),
        cmocka_unit_test(wrong_sums_are_counted_wherever_they_are),
        cmocka_unit_test(checksums_equal_those_of_the_reference),
        cmocka_unit_test(copies_and_triads_reach_every_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
