/* The parts of a step of training, with their operations and bytes, in one list. */
#include "worker/model/bench.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/metrics/peak.h"
#include "worker/model/bench_decode.h"
#include "worker/model/device.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/options.h"
#include "worker/model/pass.h"
#include "worker/model/random.h"
#include "worker/model/ranks.h"
#include "worker/model/rotary.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SIDE_MIN = 256, /* of the large product; the side doubles until a product takes large_s */
    SIDE_MAX = 8192,
    COUNT_MIN = 1 << 20, /* the fewest and the most numbers in each of the large arrays */
    COUNT_MAX = 1 << 27,
    UPDATED_MAX = 1 << 24, /* weights that are updated at once: more than any cache has */
    PARTS_MAX = 40,
};

/* measured_s: the least time of a measurement. large_s: the time of one product that is large
 * enough to show the speed of the device. */
static const double measured_s = 0.1, large_s = 0.01;

struct bench;

/* A part of a step. The sizes are those of a product, or unused. */
struct part {
    const char *name;
    void (*run)(struct bench *bench, const struct part *part);
    double operations, bytes; /* of one call; bytes that it must move at least */
    double calls;             /* in each step */
    size_t rows, in, out;
    enum kernel_order order;
    bool is_fp8; /* the factors have 8 bits */
};

struct bench {
    struct kernels *kernels;
    struct model_shape shape;
    bool is_fp8; /* products of the blocks have factors of 8 bits, where possible */
    struct kernel_attention_shape attention;
    size_t rows, logits_rows;
    kernel_number *a, *b, *c, *weights; /* of random numbers; c is for outputs */
    float *gradient, *master, *moment1, *moment2, *scales, *turns, *kept, *number;
    uint32_t *ids;
    size_t updated;
    /* What the device has shown. */
    double operations_each_s, fp8_operations_each_s, bytes_each_s;
    struct part parts[PARTS_MAX];
    size_t part_count;
};

/* Returns the seconds of one call, from at least `least_s` of calls. After a failure, which stays
 * in the kernels, the result means nothing. */
static double time_of(struct bench *bench, const struct part *part, double least_s)
{
    part->run(bench, part); /* the first call may choose an algorithm and load code */
    if (kernels_status(bench->kernels, NULL) < 0)
        return least_s;
    for (size_t count = 1;; count *= 2) {
        double begin_s = clock_steady_s();
        for (size_t i = 0; i < count; i++)
            part->run(bench, part);
        int status = kernels_status(bench->kernels, NULL); /* waits */
        double passed_s = clock_steady_s() - begin_s;
        if (status < 0 || passed_s >= least_s)
            return passed_s / (double)count;
    }
}

static void run_forward(struct bench *bench, const struct part *part)
{
    kernel_matmul(bench->kernels, bench->c, bench->a, bench->weights, part->rows, part->in,
                  part->out, part->order);
}

static void run_dx(struct bench *bench, const struct part *part)
{
    kernel_matmul_dx(bench->kernels, bench->c, bench->a, bench->weights, part->rows, part->in,
                     part->out, part->order);
}

static void run_dw(struct bench *bench, const struct part *part)
{
    kernel_matmul_dw(bench->kernels, bench->gradient, bench->a, bench->b, part->rows, part->in,
                     part->out, part->order, KERNEL_ADD);
}

/* A large product. A matrix in this order is never cast to 8 bits. */
static void run_square(struct bench *bench, const struct part *part)
{
    kernel_matmul(bench->kernels, bench->c, bench->a, bench->b, part->rows, part->in, part->out,
                  KERNEL_OUT_IN);
}

static void run_fp8_square(struct bench *bench, const struct part *part)
{
    kernel_matmul(bench->kernels, bench->c, bench->a, bench->b, part->rows, part->in, part->out,
                  KERNEL_IN_OUT);
}

static void run_sum(struct bench *bench, const struct part *part)
{
    kernel_sum(bench->kernels, bench->c, bench->a, bench->b, part->rows);
}

static void run_attention(struct bench *bench, const struct part *part)
{
    (void)part;
    kernel_attention(bench->kernels, bench->b, bench->kept, bench->a, &bench->attention);
}

static void run_attention_backward(struct bench *bench, const struct part *part)
{
    (void)part;
    kernel_attention_backward(bench->kernels, bench->c, bench->b, bench->b, bench->kept, bench->a,
                              &bench->attention);
}

static void run_rotary(struct bench *bench, const struct part *part)
{
    (void)part;
    kernel_rotary(bench->kernels, bench->a, bench->turns, NULL, &bench->attention, KERNEL_FORWARD);
}

static void run_norm(struct bench *bench, const struct part *part)
{
    kernel_sum_rmsnorm(bench->kernels, bench->c, bench->weights, bench->scales, bench->a, bench->b,
                       bench->master, part->rows, bench->shape.width);
}

static void run_norm_backward(struct bench *bench, const struct part *part)
{
    kernel_rmsnorm_backward(bench->kernels, bench->c, bench->gradient, bench->a, bench->b,
                            bench->master, bench->scales, part->rows, bench->shape.width);
}

static void run_gate(struct bench *bench, const struct part *part)
{
    kernel_gate(bench->kernels, bench->c, bench->a, part->rows, bench->shape.hidden);
}

static void run_gate_backward(struct bench *bench, const struct part *part)
{
    kernel_gate_backward(bench->kernels, bench->c, bench->b, bench->a, part->rows,
                         bench->shape.hidden);
}

static void run_embed(struct bench *bench, const struct part *part)
{
    kernel_embed(bench->kernels, bench->c, bench->ids, bench->weights, part->rows,
                 bench->shape.width);
}

static void run_embed_backward(struct bench *bench, const struct part *part)
{
    kernel_embed_backward(bench->kernels, bench->gradient, bench->a, bench->ids, part->rows,
                          bench->shape.width);
}

static void run_loss(struct bench *bench, const struct part *part)
{
    kernel_cross_entropy(bench->kernels, bench->c, bench->number, bench->ids, 1.0f, part->rows,
                         bench->shape.vocabulary);
}

static void run_squares(struct bench *bench, const struct part *part)
{
    kernel_square_sum(bench->kernels, bench->number, bench->gradient, part->rows);
}

static void run_update(struct bench *bench, const struct part *part)
{
    const struct kernel_adamw_step step = {1e-4f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.1f, 0.05f, 1.0f};
    bool is_same = sizeof(kernel_number) == sizeof(float); /* the weights are the master weights */
    kernel_adamw(bench->kernels, bench->master,
                 is_same ? (kernel_number *)(void *)bench->master : bench->weights, bench->moment1,
                 bench->moment2, bench->gradient, part->rows, bench->number, &step);
}

/* Returns how many weights are updated in a step; the few gains are left out. */
static double all_weights(const struct model_shape *shape)
{
    double tables = shape->tied ? 1 : 2;
    return shape->depth * model_block_products(shape) + tables * shape->width * shape->vocabulary;
}

static void add(struct bench *bench, struct part part)
{
    assert(bench->part_count < PARTS_MAX);
    bench->parts[bench->part_count++] = part;
}

/* Adds a product and its two gradients, with their three `names`. */
static void add_product(struct bench *bench, const char *const names[3], struct part part)
{
    double x = (double)(part.rows * part.in), y = (double)(part.rows * part.out);
    double w = (double)(part.in * part.out), size = sizeof(kernel_number);
    part.operations = 2 * x * (double)part.out;
    part.is_fp8 = bench->is_fp8 && part.order == KERNEL_IN_OUT &&
                  (part.rows | part.in | part.out) % KERNEL_FP8_STEP == 0;
    part.bytes = (x + y) * size + w * (part.is_fp8 ? 1 : size);
    part.name = names[0];
    part.run = run_forward;
    add(bench, part);
    part.name = names[1];
    part.run = run_dx;
    add(bench, part);
    part.name = names[2];
    part.run = run_dw;
    part.is_fp8 = false;
    part.bytes = (x + y) * size + 2 * w * sizeof(float); /* it adds to the gradient */
    add(bench, part);
}

static void add_products(struct bench *bench)
{
    static const char *const names[][3] = {
        {"queries, keys, values", "  gradient of the input", "  gradient of the weights"},
        {"out", "  gradient of the input", "  gradient of the weights"},
        {"up", "  gradient of the input", "  gradient of the weights"},
        {"down", "  gradient of the input", "  gradient of the weights"},
        {"head", "  gradient of the input", "  gradient of the weights"},
    };
    const struct model_shape *shape = &bench->shape;
    size_t width = shape->width, hidden = shape->hidden;
    size_t qkv = width + 2 * (size_t)shape->kv_heads * (width / shape->heads);
    const size_t sides[][2] = {{width, qkv}, {width, width}, {width, 2 * hidden}, {hidden, width}};
    double blocks = (double)shape->depth * shape->loops;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        add_product(bench, names[i],
                    (struct part){.rows = bench->rows,
                                  .in = sides[i][0],
                                  .out = sides[i][1],
                                  .order = KERNEL_IN_OUT,
                                  .calls = blocks});
    add_product(bench, names[4],
                (struct part){.rows = bench->logits_rows,
                              .in = width,
                              .out = shape->vocabulary,
                              .order = KERNEL_OUT_IN,
                              .calls = (double)shape->loops * (double)bench->rows /
                                       (double)bench->logits_rows});
}

/* Half of the scores are computed, because a token does not see those after it. The backward pass
 * makes five products where the forward pass makes two. */
static void add_attention(struct bench *bench)
{
    const struct kernel_attention_shape *shape = &bench->attention;
    double size = sizeof(kernel_number), blocks = (double)bench->shape.depth * bench->shape.loops;
    double y = (double)(bench->rows * shape->heads * shape->head_width);
    double keys = (double)(bench->rows * shape->kv_heads * shape->head_width);
    double operations = 2 * y * (double)shape->sequence;
    add(bench, (struct part){"attention", run_attention, operations, (2 * y + 2 * keys) * size,
                             blocks, 0, 0, 0, 0, false});
    add(bench, (struct part){"  its gradient", run_attention_backward, 2.5 * operations,
                             (4 * y + 4 * keys) * size, blocks, 0, 0, 0, 0, false});
    add(bench, (struct part){"rotary positions", run_rotary, 0, 2 * (y + keys) * size, 2 * blocks,
                             0, 0, 0, 0, false});
}

/* Adds a part that is limited by the bytes that it moves. */
static void add_bytes(struct bench *bench, const char *name,
                      void (*run)(struct bench *bench, const struct part *part), double bytes,
                      double calls, size_t rows)
{
    add(bench,
        (struct part){.name = name, .run = run, .bytes = bytes, .calls = calls, .rows = rows});
}

static void add_parts(struct bench *bench)
{
    const struct model_shape *shape = &bench->shape;
    double size = sizeof(kernel_number), blocks = (double)shape->depth * shape->loops;
    double area = (double)bench->rows * shape->width, hidden = (double)bench->rows * shape->hidden;
    double logits = (double)bench->logits_rows * shape->vocabulary;
    double rounded = size < sizeof(float) ? size : 0; /* the rounded weights are written, too */
    double updates = all_weights(shape) / (double)bench->updated, updated = (double)bench->updated;
    add_products(bench);
    add_attention(bench);
    add_bytes(bench, "sum and norm", run_norm, 4 * area * size, 2 * blocks, bench->rows);
    add_bytes(bench, "  its gradient", run_norm_backward, 4 * area * size, 2 * blocks, bench->rows);
    add_bytes(bench, "gate", run_gate, 3 * hidden * size, blocks, bench->rows);
    add_bytes(bench, "  its gradient", run_gate_backward, 5 * hidden * size, blocks, bench->rows);
    add_bytes(bench, "embedding", run_embed, 2 * area * size, 1, bench->rows);
    add_bytes(bench, "  its gradient", run_embed_backward, area * (size + 2 * sizeof(float)), 1,
              bench->rows);
    add_bytes(bench, "loss", run_loss, 2 * logits * size,
              (double)shape->loops * (double)bench->rows / (double)bench->logits_rows,
              bench->logits_rows);
    add_bytes(bench, "norm of the gradient", run_squares, updated * sizeof(float), updates,
              bench->updated);
    add_bytes(bench, "update", run_update, updated * (7 * sizeof(float) + rounded), updates,
              bench->updated);
}

/* Fills memory of the backend with random numbers. */
static void fill(struct bench *bench, kernel_number *numbers, size_t count, float size)
{
    enum { CHUNK = 1 << 14 };
    static kernel_number chunk[CHUNK];
    for (size_t i = 0; i < CHUNK; i++)
        chunk[i] = kernel_number_of(size * random_signed_at(1, i));
    for (size_t first = 0; first < count; first += CHUNK)
        kernels_put(bench->kernels, numbers + first, chunk,
                    (count - first < CHUNK ? count - first : CHUNK) * sizeof *chunk);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static int make_arrays(struct bench *bench, const struct options *options, struct error *err)
{
    const struct model_shape *shape = &bench->shape;
    struct kernels *kernels = bench->kernels;
    size_t width = shape->width, widest = larger(3 * width, 2 * (size_t)shape->hidden);
    size_t logits = bench->logits_rows * shape->vocabulary;
    size_t activations = larger(larger(bench->rows * widest, logits), COUNT_MIN);
    size_t weights = larger(width * larger(widest, shape->vocabulary), bench->rows * width);
    weights = larger(weights, bench->updated);
    size_t head_width = width / shape->heads;
    float *turns = rotary_new(options->sequence_length, head_width);
    bench->a = kernels_memory(kernels, activations * sizeof *bench->a);
    bench->b = kernels_memory(kernels, activations * sizeof *bench->b);
    bench->c = kernels_memory(kernels, activations * sizeof *bench->c);
    bench->weights = kernels_memory(kernels, weights * sizeof *bench->weights);
    bench->gradient = kernels_memory(kernels, weights * sizeof(float));
    bench->master = kernels_memory(kernels, weights * sizeof(float));
    bench->moment1 = kernels_memory(kernels, bench->updated * sizeof(float));
    bench->moment2 = kernels_memory(kernels, bench->updated * sizeof(float));
    bench->scales = kernels_memory(kernels, bench->rows * sizeof(float));
    bench->turns = kernels_memory(kernels, options->sequence_length * head_width * sizeof(float));
    bench->kept = kernels_memory(kernels, kernel_attention_kept(&bench->attention) * sizeof(float));
    bench->number = kernels_memory(kernels, sizeof(float));
    bench->ids = kernels_memory(kernels, bench->rows * sizeof *bench->ids);
    if (kernels_status(kernels, NULL) == 0) {
        fill(bench, bench->a, activations, 1);
        fill(bench, bench->b, activations, 1);
        fill(bench, bench->weights, weights, 0.05f);
        kernels_put(kernels, bench->turns, turns,
                    options->sequence_length * head_width * sizeof *turns);
    }
    free(turns);
    return kernels_status(kernels, err);
}

static void release(struct bench *bench)
{
    void *const arrays[] = {bench->a,        bench->b,      bench->c,       bench->weights,
                            bench->gradient, bench->master, bench->moment1, bench->moment2,
                            bench->scales,   bench->turns,  bench->kept,    bench->number,
                            bench->ids};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        kernels_release(bench->kernels, arrays[i]);
}

/* Returns the operations/s of a large product. Its size grows until a call takes long, or the
 * arrays, which have room for so many numbers, are full. */
static double rate_of(struct bench *bench,
                      void (*run)(struct bench *bench, const struct part *part), size_t room)
{
    double best = 0;
    for (size_t side = SIDE_MIN; side <= SIDE_MAX && side * side <= room; side *= 2) {
        struct part square = {.run = run, .rows = side, .in = side, .out = side};
        double taken_s = time_of(bench, &square, measured_s);
        double rate = 2 * (double)side * (double)side * (double)side / taken_s;
        best = rate > best ? rate : best;
        if (taken_s > large_s)
            break;
    }
    return best;
}

/* Finds the rates that the limits are computed from. */
static void show_rates(struct bench *bench)
{
    const struct model_shape *shape = &bench->shape;
    size_t room = larger(bench->rows * larger(3 * (size_t)shape->width, 2 * (size_t)shape->hidden),
                         bench->logits_rows * shape->vocabulary);
    room = larger(room, COUNT_MIN);
    bench->operations_each_s = rate_of(bench, run_square, room);
    struct part arrays = {.run = run_sum, .rows = room < COUNT_MAX ? room / 8 * 8 : COUNT_MAX};
    bench->bytes_each_s =
        3 * (double)(arrays.rows * sizeof(kernel_number)) / time_of(bench, &arrays, measured_s);
    printf("a large product: %.4g TFLOPS; a sum of large arrays: %.4g GB/s\n",
           bench->operations_each_s / 1e12, bench->bytes_each_s / 1e9);
    if (!bench->is_fp8)
        return;
    bench->fp8_operations_each_s = rate_of(bench, run_fp8_square, room);
    printf("a large product of fp8: %.4g TFLOPS\n", bench->fp8_operations_each_s / 1e12);
}

/* Prints a part that has taken so long, and returns its limit. */
static double print_part(const struct bench *bench, const struct part *part, double taken_s)
{
    double computing_s =
        part->operations / (part->is_fp8 ? bench->fp8_operations_each_s : bench->operations_each_s);
    double moving_s = part->bytes / bench->bytes_each_s;
    bool computes = computing_s >= moving_s;
    double limit_s = computes ? computing_s : moving_s;
    printf("%-26s %8.1f %12.1f %12.1f %7.1f %%  %s\n", part->name, part->calls, 1e6 * taken_s,
           1e6 * limit_s, 100 * limit_s / taken_s, computes ? "operations" : "bytes");
    return limit_s;
}

/* Prints the parts, and returns the sum of their limits in a step. */
static double measure_parts(struct bench *bench)
{
    double whole_s = 0, sum_s = 0;
    printf("%-26s %8s %12s %12s %9s  %s\n", "part", "calls", "us each", "limit", "of limit",
           "limited by");
    for (size_t i = 0; i < bench->part_count; i++) {
        const struct part *part = &bench->parts[i];
        double taken_s = time_of(bench, part, measured_s);
        sum_s += taken_s * part->calls;
        whole_s += print_part(bench, part, taken_s) * part->calls;
    }
    printf("%-26s %8s %12.1f %12.1f %7.1f %%\n", "all parts", "", 1e6 * sum_s, 1e6 * whole_s,
           100 * whole_s / sum_s);
    return whole_s;
}

/* One step of training, without text: the ids do not change its time. */
struct step {
    struct model model;
    struct pass *pass;
    uint32_t *ids;
    size_t batch;
};

/* Takes a step, and waits until it is done. */
static int take_step(struct step *step, struct error *err)
{
    const struct model_rates rates = {1e-4f, 1e-4f, 0.1f, 1.0f};
    float scales[MODEL_LOOPS_MAX];
    for (size_t i = 0; i < MODEL_LOOPS_MAX; i++)
        scales[i] = 1e-4f;
    model_clear_gradient(&step->model);
    pass_learn(step->pass, step->ids, step->ids, step->batch, scales, PASS_MORE_ROUNDS);
    int status = model_measure(&step->model, err);
    if (status == 0)
        status = model_update(&step->model, 1, &rates, err);
    return status < 0 ? status : kernels_status(step->model.kernels, err);
}

/* Prints the MFU of so many operations a second, if the peak of the device is known. */
static void print_mfu(const struct bench *bench, double operations_each_s)
{
    const char *device = kernels_device(bench->kernels);
    double peak = 1e12 * peak_tflops(device);
    if (peak > 0)
        printf("mfu %.2f %% of %.0f TFLOPS, dense bf16, of a %s; a token takes 6 operations for "
               "each weight of a product, and 12 * depth * width * sequence for attention\n",
               100 * operations_each_s / peak, peak / 1e12, device);
}

static int measure_step(struct bench *bench, const struct options *options, double limit_s,
                        struct error *err)
{
    struct step step = {.batch = options->device_batch_size};
    int status = model_init(&step.model, bench->kernels, &bench->shape, options->sequence_length,
                            MODEL_TRAINS, (struct model_rank){0, 1}, err);
    if (status == 0) {
        model_draw(&step.model, 1);
        step.pass = pass_new(&step.model, step.batch, err);
        status = step.pass ? 0 : err->code;
    }
    step.ids = xcalloc(bench->rows, sizeof *step.ids);
    for (size_t i = 0; i < bench->rows; i++)
        step.ids[i] = (uint32_t)(random_at(2, i) % bench->shape.vocabulary);
    if (status == 0)
        status = take_step(&step, err);
    double begin_s = clock_steady_s(), passed_s = 0, count = 0;
    for (; status == 0 && passed_s < 10 * measured_s;
         passed_s = clock_steady_s() - begin_s, count++)
        status = take_step(&step, err);
    if (status == 0) {
        double step_s = passed_s / count, tokens_each_s = (double)bench->rows / step_s;
        double used = tokens_each_s * model_operations(&bench->shape, options->sequence_length);
        printf("%-26s %8s %12.1f %12.1f %7.1f %%\n", "a step", "", 1e6 * step_s, 1e6 * limit_s,
               100 * limit_s / step_s);
        printf("%.0f tokens/s, %.4g TFLOPS: %.1f %% of the large product\n", tokens_each_s,
               used / 1e12, 100 * used / bench->operations_each_s);
        print_mfu(bench,
                  tokens_each_s * model_mfu_operations(&bench->shape, options->sequence_length));
    }
    free(step.ids);
    pass_free(step.pass);
    model_fini(&step.model);
    return status;
}

/* Generation never has factors of 8 bits, so its steps need another backend. */
static int measure_decode(struct bench *bench, const struct options *options, int device,
                          struct error *err)
{
    static const char *const names[] = {"decoding, 1 line", "decoding, 32 lines"};
    static const size_t lines[] = {1, 32};
    struct bench_decode steps[2] = {0};
    kernels_free(bench->kernels);
    bench->kernels = kernels_new(device, err);
    if (!bench->kernels)
        return err->code;
    int status =
        bench_decode(bench->kernels, &bench->shape, options->sequence_length, lines, 2, steps, err);
    for (size_t i = 0; i < 2 && steps[i].taken_s > 0; i++) {
        const struct part part = {.name = names[i],
                                  .operations = steps[i].operations,
                                  .bytes = steps[i].bytes,
                                  .calls = 1};
        (void)print_part(bench, &part, steps[i].taken_s);
    }
    return status;
}

int bench_run(const struct options *options, struct error *err)
{
    struct bench bench = {.shape = options_shape(options, MODEL_BYTES), .is_fp8 = options->is_fp8};
    int device = device_number(err);
    if (device < 0)
        return device;
    bench.rows = options->device_batch_size * options->sequence_length;
    size_t fitting = larger(KERNEL_LOGITS_MAX / bench.shape.vocabulary / 64 * 64, 64);
    bench.logits_rows = fitting < bench.rows ? fitting : bench.rows;
    bench.attention =
        model_attention(&bench.shape, options->device_batch_size, options->sequence_length);
    bench.kernels = kernels_new(device, err);
    if (!bench.kernels)
        return err->code;
    int status = model_check(&bench.shape, options->sequence_length, err);
    if (status == 0 && options->is_fp8)
        status = kernels_use_fp8(bench.kernels, err);
    if (status == 0) {
        double weights = all_weights(&bench.shape);
        bench.updated = weights < UPDATED_MAX ? (size_t)weights / 8 * 8 : UPDATED_MAX;
        status = make_arrays(&bench, options, err);
    }
    if (status == 0) {
        add_parts(&bench);
        show_rates(&bench);
        double limit_s = measure_parts(&bench);
        status = kernels_status(bench.kernels, err);
        release(&bench);
        if (status == 0)
            status = measure_step(&bench, options, limit_s, err);
        if (status == 0)
            status = measure_decode(&bench, options, device, err);
    }
    kernels_free(bench.kernels);
    return status;
}
