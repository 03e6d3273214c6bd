/* Decoding compared with the forward pass of training, and sums of a group. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/decode.h"
#include "worker/model/group.h"
#include "worker/model/model.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEQUENCE = 24, BATCH = 3, VALUES = 10000 };

static void make_model(struct model *model)
{
    const struct model_shape shape = {.width = 32, .depth = 2, .heads = 4, .loops = 3};
    model_init(model, &shape, BATCH, SEQUENCE);
    model_draw(model, 7);
}

static double log_sum(const float *logits)
{
    double sum = 0;
    for (size_t i = 0; i < MODEL_VOCABULARY; i++)
        sum += exp((double)logits[i]);
    return log(sum);
}

static void decoding_token_by_token_gives_the_losses_of_the_whole_text(void **state)
{
    (void)state;
    struct model model;
    struct group group;
    struct error err;
    uint8_t ids[BATCH * SEQUENCE], targets[BATCH * SEQUENCE];
    double losses[MODEL_LOOPS_MAX] = {0}, decoded = 0;
    make_model(&model);
    for (size_t i = 0; i < sizeof ids; i++) {
        ids[i] = (uint8_t)(i * 31 + i / 7);
        targets[i] = (uint8_t)(i * 17 + 3);
    }
    model_evaluate(&model, ids, targets, BATCH, losses);
    assert_int_equal(group_fork(&group, 1, &err), 0);
    struct decode *decode = decode_new(&model, &group, BATCH, SEQUENCE);
    decode_begin(decode, BATCH);
    for (size_t t = 0; t < SEQUENCE; t++) {
        uint8_t column[BATCH];
        const float *logits;
        for (size_t b = 0; b < BATCH; b++)
            column[b] = ids[b * SEQUENCE + t];
        assert_int_equal(decode_step(decode, column, &logits, &err), 0);
        for (size_t b = 0; b < BATCH; b++) {
            const float *row = logits + b * MODEL_VOCABULARY;
            decoded += log_sum(row) - (double)row[targets[b * SEQUENCE + t]];
        }
    }
    double expected = losses[model.shape.loops - 1];
    if (fabs(decoded - expected) > 1e-4 * expected)
        fail_msg("%.6f decoded, %.6f evaluated", decoded, expected);
    decode_free(decode);
    assert_int_equal(group_end(&group, 0, &err), 0);
    model_fini(&model);
}

/* Values whose sum depends on the order. The order of the tree is expected. */
static float part_of(unsigned rank, size_t i)
{
    return ldexpf((float)(i % 97) + 0.1f, (int)(rank * 7 % 23));
}

static float tree_sum(unsigned first, unsigned size, size_t i)
{
    if (size == 1)
        return part_of(first, i);
    return tree_sum(first, size / 2, i) + tree_sum(first + size / 2, size / 2, i);
}

static int sum_and_compare(struct group *group, struct error *err)
{
    float *values = malloc(VALUES * sizeof *values);
    if (!values)
        abort();
    for (size_t i = 0; i < VALUES; i++)
        values[i] = part_of(group->rank, i);
    int result = group_sum(group, values, VALUES, err);
    for (size_t i = 0; i < VALUES && result == 0; i++) {
        float expected = tree_sum(0, group->size, i);
        if (memcmp(&values[i], &expected, sizeof expected) != 0)
            result = error_set(err, -ERANGE, "value %zu differs", i);
    }
    free(values);
    return result;
}

static void a_group_sums_in_a_tree_with_the_same_bits_on_every_rank(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= GROUP_SIZE_MAX; size *= 2) {
        struct group group;
        struct error err = {0};
        assert_int_equal(group_fork(&group, size, &err), 0);
        int result = sum_and_compare(&group, &err);
        if (group_end(&group, result, &err) < 0)
            fail_msg("%u ranks: %s", size, err.message);
    }
}

static void a_rank_that_fails_or_dies_fails_the_group(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        struct group group;
        struct error err = {0};
        float value = 1;
        assert_int_equal(group_fork(&group, 4, &err), 0);
        if (group.rank == 3 && way == 0)
            (void)kill(getpid(), SIGKILL); /* never returns */
        int result = group.rank == 3 ? -EINVAL : group_sum(&group, &value, 1, &err);
        result = group_end(&group, result, &err);
        assert_int_equal(result, way == 0 ? -ECHILD : -ECONNRESET);
        assert_string_equal(err.message, way == 0 ? "rank 3 of the group died of signal 9"
                                                  : "rank 2 of the group is gone");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_token_by_token_gives_the_losses_of_the_whole_text),
        cmocka_unit_test(a_group_sums_in_a_tree_with_the_same_bits_on_every_rank),
        cmocka_unit_test(a_rank_that_fails_or_dies_fails_the_group),
    };
    return cmocka_run_group_tests_name("model_decode", tests, NULL, NULL);
}
