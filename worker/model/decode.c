/* Reads the next tokens of a batch of sequences, on one rank of a group. */
#include "worker/model/decode.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/group.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/ranks.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct decode {
    const struct model *model;
    struct kernels *kernels; /* of the model */
    struct model_rank rank;  /* of the model */
    size_t batch_max, rows_max;
    size_t batch, rows;             /* of this step */
    size_t heads, kv_heads, hidden; /* of this rank */
    size_t head_width;
    size_t part_count; /* parts of each sum over the ranks that this rank computes */
    size_t share_max;  /* of the vocabulary: the share of rank 0, which is the largest */
    size_t pages;      /* of the pool */
    uint32_t *unused;  /* the pages that no sequence has: a stack */
    size_t unused_count;
    uint32_t *ids;                 /* [rows], positions[rows], lasts[batch], the table of pages */
    uint32_t *host_ids;            /* the same on the host */
    const uint32_t *lasts;         /* the last row of each sequence; points into ids */
    struct kernel_pages place;     /* of this step; points into ids */
    kernel_number *keys, *values;  /* [loops x depth][pages][kv_heads][KERNEL_PAGE][head_width] */
    kernel_number *state, *normed; /* whole rows: rows_max x the width of the model */
    kernel_number *qkv, *attended, *wide, *gated; /* the columns of this rank */
    kernel_number *logits; /* of each rank: batch x share_max, of which it uses batch x its share */
    float *scale;
    double *randoms; /* of each sequence */
    uint32_t *drawn; /* the token that is drawn for each sequence */
};

unsigned decode_group_max(const struct model_shape *shape)
{
    unsigned size = 1;
    while (size < GROUP_SIZE_MAX && shape->heads % (2 * size) == 0 &&
           shape->kv_heads % (2 * size) == 0 && shape->hidden % (2 * size) == 0)
        size *= 2;
    return size;
}

static kernel_number *numbers(struct decode *decode, size_t count)
{
    return kernels_memory(decode->kernels, count * sizeof(kernel_number));
}

size_t decode_pages(size_t length)
{
    return (length + KERNEL_PAGE - 1) / KERNEL_PAGE;
}

/* Returns the part of the vocabulary for which a rank computes the logits. */
static struct ranks_part share_of(const struct decode *decode, unsigned rank)
{
    return ranks_part(rank, decode->rank.size, decode->model->shape.vocabulary);
}

/* The first pages of the pool are taken first. */
static void fill_pool(struct decode *decode, size_t pages)
{
    decode->pages = pages;
    decode->unused = xcalloc(pages, sizeof *decode->unused);
    while (decode->unused_count < pages) {
        decode->unused[decode->unused_count] = (uint32_t)(pages - 1 - decode->unused_count);
        decode->unused_count++;
    }
}

struct decode *decode_new(const struct model *model, size_t batch_max, size_t rows_max,
                          size_t length_max, size_t pages)
{
    const struct model_rank rank = model->rank;
    const struct model_shape *shape = &model->shape;
    struct decode *decode = xcalloc(1, sizeof *decode);
    unsigned parts = decode_group_max(shape);
    assert(parts % rank.size == 0 && length_max <= model->sequence);
    assert(model->use == MODEL_DECODES || rank.size == 1);
    decode->model = model;
    decode->kernels = model->kernels;
    decode->rank = rank;
    decode->batch_max = batch_max;
    decode->rows_max = rows_max;
    decode->heads = shape->heads / rank.size;
    decode->kv_heads = shape->kv_heads / rank.size;
    decode->hidden = shape->hidden / rank.size;
    decode->head_width = shape->width / shape->heads;
    decode->part_count = parts / rank.size;
    decode->share_max = share_of(decode, 0).count;
    size_t area = rows_max * shape->width;
    size_t kept = (size_t)shape->loops * shape->depth * pages * decode->kv_heads * KERNEL_PAGE;
    size_t qkv = (decode->heads + 2 * decode->kv_heads) * decode->head_width;
    fill_pool(decode, pages);
    decode->place.row = decode_pages(length_max);
    size_t ids = rows_max * (2 + decode->place.row) + batch_max;
    decode->host_ids = xcalloc(ids, sizeof *decode->host_ids);
    decode->ids = kernels_memory(decode->kernels, ids * sizeof *decode->ids);
    decode->keys = numbers(decode, kept * decode->head_width);
    decode->values = numbers(decode, kept * decode->head_width);
    decode->state = numbers(decode, area);
    decode->normed = numbers(decode, area);
    decode->qkv = numbers(decode, rows_max * qkv);
    decode->attended = numbers(decode, rows_max * decode->heads * decode->head_width);
    decode->wide = numbers(decode, rows_max * 2 * decode->hidden);
    decode->gated = numbers(decode, rows_max * decode->hidden);
    decode->logits = numbers(decode, rank.size * batch_max * decode->share_max);
    decode->scale = kernels_memory(decode->kernels, rows_max * sizeof *decode->scale);
    decode->randoms = kernels_memory(decode->kernels, batch_max * sizeof *decode->randoms);
    decode->drawn = kernels_memory(decode->kernels, batch_max * sizeof *decode->drawn);
    return decode;
}

void decode_free(struct decode *decode)
{
    if (!decode)
        return;
    kernels_forget(decode->kernels);
    void *const arrays[] = {decode->ids,    decode->keys,   decode->values,   decode->state,
                            decode->normed, decode->qkv,    decode->attended, decode->wide,
                            decode->gated,  decode->logits, decode->scale,    decode->randoms,
                            decode->drawn};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        kernels_release(decode->kernels, arrays[i]);
    free(decode->unused);
    free(decode->host_ids);
    free(decode);
}

bool decode_reserve(struct decode *decode, struct decode_kept *kept, size_t length)
{
    size_t wanted = decode_pages(length);
    if (wanted <= kept->page_count)
        return true;
    if (wanted - kept->page_count > decode->unused_count)
        return false;
    kept->pages = xreallocarray(kept->pages, wanted, sizeof *kept->pages);
    while (kept->page_count < wanted)
        kept->pages[kept->page_count++] = decode->unused[--decode->unused_count];
    return true;
}

void decode_release(struct decode *decode, struct decode_kept *kept)
{
    while (kept->page_count)
        decode->unused[decode->unused_count++] = kept->pages[--kept->page_count];
    assert(decode->unused_count <= decode->pages);
    free(kept->pages);
    *kept = (struct decode_kept){0};
}

/* Tells the backend the new tokens and where the sequences keep their keys and values. */
static void put_rows(struct decode *decode, const struct decode_piece *pieces, size_t batch)
{
    size_t rows = 0, row = 0, pages = decode->place.row;
    for (size_t i = 0; i < batch; i++)
        rows += pieces[i].count;
    assert(batch <= decode->batch_max && rows <= decode->rows_max);
    uint32_t *positions = decode->host_ids + rows, *lasts = positions + rows;
    uint32_t *table = lasts + batch;
    for (size_t i = 0; i < batch; i++) {
        const struct decode_kept *kept = pieces[i].kept;
        assert(pieces[i].count > 0 && kept->page_count <= pages);
        assert(decode_pages(kept->length + pieces[i].count) <= kept->page_count);
        for (size_t t = 0; t < pieces[i].count; t++, row++) {
            decode->host_ids[row] = pieces[i].ids[t];
            positions[row] = (uint32_t)(kept->length + t);
            memcpy(table + row * pages, kept->pages, kept->page_count * sizeof *table);
        }
        lasts[i] = (uint32_t)(row - 1);
    }
    kernels_put(decode->kernels, decode->ids, decode->host_ids,
                (rows * (2 + pages) + batch) * sizeof *decode->ids);
    decode->place.positions = decode->ids + rows;
    decode->lasts = decode->ids + 2 * rows;
    decode->place.table = decode->lasts + batch;
    decode->batch = batch;
    decode->rows = rows;
}

/* Adds to the state: `input`[rows x inner] times a matrix, summed over the ranks. The matrix has
 * the `inner` rows of this rank. */
static void add_product(struct decode *decode, const kernel_number *input,
                        const kernel_number *matrix, size_t inner)
{
    size_t width = decode->model->shape.width;
    kernel_product_sum(decode->kernels, decode->state, input, matrix, decode->rows, inner, width,
                       decode->part_count);
}

/* output = the normed state times a matrix, of which this rank has `columns` columns. */
static void take_columns(struct decode *decode, kernel_number *output, const kernel_number *matrix,
                         size_t columns)
{
    kernel_matmul(decode->kernels, output, decode->normed, matrix, decode->rows,
                  decode->model->shape.width, columns, KERNEL_IN_OUT);
}

static void attend(struct decode *decode, const kernel_number *qkv, size_t layer)
{
    size_t head = decode->head_width;
    size_t kept = layer * decode->pages * decode->kv_heads * KERNEL_PAGE * head;
    take_columns(decode, decode->qkv, qkv, (decode->heads + 2 * decode->kv_heads) * head);
    const struct kernel_attention_shape attention = {
        .batch = decode->rows,
        .sequence = 1,
        .heads = decode->heads,
        .kv_heads = decode->kv_heads,
        .head_width = head,
    };
    kernel_rotary(decode->kernels, decode->qkv, decode->model->turns, decode->place.positions,
                  &attention, KERNEL_FORWARD);
    kernel_attention_newest(decode->kernels, decode->attended, decode->keys + kept,
                            decode->values + kept, decode->qkv, &decode->place, &attention);
}

/* `layer` counts the blocks of all loops. */
static void run_block(struct decode *decode, size_t layer)
{
    const struct model_shape *shape = &decode->model->shape;
    struct model_block block = model_block(decode->model, layer % shape->depth);
    size_t hidden = decode->hidden;
    kernel_sum_rmsnorm(decode->kernels, NULL, decode->normed, decode->scale, decode->state, NULL,
                       block.norm1, decode->rows, shape->width);
    attend(decode, block.qkv, layer);
    add_product(decode, decode->attended, block.out, decode->heads * decode->head_width);
    kernel_sum_rmsnorm(decode->kernels, NULL, decode->normed, decode->scale, decode->state, NULL,
                       block.norm2, decode->rows, shape->width);
    take_columns(decode, decode->wide, block.up, 2 * hidden);
    kernel_gate(decode->kernels, decode->gated, decode->wide, decode->rows, hidden);
    add_product(decode, decode->gated, block.down, hidden);
}

/* Computes the logits after the last row of each sequence from the states. Rank 0 gets the shares
 * of all ranks. */
static void run_head(struct decode *decode, const struct model_ends *ends)
{
    const struct model_shape *shape = &decode->model->shape;
    struct ranks_part share = share_of(decode, decode->rank.rank);
    size_t count = decode->batch * decode->share_max;
    kernel_number *from = decode->state, *to = decode->normed;
    if (decode->rows > decode->batch) { /* a state is a row of a table, as an embedding is */
        kernel_embed(decode->kernels, to, decode->lasts, from, decode->batch, shape->width);
        from = decode->normed, to = decode->state;
    }
    if (ends->norm) {
        kernel_sum_rmsnorm(decode->kernels, NULL, to, decode->scale, from, NULL, ends->norm,
                           decode->batch, shape->width);
        from = to;
    }
    if (share.count > 0) /* a small vocabulary has no share for the last ranks */
        kernel_matmul(decode->kernels, decode->logits + decode->rank.rank * count, from, ends->head,
                      decode->batch, shape->width, share.count, KERNEL_OUT_IN);
    kernels_collect(decode->kernels, decode->logits, count);
}

/* Computes the logits from the ids. For the same numbers of rows and sequences the kernels are
 * always the same: what changes from step to step lies in the memory of the backend. */
static void run(void *context)
{
    struct decode *decode = context;
    const struct model_shape *shape = &decode->model->shape;
    struct model_ends ends = model_ends(decode->model);
    size_t layers = (size_t)shape->loops * shape->depth;
    kernel_embed(decode->kernels, decode->state, decode->ids, ends.tokens, decode->rows,
                 shape->width);
    for (size_t layer = 0; layer < layers; layer++)
        run_block(decode, layer);
    run_head(decode, &ends);
}

void decode_step(struct decode *decode, const struct decode_piece *pieces, size_t batch)
{
    put_rows(decode, pieces, batch);
    if (decode->rows == batch)
        kernels_repeat(decode->kernels, batch, run, decode);
    else
        run(decode); /* prompts rarely give the same numbers again */
    for (size_t i = 0; i < batch; i++)
        pieces[i].kept->length += pieces[i].count;
}

const kernel_number *decode_logits(const struct decode *decode, struct kernel_parts *ret_parts)
{
    *ret_parts = (struct kernel_parts){
        .classes = decode->model->shape.vocabulary,
        .part = decode->share_max,
        .stride = decode->batch * decode->share_max,
    };
    return decode->logits;
}

int decode_draw(struct decode *decode, const struct kernel_draw_options *how, const double *randoms,
                uint32_t *ret_tokens, struct error *err)
{
    struct kernels *kernels = decode->kernels;
    struct kernel_parts parts;
    size_t batch = decode->batch;
    if (decode->rank.rank == 0) {
        const kernel_number *logits = decode_logits(decode, &parts);
        kernels_put(kernels, decode->randoms, randoms, batch * sizeof *randoms);
        kernel_draw(kernels, decode->drawn, logits, decode->randoms, batch, &parts, how);
        kernels_get(kernels, ret_tokens, decode->drawn, batch * sizeof *ret_tokens);
    }
    return kernels_status(kernels, err);
}
