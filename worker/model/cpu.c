/* The reference kernels on a CPU: matrix products in register tiles, and everything that works row
 * by row. Attention is in cpu_attention.c.
 *
 * The code uses the compiler's own vectors. They always lie along the output, and never along a
 * sum. So the width of the processor's vectors changes the speed, and not a bit of the result. For
 * the same reason there is no fused multiply-add, which not every CPU has: the makefile compiles
 * these files with -ffp-contract=off. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
    TILE_ROWS = 4,
    TILE_COLUMNS = 16,
    INNER_BLOCK = 256, /* a packed panel of 256 x 16 floats fills a third of a 48 KiB L1 */
};

enum lanes { LANES_4, LANES_8 };

typedef float lanes8 __attribute__((vector_size(32), aligned(4), may_alias));

/* One tile for processors with vectors of eight: c[rows x 16] = or += a b, where b is a packed
 * panel of `inner` rows of 16. The rows are written out, so that any optimising compiler keeps the
 * eight sums in registers. A tile with fewer rows computes its first row again instead. */
static inline __attribute__((always_inline)) void tile_of_8(float *c, size_t c_stride,
                                                            struct kernel_view a,
                                                            const float *panel, size_t inner,
                                                            size_t rows, bool add)
{
    const float *a0 = a.data, *a1 = rows > 1 ? a0 + a.row_stride : a0;
    const float *a2 = rows > 2 ? a1 + a.row_stride : a0, *a3 = rows > 3 ? a2 + a.row_stride : a0;
    lanes8 sums[TILE_ROWS][2] = {0};
    for (size_t r = 0; add && r < rows; r++) {
        sums[r][0] = *(const lanes8 *)(c + r * c_stride);
        sums[r][1] = *(const lanes8 *)(c + r * c_stride + 8);
    }
    lanes8 left0 = sums[0][0], right0 = sums[0][1], left1 = sums[1][0], right1 = sums[1][1];
    lanes8 left2 = sums[2][0], right2 = sums[2][1], left3 = sums[3][0], right3 = sums[3][1];
    for (size_t k = 0; k < inner; k++, panel += TILE_COLUMNS) {
        lanes8 left = *(const lanes8 *)panel, right = *(const lanes8 *)(panel + 8);
        size_t at = k * a.column_stride;
        left0 += a0[at] * left;
        right0 += a0[at] * right;
        left1 += a1[at] * left;
        right1 += a1[at] * right;
        left2 += a2[at] * left;
        right2 += a2[at] * right;
        left3 += a3[at] * left;
        right3 += a3[at] * right;
    }
    const lanes8 results[TILE_ROWS][2] = {
        {left0, right0}, {left1, right1}, {left2, right2}, {left3, right3}};
    for (size_t r = 0; r < rows; r++) {
        *(lanes8 *)(c + r * c_stride) = results[r][0];
        *(lanes8 *)(c + r * c_stride + 8) = results[r][1];
    }
}

/* The same for vectors of four. Fewer of them fit into registers, so this takes one row at a time.
 * Vectors of eight would be correct here too, but a compiler that splits them keeps them in
 * memory. */
static inline __attribute__((always_inline)) void tile_of_4(float *c, size_t c_stride,
                                                            struct kernel_view a,
                                                            const float *panel, size_t inner,
                                                            size_t rows, bool add)
{
    for (size_t r = 0; r < rows; r++, c += c_stride) {
        cpu_lanes4 sum0 = {0}, sum1 = {0}, sum2 = {0}, sum3 = {0};
        if (add) {
            sum0 = *(const cpu_lanes4 *)c;
            sum1 = *(const cpu_lanes4 *)(c + 4);
            sum2 = *(const cpu_lanes4 *)(c + 8);
            sum3 = *(const cpu_lanes4 *)(c + 12);
        }
        const float *factor = a.data + r * a.row_stride, *row = panel;
        for (size_t k = 0; k < inner; k++, factor += a.column_stride, row += TILE_COLUMNS) {
            sum0 += *factor * *(const cpu_lanes4 *)row;
            sum1 += *factor * *(const cpu_lanes4 *)(row + 4);
            sum2 += *factor * *(const cpu_lanes4 *)(row + 8);
            sum3 += *factor * *(const cpu_lanes4 *)(row + 12);
        }
        *(cpu_lanes4 *)c = sum0;
        *(cpu_lanes4 *)(c + 4) = sum1;
        *(cpu_lanes4 *)(c + 8) = sum2;
        *(cpu_lanes4 *)(c + 12) = sum3;
    }
}

/* `lanes` is a constant at each place into which this is inlined. */
static inline __attribute__((always_inline)) void
product_tile(float *c, size_t c_stride, struct kernel_view a, const float *panel, size_t inner,
             size_t rows, bool add, enum lanes lanes)
{
    if (lanes == LANES_8)
        tile_of_8(c, c_stride, a, panel, inner, rows, add);
    else
        tile_of_4(c, c_stride, a, panel, inner, rows, add);
}

/* Multiplies all rows with one panel of up to 16 columns. A narrower panel is computed in a full
 * tile beside the output and then copied, so that edges need no loop of their own. */
static inline __attribute__((always_inline)) void
product_panel(float *c, size_t c_stride, struct kernel_view a, const float *panel, size_t rows,
              size_t inner, size_t columns, bool add, enum lanes lanes)
{
    for (size_t r = 0; r < rows; r += TILE_ROWS) {
        size_t count = rows - r < TILE_ROWS ? rows - r : TILE_ROWS;
        float *out = c + r * c_stride;
        struct kernel_view part = a;
        part.data += r * a.row_stride;
        if (columns == TILE_COLUMNS) {
            product_tile(out, c_stride, part, panel, inner, count, add, lanes);
            continue;
        }
        float edge[TILE_ROWS * TILE_COLUMNS] = {0};
        for (size_t i = 0; add && i < count; i++)
            memcpy(edge + i * TILE_COLUMNS, out + i * c_stride, columns * sizeof *edge);
        product_tile(edge, TILE_COLUMNS, part, panel, inner, count, add, lanes);
        for (size_t i = 0; i < count; i++)
            memcpy(out + i * c_stride, edge + i * TILE_COLUMNS, columns * sizeof *edge);
    }
}

static inline __attribute__((always_inline)) void
product_blocks(float *c, size_t c_stride, struct kernel_view a, const float *b, size_t b_stride,
               size_t rows, size_t inner, size_t columns, enum kernel_mode mode, enum lanes lanes)
{
    float panel[INNER_BLOCK * TILE_COLUMNS];
    for (size_t k0 = 0; k0 < inner; k0 += INNER_BLOCK) {
        size_t block = inner - k0 < INNER_BLOCK ? inner - k0 : INNER_BLOCK;
        struct kernel_view part = a;
        part.data += k0 * a.column_stride;
        for (size_t n0 = 0; n0 < columns; n0 += TILE_COLUMNS) {
            size_t wide = columns - n0 < TILE_COLUMNS ? columns - n0 : TILE_COLUMNS;
            if (wide < TILE_COLUMNS)
                memset(panel, 0, sizeof panel);
            for (size_t k = 0; k < block; k++)
                memcpy(panel + k * TILE_COLUMNS, b + (k0 + k) * b_stride + n0,
                       wide * sizeof *panel);
            product_panel(c + n0, c_stride, part, panel, rows, block, wide,
                          k0 > 0 || mode == KERNEL_ADD, lanes);
        }
    }
}

#if defined(__x86_64__)
/* For processors with wide vectors. Most have them, but a build of Debian may not assume so. */
__attribute__((target("avx2"))) static void product_avx2(float *c, size_t c_stride,
                                                         struct kernel_view a, const float *b,
                                                         size_t b_stride, size_t rows, size_t inner,
                                                         size_t columns, enum kernel_mode mode)
{
    product_blocks(c, c_stride, a, b, b_stride, rows, inner, columns, mode, LANES_8);
}
#endif

void cpu_product_of_4(float *c, size_t c_stride, struct kernel_view a, const float *b,
                      size_t b_stride, size_t rows, size_t inner, size_t columns,
                      enum kernel_mode mode)
{
    product_blocks(c, c_stride, a, b, b_stride, rows, inner, columns, mode, LANES_4);
}

float cpu_softmax(float *x, size_t count)
{
    float highest = x[0];
    for (size_t i = 1; i < count; i++)
        highest = x[i] > highest ? x[i] : highest;
    cpu_lanes4 sums = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        cpu_lanes4 *four = (cpu_lanes4 *)(x + i);
        *four = cpu_exp(*four - highest);
        sums += *four;
    }
    float total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < count; i++) {
        x[i] = cpu_exp((cpu_lanes4){x[i] - highest})[0];
        total += x[i];
    }
    float factor = 1.0f / total;
    for (i = 0; i < count; i++)
        x[i] *= factor;
    return highest + logf(total);
}

float cpu_dot(const float *a, const float *b, size_t count)
{
    cpu_lanes4 sums = {0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        sums += *(const cpu_lanes4 *)(a + i) * *(const cpu_lanes4 *)(b + i);
    float total = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < count; i++)
        total += a[i] * b[i];
    return total;
}

void kernel_product(float *c, size_t c_stride, struct kernel_view a, const float *b,
                    size_t b_stride, size_t rows, size_t inner, size_t columns,
                    enum kernel_mode mode)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        product_avx2(c, c_stride, a, b, b_stride, rows, inner, columns, mode);
        return;
    }
#endif
    cpu_product_of_4(c, c_stride, a, b, b_stride, rows, inner, columns, mode);
}

void kernel_matmul(float *y, const float *x, const float *w, size_t rows, size_t in, size_t out)
{
    kernel_product(y, out, (struct kernel_view){x, in, 1}, w, out, rows, in, out, KERNEL_SET);
}

void kernel_matmul_backward(float *dx, float *dw, const float *dy, const float *x, const float *w,
                            float *scratch, size_t rows, size_t in, size_t out)
{
    for (size_t i = 0; i < in; i++) {
        for (size_t o = 0; o < out; o++)
            scratch[o * in + i] = w[i * out + o];
    }
    kernel_product(dx, in, (struct kernel_view){dy, out, 1}, scratch, in, rows, out, in,
                   KERNEL_SET);
    kernel_product(dw, out, (struct kernel_view){x, 1, in}, dy, out, in, rows, out, KERNEL_ADD);
}

void kernel_rmsnorm(float *y, float *ret_scale, const float *x, const float *gain, size_t rows,
                    size_t width)
{
    for (size_t row = 0; row < rows; row++, x += width, y += width) {
        /* The small number keeps a row of zeros finite. */
        float scale = 1.0f / sqrtf(cpu_dot(x, x, width) / (float)width + 1e-6f);
        for (size_t i = 0; i < width; i++)
            y[i] = x[i] * scale * gain[i];
        ret_scale[row] = scale;
    }
}

/* With s = 1 / rms: dx = s (g dy) - x s^3 mean(g dy x). */
void kernel_rmsnorm_backward(float *dx, float *dgain, const float *dy, const float *x,
                             const float *gain, const float *scale, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++, x += width, dx += width, dy += width) {
        float s = scale[row], along = 0;
        for (size_t i = 0; i < width; i++) {
            along += gain[i] * dy[i] * x[i];
            dgain[i] += dy[i] * x[i] * s;
        }
        float pull = along * s * s * s / (float)width;
        for (size_t i = 0; i < width; i++)
            dx[i] += gain[i] * dy[i] * s - x[i] * pull;
    }
}

void kernel_relu2(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float positive = x[i] > 0 ? x[i] : 0;
        y[i] = positive * positive;
    }
}

void kernel_relu2_backward(float *dx, const float *dy, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        dx[i] = dy[i] * 2 * (x[i] > 0 ? x[i] : 0);
}

void kernel_sum(float *y, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = a[i] + b[i];
}

void kernel_embed(float *y, const uint8_t *ids, const float *table, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++)
        memcpy(y + row * width, table + ids[row] * width, width * sizeof *y);
}

void kernel_embed_backward(float *dtable, const float *dy, const uint8_t *ids, size_t rows,
                           size_t width)
{
    for (size_t row = 0; row < rows; row++, dy += width) {
        float *drow = dtable + ids[row] * width;
        kernel_sum(drow, drow, dy, width);
    }
}

double kernel_cross_entropy(float *logits, const uint8_t *targets, float gradient_scale,
                            size_t rows, size_t classes)
{
    double loss = 0;
    for (size_t row = 0; row < rows; row++, logits += classes) {
        float wanted = logits[targets[row]];
        loss += cpu_softmax(logits, classes) - wanted;
        logits[targets[row]] -= 1.0f;
        for (size_t i = 0; i < classes; i++)
            logits[i] *= gradient_scale;
    }
    return loss;
}

double kernel_square_sum(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)x[i] * x[i];
    return sum;
}

void kernel_adamw(float *weights, float *moment1, float *moment2, const float *gradient,
                  size_t count, const struct kernel_adamw_step *step)
{
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * step->gradient_scale;
        moment1[i] = step->beta1 * moment1[i] + (1 - step->beta1) * g;
        moment2[i] = step->beta2 * moment2[i] + (1 - step->beta2) * g * g;
        float mean = moment1[i] / step->correction1;
        float deviation = sqrtf(moment2[i] / step->correction2) + step->epsilon;
        weights[i] -= step->rate * (mean / deviation + step->decay * weights[i]);
    }
}
