/* Prints what kernels of worker/model/kernels.h compute from random numbers: lines "KIND NAME
 * VALUE". The argument names a part: `small` has each kernel with small sizes; `products`,
 * `attention` and `fp8` have larger sizes, and print every STEP_LARGE-th number. The
 * program is built for each backend, so their results can be compared. All inputs are bfloats,
 * which a CPU takes as floats. KIND is `number` for results that a backend may round to bfloats,
 * and `float` for others. */
#include "lib/error.h"
#include "worker/model/kernels.h"
#include "worker/model/random.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 37,
    IN = 72,
    OUT = 136,
    CLASSES = 1000,
    IDS = 11,
    PAGES = 3,
    MEMORIES_MAX = 128,
    STEP_LARGE = 97
};

static struct kernels *kernels;
static uint64_t seed;
static void *memories[MEMORIES_MAX]; /* of the backend, to be released at the end */
static size_t memory_count;
static size_t print_step = 1; /* between two numbers that are printed */

static void *get(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        abort();
    return memory;
}

static void *memory(size_t bytes)
{
    if (memory_count == MEMORIES_MAX)
        abort();
    return memories[memory_count++] = kernels_memory(kernels, bytes);
}

static uint32_t *put_ids(const uint32_t *here, size_t count)
{
    uint32_t *there = memory(count * sizeof *there);
    kernels_put(kernels, there, here, count * sizeof *here);
    return there;
}

/* Returns a random number that a bfloat can be: of eight bits. */
static float some(size_t i, float size)
{
    return (float)(int)(128 * random_signed_at(seed, i)) / 128 * size;
}

static kernel_number *numbers(size_t count, float size)
{
    kernel_number *here = get(count * sizeof *here);
    kernel_number *there = memory(count * sizeof *there);
    seed++;
    for (size_t i = 0; i < count; i++)
        here[i] = kernel_number_of(some(i, size));
    kernels_put(kernels, there, here, count * sizeof *here);
    free(here);
    return there;
}

static float *floats(size_t count, float size)
{
    float *here = get(count * sizeof *here);
    float *there = memory(count * sizeof *there);
    seed++;
    for (size_t i = 0; i < count; i++)
        here[i] = some(i, size);
    kernels_put(kernels, there, here, count * sizeof *here);
    free(here);
    return there;
}

static uint32_t *ids(size_t count, uint32_t below)
{
    uint32_t *here = get(count * sizeof *here);
    seed++;
    for (size_t i = 0; i < count; i++)
        here[i] = (uint32_t)(random_at(seed, i) % below);
    uint32_t *there = put_ids(here, count);
    free(here);
    return there;
}

static void print_numbers(const char *name, const kernel_number *there, size_t count)
{
    kernel_number *here = get(count * sizeof *here);
    kernels_get(kernels, here, there, count * sizeof *here);
    for (size_t i = 0; i < count; i += print_step)
        printf("number %s %.9g\n", name, (double)kernel_number_value(here[i]));
    free(here);
}

static void print_floats(const char *name, const float *there, size_t count)
{
    float *here = get(count * sizeof *here);
    kernels_get(kernels, here, there, count * sizeof *here);
    for (size_t i = 0; i < count; i += print_step)
        printf("float %s %.9g\n", name, (double)here[i]);
    free(here);
}

static void dump_products(size_t rows, size_t in, size_t out, enum kernel_order order)
{
    kernel_number *x = numbers(rows * in, 1), *w = numbers(in * out, 1);
    kernel_number *dy = numbers(rows * out, 1), *y = numbers(rows * out, 1);
    kernel_number *dx = numbers(rows * in, 1);
    float *dw = floats(in * out, 1);
    bool is_in_out = order == KERNEL_IN_OUT;
    kernel_matmul(kernels, y, x, w, rows, in, out, order);
    kernel_matmul_dx(kernels, dx, dy, w, rows, in, out, order);
    kernel_matmul_dw(kernels, dw, dy, x, rows, in, out, order, KERNEL_ADD);
    print_numbers(is_in_out ? "matmul" : "matmul-turned", y, rows * out);
    print_numbers(is_in_out ? "matmul-dx" : "matmul-dx-turned", dx, rows * in);
    print_floats(is_in_out ? "matmul-dw" : "matmul-dw-turned", dw, in * out);
}

static void dump_product_sum(void)
{
    kernel_number *a = numbers(ROWS * IN, 1), *b = numbers(IN * OUT, 1);
    kernel_number *c = numbers(ROWS * OUT, 1);
    kernel_product_sum(kernels, c, a, b, ROWS, IN, OUT, 4);
    print_numbers("product-sum", c, ROWS * OUT);
}

static void dump_norm(size_t rows)
{
    kernel_number *a = numbers(rows * IN, 2), *b = numbers(rows * IN, 1);
    kernel_number *y = numbers(rows * IN, 1), *dx = numbers(rows * IN, 1);
    float *gain = floats(IN, 1), *scale = floats(rows, 1), *dgain = floats(IN, 1);
    kernel_sum_rmsnorm(kernels, NULL, y, scale, a, NULL, gain, rows, IN);
    print_numbers("norm", y, rows * IN);
    print_floats("norm-scale", scale, rows);
    kernel_rmsnorm_backward(kernels, dx, dgain, b, a, gain, scale, rows, IN);
    print_numbers("norm-backward", dx, rows * IN);
    print_floats("norm-dgain", dgain, IN);
    kernel_sum_rmsnorm(kernels, a, y, scale, a, b, gain, rows, IN);
    print_numbers("norm-of-sum", y, rows * IN);
    print_numbers("norm-state", a, rows * IN);
}

static void dump_rows(void)
{
    kernel_number *wide = numbers(ROWS * 2 * IN, 4), *y = numbers(ROWS * IN, 1);
    kernel_number *dy = numbers(ROWS * IN, 1), *table = numbers(IDS * IN, 1);
    float *dtable = floats(IDS * IN, 1);
    uint32_t *some_ids = ids(ROWS, IDS);
    kernel_gate(kernels, y, wide, ROWS, IN);
    print_numbers("gate", y, ROWS * IN);
    kernel_gate_backward(kernels, wide, dy, wide, ROWS, IN);
    print_numbers("gate-backward", wide, ROWS * 2 * IN);
    kernel_embed(kernels, y, some_ids, table, ROWS, IN);
    print_numbers("embed", y, ROWS * IN);
    kernel_embed_backward(kernels, dtable, dy, some_ids, ROWS, IN);
    print_floats("embed-backward", dtable, IDS * IN);
    kernel_sum(kernels, y, y, dy, ROWS * IN);
    print_numbers("sum", y, ROWS * IN);
}

static void dump_loss(void)
{
    kernel_number *logits = numbers(ROWS * CLASSES, 8);
    float *loss = floats(1, 1);
    kernel_cross_entropy(kernels, logits, loss, ids(ROWS, CLASSES), 0.125f, ROWS, CLASSES);
    print_floats("loss", loss, 1);
    print_numbers("loss-backward", logits, ROWS * CLASSES);
}

/* Parts of two ranks, and some padding. */
static void dump_draws(void)
{
    enum { PART = 512 };
    const struct kernel_parts parts = {CLASSES, PART, ROWS * PART};
    const kernel_number *logits = numbers(2 * ROWS * PART, 8);
    double here[ROWS], *randoms = memory(sizeof here);
    uint32_t drawn[ROWS], *tokens = memory(sizeof drawn);
    seed++;
    for (size_t i = 0; i < ROWS; i++)
        here[i] = random_unit_at(seed, i);
    kernels_put(kernels, randoms, here, sizeof here);
    for (int i = 0; i < 3; i++) {
        const struct kernel_draw_options options = {CLASSES - 3, i > 0 ? 1.5 : 0, i > 1 ? 0.9 : 1};
        kernel_draw(kernels, tokens, logits, randoms, ROWS, &parts, &options);
        kernels_get(kernels, drawn, tokens, sizeof drawn);
        for (size_t row = 0; row < ROWS; row++)
            printf("float draw %u\n", drawn[row]);
    }
}

/* Two tokens of each of two sequences, the later one first. The second sequence is shorter. A page
 * of the pool is left. */
static void dump_newest(const kernel_number *qkv, kernel_number *y,
                        struct kernel_attention_shape shape)
{
    const uint32_t table[] = {6, 1, 3, 0, 5, 2, 6, 1, 3, 0, 5, 2};
    const uint32_t positions[] = {2 * KERNEL_PAGE + 5, KERNEL_PAGE, 2 * KERNEL_PAGE + 4,
                                  KERNEL_PAGE - 1};
    const struct kernel_pages pages = {put_ids(positions, 4), put_ids(table, 12), PAGES};
    size_t kept_count = (2 * PAGES + 1) * shape.kv_heads * KERNEL_PAGE * shape.head_width;
    kernel_number *keys = numbers(kept_count, 2), *values = numbers(kept_count, 1);
    shape.batch = 4;
    shape.sequence = 1;
    kernel_attention_newest(kernels, y, keys, values, qkv, &pages, &shape);
    print_numbers("newest", y, shape.batch * shape.heads * shape.head_width);
    print_numbers("newest-keys", keys, kept_count);
    print_numbers("newest-values", values, kept_count);
}

/* Tables for sequences of millions of tokens: a GPU has room for the parts of one row at a time. */
static void dump_newest_of_long_tables(void)
{
    enum { LONG = 240 * 1000 };
    const struct kernel_attention_shape shape = {4, 1, 4, 2, 16};
    const uint32_t positions[] = {40, 16, 39, 15};
    uint32_t *table = get(4 * LONG * sizeof *table);
    for (uint32_t i = 0; i < 4 * PAGES; i++)
        table[(size_t)i / PAGES * LONG + i % PAGES] = i / PAGES % 2 * PAGES + i % PAGES;
    const struct kernel_pages pages = {put_ids(positions, 4), put_ids(table, 4 * LONG), LONG};
    size_t kept_count = 2 * PAGES * shape.kv_heads * KERNEL_PAGE * shape.head_width;
    kernel_number *keys = numbers(kept_count, 2), *values = numbers(kept_count, 1);
    kernel_number *y = numbers(4 * 4 * 16, 1), *qkv = numbers(4 * 8 * 16, 2);
    kernel_attention_newest(kernels, y, keys, values, qkv, &pages, &shape);
    print_numbers("newest-long", y, 4 * 4 * 16);
    free(table);
}

static void dump_attention(const char *name, struct kernel_attention_shape shape)
{
    size_t rows = shape.batch * shape.sequence, y_row = shape.heads * shape.head_width;
    size_t row = y_row + 2 * shape.kv_heads * shape.head_width;
    kernel_number *qkv = numbers(rows * row, 2), *y = numbers(rows * y_row, 1);
    kernel_number *dy = numbers(rows * y_row, 1), *dqkv = numbers(rows * row, 1);
    float *kept = floats(kernel_attention_kept(&shape), 1);
    float *turns = floats((4 + shape.sequence) * shape.head_width, 1);
    const uint32_t firsts[] = {1, 4};
    kernel_attention(kernels, y, kept, qkv, &shape);
    print_numbers(name, y, rows * y_row);
    kernel_attention_backward(kernels, dqkv, dy, y, kept, qkv, &shape);
    print_numbers(name, dqkv, rows * row);
    kernel_rotary(kernels, qkv, turns, NULL, &shape, KERNEL_FORWARD);
    print_numbers("rotary", qkv, rows * row);
    kernel_rotary(kernels, qkv, turns, put_ids(firsts, 2), &shape, KERNEL_BACKWARD);
    print_numbers("rotary-back", qkv, rows * row);
    dump_newest(qkv, y, shape);
}

static void dump_update(void)
{
    enum { COUNT = 4096 };
    const struct kernel_adamw_step step = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.3f, 0.2f, 1.0f};
    float *master = floats(COUNT, 1), *moment1 = floats(COUNT, 1), *moment2 = floats(COUNT, 0);
    float *gradient = floats(COUNT, 3), *sum = floats(1, 0);
    bool is_same = sizeof(kernel_number) == sizeof(float);
    kernel_number *weights = is_same ? (kernel_number *)(void *)master : numbers(COUNT, 1);
    kernel_square_sum(kernels, sum, gradient, COUNT);
    kernel_adamw(kernels, master, weights, moment1, moment2, gradient, COUNT, sum, &step);
    print_floats("square-sum", sum, 1);
    print_floats("master", master, COUNT);
    print_numbers("weights", weights, COUNT);
    print_floats("moment1", moment1, COUNT);
    print_floats("moment2", moment2, COUNT);
    kernel_number *rounded = numbers(COUNT, 1);
    kernel_round(kernels, rounded, gradient, COUNT);
    print_numbers("round", rounded, COUNT);
}

static int dump_small(struct error *err)
{
    (void)err;
    dump_products(ROWS, IN, OUT, KERNEL_IN_OUT);
    dump_products(ROWS, IN, OUT, KERNEL_OUT_IN);
    dump_product_sum();
    dump_norm(ROWS);
    dump_rows();
    dump_loss();
    dump_draws();
    dump_attention("attention", (struct kernel_attention_shape){2, 37, 4, 2, 16});
    dump_attention("attention-wide", (struct kernel_attention_shape){1, 48, 3, 1, 128});
    dump_newest_of_long_tables();
    dump_update();
    return 0;
}

/* More rows than a step of generation has, so a GPU measures how it makes these products, and has a
 * warp for each row of a norm, not a block. */
static int dump_large_products(struct error *err)
{
    (void)err;
    print_step = STEP_LARGE;
    dump_products(1024, 768, 512, KERNEL_IN_OUT);
    dump_norm(KERNEL_STEP_ROWS + 1);
    return 0;
}

static int dump_large_attention(struct error *err)
{
    (void)err;
    print_step = STEP_LARGE;
    dump_attention("attention-64", (struct kernel_attention_shape){1, 1024, 12, 12, 64});
    dump_attention("attention-128", (struct kernel_attention_shape){1, 256, 16, 8, 128});
    return 0;
}

/* A CPU computes the same products with floats. */
static int dump_fp8(struct error *err)
{
    int status = sizeof(kernel_number) == sizeof(float) ? 0 : kernels_use_fp8(kernels, err);
    print_step = STEP_LARGE;
    dump_products(1024, 768, 512, KERNEL_IN_OUT);
    return status;
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int (*dump)(struct error *err);
    } parts[] = {{"small", dump_small},
                 {"products", dump_large_products},
                 {"attention", dump_large_attention},
                 {"fp8", dump_fp8}};
    struct error err;
    size_t part = 0, part_count = sizeof parts / sizeof *parts;
    while (part < part_count && (count != 2 || strcmp(arguments[1], parts[part].name) != 0))
        part++;
    if (part == part_count) {
        fprintf(stderr, "usage: model_dump small|products|attention|fp8\n");
        return 2;
    }
    kernels = kernels_new(0, &err);
    bool is_done = kernels && parts[part].dump(&err) == 0 && kernels_status(kernels, &err) == 0;
    for (size_t i = 0; i < memory_count; i++)
        kernels_release(kernels, memories[i]);
    kernels_free(kernels);
    if (!is_done)
        fprintf(stderr, "model_dump: %s\n", err.message);
    return is_done ? 0 : 1;
}
