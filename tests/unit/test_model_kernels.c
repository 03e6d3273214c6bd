/* The CPU kernels: products compared with the plain sum in the same order, gradients compared with
 * finite differences. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"
#include "worker/model/random.h"
#include "worker/model/rotary.h"

#include <math.h>
#include <stdbool.h>
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
static struct kernels *kernels;

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

typedef void product(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
                     size_t rows, size_t inner, size_t columns, enum kernel_mode mode);

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
    multiply(c, columns, (struct cpu_view){a, 1, rows}, b, columns, rows, inner, columns,
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
        assert_plain_sum(cpu_product, sizes[i][0], sizes[i][1], sizes[i][2]);
        assert_plain_sum(cpu_product_of_4, sizes[i][0], sizes[i][1], sizes[i][2]);
    }
}

#if defined(__x86_64__)
static void subnormal_numbers_are_0_in_a_product_and_nowhere_else(void **state)
{
    (void)state;
    /* A subnormal factor, and factors with a subnormal result. */
    const float factors[] = {1e-39f, 1, 1e-30f, 1e-10f};
    float results[] = {5, 5};
    for (size_t i = 0; i < 2; i++)
        cpu_product(&results[i], 1, (struct cpu_view){&factors[2 * i], 1, 1}, &factors[2 * i + 1],
                    1, 1, 1, 1, KERNEL_SET);
    assert_true(results[0] == 0 && results[1] == 0);
    volatile float after = factors[0];
    assert_true(after / 2 > 0);
}
#endif

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

/* The order of the weights for the probes below. */
static enum kernel_order order;

static double matmul_of_x(const struct probe *probe, const float *x)
{
    float y[ROWS * OUT];
    kernel_matmul(kernels, y, x, probe->other, ROWS, IN, OUT, order);
    return weigh(y, ROWS * OUT);
}

static double matmul_of_w(const struct probe *probe, const float *w)
{
    float y[ROWS * OUT];
    kernel_matmul(kernels, y, probe->other, w, ROWS, IN, OUT, order);
    return weigh(y, ROWS * OUT);
}

/* What a rank of two adds is one half of the tree. */
static void a_sum_of_products_has_the_bits_of_a_tree_over_its_parts(void **state)
{
    (void)state;
    enum { SUMMED = 3, INNER = 24, COLUMNS = 5, PARTS = 4, SLICE = INNER / PARTS };
    float a[SUMMED * INNER], b[INNER * COLUMNS], y[SUMMED * COLUMNS], expected[SUMMED * COLUMNS];
    float part[PARTS][SUMMED * COLUMNS];
    fill(a, SUMMED * INNER, 1);
    fill(b, INNER * COLUMNS, 2);
    fill(y, SUMMED * COLUMNS, 3);
    for (size_t i = 0; i < PARTS; i++) {
        float slice[SUMMED * SLICE];
        for (size_t row = 0; row < SUMMED; row++)
            memcpy(slice + row * SLICE, a + row * INNER + i * SLICE, SLICE * sizeof *slice);
        kernel_matmul(kernels, part[i], slice, b + i * SLICE * COLUMNS, SUMMED, SLICE, COLUMNS,
                      KERNEL_IN_OUT);
    }
    for (size_t i = 0; i < SUMMED * COLUMNS; i++)
        expected[i] = y[i] + ((part[0][i] + part[1][i]) + (part[2][i] + part[3][i]));
    kernel_product_sum(kernels, y, a, b, SUMMED, INNER, COLUMNS, PARTS);
    assert_memory_equal(y, expected, sizeof y);
}

static void the_gradient_of_matmul_equals_differences_for_both_orders(void **state)
{
    (void)state;
    static const enum kernel_order orders[] = {KERNEL_IN_OUT, KERNEL_OUT_IN};
    for (size_t i = 0; i < 2; i++) {
        float x[ROWS * IN], w[IN * OUT], dx[ROWS * IN], dw[IN * OUT] = {0};
        order = orders[i];
        fill(x, ROWS * IN, 1);
        fill(w, IN * OUT, 2);
        kernel_matmul_dx(kernels, dx, noise, w, ROWS, IN, OUT, order);
        kernel_matmul_dw(kernels, dw, noise, x, ROWS, IN, OUT, order, KERNEL_ADD);
        assert_gradient(&(struct probe){matmul_of_x, ROWS * IN, w, NULL}, x, dx);
        assert_gradient(&(struct probe){matmul_of_w, IN * OUT, x, NULL}, w, dw);
    }
}

static void both_orders_of_weights_give_the_same_bits(void **state)
{
    (void)state;
    float x[ROWS * IN], w[IN * OUT], turned[IN * OUT], y[ROWS * OUT], again[ROWS * OUT];
    fill(x, ROWS * IN, 1);
    fill(w, IN * OUT, 2);
    cpu_transpose(turned, w, OUT, IN, OUT);
    kernel_matmul(kernels, y, x, w, ROWS, IN, OUT, KERNEL_IN_OUT);
    kernel_matmul(kernels, again, x, turned, ROWS, IN, OUT, KERNEL_OUT_IN);
    assert_memory_equal(y, again, sizeof y);
}

enum { WIDTH = 7 };

static double rmsnorm_of_x(const struct probe *probe, const float *x)
{
    float y[ROWS * WIDTH], scale[ROWS];
    kernel_sum_rmsnorm(kernels, NULL, y, scale, x, NULL, probe->other, ROWS, WIDTH);
    return weigh(y, ROWS * WIDTH);
}

static double rmsnorm_of_gain(const struct probe *probe, const float *gain)
{
    float y[ROWS * WIDTH], scale[ROWS];
    kernel_sum_rmsnorm(kernels, NULL, y, scale, probe->other, NULL, gain, ROWS, WIDTH);
    return weigh(y, ROWS * WIDTH);
}

static void the_gradient_of_rmsnorm_equals_differences(void **state)
{
    (void)state;
    float x[ROWS * WIDTH], gain[WIDTH], y[ROWS * WIDTH], scale[ROWS];
    float dx[ROWS * WIDTH] = {0}, dgain[WIDTH] = {0};
    fill(x, ROWS * WIDTH, 1);
    fill(gain, WIDTH, 2);
    kernel_sum_rmsnorm(kernels, NULL, y, scale, x, NULL, gain, ROWS, WIDTH);
    kernel_rmsnorm_backward(kernels, dx, dgain, noise, x, gain, scale, ROWS, WIDTH);
    assert_gradient(&(struct probe){rmsnorm_of_x, ROWS * WIDTH, gain, NULL}, x, dx);
    assert_gradient(&(struct probe){rmsnorm_of_gain, WIDTH, x, NULL}, gain, dgain);
}

static void a_norm_of_a_sum_has_the_bits_of_the_sum_and_then_the_norm(void **state)
{
    (void)state;
    enum { COUNT = ROWS * WIDTH };
    float a[COUNT], b[COUNT], gain[WIDTH], sum[COUNT], y[2][COUNT], scale[2][ROWS];
    fill(a, COUNT, 1);
    fill(b, COUNT, 2);
    fill(gain, WIDTH, 3);
    kernel_sum(kernels, sum, a, b, COUNT);
    kernel_sum_rmsnorm(kernels, NULL, y[0], scale[0], sum, NULL, gain, ROWS, WIDTH);
    kernel_sum_rmsnorm(kernels, a, y[1], scale[1], a, b, gain, ROWS, WIDTH);
    assert_memory_equal(a, sum, sizeof sum);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_memory_equal(scale[0], scale[1], sizeof scale[0]);
}

/* Two sequences of 5. Four heads of 2 share two keys and values. */
static const struct kernel_attention_shape shape = {
    .batch = 2, .sequence = 5, .heads = 4, .kv_heads = 2, .head_width = 2};
enum { TOKENS = 10, ROW = 16, QKV = TOKENS * ROW, Y = TOKENS * 8, KEPT = 2 * 4 * 5 * 5 };

static double attention_of_qkv(const struct probe *probe, const float *qkv)
{
    (void)probe;
    float y[Y], kept[KEPT];
    kernel_attention(kernels, y, kept, qkv, &shape);
    return weigh(y, Y);
}

static void the_gradient_of_attention_equals_differences(void **state)
{
    (void)state;
    float qkv[QKV], y[Y], kept[KEPT], dqkv[QKV];
    assert_true(kernel_attention_kept(&shape) <= KEPT);
    fill(qkv, QKV, 1);
    kernel_attention(kernels, y, kept, qkv, &shape);
    kernel_attention_backward(kernels, dqkv, noise, y, kept, qkv, &shape);
    assert_gradient(&(struct probe){attention_of_qkv, QKV, NULL, NULL}, qkv, dqkv);
}

static void attention_never_looks_ahead(void **state)
{
    (void)state;
    float qkv[QKV], y[Y], changed[Y], kept[KEPT];
    fill(qkv, QKV, 1);
    kernel_attention(kernels, y, kept, qkv, &shape);
    for (size_t i = 3 * ROW; i < 5 * ROW; i++)
        qkv[i] += 1; /* the last two tokens of the first sequence */
    kernel_attention(kernels, changed, kept, qkv, &shape);
    assert_memory_equal(y, changed, 3 * 8 * sizeof *y);
    assert_memory_not_equal(y + 3 * 8, changed + 3 * 8, 2 * 8 * sizeof *y);
    assert_memory_equal(y + 5 * 8, changed + 5 * 8, 5 * 8 * sizeof *y);
}

/* Repeats the keys and values, so that each head has its own. */
static void heads_that_share_keys_compute_as_heads_with_equal_keys(void **state)
{
    (void)state;
    const struct kernel_attention_shape plain = {
        .batch = 2, .sequence = 5, .heads = 4, .kv_heads = 4, .head_width = 2};
    float shared[QKV], repeated[TOKENS * 24], y[2][Y], kept[KEPT];
    fill(shared, QKV, 1);
    for (size_t row = 0; row < TOKENS; row++) {
        const float *from = shared + row * ROW;
        float *to = repeated + row * 24;
        memcpy(to, from, 8 * sizeof *to);
        for (size_t head = 0; head < 4; head++) {
            memcpy(to + 8 + 2 * head, from + 8 + head / 2 * 2, 2 * sizeof *to);
            memcpy(to + 16 + 2 * head, from + 12 + head / 2 * 2, 2 * sizeof *to);
        }
    }
    kernel_attention(kernels, y[0], kept, shared, &shape);
    kernel_attention(kernels, y[1], kept, repeated, &plain);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
}

static void attention_of_the_newest_token_is_the_last_row_of_attention(void **state)
{
    (void)state;
    enum { LENGTH = 2 * KERNEL_PAGE + 3, LATE = 5, PAGES = 7 };
    const struct kernel_attention_shape whole = {
        .batch = 2, .sequence = LENGTH, .heads = 4, .kv_heads = 2, .head_width = 2};
    static float qkv[2 * LENGTH * ROW], y[2 * LENGTH * 8], kept[2 * 4 * LENGTH * LENGTH];
    static float keys[PAGES * 2 * KERNEL_PAGE * 2], values[PAGES * 2 * KERNEL_PAGE * 2];
    const uint32_t table[] = {3, 0, 6, 5, 2, 1}; /* page 4 is not used */
    fill(qkv, 2 * LENGTH * ROW, 1);
    kernel_attention(kernels, y, kept, qkv, &whole);
    memset(keys, 0xff, sizeof keys); /* no numbers */
    memset(values, 0xff, sizeof values);
    for (uint32_t t = 0; t < LENGTH; t++) { /* the second sequence begins later */
        const uint32_t positions[] = {t, t - LATE};
        const struct kernel_pages pages = {positions, table, 3};
        struct kernel_attention_shape one = whole;
        float rows[2 * ROW], newest[2 * 8];
        one.sequence = 1;
        one.batch = t < LATE ? 1 : 2;
        for (size_t b = 0; b < one.batch; b++)
            memcpy(rows + b * ROW, qkv + (b * LENGTH + positions[b]) * ROW, ROW * sizeof *rows);
        kernel_attention_newest(kernels, newest, keys, values, rows, &pages, &one);
        for (size_t i = 0; i < one.batch * 8; i++) {
            float expected = y[(i / 8 * LENGTH + positions[i / 8]) * 8 + i % 8];
            assert_true(fabsf(newest[i] - expected) < 1e-6f);
        }
    }
    for (size_t i = 4 * 2 * KERNEL_PAGE * 2; i < 5 * 2 * KERNEL_PAGE * 2; i++)
        assert_true(isnan(keys[i]) && isnan(values[i]));
}

static void new_tokens_of_one_sequence_see_each_other_in_any_order(void **state)
{
    (void)state;
    enum { LENGTH = KERNEL_PAGE + 3, OLD = 2, NEW = LENGTH - OLD };
    const struct kernel_attention_shape whole = {
        .batch = 1, .sequence = LENGTH, .heads = 4, .kv_heads = 2, .head_width = 2};
    struct kernel_attention_shape one = whole;
    float qkv[LENGTH * ROW], y[LENGTH * 8], kept[4 * LENGTH * LENGTH];
    float keys[2 * 2 * KERNEL_PAGE * 2], values[2 * 2 * KERNEL_PAGE * 2];
    float rows[LENGTH * ROW], newest[LENGTH * 8];
    uint32_t positions[LENGTH], table[LENGTH * 2];
    fill(qkv, LENGTH * ROW, 1);
    kernel_attention(kernels, y, kept, qkv, &whole);
    memset(keys, 0xff, sizeof keys); /* no numbers */
    memset(values, 0xff, sizeof values);
    for (size_t i = 0; i < LENGTH; i++) { /* the first two in order, then the others backward */
        positions[i] = (uint32_t)(i < OLD ? i : LENGTH - 1 - (i - OLD));
        memcpy(rows + i * ROW, qkv + positions[i] * ROW, ROW * sizeof *rows);
        table[2 * i] = 1;
        table[2 * i + 1] = 0;
    }
    one.sequence = 1;
    for (size_t step = 0; step < 2; step++) {
        const struct kernel_pages pages = {positions + step * OLD, table, 2};
        one.batch = step == 0 ? OLD : NEW;
        kernel_attention_newest(kernels, newest + step * OLD * 8, keys, values,
                                rows + step * OLD * ROW, &pages, &one);
    }
    for (size_t i = 0; i < LENGTH * 8; i++)
        assert_true(fabsf(newest[i] - y[positions[i / 8] * 8 + i % 8]) < 1e-6f);
}

static void the_table_of_turns_has_the_sines_of_the_library(void **state)
{
    (void)state;
    enum { POSITIONS = 4000, HEAD = 12 };
    float *table = rotary_new(POSITIONS, HEAD);
    for (size_t i = 0; i < POSITIONS * HEAD / 2; i++) {
        size_t pair = i % (HEAD / 2);
        double angle = (double)(i / (HEAD / 2)) * pow(10000, -2.0 * (double)pair / HEAD);
        assert_true(fabs((double)table[2 * i] - cos(angle)) < 1e-7);
        assert_true(fabs((double)table[2 * i + 1] - sin(angle)) < 1e-7);
    }
    free(table);
}

static void
turning_forward_and_backward_gives_the_same_queries_and_keys_and_values_stay(void **state)
{
    (void)state;
    float qkv[QKV], turned[QKV];
    const uint32_t firsts[] = {3, 8};
    float *table = rotary_new(8 + shape.sequence, shape.head_width);
    fill(qkv, QKV, 1);
    memcpy(turned, qkv, sizeof qkv);
    kernel_rotary(kernels, turned, table, firsts, &shape, KERNEL_FORWARD);
    for (size_t i = 0; i < QKV; i++) {
        bool is_value = i % ROW >= 12;
        assert_int_equal(memcmp(&turned[i], &qkv[i], sizeof *qkv) == 0, is_value);
    }
    kernel_rotary(kernels, turned, table, firsts, &shape, KERNEL_BACKWARD);
    for (size_t i = 0; i < QKV; i++)
        assert_true(fabsf(turned[i] - qkv[i]) < 1e-6f);
    free(table);
}

/* What rotary positions are for. */
static void products_of_turned_queries_and_keys_depend_on_their_distance_only(void **state)
{
    (void)state;
    const struct kernel_attention_shape two = {
        .batch = 1, .sequence = 8, .heads = 1, .kv_heads = 1, .head_width = 4};
    float qkv[2][8 * 12];
    float *table = rotary_new(100, two.head_width);
    for (size_t i = 0; i < 8; i++)
        fill(qkv[0] + i * 12, 12, 1); /* the same token at each position */
    memcpy(qkv[1], qkv[0], sizeof qkv[0]);
    kernel_rotary(kernels, qkv[0], table, NULL, &two, KERNEL_FORWARD);
    kernel_rotary(kernels, qkv[1], table, &(uint32_t){92}, &two, KERNEL_FORWARD);
    for (size_t distance = 0; distance < 8; distance++) {
        float near = cpu_dot(qkv[0] + distance * 12, qkv[0] + 4, 4);
        float far = cpu_dot(qkv[1] + 7 * 12, qkv[1] + (7 - distance) * 12 + 4, 4);
        assert_true(fabsf(near - far) < 1e-5f);
        if (distance > 0)
            assert_true(fabsf(near - cpu_dot(qkv[0], qkv[0] + 4, 4)) > 1e-4f);
    }
    free(table);
}

enum { HIDDEN = 9 };

static double gate_of_wide(const struct probe *probe, const float *wide)
{
    (void)probe;
    float y[ROWS * HIDDEN];
    kernel_gate(kernels, y, wide, ROWS, HIDDEN);
    return weigh(y, ROWS * HIDDEN);
}

static void the_gradient_of_the_gate_equals_differences(void **state)
{
    (void)state;
    float wide[ROWS * 2 * HIDDEN], dwide[ROWS * 2 * HIDDEN];
    fill(wide, ROWS * 2 * HIDDEN, 1);
    for (size_t i = 0; i < ROWS * 2 * HIDDEN; i++)
        wide[i] *= 3;
    kernel_gate_backward(kernels, dwide, noise, wide, ROWS, HIDDEN);
    assert_gradient(&(struct probe){gate_of_wide, ROWS * 2 * HIDDEN, NULL, NULL}, wide, dwide);
    kernel_gate_backward(kernels, wide, noise, wide, ROWS, HIDDEN);
    assert_memory_equal(wide, dwide, sizeof wide);
}

static void the_gate_follows_its_formula_for_small_and_large_numbers(void **state)
{
    (void)state;
    for (float a = -100; a <= 100; a += 0.5f) {
        const float wide[2] = {a, 2};
        float y;
        kernel_gate(kernels, &y, wide, 1, 1);
        double expected = 2 * (double)a / (1 + exp(-(double)a));
        assert_true(fabs((double)y - expected) <= 1e-6 * fabs(expected) + 1e-30);
    }
}

enum { CLASSES = 11 };
static const uint32_t targets[ROWS] = {0, 10, 4};

static double cross_entropy_of_logits(const struct probe *probe, const float *x)
{
    (void)probe;
    float logits[ROWS * CLASSES];
    memcpy(logits, x, sizeof logits);
    float loss = 0;
    kernel_cross_entropy(kernels, logits, &loss, targets, 1, ROWS, CLASSES);
    return (double)loss;
}

static void the_gradient_of_cross_entropy_equals_differences(void **state)
{
    (void)state;
    float logits[ROWS * CLASSES], gradient[ROWS * CLASSES];
    fill(logits, ROWS * CLASSES, 1);
    memcpy(gradient, logits, sizeof logits);
    float loss = 0;
    kernel_cross_entropy(kernels, gradient, &loss, targets, 1, ROWS, CLASSES);
    assert_gradient(&(struct probe){cross_entropy_of_logits, ROWS * CLASSES, NULL, NULL}, logits,
                    gradient);
}

static void equal_logits_add_the_log_of_the_classes_to_the_loss(void **state)
{
    (void)state;
    float logits[ROWS * CLASSES] = {0}, loss = 1;
    kernel_cross_entropy(kernels, logits, &loss, targets, 1, ROWS, CLASSES);
    assert_true(fabs((double)loss - 1 - ROWS * log(CLASSES)) < 1e-5);
}

static void an_embedding_is_a_row_and_gets_its_gradient(void **state)
{
    (void)state;
    static const uint32_t ids[3] = {2, 0, 2};
    const float table[6] = {1, 2, 3, 4, 5, 6}, dy[6] = {1, 10, 100, 1000, 10000, 100000};
    float y[6], dtable[6] = {0};
    kernel_embed(kernels, y, ids, table, 3, 2);
    assert_memory_equal(y, ((const float[]){5, 6, 1, 2, 5, 6}), sizeof y);
    kernel_embed_backward(kernels, dtable, dy, ids, 3, 2);
    assert_memory_equal(dtable, ((const float[]){100, 1000, 0, 0, 10001, 100010}), sizeof dtable);
}

/* The formulas of the AdamW paper, in double. The gradient has a norm above the limit. */
static void adamw_follows_its_formulas(void **state)
{
    (void)state;
    float weight = 0.5f, moment1 = 0, moment2 = 0;
    double w = 0.5, m = 0, v = 0;
    for (int t = 1; t <= 20; t++) {
        float gradient = random_signed_at(7, (uint64_t)t), square_sum = 16;
        struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0, 0, 2.0f};
        step.correction1 = (float)(1 - pow(0.9, t));
        step.correction2 = (float)(1 - pow(0.95, t));
        kernel_adamw(kernels, &weight, &weight, &moment1, &moment2, &gradient, 1, &square_sum,
                     &step);
        double g = 0.5 * (double)gradient;
        m = 0.9 * m + 0.1 * g;
        v = 0.95 * v + 0.05 * g * g;
        w -= 0.01 * (m / (1 - pow(0.9, t)) / (sqrt(v / (1 - pow(0.95, t))) + 1e-8) + 0.1 * w);
        assert_true(fabs(w - (double)weight) < 1e-5);
    }
}

static void a_gradient_that_is_not_finite_changes_nothing(void **state)
{
    (void)state;
    static const float sums[] = {INFINITY, NAN};
    const struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.1f, 0.05f, 1};
    for (size_t i = 0; i < 2; i++) {
        float master = 1, rounded = 2, moment1 = 3, moment2 = 4, gradient = 5;
        kernel_adamw(kernels, &master, &rounded, &moment1, &moment2, &gradient, 1, &sums[i], &step);
        assert_true(master == 1 && rounded == 2 && moment1 == 3 && moment2 == 4);
    }
}

static void the_new_weights_are_also_written_to_a_second_array(void **state)
{
    (void)state;
    float master[3] = {1, 2, 3}, weights[3] = {0}, moments[6] = {0}, gradient[3] = {1, 1, 1};
    float square_sum = 0;
    const struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0, 0.1f, 0.05f, 0};
    kernel_square_sum(kernels, &square_sum, gradient, 3);
    assert_true(square_sum == 3);
    kernel_adamw(kernels, master, weights, moments, moments + 3, gradient, 3, &square_sum, &step);
    assert_memory_equal(master, weights, sizeof master);
    assert_true(master[0] < 1);
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
    fill(noise, ARRAY_MAX, 99);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_product_has_the_bits_of_the_plain_sum_for_any_vector_width),
#if defined(__x86_64__)
        cmocka_unit_test(subnormal_numbers_are_0_in_a_product_and_nowhere_else),
#endif
        cmocka_unit_test(the_exponential_is_near_that_of_the_library),
        cmocka_unit_test(a_sum_of_products_has_the_bits_of_a_tree_over_its_parts),
        cmocka_unit_test(the_gradient_of_matmul_equals_differences_for_both_orders),
        cmocka_unit_test(both_orders_of_weights_give_the_same_bits),
        cmocka_unit_test(the_gradient_of_rmsnorm_equals_differences),
        cmocka_unit_test(a_norm_of_a_sum_has_the_bits_of_the_sum_and_then_the_norm),
        cmocka_unit_test(the_gradient_of_attention_equals_differences),
        cmocka_unit_test(attention_never_looks_ahead),
        cmocka_unit_test(heads_that_share_keys_compute_as_heads_with_equal_keys),
        cmocka_unit_test(attention_of_the_newest_token_is_the_last_row_of_attention),
        cmocka_unit_test(new_tokens_of_one_sequence_see_each_other_in_any_order),
        cmocka_unit_test(the_table_of_turns_has_the_sines_of_the_library),
        cmocka_unit_test(
            turning_forward_and_backward_gives_the_same_queries_and_keys_and_values_stay),
        cmocka_unit_test(products_of_turned_queries_and_keys_depend_on_their_distance_only),
        cmocka_unit_test(the_gradient_of_the_gate_equals_differences),
        cmocka_unit_test(the_gate_follows_its_formula_for_small_and_large_numbers),
        cmocka_unit_test(the_gradient_of_cross_entropy_equals_differences),
        cmocka_unit_test(equal_logits_add_the_log_of_the_classes_to_the_loss),
        cmocka_unit_test(an_embedding_is_a_row_and_gets_its_gradient),
        cmocka_unit_test(adamw_follows_its_formulas),
        cmocka_unit_test(a_gradient_that_is_not_finite_changes_nothing),
        cmocka_unit_test(the_new_weights_are_also_written_to_a_second_array),
    };
    return cmocka_run_group_tests_name("model kernels", tests, open_kernels, close_kernels);
}
