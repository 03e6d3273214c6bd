/* Matrix products on a CPU, in register tiles.
 *
 * The code uses the compiler's own vectors. They always lie along the output, and never along a
 * sum. So the width of the processor's vectors changes the speed, and not a bit of the result. For
 * the same reason there is no fused multiply-add, which not every CPU has: the makefile compiles
 * these files with -ffp-contract=off. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum {
    TILE_ROWS = 4,
    TILE_COLUMNS = 16,
    INNER_BLOCK = 256, /* a packed panel of 256 x 16 floats fills a third of a 48 KiB L1 */
    TURNED = 32,       /* rows and columns of the tiles of cpu_transpose() */
};

enum lanes { LANES_4, LANES_8 };

typedef float lanes8 __attribute__((vector_size(32), aligned(4), may_alias));

/* One tile for processors with vectors of eight: c[rows x 16] = or += a b, where b is a packed
 * panel of `inner` rows of 16. The rows are written out, so that any optimising compiler keeps the
 * eight sums in registers. A tile with fewer rows computes its first row again instead. */
static inline __attribute__((always_inline)) void tile_of_8(float *c, size_t c_stride,
                                                            struct cpu_view a, const float *panel,
                                                            size_t inner, size_t rows, bool add)
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
                                                            struct cpu_view a, const float *panel,
                                                            size_t inner, size_t rows, bool add)
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
product_tile(float *c, size_t c_stride, struct cpu_view a, const float *panel, size_t inner,
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
product_panel(float *c, size_t c_stride, struct cpu_view a, const float *panel, size_t rows,
              size_t inner, size_t columns, bool add, enum lanes lanes)
{
    for (size_t r = 0; r < rows; r += TILE_ROWS) {
        size_t count = rows - r < TILE_ROWS ? rows - r : TILE_ROWS;
        float *out = c + r * c_stride;
        struct cpu_view part = a;
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
product_blocks(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
               size_t rows, size_t inner, size_t columns, enum kernel_mode mode, enum lanes lanes)
{
    float panel[INNER_BLOCK * TILE_COLUMNS];
    for (size_t k0 = 0; k0 < inner; k0 += INNER_BLOCK) {
        size_t block = inner - k0 < INNER_BLOCK ? inner - k0 : INNER_BLOCK;
        struct cpu_view part = a;
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
/* Subnormal numbers are 0 in a product. A training that diverges has many of them, and with them
 * these processors take about 20 times as long. */
enum { FLUSH_RESULTS = 1 << 15, FLUSH_FACTORS = 1 << 6 };

/* For processors with wide vectors. Most have them, but a build of Debian may not assume so. */
__attribute__((target("avx2"))) static void product_avx2(float *c, size_t c_stride,
                                                         struct cpu_view a, const float *b,
                                                         size_t b_stride, size_t rows, size_t inner,
                                                         size_t columns, enum kernel_mode mode)
{
    product_blocks(c, c_stride, a, b, b_stride, rows, inner, columns, mode, LANES_8);
}
#endif

void cpu_product_of_4(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
                      size_t rows, size_t inner, size_t columns, enum kernel_mode mode)
{
    product_blocks(c, c_stride, a, b, b_stride, rows, inner, columns, mode, LANES_4);
}

void cpu_product(float *c, size_t c_stride, struct cpu_view a, const float *b, size_t b_stride,
                 size_t rows, size_t inner, size_t columns, enum kernel_mode mode)
{
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | FLUSH_RESULTS | FLUSH_FACTORS);
    if (__builtin_cpu_supports("avx2"))
        product_avx2(c, c_stride, a, b, b_stride, rows, inner, columns, mode);
    else
        cpu_product_of_4(c, c_stride, a, b, b_stride, rows, inner, columns, mode);
    _mm_setcsr(before);
#else
    cpu_product_of_4(c, c_stride, a, b, b_stride, rows, inner, columns, mode);
#endif
}

void cpu_transpose(float *to, const float *from, size_t stride, size_t rows, size_t columns)
{
    /* Square tiles stay in the cache: the rows of a large result are far apart. */
    for (size_t r0 = 0; r0 < rows; r0 += TURNED) {
        size_t r1 = rows - r0 < TURNED ? rows : r0 + TURNED;
        for (size_t c0 = 0; c0 < columns; c0 += TURNED) {
            size_t c1 = columns - c0 < TURNED ? columns : c0 + TURNED;
            for (size_t c = c0; c < c1; c++)
                for (size_t r = r0; r < r1; r++)
                    to[c * rows + r] = from[r * stride + c];
        }
    }
}

/* y[rows x out] = x[rows x in] b, where b[in x out] is w or the transpose of w. */
static void multiply(struct kernels *kernels, float *y, const float *x, const float *w, size_t rows,
                     size_t in, size_t out, bool transposed)
{
    if (transposed) {
        float *turned = cpu_scratch(kernels, in * out);
        cpu_transpose(turned, w, in, out, in);
        w = turned;
    }
    cpu_product(y, out, (struct cpu_view){x, in, 1}, w, out, rows, in, out, KERNEL_SET);
}

void kernel_matmul(struct kernels *kernels, kernel_number *y, const kernel_number *x,
                   const kernel_number *w, size_t rows, size_t in, size_t out,
                   enum kernel_order order)
{
    multiply(kernels, y, x, w, rows, in, out, order == KERNEL_OUT_IN);
}

void kernel_matmul_dx(struct kernels *kernels, kernel_number *dx, const kernel_number *dy,
                      const kernel_number *w, size_t rows, size_t in, size_t out,
                      enum kernel_order order)
{
    multiply(kernels, dx, dy, w, rows, out, in, order == KERNEL_IN_OUT);
}

void kernel_matmul_dw(struct kernels *kernels, float *dw, const kernel_number *dy,
                      const kernel_number *x, size_t rows, size_t in, size_t out,
                      enum kernel_order order, enum kernel_mode mode)
{
    (void)kernels; /* needs no scratch */
    if (order == KERNEL_IN_OUT)
        cpu_product(dw, out, (struct cpu_view){x, 1, in}, dy, out, in, rows, out, mode);
    else
        cpu_product(dw, in, (struct cpu_view){dy, 1, out}, x, in, out, rows, in, mode);
}

void kernel_product_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                        const kernel_number *b, size_t rows, size_t inner, size_t columns,
                        size_t parts)
{
    size_t area = rows * columns, slice = inner / parts;
    float *sums = cpu_scratch(kernels, parts * area);
    for (size_t i = 0; i < parts; i++)
        cpu_product(sums + i * area, columns, (struct cpu_view){a + i * slice, inner, 1},
                    b + i * slice * columns, columns, rows, slice, columns, KERNEL_SET);
    for (size_t distance = 1; distance < parts; distance *= 2)
        for (size_t i = 0; i < parts; i += 2 * distance)
            kernel_sum(kernels, sums + i * area, sums + i * area, sums + (i + distance) * area,
                       area);
    kernels_sum(kernels, sums, area);
    kernel_sum(kernels, y, y, sums, area);
}
