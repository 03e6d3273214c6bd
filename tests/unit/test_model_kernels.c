/* The CPU kernels: products compared with the plain sum in the same order, gradients compared with
 * finite differences. */
#include "tests/unit/unit.h"

#include "worker/model/cpu.h"
#include "worker/model/kernels.h"
#include "worker/model/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAY_MAX = 4096 };

/* A scalar function of one array, for finite differences: the sum of the outputs of a kernel, with
 * fixed random weights. */
struct probe {
    double (*value)(const struct probe *probe, const float *x);
    size_t count; /* elements of x */
    const float *other, *more;
};

static float noise[ARRAY_MAX]; /* the fixed weights of outputs */

static void fill(float *x, size_t count, uint64_t stream)
{
    for (size_t i = 0; i < count; i++)
        x[i] = random_signed_at(stream, i);
}

static double weigh(const float *y, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)y[i] * noise[i];
    return sum;
}

/* Central differences in float32 are exact to about 1e-4 here. Outputs near 1 are exact to 1e-7,
 * which is divided by a step of 1e-2 and summed over tens of terms. The cubic term adds as much. */
static void assert_gradient(const struct probe *probe, const float *x, const float *gradient)
{
    const float step = 1e-2f;
    float moved[ARRAY_MAX];
    for (size_t i = 0; i < probe->count; i++) {
        memcpy(moved, x, probe->count * sizeof *x);
        moved[i] = x[i] + step;
        double above = probe->value(probe, moved);
        double width = (double)moved[i];
        moved[i] = x[i] - step;
        double below = probe->value(probe, moved);
        width -= (double)moved[i];
        double expected = (above - below) / width;
        if (fabs(expected - (double)gradient[i]) > 2e-3 * (1 + fabs(expected)))
            fail_msg("element %zu: gradient %g, differences %g", i, (double)gradient[i], expected);
    }
}

typedef void product(float *c, size_t c_stride, struct kernel_view a, const float *b,
                     size_t b_stride, size_t rows, size_t inner, size_t columns,
                     enum kernel_mode mode);

static void assert_plain_sum(product *multiply, size_t rows, size_t inner, size_t columns)
{
    float *a = calloc(rows * inner, sizeof *a), *b = calloc(inner * columns, sizeof *b);
    float *c = calloc(rows * columns, sizeof *c), *expected = calloc(rows * columns, sizeof *c);
    assert_true(a && b && c && expected);
    fill(a, rows * inner, 1);
    fill(b, inner * columns, 2);
    fill(c, rows * columns, 3);
    memcpy(expected, c, rows * columns * sizeof *c);
    /* `a` is stored transposed, to test its strides. */
    multiply(c, columns, (struct kernel_view){a, 1, rows}, b, columns, rows, inner, columns,
             KERNEL_ADD);
    for (size_t i = 0; i < rows * columns; i++) {
        for (size_t k = 0; k < inner; k++) {
            volatile float term = a[k * rows + i / columns] * b[k * columns + i % columns];
            expected[i] += term; /* volatile, so that it is never fused with the product */
        }
    }
    assert_memory_equal(c, expected, rows * columns * sizeof *c);
    free(a);
    free(b);
    free(c);
    free(expected);
}

static void a_product_has_the_bits_of_the_plain_sum_for_any_vector_width(void **state)
{
    (void)state;
    static const size_t sizes[][3] = {{1, 1, 1},   {4, 16, 16}, {5, 7, 17},
                                      {3, 300, 9}, {6, 2, 40},  {2, 513, 31}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_plain_sum(kernel_product, sizes[i][0], sizes[i][1], sizes[i][2]);
        assert_plain_sum(cpu_product_of_4, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
}

static void the_exponential_is_near_that_of_the_library(void **state)
{
    (void)state;
    for (int i = 0; i <= 8700; i++) {
        float x = -(float)i / 100;
        double expected = exp((double)x), got = (double)cpu_exp((cpu_lanes4){x})[0];
        assert_true(fabs(got - expected) <= 3e-7 * expected);
    }
    assert_true(cpu_exp((cpu_lanes4){-1e30f})[0] < 1e-37f);
}

enum { ROWS = 3, IN = 5, OUT = 18 };

static double matmul_of_x(const struct probe *probe, const float *x)
{
    float y[ROWS * OUT];
    kernel_matmul(y, x, probe->other, ROWS, IN, OUT);
    return weigh(y, ROWS * OUT);
}

static double matmul_of_w(const struct probe *probe, const float *w)
{
    float y[ROWS * OUT];
    kernel_matmul(y, probe->other, w, ROWS, IN, OUT);
    return weigh(y, ROWS * OUT);
}

static void the_gradient_of_matmul_equals_differences(void **state)
{
    (void)state;
    float x[ROWS * IN], w[IN * OUT], dx[ROWS * IN], dw[IN * OUT] = {0}, scratch[IN * OUT];
    fill(x, ROWS * IN, 1);
    fill(w, IN * OUT, 2);
    kernel_matmul_backward(dx, dw, noise, x, w, scratch, ROWS, IN, OUT);
    assert_gradient(&(struct probe){matmul_of_x, ROWS * IN, w, NULL}, x, dx);
    assert_gradient(&(struct probe){matmul_of_w, IN * OUT, x, NULL}, w, dw);
}

enum { WIDTH = 7 };

static double rmsnorm_of_x(const struct probe *probe, const float *x)
{
    float y[ROWS * WIDTH], scale[ROWS];
    kernel_rmsnorm(y, scale, x, probe->other, ROWS, WIDTH);
    return weigh(y, ROWS * WIDTH);
}

static double rmsnorm_of_gain(const struct probe *probe, const float *gain)
{
    float y[ROWS * WIDTH], scale[ROWS];
    kernel_rmsnorm(y, scale, probe->other, gain, ROWS, WIDTH);
    return weigh(y, ROWS * WIDTH);
}

static void the_gradient_of_rmsnorm_equals_differences(void **state)
{
    (void)state;
    float x[ROWS * WIDTH], gain[WIDTH], y[ROWS * WIDTH], scale[ROWS];
    float dx[ROWS * WIDTH] = {0}, dgain[WIDTH] = {0};
    fill(x, ROWS * WIDTH, 1);
    fill(gain, WIDTH, 2);
    kernel_rmsnorm(y, scale, x, gain, ROWS, WIDTH);
    kernel_rmsnorm_backward(dx, dgain, noise, x, gain, scale, ROWS, WIDTH);
    assert_gradient(&(struct probe){rmsnorm_of_x, ROWS * WIDTH, gain, NULL}, x, dx);
    assert_gradient(&(struct probe){rmsnorm_of_gain, WIDTH, x, NULL}, gain, dgain);
}

/* Two sequences of 5 with 2 heads of 3. */
static const struct kernel_attention_shape shape = {2, 5, 2, 6};
enum { TOKENS = 10, QKV = TOKENS * 18, PROBABILITIES = 2 * 2 * 5 * 5, SCRATCH = 64 };

static double attention_of_qkv(const struct probe *probe, const float *qkv)
{
    (void)probe;
    float y[TOKENS * 6], p[PROBABILITIES], scratch[SCRATCH];
    kernel_attention(y, p, qkv, scratch, &shape);
    return weigh(y, TOKENS * 6);
}

static void the_gradient_of_attention_equals_differences(void **state)
{
    (void)state;
    float qkv[QKV], y[TOKENS * 6], p[PROBABILITIES], scratch[SCRATCH], dqkv[QKV];
    assert_true(kernel_attention_scratch(&shape) <= SCRATCH);
    fill(qkv, QKV, 1);
    kernel_attention(y, p, qkv, scratch, &shape);
    kernel_attention_backward(dqkv, noise, p, qkv, scratch, &shape);
    assert_gradient(&(struct probe){attention_of_qkv, QKV, NULL, NULL}, qkv, dqkv);
}

static void attention_never_looks_ahead(void **state)
{
    (void)state;
    float qkv[QKV], y[TOKENS * 6], changed[TOKENS * 6], p[PROBABILITIES], scratch[SCRATCH];
    fill(qkv, QKV, 1);
    kernel_attention(y, p, qkv, scratch, &shape);
    for (size_t i = 3 * 18; i < 5 * 18; i++)
        qkv[i] += 1; /* the last two tokens of the first sequence */
    kernel_attention(changed, p, qkv, scratch, &shape);
    assert_memory_equal(y, changed, 3 * 6 * sizeof *y);
    assert_memory_not_equal(y + 3 * 6, changed + 3 * 6, 2 * 6 * sizeof *y);
    assert_memory_equal(y + 5 * 6, changed + 5 * 6, 5 * 6 * sizeof *y);
}

static double relu2_of_x(const struct probe *probe, const float *x)
{
    float y[ARRAY_MAX];
    kernel_relu2(y, x, probe->count);
    return weigh(y, probe->count);
}

static void the_gradient_of_relu2_equals_differences(void **state)
{
    (void)state;
    float x[64], dx[64];
    fill(x, 64, 1);
    /* At the bend, differences of a finite step are wrong by the step. */
    for (size_t i = 0; i < 64; i++)
        x[i] += x[i] > 0 ? 0.02f : -0.02f;
    kernel_relu2_backward(dx, noise, x, 64);
    assert_gradient(&(struct probe){relu2_of_x, 64, NULL, NULL}, x, dx);
}

enum { CLASSES = 11 };
static const uint8_t targets[ROWS] = {0, 10, 4};

static double cross_entropy_of_logits(const struct probe *probe, const float *x)
{
    (void)probe;
    float logits[ROWS * CLASSES];
    memcpy(logits, x, sizeof logits);
    return kernel_cross_entropy(logits, targets, 1, ROWS, CLASSES);
}

static void the_gradient_of_cross_entropy_equals_differences(void **state)
{
    (void)state;
    float logits[ROWS * CLASSES], gradient[ROWS * CLASSES];
    fill(logits, ROWS * CLASSES, 1);
    memcpy(gradient, logits, sizeof logits);
    (void)kernel_cross_entropy(gradient, targets, 1, ROWS, CLASSES);
    assert_gradient(&(struct probe){cross_entropy_of_logits, ROWS * CLASSES, NULL, NULL}, logits,
                    gradient);
}

static void equal_logits_have_the_loss_log_of_the_classes(void **state)
{
    (void)state;
    float logits[ROWS * CLASSES] = {0};
    double loss = kernel_cross_entropy(logits, targets, 1, ROWS, CLASSES);
    assert_true(fabs(loss - ROWS * log(CLASSES)) < 1e-5);
}

static void an_embedding_is_a_row_and_gets_its_gradient(void **state)
{
    (void)state;
    static const uint8_t ids[3] = {2, 0, 2};
    const float table[6] = {1, 2, 3, 4, 5, 6}, dy[6] = {1, 10, 100, 1000, 10000, 100000};
    float y[6], dtable[6] = {0};
    kernel_embed(y, ids, table, 3, 2);
    assert_memory_equal(y, ((const float[]){5, 6, 1, 2, 5, 6}), sizeof y);
    kernel_embed_backward(dtable, dy, ids, 3, 2);
    assert_memory_equal(dtable, ((const float[]){100, 1000, 0, 0, 10001, 100010}), sizeof dtable);
}

/* The formulas of the AdamW paper, in double. */
static void adamw_follows_its_formulas(void **state)
{
    (void)state;
    float weight = 0.5f, moment1 = 0, moment2 = 0;
    double w = 0.5, m = 0, v = 0;
    for (int t = 1; t <= 20; t++) {
        float gradient = random_signed_at(7, (uint64_t)t);
        struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0, 0, 0.5f};
        step.correction1 = (float)(1 - pow(0.9, t));
        step.correction2 = (float)(1 - pow(0.95, t));
        kernel_adamw(&weight, &moment1, &moment2, &gradient, 1, &step);
        double g = 0.5 * (double)gradient;
        m = 0.9 * m + 0.1 * g;
        v = 0.95 * v + 0.05 * g * g;
        w -= 0.01 * (m / (1 - pow(0.9, t)) / (sqrt(v / (1 - pow(0.95, t))) + 1e-8) + 0.1 * w);
        assert_true(fabs(w - (double)weight) < 1e-5);
    }
}

int main(void)
{
    fill(noise, ARRAY_MAX, 99);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_has_the_bits_of_the_plain_sum_for_any_vector_width),
        cmocka_unit_test(the_exponential_is_near_that_of_the_library),
        cmocka_unit_test(the_gradient_of_matmul_equals_differences),
        cmocka_unit_test(the_gradient_of_rmsnorm_equals_differences),
        cmocka_unit_test(the_gradient_of_attention_equals_differences),
        cmocka_unit_test(attention_never_looks_ahead),
        cmocka_unit_test(the_gradient_of_relu2_equals_differences),
        cmocka_unit_test(the_gradient_of_cross_entropy_equals_differences),
        cmocka_unit_test(equal_logits_have_the_loss_log_of_the_classes),
        cmocka_unit_test(an_embedding_is_a_row_and_gets_its_gradient),
        cmocka_unit_test(adamw_follows_its_formulas),
    };
    return cmocka_run_group_tests_name("model kernels", tests, NULL, NULL);
}
