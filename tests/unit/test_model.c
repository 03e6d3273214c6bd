/* The whole model: its gradient against finite differences, and that on real text every loop
 * becomes better than the one before. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/data.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/pass.h"
#include "worker/model/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that fill no tile of the products. */
enum { BATCH = 2, SEQUENCE = 9, TOKENS = BATCH * SEQUENCE };
/* Three loops with a head of their own, and a plain decoder with one. */
static const struct model_shape looped = {.vocabulary = 256,
                                          .width = 12,
                                          .depth = 2,
                                          .heads = 3,
                                          .kv_heads = 1,
                                          .hidden = 10,
                                          .loops = 3};
static const struct model_shape plain = {.vocabulary = 256,
                                         .width = 12,
                                         .depth = 2,
                                         .heads = 2,
                                         .kv_heads = 2,
                                         .hidden = 10,
                                         .loops = 1,
                                         .tied = 1};
static const struct model_rank alone = {0, 1};
static struct kernels *kernels;
static const char text_path[] = "/usr/share/common-licenses/GPL-3";

static void fill_ids(uint32_t *ids, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = (uint32_t)(random_at(stream, i) % MODEL_BYTES);
}

/* Returns the pass of the model. */
static struct pass *init_small(struct model *model, const struct model_shape *shape,
                               size_t batch_max)
{
    struct error err;
    assert_int_equal(model_init(model, kernels, shape, SEQUENCE, MODEL_TRAINS, alone, &err), 0);
    model_draw(model, 3);
    /* Tied tokens begin small. Then the norms bend the loss too much for differences. */
    const struct model_ends_gradient ends = model_ends_gradient(model);
    float *tokens = model->master + (ends.tokens - model->gradient);
    for (size_t i = 0; shape->tied && i < (size_t)shape->vocabulary * shape->width; i++)
        tokens[i] *= 10;
    struct pass *pass = pass_new(model, batch_max, &err);
    assert_non_null(pass);
    return pass;
}

static void fini_small(struct model *model, struct pass *pass)
{
    pass_free(pass);
    model_fini(model);
}

struct sample {
    uint32_t ids[TOKENS], targets[TOKENS];
    float scales[MODEL_LOOPS_MAX];
};

static void init_sample(struct sample *sample, size_t loops)
{
    fill_ids(sample->ids, TOKENS, 1);
    fill_ids(sample->targets, TOKENS, 2);
    model_loop_weights(sample->scales, loops, 2);
    for (size_t i = 0; i < loops; i++)
        sample->scales[i] /= TOKENS;
}

static double loss_of(struct pass *pass, size_t loops, const struct sample *sample)
{
    double losses[MODEL_LOOPS_MAX] = {0}, sum = 0;
    pass_clear_losses(pass);
    pass_evaluate(pass, sample->ids, sample->targets, BATCH);
    pass_losses(pass, losses);
    for (size_t i = 0; i < loops; i++)
        sum += (double)sample->scales[i] * losses[i];
    return sum;
}

/* Returns the slope of the loss when the tensor moves by +-step along `direction`, a vector of
 * length 1. */
static double slope_along(struct model *model, struct pass *pass, const struct sample *sample,
                          const struct model_tensor *tensor, const float *direction, float step)
{
    float *weights = model->master + tensor->offset;
    float *kept = malloc(tensor->size * sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, weights, tensor->size * sizeof *kept);
    double value[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < tensor->size; i++)
            weights[i] = kept[i] + (side ? -step : step) * direction[i];
        value[side] = loss_of(pass, model->shape.loops, sample);
    }
    memcpy(weights, kept, tensor->size * sizeof *kept);
    free(kept);
    return (value[0] - value[1]) / (2 * (double)step);
}

static double length_of(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sqrt(sum);
}

static void normalise(float *direction, size_t count)
{
    float length = (float)length_of(direction, count);
    assert_true(length > 0);
    for (size_t i = 0; i < count; i++)
        direction[i] /= length;
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)b[i];
    return sum;
}

/* Along the gradient the slope must be the length of the gradient, and along random directions its
 * projection. A loss of 5 in float32 is exact to 1e-6, and over a step of 0.002 to 5e-4. */
static void assert_gradient(struct model *model, struct pass *pass, const struct sample *sample,
                            const struct model_tensor *tensor)
{
    const float *gradient = model->gradient + tensor->offset;
    float *direction = malloc(tensor->size * sizeof *direction);
    assert_non_null(direction);
    for (uint64_t try = 0; try < 4; try++) {
        for (size_t i = 0; i < tensor->size; i++)
            direction[i] = try == 0 ? gradient[i] : random_signed_at(100 + try, i);
        normalise(direction, tensor->size);
        double expected = slope_along(model, pass, sample, tensor, direction, 0.002f);
        double got = dot(gradient, direction, tensor->size);
        if (fabs(got - expected) > 5e-4 + 0.003 * fabs(expected))
            fail_msg("%s, direction %d: gradient %g, differences %g", tensor->name, (int)try, got,
                     expected);
    }
    free(direction);
}

static void assert_gradients(const struct model_shape *shape, const char *const *names)
{
    struct model model;
    struct sample sample;
    struct pass *pass = init_small(&model, shape, BATCH);
    init_sample(&sample, shape->loops);
    for (int i = 0; i < 2; i++) { /* nothing of the first gradient stays */
        model_clear_gradient(&model);
        pass_learn(pass, sample.ids, sample.targets, BATCH, sample.scales, PASS_LAST_ROUND);
    }
    for (size_t t = 0; t < model.tensor_count; t++) {
        const struct model_tensor *tensor = &model.tensors[t];
        if (tensor->size == 0)
            continue;
        assert_string_equal(tensor->name, *names);
        names++;
        assert_gradient(&model, pass, &sample, tensor);
    }
    assert_null(*names);
    fini_small(&model, pass);
}

static void the_gradient_of_every_tensor_equals_differences(void **state)
{
    (void)state;
    static const char *const names[] = {"norm1", "norm2", "norm1", "norm2", "tokens",
                                        "head",  "qkv",   "out",   "up",    "down",
                                        "qkv",   "out",   "up",    "down",  NULL};
    assert_gradients(&looped, names);
}

static void the_gradient_of_a_plain_decoder_with_tied_tokens_equals_differences(void **state)
{
    (void)state;
    static const char *const names[] = {"norm",   "norm1", "norm2", "norm1", "norm2",
                                        "tokens", "qkv",   "out",   "up",    "down",
                                        "qkv",    "out",   "up",    "down",  NULL};
    assert_gradients(&plain, names);
}

static void evaluation_and_learning_give_the_same_losses(void **state)
{
    (void)state;
    struct model model;
    struct sample sample;
    struct pass *pass = init_small(&model, &looped, BATCH);
    init_sample(&sample, looped.loops);
    double learned[MODEL_LOOPS_MAX] = {0}, evaluated[MODEL_LOOPS_MAX] = {0};
    pass_learn(pass, sample.ids, sample.targets, BATCH, sample.scales, PASS_LAST_ROUND);
    pass_losses(pass, learned);
    pass_clear_losses(pass);
    pass_evaluate(pass, sample.ids, sample.targets, BATCH);
    pass_losses(pass, evaluated);
    assert_true(learned[0] > 0);
    assert_memory_equal(learned, evaluated, sizeof learned);
    fini_small(&model, pass);
}

static void several_batches_add_up_to_the_gradient_of_one_batch(void **state)
{
    (void)state;
    struct model whole, parts;
    struct sample sample;
    struct pass *whole_pass = init_small(&whole, &looped, BATCH);
    struct pass *parts_pass = init_small(&parts, &looped, 1);
    init_sample(&sample, looped.loops);
    double losses[2][MODEL_LOOPS_MAX] = {0};
    pass_learn(whole_pass, sample.ids, sample.targets, BATCH, sample.scales, PASS_LAST_ROUND);
    for (size_t i = 0; i < BATCH; i++)
        pass_learn(parts_pass, sample.ids + i * SEQUENCE, sample.targets + i * SEQUENCE, 1,
                   sample.scales, i + 1 < BATCH ? PASS_MORE_ROUNDS : PASS_LAST_ROUND);
    pass_losses(whole_pass, losses[0]);
    pass_losses(parts_pass, losses[1]);
    struct error err;
    assert_int_equal(model_measure(&whole, &err), 0);
    double length = model_norm(&whole);
    assert_true(fabs(length - length_of(whole.gradient, whole.parameters)) < 1e-6 * length);
    for (size_t i = 0; i < whole.parameters; i++)
        assert_true(fabs((double)(whole.gradient[i] - parts.gradient[i])) < 1e-6 * length);
    for (size_t i = 0; i < looped.loops; i++)
        assert_true(fabs(losses[0][i] - losses[1][i]) < 1e-5 * losses[0][i]);
    fini_small(&whole, whole_pass);
    fini_small(&parts, parts_pass);
}

static void steps_without_an_update_are_counted_once(void **state)
{
    (void)state;
    static const struct {
        size_t good, bad, told;
    } rows[] = {{3, 0, 0}, {1, 2, 2}, {4, 1, 1}, {0, 0, 0}, {1, MODEL_NORMS + 5, MODEL_NORMS}};
    struct model model;
    struct error err;
    struct pass *pass = init_small(&model, &looped, BATCH);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        for (size_t i = 0; i < rows[row].good + rows[row].bad; i++) {
            model.gradient[7] = i < rows[row].good ? 1 : INFINITY;
            assert_int_equal(model_measure(&model, &err), 0);
            assert_true(isfinite(model_norm(&model)) == (i < rows[row].good));
        }
        assert_int_equal(model_skipped(&model), rows[row].told);
    }
    fini_small(&model, pass);
}

static void impossible_shapes_are_refused_by_name(void **state)
{
    (void)state;
    struct error err;
    const struct {
        struct model_shape shape;
        const char *message;
    } rows[] = {
        {{256, 12, 0, 3, 1, 10, 3, 0}, "there is no model with depth 0"},
        {{256, 12, 2, 5, 1, 10, 3, 0}, "heads 5 does not divide width 12"},
        {{256, 12, 2, 3, 2, 10, 3, 0}, "kv-heads 2 does not divide heads 3"},
        {{256, 12, 2, 4, 2, 10, 3, 0},
         "width 12 and heads 4: rotary positions need heads of even width"},
        {{256, 12, 2, 3, 1, 10, 17, 0}, "there is no model with loops 17"},
        {{256, 12, 2, 3, 1, 10, 3, 2}, "there is no model with tied 2"},
    };
    assert_int_equal(model_check(&looped, SEQUENCE, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(model_check(&rows[i].shape, SEQUENCE, &err), -ERANGE);
        assert_string_equal(err.message, rows[i].message);
    }
}

/* Every number belongs to one rank, except the gains, which all ranks have. */
static void ranks_own_all_numbers_of_the_optimizer_together(void **state)
{
    (void)state;
    enum { SIZE = 3 };
    struct error err;
    size_t gains = 0, shared = 0, parameters = 0;
    for (unsigned rank = 0; rank < SIZE; rank++) {
        struct model model;
        assert_int_equal(model_init(&model, kernels, &looped, SEQUENCE, MODEL_TRAINS,
                                    (struct model_rank){rank, SIZE}, &err),
                         0);
        gains = model.buckets[MODEL_BUCKET_GAINS].count;
        shared += model.state - gains;
        parameters = model.parameters;
        assert_true(model.state < parameters);
        model_fini(&model);
    }
    assert_int_equal(gains, 4 * looped.width);
    assert_int_equal(gains + shared, parameters);
}

static void loop_weights_are_powers_of_the_base_and_sum_to_one(void **state)
{
    (void)state;
    float weights[4];
    model_loop_weights(weights, 4, 5);
    const double expected[4] = {1 / 156.0, 5 / 156.0, 25 / 156.0, 125 / 156.0};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs((double)weights[i] - expected[i]) < 1e-7);
}

enum { STEPS = 160, LAST = 40, ROWS = 8, LENGTH = 64 };

/* Trains a smaller model in the way of phase-model. Returns the mean losses of the loops in the
 * first and the last steps. */
static void learn_text(uint64_t seed, double base, double *ret_first, double *ret_last)
{
    static const struct model_shape shape = {.vocabulary = MODEL_BYTES,
                                             .width = 48,
                                             .depth = 1,
                                             .heads = 4,
                                             .kv_heads = 2,
                                             .hidden = 128,
                                             .loops = 4};
    struct model model;
    struct data data;
    struct error err;
    assert_int_equal(data_init(&data, text_path, LENGTH, seed, &err), 0);
    assert_int_equal(model_init(&model, kernels, &shape, LENGTH, MODEL_TRAINS, alone, &err), 0);
    struct pass *pass = pass_new(&model, ROWS, &err);
    assert_non_null(pass);
    model_draw(&model, seed);
    float scales[MODEL_LOOPS_MAX];
    model_loop_weights(scales, shape.loops, base);
    for (size_t i = 0; i < shape.loops; i++)
        scales[i] /= ROWS * LENGTH;
    for (uint64_t step = 1; step <= STEPS; step++) {
        uint32_t ids[ROWS * LENGTH], targets[ROWS * LENGTH];
        double losses[MODEL_LOOPS_MAX] = {0};
        data_rows(&data, (step - 1) * ROWS, ROWS, ids, targets);
        model_clear_gradient(&model);
        pass_clear_losses(pass);
        pass_learn(pass, ids, targets, ROWS, scales, PASS_LAST_ROUND);
        pass_losses(pass, losses);
        assert_int_equal(model_measure(&model, &err), 0);
        float warm = step < 10 ? (float)step / 10 : 1;
        const struct model_rates rates = {0.01f * warm, 0.1f * warm, 0.01f, 1};
        assert_int_equal(model_update(&model, step, &rates, &err), 0);
        for (size_t i = 0; i < shape.loops; i++) {
            ret_first[i] += step == 1 ? losses[i] / (ROWS * LENGTH) : 0;
            ret_last[i] += step > STEPS - LAST ? losses[i] / (ROWS * LENGTH) / LAST : 0;
        }
    }
    fini_small(&model, pass);
    data_fini(&data);
}

/* Predicting bytes without any context costs 3.0 on this text. */
static void the_loss_falls_on_text_and_each_loop_is_better_than_the_one_before(void **state)
{
    (void)state;
    double first[4] = {0}, last[4] = {0};
    learn_text(1, 5, first, last);
    print_message("# %.3f %.3f %.3f %.3f -> %.3f %.3f %.3f %.3f\n", first[0], first[1], first[2],
                  first[3], last[0], last[1], last[2], last[3]);
    assert_true(first[3] > 5.0);
    assert_true(last[3] < 2.2);
    assert_true(last[0] > last[1] && last[1] > last[2] && last[2] > last[3]);
    assert_true(last[0] - last[3] > 0.1 * last[0]);
}

static int open_kernels(void **state)
{
    (void)state;
    struct error err;
    kernels = kernels_new(0, &err);
    return kernels ? 0 : -1;
}

static int close_kernels(void **state)
{
    (void)state;
    kernels_free(kernels);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_every_tensor_equals_differences),
        cmocka_unit_test(the_gradient_of_a_plain_decoder_with_tied_tokens_equals_differences),
        cmocka_unit_test(evaluation_and_learning_give_the_same_losses),
        cmocka_unit_test(several_batches_add_up_to_the_gradient_of_one_batch),
        cmocka_unit_test(steps_without_an_update_are_counted_once),
        cmocka_unit_test(impossible_shapes_are_refused_by_name),
        cmocka_unit_test(ranks_own_all_numbers_of_the_optimizer_together),
        cmocka_unit_test(loop_weights_are_powers_of_the_base_and_sum_to_one),
        cmocka_unit_test(the_loss_falls_on_text_and_each_loop_is_better_than_the_one_before),
    };
    return cmocka_run_group_tests_name("model", tests, open_kernels, close_kernels);
}
