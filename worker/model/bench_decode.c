/* Steps of generation as generate.c takes them, without text: the ids do not change their time. */
#include "worker/model/bench_decode.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "worker/model/decode.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/random.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* Before the steps that are measured. The first step may load code, and the second one may be
 * recorded (kernels_repeat()). */
enum { WARM_UPS = 4 };

static const double measured_s = 0.5;

/* Lines of equal length. */
struct lines {
    const struct model *model;
    struct decode *decode;
    size_t count, length;
    uint32_t *ids; /* [length]: the tokens of every line */
    struct decode_kept *kept;
    struct decode_piece *pieces; /* the last token of each line */
    double *randoms;
    uint32_t *drawn;
    struct kernel_draw_options how;
};

static void lines_init(struct lines *lines, const struct model *model, size_t count)
{
    size_t length = model->sequence;
    *lines = (struct lines){
        .model = model,
        .decode = decode_new(model, count, KERNEL_STEP_ROWS, length, count * decode_pages(length)),
        .count = count,
        .length = length,
        .ids = xcalloc(length, sizeof *lines->ids),
        .kept = xcalloc(count, sizeof *lines->kept),
        .pieces = xcalloc(count, sizeof *lines->pieces),
        .randoms = xcalloc(count, sizeof *lines->randoms),
        .drawn = xcalloc(count, sizeof *lines->drawn),
        .how = {.tokens = model->shape.vocabulary, .top_p = 1},
    };
    for (size_t i = 0; i < length; i++)
        lines->ids[i] = (uint32_t)(random_at(2, i) % model->shape.vocabulary);
    for (size_t i = 0; i < count; i++)
        lines->pieces[i] =
            (struct decode_piece){&lines->kept[i], lines->ids + length - 1, .count = 1};
}

static void lines_fini(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        decode_release(lines->decode, &lines->kept[i]);
    decode_free(lines->decode);
    free(lines->ids);
    free(lines->kept);
    free(lines->pieces);
    free(lines->randoms);
    free(lines->drawn);
}

/* Reads all tokens but the last of each line. */
static void read_prompts(struct lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        struct decode_kept *kept = &lines->kept[i];
        bool has_pages = decode_reserve(lines->decode, kept, lines->length);
        assert(has_pages);
        while (kept->length < lines->length - 1) {
            size_t left = lines->length - 1 - kept->length;
            struct decode_piece piece = {kept, lines->ids + kept->length,
                                         left < KERNEL_STEP_ROWS ? left : KERNEL_STEP_ROWS};
            decode_step(lines->decode, &piece, 1);
        }
    }
}

/* Reads the last token of each line, waits for the draws, and goes back by a token. */
static int take_step(struct lines *lines, struct error *err)
{
    decode_step(lines->decode, lines->pieces, lines->count);
    for (size_t i = 0; i < lines->count; i++)
        lines->kept[i].length--;
    return decode_draw(lines->decode, &lines->how, lines->randoms, lines->drawn, err);
}

static int measure(struct lines *lines, double *ret_taken_s, struct error *err)
{
    int status = kernels_status(lines->model->kernels, err); /* there may be too little memory */
    if (status == 0)
        read_prompts(lines);
    for (size_t i = 0; status == 0 && i < WARM_UPS; i++)
        status = take_step(lines, err);
    double begin_s = clock_steady_s(), passed_s = 0, count = 0;
    for (; status == 0 && passed_s < measured_s; passed_s = clock_steady_s() - begin_s, count++)
        status = take_step(lines, err);
    if (status == 0)
        *ret_taken_s = passed_s / count;
    return status;
}

/* The weights of a block are read in each loop. The head reads the state after the last loop. */
static struct bench_decode limits_of(const struct model_shape *shape, double length, double lines)
{
    double layers = (double)shape->loops * shape->depth;
    double head_width = (double)shape->width / shape->heads;
    double weights =
        layers * model_block_products(shape) + (double)shape->width * shape->vocabulary;
    double kept = 2 * layers * lines * length * shape->kv_heads * head_width;
    return (struct bench_decode){
        .operations = 2 * lines * weights + 4 * layers * lines * length * shape->width,
        .bytes = (weights + kept) * sizeof(kernel_number),
    };
}

int bench_decode(struct kernels *kernels, const struct model_shape *shape, size_t length,
                 const size_t *lines, size_t count, struct bench_decode *ret_steps,
                 struct error *err)
{
    struct model model;
    int status =
        model_init(&model, kernels, shape, length, MODEL_DECODES, (struct model_rank){0, 1}, err);
    if (status == 0)
        model_draw(&model, 1);
    for (size_t i = 0; status == 0 && i < count; i++) {
        struct lines some;
        lines_init(&some, &model, lines[i]);
        ret_steps[i] = limits_of(shape, (double)length, (double)lines[i]);
        status = measure(&some, &ret_steps[i].taken_s, err);
        lines_fini(&some);
    }
    model_fini(&model);
    return status;
}
