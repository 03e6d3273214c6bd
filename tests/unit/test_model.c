/* The whole model: its gradient against finite differences, and that on real text every loop
 * becomes better than the one before. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/data.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that fill no tile of the products. */
enum { BATCH = 2, SEQUENCE = 9, TOKENS = BATCH * SEQUENCE };
static const struct model_shape small = {.width = 12, .depth = 2, .heads = 3, .loops = 3};
static const char text_path[] = "/usr/share/common-licenses/GPL-3";

static void fill_bytes(uint8_t *bytes, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)random_at(stream, i);
}

static void init_small(struct model *model, size_t batch_max)
{
    model_init(model, &small, batch_max, SEQUENCE);
    model_draw(model, 3);
}

struct sample {
    uint8_t ids[TOKENS], targets[TOKENS];
    float scales[MODEL_LOOPS_MAX];
};

static void init_sample(struct sample *sample)
{
    fill_bytes(sample->ids, TOKENS, 1);
    fill_bytes(sample->targets, TOKENS, 2);
    model_loop_weights(sample->scales, small.loops, 2);
    for (size_t i = 0; i < small.loops; i++)
        sample->scales[i] /= TOKENS;
}

static double loss_of(struct model *model, const struct sample *sample)
{
    double losses[MODEL_LOOPS_MAX] = {0}, sum = 0;
    model_evaluate(model, sample->ids, sample->targets, BATCH, losses);
    for (size_t i = 0; i < small.loops; i++)
        sum += (double)sample->scales[i] * losses[i];
    return sum;
}

/* Returns the slope of the loss when the tensor moves by +-step along `direction`, a vector of
 * length 1. */
static double slope_along(struct model *model, const struct sample *sample,
                          const struct model_tensor *tensor, const float *direction, float step)
{
    float *weights = model->weights + tensor->offset;
    float *kept = malloc(tensor->size * sizeof *kept);
    assert_non_null(kept);
    memcpy(kept, weights, tensor->size * sizeof *kept);
    double value[2];
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < tensor->size; i++)
            weights[i] = kept[i] + (side ? -step : step) * direction[i];
        value[side] = loss_of(model, sample);
    }
    memcpy(weights, kept, tensor->size * sizeof *kept);
    free(kept);
    return (value[0] - value[1]) / (2 * (double)step);
}

static void normalise(float *direction, size_t count)
{
    float length = (float)sqrt(kernel_square_sum(direction, count));
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
static void the_gradient_of_every_tensor_equals_differences(void **state)
{
    (void)state;
    struct model model;
    struct sample sample;
    init_small(&model, BATCH);
    init_sample(&sample);
    double losses[MODEL_LOOPS_MAX] = {0};
    model_learn(&model, sample.ids, sample.targets, BATCH, sample.scales, losses);
    for (size_t t = 0; t < model.tensor_count; t++) {
        const struct model_tensor *tensor = &model.tensors[t];
        const float *gradient = model.gradient + tensor->offset;
        float *direction = malloc(tensor->size * sizeof *direction);
        assert_non_null(direction);
        for (uint64_t try = 0; try < 4; try++) {
            for (size_t i = 0; i < tensor->size; i++)
                direction[i] = try == 0 ? gradient[i] : random_signed_at(100 + try, i);
            normalise(direction, tensor->size);
            double expected = slope_along(&model, &sample, tensor, direction, 0.002f);
            double got = dot(gradient, direction, tensor->size);
            if (fabs(got - expected) > 5e-4 + 0.003 * fabs(expected))
                fail_msg("tensor %zu (%s), direction %d: gradient %g, differences %g", t,
                         tensor->name, (int)try, got, expected);
        }
        free(direction);
    }
    model_fini(&model);
}

static void evaluation_and_learning_give_the_same_losses(void **state)
{
    (void)state;
    struct model model;
    struct sample sample;
    init_small(&model, BATCH);
    init_sample(&sample);
    double learned[MODEL_LOOPS_MAX] = {0}, evaluated[MODEL_LOOPS_MAX] = {0};
    model_learn(&model, sample.ids, sample.targets, BATCH, sample.scales, learned);
    model_evaluate(&model, sample.ids, sample.targets, BATCH, evaluated);
    assert_memory_equal(learned, evaluated, sizeof learned);
    model_fini(&model);
}

static void several_batches_add_up_to_the_gradient_of_one_batch(void **state)
{
    (void)state;
    struct model whole, parts;
    struct sample sample;
    init_small(&whole, BATCH);
    init_small(&parts, 1);
    init_sample(&sample);
    double losses[2][MODEL_LOOPS_MAX] = {0};
    model_learn(&whole, sample.ids, sample.targets, BATCH, sample.scales, losses[0]);
    for (size_t i = 0; i < BATCH; i++)
        model_learn(&parts, sample.ids + i * SEQUENCE, sample.targets + i * SEQUENCE, 1,
                    sample.scales, losses[1]);
    double length = sqrt(kernel_square_sum(whole.gradient, whole.parameters));
    for (size_t i = 0; i < whole.parameters; i++)
        assert_true(fabs((double)(whole.gradient[i] - parts.gradient[i])) < 1e-6 * length);
    for (size_t i = 0; i < small.loops; i++)
        assert_true(fabs(losses[0][i] - losses[1][i]) < 1e-5 * losses[0][i]);
    model_fini(&whole);
    model_fini(&parts);
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
    static const struct model_shape shape = {.width = 48, .depth = 1, .heads = 4, .loops = 4};
    struct model model;
    struct data data;
    struct error err;
    assert_int_equal(data_init(&data, text_path, LENGTH, seed, &err), 0);
    model_init(&model, &shape, ROWS, LENGTH);
    model_draw(&model, seed);
    float scales[MODEL_LOOPS_MAX];
    model_loop_weights(scales, shape.loops, base);
    for (size_t i = 0; i < shape.loops; i++)
        scales[i] /= ROWS * LENGTH;
    for (uint64_t step = 1; step <= STEPS; step++) {
        uint8_t ids[ROWS * LENGTH], targets[ROWS * LENGTH];
        double losses[MODEL_LOOPS_MAX] = {0};
        data_rows(&data, (step - 1) * ROWS, ROWS, ids, targets);
        model_clear_gradient(&model);
        model_learn(&model, ids, targets, ROWS, scales, losses);
        double norm = sqrt(kernel_square_sum(model.gradient, model.parameters));
        float warm = step < 10 ? (float)step / 10 : 1;
        model_update(&model, step,
                     &(struct model_rates){0.01f * warm, 0.1f * warm, 0.01f,
                                           norm > 1 ? (float)(1 / norm) : 1});
        for (size_t i = 0; i < shape.loops; i++) {
            ret_first[i] += step == 1 ? losses[i] / (ROWS * LENGTH) : 0;
            ret_last[i] += step > STEPS - LAST ? losses[i] / (ROWS * LENGTH) / LAST : 0;
        }
    }
    model_fini(&model);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_of_every_tensor_equals_differences),
        cmocka_unit_test(evaluation_and_learning_give_the_same_losses),
        cmocka_unit_test(several_batches_add_up_to_the_gradient_of_one_batch),
        cmocka_unit_test(loop_weights_are_powers_of_the_base_and_sum_to_one),
        cmocka_unit_test(the_loss_falls_on_text_and_each_loop_is_better_than_the_one_before),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
