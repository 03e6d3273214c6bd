/* Decoding compared with the forward pass of training, sequences that share a pool of pages, and
 * the processes of a group. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/decode.h"
#include "worker/model/group.h"
#include "worker/model/model.h"
#include "worker/model/pass.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct model_rank alone = {0, 1};

enum { SEQUENCE = 24, BATCH = 3, VALUES = 10000, VOCABULARY_MAX = 300 };

/* Three loops with a head of their own, and plain decoders with a tied head and with their own. In
 * a group of four, the last rank has no share of the last vocabulary. */
static const struct model_shape shapes[] = {
    {.vocabulary = 256,
     .width = 32,
     .depth = 2,
     .heads = 8,
     .kv_heads = 4,
     .hidden = 40,
     .loops = 3},
    {.vocabulary = 300,
     .width = 36,
     .depth = 1,
     .heads = 6,
     .kv_heads = 3,
     .hidden = 50,
     .loops = 1,
     .tied = 1},
    {.vocabulary = 300,
     .width = 32,
     .depth = 1,
     .heads = 4,
     .kv_heads = 4,
     .hidden = 52,
     .loops = 1},
};

/* Returns the logits of sequence `index` after the step, of all ranks. Borrowed until the next
 * call. */
static const float *logits_of(const struct decode *decode, size_t index)
{
    static float whole[VOCABULARY_MAX];
    struct kernel_parts parts;
    const float *logits = decode_logits(decode, &parts);
    for (size_t first = 0, count; first < parts.classes; first += count) {
        size_t at = kernel_parts_row(&parts, first, index, &count);
        memcpy(whole + first, logits + at, count * sizeof *whole);
    }
    return whole;
}

static double log_sum(const float *logits, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += exp((double)logits[i]);
    return log(sum);
}

/* Decodes the text token by token. Returns the sum of the losses. */
static double decode_text(const struct model *model, const uint32_t *ids, const uint32_t *targets)
{
    size_t vocabulary = model->shape.vocabulary;
    double sum = 0;
    struct decode *decode =
        decode_new(model, BATCH, BATCH, SEQUENCE, BATCH * decode_pages(SEQUENCE));
    struct decode_kept kept[BATCH] = {0};
    for (size_t t = 0; t < SEQUENCE; t++) {
        struct decode_piece pieces[BATCH];
        for (size_t b = 0; b < BATCH; b++) {
            pieces[b] = (struct decode_piece){&kept[b], ids + b * SEQUENCE + t, 1};
            assert_true(decode_reserve(decode, &kept[b], t + 1));
        }
        decode_step(decode, pieces, BATCH);
        for (size_t b = 0; b < BATCH; b++) {
            const float *row = logits_of(decode, b);
            sum += log_sum(row, vocabulary) - (double)row[targets[b * SEQUENCE + t]];
        }
    }
    for (size_t b = 0; b < BATCH; b++)
        decode_release(decode, &kept[b]);
    decode_free(decode);
    return sum;
}

static void decoding_token_by_token_gives_the_losses_of_the_whole_text(void **state)
{
    (void)state;
    struct error err;
    struct kernels *kernels = kernels_new(0, &err);
    assert_non_null(kernels);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct model model;
        uint32_t ids[BATCH * SEQUENCE], targets[BATCH * SEQUENCE];
        double losses[MODEL_LOOPS_MAX] = {0};
        assert_int_equal(
            model_init(&model, kernels, &shapes[i], SEQUENCE, MODEL_TRAINS, alone, &err), 0);
        struct pass *pass = pass_new(&model, BATCH, &err);
        assert_non_null(pass);
        model_draw(&model, 7);
        for (uint32_t t = 0; t < BATCH * SEQUENCE; t++) {
            ids[t] = (t * 31 + t / 7) % shapes[i].vocabulary;
            targets[t] = (t * 17 + 3) % shapes[i].vocabulary;
        }
        pass_evaluate(pass, ids, targets, BATCH);
        pass_losses(pass, losses);
        double expected = losses[shapes[i].loops - 1];
        double decoded = decode_text(&model, ids, targets);
        if (fabs(decoded - expected) > 1e-4 * expected)
            fail_msg("%.6f decoded, %.6f evaluated", decoded, expected);
        pass_free(pass);
        model_fini(&model);
    }
    kernels_free(kernels);
}

struct line {
    uint32_t text[SEQUENCE];
    /* Those of the sequence that is read alone, token by token. */
    float logits[SEQUENCE][VOCABULARY_MAX];
    struct decode_kept kept;
};

/* Decodes `steps` more tokens of each sequence, and compares the logits. */
static void decode_beside(struct decode *decode, struct line *const *lines, size_t count,
                          size_t steps)
{
    for (; steps; steps--) {
        struct decode_piece pieces[BATCH];
        for (size_t i = 0; i < count; i++) {
            struct decode_kept *kept = &lines[i]->kept;
            pieces[i] = (struct decode_piece){kept, lines[i]->text + kept->length, 1};
            assert_true(decode_reserve(decode, kept, kept->length + 1));
        }
        decode_step(decode, pieces, count);
        for (size_t i = 0; i < count; i++)
            assert_memory_equal(logits_of(decode, i), lines[i]->logits[lines[i]->kept.length - 1],
                                256 * sizeof(float));
    }
}

static void decode_alone(struct decode *decode, struct line *line, uint32_t first,
                         size_t vocabulary)
{
    for (uint32_t t = 0; t < SEQUENCE; t++) {
        const struct decode_piece piece = {&line->kept, &line->text[t], 1};
        line->text[t] = (first + t * 31) % 256;
        assert_true(decode_reserve(decode, &line->kept, t + 1));
        decode_step(decode, &piece, 1);
        memcpy(line->logits[t], logits_of(decode, 0), vocabulary * sizeof(float));
    }
    decode_release(decode, &line->kept);
}

static void sequences_that_come_and_go_have_the_logits_of_each_alone(void **state)
{
    (void)state;
    struct error err;
    struct model model;
    struct kernels *kernels = kernels_new(0, &err);
    static struct line a, b, c;
    assert_int_equal(model_init(&model, kernels, &shapes[0], SEQUENCE, MODEL_TRAINS, alone, &err),
                     0);
    model_draw(&model, 7);
    struct decode *decode = decode_new(&model, BATCH, BATCH, SEQUENCE, 3);
    decode_alone(decode, &a, 0, 256);
    decode_alone(decode, &b, 100, 256);
    decode_alone(decode, &c, 200, 256);
    decode_beside(decode, (struct line *[]){&a}, 1, KERNEL_PAGE);
    decode_beside(decode, (struct line *[]){&b, &a}, 2, SEQUENCE - KERNEL_PAGE);
    assert_false(decode_reserve(decode, &c.kept, 1)); /* `a` has two pages, `b` has the third */
    assert_int_equal(c.kept.page_count, 0);
    decode_release(decode, &a.kept);
    decode_beside(decode, (struct line *[]){&b, &c}, 2, KERNEL_PAGE); /* pages of `a` */
    assert_false(decode_reserve(decode, &c.kept, SEQUENCE));
    decode_release(decode, &b.kept);
    decode_beside(decode, (struct line *[]){&c}, 1, SEQUENCE - KERNEL_PAGE);
    decode_release(decode, &c.kept);
    assert_true(decode_reserve(decode, &a.kept, 3 * KERNEL_PAGE)); /* no page is lost */
    decode_release(decode, &a.kept);
    decode_free(decode);
    model_fini(&model);
    kernels_free(kernels);
}

/* Reads two texts side by side: `size` tokens of the first one and `other_size` of the second one
 * in each step. Compares the logits after each piece, which the first rank has. */
static int read_in_pieces(struct kernels *kernels, struct decode *decode, struct line *lines,
                          size_t size, size_t other_size, size_t vocabulary, bool is_first,
                          struct error *err)
{
    const size_t sizes[] = {size, other_size};
    int status = 0;
    for (size_t step = 0; step * size < SEQUENCE || step * other_size < SEQUENCE; step++) {
        struct decode_piece pieces[2];
        struct line *taken[2];
        size_t count = 0;
        for (size_t i = 0; i < 2; i++) {
            struct decode_kept *kept = &lines[i].kept;
            size_t left = SEQUENCE - kept->length, some = left < sizes[i] ? left : sizes[i];
            if (left == 0)
                continue;
            assert_true(decode_reserve(decode, kept, kept->length + some));
            taken[count] = &lines[i];
            pieces[count++] = (struct decode_piece){kept, lines[i].text + kept->length, some};
        }
        decode_step(decode, pieces, count);
        status = kernels_status(kernels, err);
        for (size_t i = 0; i < count && status == 0 && is_first; i++)
            if (memcmp(logits_of(decode, i), taken[i]->logits[taken[i]->kept.length - 1],
                       vocabulary * sizeof(float)) != 0)
                status = error_set(err, -ERANGE, "pieces of %zu and %zu tokens: step %zu differs",
                                   size, other_size, step);
        if (status < 0)
            break;
    }
    decode_release(decode, &lines[0].kept);
    decode_release(decode, &lines[1].kept);
    return status;
}

/* Reads with all sizes of pieces, on this rank of a group. */
static int read_in_all_pieces(struct group *group, const struct model_shape *shape,
                              struct line *lines, struct error *err)
{
    struct model model;
    struct kernels *kernels = kernels_new(0, err);
    const struct model_rank rank = {group->ranks.rank, group->ranks.size};
    assert_int_equal(model_init(&model, kernels, shape, SEQUENCE, MODEL_DECODES, rank, err), 0);
    model_draw(&model, 7);
    int status = kernels_join(kernels, &group->ranks, err);
    struct decode *decode =
        decode_new(&model, 2, 2 * SEQUENCE, SEQUENCE, 2 * decode_pages(SEQUENCE));
    for (size_t size = 1; size <= SEQUENCE && status == 0; size++)
        status = read_in_pieces(kernels, decode, lines, size, SEQUENCE + 1 - size,
                                shape->vocabulary, rank.rank == 0, err);
    decode_free(decode);
    model_fini(&model);
    kernels_free(kernels);
    return status;
}

/* Each rank has only its own share of the matrices. */
static void pieces_of_all_sizes_have_the_logits_of_single_tokens_in_groups_of_any_size(void **state)
{
    (void)state;
    static struct line lines[2];
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct error err = {0};
        struct model model;
        struct kernels *kernels = kernels_new(0, &err);
        assert_int_equal(
            model_init(&model, kernels, &shapes[i], SEQUENCE, MODEL_DECODES, alone, &err), 0);
        model_draw(&model, 7);
        struct decode *decode = decode_new(&model, 1, 1, SEQUENCE, decode_pages(SEQUENCE));
        decode_alone(decode, &lines[0], 0, shapes[i].vocabulary);
        decode_alone(decode, &lines[1], 100, shapes[i].vocabulary);
        decode_free(decode);
        model_fini(&model);
        kernels_free(kernels);
        for (unsigned size = 1; size <= decode_group_max(&shapes[i]); size *= 2) {
            struct group group;
            assert_int_equal(group_fork(&group, size, &err), 0);
            int status = read_in_all_pieces(&group, &shapes[i], lines, &err);
            if (group_end(&group, status, &err) < 0)
                fail_msg("shape %zu, %u ranks: %s", i, size, err.message);
        }
    }
}

static void the_largest_group_divides_heads_and_keys_and_the_mlp(void **state)
{
    (void)state;
    const struct {
        uint32_t heads, kv_heads, hidden;
        unsigned size;
    } rows[] = {{8, 8, 64, 8}, {8, 4, 64, 4}, {12, 12, 2048, 4}, {8, 8, 50, 2},
                {3, 3, 64, 1}, {8, 1, 64, 1}, {64, 64, 64, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct model_shape shape = {
            .heads = rows[i].heads, .kv_heads = rows[i].kv_heads, .hidden = rows[i].hidden};
        assert_int_equal(decode_group_max(&shape), rows[i].size);
    }
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
        values[i] = part_of(group->ranks.rank, i);
    int result = ranks_sum(&group->ranks, values, VALUES, err);
    for (size_t i = 0; i < VALUES && result == 0; i++) {
        float expected = tree_sum(0, group->ranks.size, i);
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
        if (group.ranks.rank == 3 && way == 0)
            (void)kill(getpid(), SIGKILL); /* never returns */
        int result = group.ranks.rank == 3 ? error_set(&err, -EINVAL, "an error of the test")
                                           : ranks_sum(&group.ranks, &value, 1, &err);
        result = group_end(&group, result, &err);
        assert_int_equal(result, way == 0 ? -ECHILD : -ECONNRESET);
        assert_string_equal(err.message, way == 0 ? "rank 3 of the group died of signal 9"
                                                  : "rank 3 is gone: it closed its connection");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decoding_token_by_token_gives_the_losses_of_the_whole_text),
        cmocka_unit_test(sequences_that_come_and_go_have_the_logits_of_each_alone),
        cmocka_unit_test(
            pieces_of_all_sizes_have_the_logits_of_single_tokens_in_groups_of_any_size),
        cmocka_unit_test(the_largest_group_divides_heads_and_keys_and_the_mlp),
        cmocka_unit_test(a_group_sums_in_a_tree_with_the_same_bits_on_every_rank),
        cmocka_unit_test(a_rank_that_fails_or_dies_fails_the_group),
    };
    return cmocka_run_group_tests_name("model_decode", tests, NULL, NULL);
}
