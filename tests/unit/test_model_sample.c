/* Drawn tokens: their frequencies against exact probabilities, where top-p cuts, and what a draw
 * depends on. Seeds are fixed, so the results never change. */
#include "tests/unit/unit.h"

#include "worker/model/sample.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 10, LINES = 200, POSITIONS = 200, DRAWS = LINES * POSITIONS };

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

/* Counts the tokens of all lines and positions. */
static void count_draws(size_t *ret_counts, double temperature, double top_p)
{
    const struct sample_options options = {temperature, top_p, 11};
    struct sampler *sampler = sampler_new(&options, TOKENS);
    memset(ret_counts, 0, TOKENS * sizeof *ret_counts);
    for (uint64_t i = 0; i < DRAWS; i++)
        ret_counts[sampler_draw(sampler, logits, i / POSITIONS, i % POSITIONS)]++;
    sampler_free(sampler);
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
    const struct sample_options options = {1, 0, 5};
    struct sampler *sampler = sampler_new(&options, TOKENS);
    for (uint64_t position = 0; position < 100; position++)
        assert_int_equal(sampler_draw(sampler, equal, 3, position), 2);
    sampler_free(sampler);
}

static void without_temperature_the_most_likely_token_is_taken(void **state)
{
    (void)state;
    const struct sample_options options = {0, 1, 5}, cold = {1e-9, 1, 5};
    struct sampler *greedy = sampler_new(&options, TOKENS), *limit = sampler_new(&cold, TOKENS);
    for (uint64_t position = 0; position < 100; position++) {
        assert_int_equal(sampler_draw(greedy, logits, 0, position), 2);
        assert_int_equal(sampler_draw(limit, logits, 0, position), 2);
    }
    sampler_free(greedy);
    sampler_free(limit);
}

/* Returns how many of 1000 tokens differ. */
static int count_differences(const struct sample_options *a, uint64_t line_a,
                             const struct sample_options *b, uint64_t line_b)
{
    struct sampler *left = sampler_new(a, TOKENS), *right = sampler_new(b, TOKENS);
    int differences = 0;
    for (uint64_t i = 0; i < 1000; i++)
        differences +=
            sampler_draw(left, logits, line_a, i) != sampler_draw(right, logits, line_b, i);
    sampler_free(left);
    sampler_free(right);
    return differences;
}

static void a_draw_depends_on_seed_and_line_and_position_only(void **state)
{
    (void)state;
    const struct sample_options options = {1, 0.9, 7}, other = {1, 0.9, 8};
    assert_int_equal(count_differences(&options, 4, &options, 4), 0);
    assert_true(count_differences(&options, 4, &options, 5) > 500);
    assert_true(count_differences(&options, 4, &other, 4) > 500);
    struct sampler *sampler = sampler_new(&options, TOKENS), *fresh;
    for (uint64_t i = 100; i-- > 0;) { /* the order of the draws does not count */
        fresh = sampler_new(&options, TOKENS);
        assert_int_equal(sampler_draw(sampler, logits, 4, i), sampler_draw(fresh, logits, 4, i));
        sampler_free(fresh);
    }
    sampler_free(sampler);
}

static void logits_that_are_no_numbers_still_give_a_token(void **state)
{
    (void)state;
    float broken[TOKENS];
    const struct sample_options options = {1, 0.9, 7};
    struct sampler *sampler = sampler_new(&options, TOKENS);
    for (size_t i = 0; i < TOKENS; i++)
        broken[i] = NAN;
    assert_int_equal(sampler_draw(sampler, broken, 0, 0), 0);
    broken[3] = INFINITY;
    assert_true(sampler_draw(sampler, broken, 0, 0) < TOKENS);
    memcpy(broken, logits, sizeof broken);
    broken[2] = -INFINITY; /* the likeliest token before */
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_not_equal(sampler_draw(sampler, broken, 0, i), 2);
    sampler_free(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_have_the_probabilities_of_the_softmax),
        cmocka_unit_test(top_p_keeps_as_few_of_the_most_likely_tokens_as_have_the_probability),
        cmocka_unit_test(with_top_p_0_the_first_of_the_most_likely_tokens_is_left),
        cmocka_unit_test(without_temperature_the_most_likely_token_is_taken),
        cmocka_unit_test(a_draw_depends_on_seed_and_line_and_position_only),
        cmocka_unit_test(logits_that_are_no_numbers_still_give_a_token),
    };
    return cmocka_run_group_tests_name("model_sample", tests, NULL, NULL);
}
