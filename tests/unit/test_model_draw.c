/* Tokens that a CPU draws: their frequencies against exact probabilities, where top-p cuts, and
 * where the logits lie. Seeds are fixed, so the results never change. */
#include "tests/unit/unit.h"

#include "worker/model/kernels.h"
#include "worker/model/random.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 10, DRAWS = 40000 };

/* A sum of squares that is larger has the probability 0.001, for 9 degrees of freedom. Fewer
 * degrees of freedom have smaller sums. */
static const double chi_square_bound = 27.88;

static const float logits[TOKENS] = {0.3f,  -1.2f, 2.1f, 0.3f,  -0.7f,
                                     1.15f, -2.5f, 0.9f, -0.1f, 1.6f};

static void softmax(double *ret_probabilities, double temperature)
{
    double sum = 0;
    for (size_t i = 0; i < TOKENS; i++)
        sum += ret_probabilities[i] = exp((double)logits[i] / temperature);
    for (size_t i = 0; i < TOKENS; i++)
        ret_probabilities[i] /= sum;
}

static uint32_t draw(const float *from, double temperature, double top_p, double random)
{
    const struct kernel_draw_options options = {TOKENS, temperature, top_p};
    const struct kernel_parts parts = {TOKENS, TOKENS, 0};
    uint32_t token = TOKENS;
    kernel_draw(NULL, &token, from, &random, 1, &parts, &options);
    return token;
}

/* Counts the tokens of many draws. */
static void count_draws(size_t *ret_counts, double temperature, double top_p)
{
    memset(ret_counts, 0, TOKENS * sizeof *ret_counts);
    for (uint64_t i = 0; i < DRAWS; i++)
        ret_counts[draw(logits, temperature, top_p, random_unit_at(11, i))]++;
}

/* Tokens that cannot be drawn have no part in the sum. */
static double chi_square(const size_t *counts, const double *probabilities)
{
    double sum = 0;
    for (size_t i = 0; i < TOKENS; i++) {
        double expected = probabilities[i] * DRAWS, difference = (double)counts[i] - expected;
        if (expected > 0)
            sum += difference * difference / expected;
    }
    return sum;
}

static void tokens_have_the_probabilities_of_the_softmax(void **state)
{
    (void)state;
    const double temperatures[] = {0.5, 1, 2.5};
    for (size_t i = 0; i < sizeof temperatures / sizeof *temperatures; i++) {
        size_t counts[TOKENS];
        double probabilities[TOKENS];
        count_draws(counts, temperatures[i], 1);
        softmax(probabilities, temperatures[i]);
        double sum = chi_square(counts, probabilities);
        if (!(sum < chi_square_bound))
            fail_msg("temperature %g: chi-square %g", temperatures[i], sum);
        softmax(probabilities, temperatures[i] * 1.1); /* the bound tells such a difference */
        assert_true(chi_square(counts, probabilities) > chi_square_bound);
    }
}

static void top_p_keeps_as_few_of_the_most_likely_tokens_as_have_the_probability(void **state)
{
    (void)state;
    static const size_t falling[TOKENS] = {2, 9, 5, 7, 0, 3, 8, 4, 1, 6};
    double probabilities[TOKENS], below = 0;
    softmax(probabilities, 1);
    for (size_t kept = 1; kept <= TOKENS; kept++) {
        size_t counts[TOKENS];
        double expected[TOKENS] = {0}, share = probabilities[falling[kept - 1]];
        for (size_t i = 0; i < kept; i++)
            expected[falling[i]] = probabilities[falling[i]] / (below + share);
        for (int end = 0; end < 2; end++) { /* just more than one token less, and all of them */
            count_draws(counts, 1, below + share * (end ? 0.999 : 0.001));
            for (size_t i = kept; i < TOKENS; i++)
                assert_int_equal(counts[falling[i]], 0);
            assert_true(counts[falling[kept - 1]] > 0);
            assert_true(chi_square(counts, expected) < chi_square_bound);
        }
        below += share;
    }
}

static void with_top_p_0_the_first_of_the_most_likely_tokens_is_left(void **state)
{
    (void)state;
    static const float equal[TOKENS] = {0, 0, 1, 1, 1, 0, 0, 0, 1, 0};
    for (uint64_t i = 0; i < 100; i++)
        assert_int_equal(draw(equal, 1, 0, random_unit_at(5, i)), 2);
}

static void without_temperature_the_most_likely_token_is_taken(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        assert_int_equal(draw(logits, 0, 1, random_unit_at(5, i)), 2);
        assert_int_equal(draw(logits, 1e-9, 1, random_unit_at(5, i)), 2);
    }
}

/* Three rows of two ranks, of which the second one has fewer classes, and a class of padding. */
static void rows_lie_in_the_parts_of_ranks_and_padding_is_never_drawn(void **state)
{
    (void)state;
    enum { PART = 7, REST = TOKENS + 1 - PART };
    const struct kernel_parts parts = {TOKENS + 1, PART, 3 * PART + 2};
    float numbers[2 * (3 * PART + 2)];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = NAN;
    for (size_t row = 0; row < 3; row++) {
        for (size_t i = 0; i < PART; i++)
            numbers[row * PART + i] = logits[(row + i) % TOKENS];
        for (size_t i = PART; i < TOKENS; i++)
            numbers[parts.stride + row * REST + i - PART] = logits[(row + i) % TOKENS];
        numbers[parts.stride + row * REST + REST - 1] = 100; /* the padding */
    }
    for (uint64_t i = 0; i < 1000; i++) {
        const struct kernel_draw_options options = {TOKENS, 2, i % 2 ? 1 : 0.8};
        double randoms[3];
        uint32_t tokens[3];
        for (size_t row = 0; row < 3; row++)
            randoms[row] = random_unit_at(3, 3 * i + row);
        kernel_draw(NULL, tokens, numbers, randoms, 3, &parts, &options);
        for (size_t row = 0; row < 3; row++) {
            float whole[TOKENS];
            for (size_t j = 0; j < TOKENS; j++)
                whole[j] = logits[(row + j) % TOKENS];
            assert_int_equal(tokens[row], draw(whole, 2, options.top_p, randoms[row]));
        }
    }
}

static void logits_that_are_no_numbers_still_give_a_token(void **state)
{
    (void)state;
    float broken[TOKENS];
    for (size_t i = 0; i < TOKENS; i++)
        broken[i] = NAN;
    assert_int_equal(draw(broken, 1, 0.9, 0.5), 0);
    broken[3] = INFINITY;
    assert_true(draw(broken, 1, 0.9, 0.5) < TOKENS);
    memcpy(broken, logits, sizeof broken);
    broken[2] = -INFINITY; /* the likeliest token before */
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_not_equal(draw(broken, 1, 0.9, random_unit_at(7, i)), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_have_the_probabilities_of_the_softmax),
        cmocka_unit_test(top_p_keeps_as_few_of_the_most_likely_tokens_as_have_the_probability),
        cmocka_unit_test(with_top_p_0_the_first_of_the_most_likely_tokens_is_left),
        cmocka_unit_test(without_temperature_the_most_likely_token_is_taken),
        cmocka_unit_test(rows_lie_in_the_parts_of_ranks_and_padding_is_never_drawn),
        cmocka_unit_test(logits_that_are_no_numbers_still_give_a_token),
    };
    return cmocka_run_group_tests_name("model_draw", tests, NULL, NULL);
}
