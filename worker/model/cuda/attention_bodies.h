/* The bodies of attention's own kernels: for shapes that cuDNN does not take, and for generation.
 * They are plain: a team for each query or key, no tensor cores. head_width is a multiple of 8. */
#ifndef PHASED_WORKER_MODEL_CUDA_ATTENTION_BODIES_H
#define PHASED_WORKER_MODEL_CUDA_ATTENTION_BODIES_H

#include "worker/model/cuda/team.h"
#include "worker/model/kernels.h"

/* A thread keeps so many sums of columns: head_width / team size may be at most that. */
enum { ATTENTION_COLUMNS_EACH = 2 };

/* Keys or values of one head. They are `stride` numbers apart, or pages of KERNEL_PAGE of them are
 * `stride` numbers apart if there is a table of pages. */
struct rows {
    const uint16_t *numbers;
    size_t stride;
    const uint32_t *pages; /* NULL: no pages */
};

/* One query and the keys that it sees. */
struct seen {
    const uint16_t *query;
    struct rows keys, values;
    size_t count, width;
};

BODY struct rows rows_of(const uint16_t *numbers, size_t stride, const uint32_t *pages)
{
    struct rows rows;
    rows.numbers = numbers;
    rows.stride = stride;
    rows.pages = pages;
    return rows;
}

BODY const uint16_t *row_at(struct rows rows, size_t index, size_t width)
{
    if (!rows.pages)
        return rows.numbers + index * rows.stride;
    return rows.numbers + rows.pages[index / KERNEL_PAGE] * rows.stride +
           index % KERNEL_PAGE * width;
}

BODY float dot(const uint16_t *a, const uint16_t *b, size_t width)
{
    float sum = 0;
    for (size_t i = 0; i < width / 8; i++) {
        struct eight left = load(a, i), right = load(b, i);
        for (int j = 0; j < 8; j++)
            sum += left.at[j] * right.at[j];
    }
    return sum;
}

/* Adds to sums[] the rows first .. first + count - 1, each times its factor in team->shared. A
 * thread has the columns index, index + size, ... */
BODY void add_rows(const struct team *team, float *sums, struct rows rows, size_t first,
                   size_t count, size_t width)
{
    for (unsigned j = 0; j < ATTENTION_COLUMNS_EACH; j++) {
        size_t column = team->index + j * team->size;
        for (size_t i = 0; column < width && i < count; i++)
            sums[j] += team->shared[i] * float_of(row_at(rows, first + i, width)[column]);
    }
}

BODY void store_columns(const struct team *team, uint16_t *to, const float *sums, float factor,
                        size_t width)
{
    for (unsigned j = 0; j < ATTENTION_COLUMNS_EACH; j++) {
        size_t column = team->index + j * team->size;
        if (column < width)
            to[column] = (uint16_t)bfloat_of(sums[j] * factor);
    }
}

/* A thread adds up eight columns of some rows, so that each load moves 16 bytes: thread `i` has the
 * columns 8 (i % (width / 8)) and following, and every lanes_of()-th row. The team has at least
 * width / 8 threads. */
BODY unsigned lanes_of(const struct team *team, size_t width)
{
    return team->size / (unsigned)(width / 8);
}

enum { ROWS_AT_ONCE = 8 }; /* a thread loads so many before it needs the first of them */

/* Adds to sums[8] the rows first .. first + count - 1, each times its factor in team->shared. */
BODY void add_eights(const struct team *team, float *sums, struct rows rows, size_t first,
                     size_t count, size_t width)
{
    unsigned columns = (unsigned)(width / 8), lanes = lanes_of(team, width);
    unsigned column = team->index % columns, lane = team->index / columns;
    for (size_t i = lane < lanes ? lane : count; i < count; i += ROWS_AT_ONCE * lanes) {
        struct packed loaded[ROWS_AT_ONCE];
        for (unsigned k = 0; k < ROWS_AT_ONCE; k++) {
            size_t row = i + k * lanes < count ? i + k * lanes : i;
            loaded[k] = load_packed(row_at(rows, first + row, width), column);
        }
        for (unsigned k = 0; k < ROWS_AT_ONCE && i + k * lanes < count; k++) {
            struct eight row = unpack(loaded[k]);
            for (int j = 0; j < 8; j++)
                sums[j] += team->shared[i + k * lanes] * row.at[j];
        }
    }
}

/* Returns the sum over the threads of a team that have the same columns, in a fixed order. It is
 * for the first width / 8 threads. */
BODY float lanes_sum(const struct team *team, float value, size_t width)
{
    float sum = 0;
    team->shared[team->index] = value;
    team_wait(team);
    for (size_t i = team->index; i < lanes_of(team, width) * (width / 8); i += width / 8)
        sum += team->shared[i];
    team_wait(team);
    return sum;
}

/* What a query finds in some keys. */
struct found {
    float highest, total; /* the highest score; the sum of exp(score - highest) */
    float sums[8];        /* of the values times exp(score - highest): those of this thread */
};

/* Looks at the keys first .. end - 1. A thread has one key at a time; sums shrink whenever a higher
 * score is found. */
BODY struct found look(const struct team *team, struct seen seen, size_t first, size_t end)
{
    float scale = 1.0f / sqrtf((float)seen.width);
    struct found found = {-INFINITY, 0, {0}};
    for (; first < end; first += team->size) {
        size_t left = end - first, count = left < team->size ? left : team->size;
        float score = -INFINITY;
        if (team->index < count)
            score = scale *
                    dot(seen.query, row_at(seen.keys, first + team->index, seen.width), seen.width);
        float top = fmaxf(found.highest, team_max(team, score));
        float power = expf(score - top), shrink = expf(found.highest - top);
        found.total = found.total * shrink + team_sum(team, power);
        found.highest = top;
        for (int j = 0; j < 8; j++)
            found.sums[j] *= shrink;
        team->shared[team->index] = power;
        team_wait(team);
        add_eights(team, found.sums, seen.values, first, count, seen.width);
        team_wait(team);
    }
    return found;
}

/* Computes one output, and returns the logarithm of the sum of exponentials. */
BODY float attend(const struct team *team, uint16_t *y, struct seen seen)
{
    struct found found = look(team, seen, 0, seen.count);
    for (size_t j = 0; j < 8; j++) {
        float sum = lanes_sum(team, found.sums[j], seen.width);
        if (team->index < seen.width / 8)
            y[8 * team->index + j] = (uint16_t)bfloat_of(sum / found.total);
    }
    return found.highest + logf(found.total);
}

/* Where the parts of one head lie in qkv. */
struct head_place {
    size_t row;               /* numbers in a row of qkv */
    size_t query, key, value; /* offsets in a row */
    size_t y;                 /* offset in a row of y */
    size_t first;             /* row of the first token of the sequence */
    size_t kept;              /* offset of the head in what is kept */
};

BODY struct head_place place_of(const struct kernel_attention_shape *shape, size_t batch,
                                size_t head)
{
    size_t width = shape->head_width, kv_head = head / (shape->heads / shape->kv_heads);
    struct head_place place;
    place.row = (shape->heads + 2 * shape->kv_heads) * width;
    place.query = head * width;
    place.key = (shape->heads + kv_head) * width;
    place.value = place.key + shape->kv_heads * width;
    place.y = head * width;
    place.first = batch * shape->sequence;
    place.kept = (batch * shape->heads + head) * shape->sequence;
    return place;
}

/* A team for each query of each head. */
BODY void body_attention(const struct team *team, uint16_t *y, float *ret_kept, const uint16_t *qkv,
                         const struct kernel_attention_shape *shape)
{
    size_t width = shape->head_width, y_row = shape->heads * width;
    size_t queries = shape->batch * shape->heads * shape->sequence;
    for (size_t i = team->number; i < queries; i += team->count) {
        size_t t = i % shape->sequence, head = i / shape->sequence % shape->heads;
        struct head_place at = place_of(shape, i / shape->sequence / shape->heads, head);
        const uint16_t *first = qkv + at.first * at.row;
        struct seen seen;
        seen.query = first + t * at.row + at.query;
        seen.keys = rows_of(first + at.key, at.row, NULL);
        seen.values = rows_of(first + at.value, at.row, NULL);
        seen.count = t + 1;
        seen.width = width;
        float kept = attend(team, y + (at.first + t) * y_row + at.y, seen);
        if (team->index == 0)
            ret_kept[at.kept + t] = kept;
    }
}

/* What both gradients need of one query and one key: the probability, and the slope of the score.
 */
struct pair {
    float probability, slope;
};

BODY struct pair pair_of(const uint16_t *query, const uint16_t *key, const uint16_t *value,
                         const uint16_t *dy, float kept, float mean, size_t width)
{
    float scale = 1.0f / sqrtf((float)width);
    struct pair pair;
    pair.probability = expf(scale * dot(query, key, width) - kept);
    pair.slope = pair.probability * (dot(dy, value, width) - mean) * scale;
    return pair;
}

/* The gradient of each query: the sum of slope * key over the keys that it sees. */
BODY void body_attention_dq(const struct team *team, uint16_t *dqkv, const uint16_t *dy,
                            const uint16_t *y, const float *kept, const uint16_t *qkv,
                            const struct kernel_attention_shape *shape)
{
    size_t width = shape->head_width, y_row = shape->heads * width;
    size_t queries = shape->batch * shape->heads * shape->sequence;
    for (size_t i = team->number; i < queries; i += team->count) {
        size_t t = i % shape->sequence, head = i / shape->sequence % shape->heads;
        struct head_place at = place_of(shape, i / shape->sequence / shape->heads, head);
        const uint16_t *start = qkv + at.first * at.row, *query = start + t * at.row + at.query;
        size_t out = (at.first + t) * y_row + at.y;
        float mean = dot(dy + out, y + out, width), sums[ATTENTION_COLUMNS_EACH] = {0};
        for (size_t first = 0; first <= t; first += team->size) {
            size_t left = t + 1 - first, count = left < team->size ? left : team->size;
            if (team->index < count) {
                const uint16_t *row = start + (first + team->index) * at.row;
                team->shared[team->index] = pair_of(query, row + at.key, row + at.value, dy + out,
                                                    kept[at.kept + t], mean, width)
                                                .slope;
            }
            team_wait(team);
            add_rows(team, sums, rows_of(start + at.key, at.row, NULL), first, count, width);
            team_wait(team);
        }
        store_columns(team, dqkv + (at.first + t) * at.row + at.query, sums, 1, width);
    }
}

/* Adds what the queries of one head give to the gradients of key `s` and its value. */
BODY void gather_key(const struct team *team, float *dk, float *dv, struct head_place at, size_t s,
                     const uint16_t *dy, const uint16_t *y, const float *kept, const uint16_t *qkv,
                     const struct kernel_attention_shape *shape)
{
    size_t width = shape->head_width, y_row = shape->heads * width;
    const uint16_t *start = qkv + at.first * at.row, *key = start + s * at.row + at.key;
    const uint16_t *value = start + s * at.row + at.value;
    for (size_t first = s; first < shape->sequence; first += team->size) {
        size_t left = shape->sequence - first, count = left < team->size ? left : team->size;
        size_t t = first + team->index, out = (at.first + t) * y_row + at.y;
        struct pair pair = {0, 0};
        if (team->index < count)
            pair = pair_of(start + t * at.row + at.query, key, value, dy + out, kept[at.kept + t],
                           dot(dy + out, y + out, width), width);
        team->shared[team->index] = pair.slope;
        team_wait(team);
        add_rows(team, dk, rows_of(start + at.query, at.row, NULL), first, count, width);
        team_wait(team);
        team->shared[team->index] = pair.probability;
        team_wait(team);
        add_rows(team, dv, rows_of(dy + at.first * y_row + at.y, y_row, NULL), first, count, width);
        team_wait(team);
    }
}

/* The gradient of each key and its value, over the heads that share them: a team for each key. */
BODY void body_attention_dkv(const struct team *team, uint16_t *dqkv, const uint16_t *dy,
                             const uint16_t *y, const float *kept, const uint16_t *qkv,
                             const struct kernel_attention_shape *shape)
{
    size_t keys = shape->batch * shape->kv_heads * shape->sequence;
    size_t group = shape->heads / shape->kv_heads;
    for (size_t i = team->number; i < keys; i += team->count) {
        size_t s = i % shape->sequence, kv_head = i / shape->sequence % shape->kv_heads;
        size_t batch = i / shape->sequence / shape->kv_heads;
        float dk[ATTENTION_COLUMNS_EACH] = {0}, dv[ATTENTION_COLUMNS_EACH] = {0};
        struct head_place at = place_of(shape, batch, kv_head * group);
        for (size_t j = 0; j < group; j++)
            gather_key(team, dk, dv, place_of(shape, batch, kv_head * group + j), s, dy, y, kept,
                       qkv, shape);
        uint16_t *row = dqkv + (at.first + s) * at.row;
        store_columns(team, row + at.key, dk, 1, shape->head_width);
        store_columns(team, row + at.value, dv, 1, shape->head_width);
    }
}

/* Writes the keys and values of the new token of each row to its place; a thread for eight numbers.
 */
BODY void body_keep_newest(const struct team *team, uint16_t *keys, uint16_t *values,
                           const uint16_t *qkv, const struct kernel_pages *pages,
                           const struct kernel_attention_shape *shape)
{
    size_t length = shape->head_width / 8, kv_heads = shape->kv_heads;
    size_t row = (shape->heads + 2 * kv_heads) * length;
    for (size_t i = team_first(team); i < shape->batch * kv_heads * length;
         i += team_stride(team)) {
        size_t part = i % length, head = i / length % kv_heads, token = i / length / kv_heads;
        size_t from = token * row + (shape->heads + head) * length + part;
        size_t position = pages->positions[token], place = position % KERNEL_PAGE;
        size_t page = pages->table[token * pages->row + position / KERNEL_PAGE];
        size_t to = ((page * kv_heads + head) * KERNEL_PAGE + place) * length + part;
        store(keys, to, load(qkv, from));
        store(values, to, load(qkv, from + kv_heads * length));
    }
}

/* How generation cuts the keys of a row, so that many teams look at them: always at the same
 * places, whatever the number of rows. A launch takes some rows. */
struct split {
    size_t first, rows;  /* of this launch */
    size_t keys, places; /* keys at a place; places of the longest sequence */
    float *parts;        /* [rows][heads][places][SPLIT_MORE + head_width] */
};

enum { SPLIT_MORE = 2 }; /* the highest score and the sum of exponentials, before the values */

BODY float *part_at(const struct split *split, size_t row, size_t head, size_t place,
                    const struct kernel_attention_shape *shape)
{
    size_t number = ((row - split->first) * shape->heads + head) * split->places + place;
    return split->parts + number * (SPLIT_MORE + shape->head_width);
}

/* A team for each place of each head of each row: leaves what the query finds there. Heads that
 * share keys are neighbours, so the cache has what the first of them has read. Another launch has
 * kept the keys and values of all rows. */
BODY void body_look_newest(const struct team *team, const uint16_t *keys, const uint16_t *values,
                           const uint16_t *qkv, const struct kernel_pages *pages,
                           const struct kernel_attention_shape *shape, const struct split *split)
{
    size_t width = shape->head_width, heads = shape->heads, group = heads / shape->kv_heads;
    for (size_t i = team->number; i < split->rows * heads * split->places; i += team->count) {
        size_t head = i % heads, place = i / heads % split->places;
        size_t token = split->first + i / heads / split->places, first = place * split->keys;
        size_t page = KERNEL_PAGE * width, kept = head / group * page;
        const uint32_t *table = pages->table + token * pages->row;
        struct seen seen;
        seen.query = qkv + token * (heads + 2 * shape->kv_heads) * width + head * width;
        seen.keys = rows_of(keys + kept, shape->kv_heads * page, table);
        seen.values = rows_of(values + kept, shape->kv_heads * page, table);
        seen.count = (size_t)pages->positions[token] + 1;
        seen.width = width;
        if (first >= seen.count)
            continue;
        size_t end = first + split->keys < seen.count ? first + split->keys : seen.count;
        struct found found = look(team, seen, first, end);
        float *part = part_at(split, token, head, place, shape);
        for (size_t j = 0; j < 8; j++) {
            float sum = lanes_sum(team, found.sums[j], width);
            if (team->index < width / 8)
                part[SPLIT_MORE + 8 * team->index + j] = sum;
        }
        if (team->index == 0) {
            part[0] = found.highest;
            part[1] = found.total;
        }
    }
}

/* A team for each head of each row: y = what its places have found together, in their order. */
BODY void body_join_newest(const struct team *team, uint16_t *y, const struct kernel_pages *pages,
                           const struct kernel_attention_shape *shape, const struct split *split)
{
    size_t width = shape->head_width, step = SPLIT_MORE + width;
    for (size_t i = team->number; i < split->rows * shape->heads; i += team->count) {
        size_t token = split->first + i / shape->heads, head = i % shape->heads;
        size_t used = pages->positions[token] / split->keys + 1;
        const float *parts = part_at(split, token, head, 0, shape);
        float highest = -INFINITY, total = 0;
        for (size_t place = 0; place < used; place++)
            highest = fmaxf(highest, parts[place * step]);
        for (size_t place = 0; place < used; place++)
            total += parts[place * step + 1] * expf(parts[place * step] - highest);
        for (size_t column = team->index; column < width; column += team->size) {
            float sum = 0;
            for (size_t place = 0; place < used; place++)
                sum +=
                    parts[place * step + SPLIT_MORE + column] * expf(parts[place * step] - highest);
            y[(token * shape->heads + head) * width + column] = (uint16_t)bfloat_of(sum / total);
        }
    }
}

#endif
