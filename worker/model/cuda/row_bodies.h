/* The bodies of all kernels but attention: what worker/model/kernels.h says, for bfloats. Widths
 * and counts are multiples of 8. */
#ifndef PHASED_WORKER_MODEL_CUDA_ROW_BODIES_H
#define PHASED_WORKER_MODEL_CUDA_ROW_BODIES_H

#include "worker/model/cuda/team.h"
#include "worker/model/kernels.h"

#include <stdbool.h>

/* A team for each row. A thread reads its part of the row twice: the second time it comes from the
 * cache. */
BODY void body_sum_rmsnorm(const struct team *team, uint16_t *state, uint16_t *y, float *ret_scale,
                           const uint16_t *a, const uint16_t *b, const float *gain, size_t rows,
                           size_t width)
{
    size_t length = width / 8;
    for (size_t row = team->number; row < rows; row += team->count) {
        size_t first = row * length;
        float squares = 0;
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight x = load(a, first + i);
            if (b) {
                struct eight more = load(b, first + i);
                for (int j = 0; j < 8; j++)
                    x.at[j] += more.at[j];
                store(state, first + i, x);
                x = load(state, first + i); /* the norm is of the rounded state */
            }
            for (int j = 0; j < 8; j++)
                squares += x.at[j] * x.at[j];
        }
        float scale = 1.0f / sqrtf(team_sum(team, squares) / (float)width + 1e-6f);
        if (team->index == 0)
            ret_scale[row] = scale;
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight x = load(b ? state : a, first + i), gains = load_floats(gain, i);
            for (int j = 0; j < 8; j++)
                x.at[j] *= scale * gains.at[j];
            store(y, first + i, x);
        }
    }
}

/* dx += scale * (gain * dy - x * scale^2 * mean(gain * dy * x)); a team for each row. */
BODY void body_rmsnorm_backward(const struct team *team, uint16_t *dx, const uint16_t *dy,
                                const uint16_t *x, const float *gain, const float *scale,
                                size_t rows, size_t width)
{
    size_t length = width / 8;
    for (size_t row = team->number; row < rows; row += team->count) {
        size_t first = row * length;
        float sum = 0, factor = scale[row];
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight slope = load(dy, first + i), state = load(x, first + i);
            struct eight gains = load_floats(gain, i);
            for (int j = 0; j < 8; j++)
                sum += slope.at[j] * gains.at[j] * state.at[j];
        }
        float mean = team_sum(team, sum) / (float)width * factor * factor;
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight slope = load(dy, first + i), state = load(x, first + i);
            struct eight gains = load_floats(gain, i), out = load(dx, first + i);
            for (int j = 0; j < 8; j++)
                out.at[j] += factor * (gains.at[j] * slope.at[j] - state.at[j] * mean);
            store(dx, first + i, out);
        }
    }
}

/* parts[part][column] = the sum of dy * x * scale over the rows of a part, which are part, part +
 * part_count, ...; a thread for eight columns of a part. */
BODY void body_gain_parts(const struct team *team, float *parts, size_t part_count,
                          const uint16_t *dy, const uint16_t *x, const float *scale, size_t rows,
                          size_t width)
{
    size_t length = width / 8;
    for (size_t i = team_first(team); i < part_count * length; i += team_stride(team)) {
        size_t part = i / length, column = i % length;
        struct eight sums = {{0}};
        for (size_t row = part; row < rows; row += part_count) {
            struct eight slope = load(dy, row * length + column);
            struct eight state = load(x, row * length + column);
            for (int j = 0; j < 8; j++)
                sums.at[j] += slope.at[j] * state.at[j] * scale[row];
        }
        store_floats(parts, i, sums);
    }
}

/* sums[column] += the sum of all parts[part][column]; a thread for each column. */
BODY void body_add_parts(const struct team *team, float *sums, const float *parts,
                         size_t part_count, size_t columns)
{
    for (size_t column = team_first(team); column < columns; column += team_stride(team)) {
        float sum = 0;
        for (size_t part = 0; part < part_count; part++)
            sum += parts[part * columns + column];
        sums[column] += sum;
    }
}

/* *sum += the sum of all parts; for a single team. */
BODY void body_add_total(const struct team *team, float *sum, const float *parts, size_t count)
{
    float part = 0;
    for (size_t i = team->index; i < count; i += team->size)
        part += parts[i];
    part = team_sum(team, part);
    if (team->index == 0)
        *sum += part;
}

BODY void body_gate(const struct team *team, uint16_t *y, const uint16_t *wide, size_t rows,
                    size_t hidden)
{
    size_t length = hidden / 8;
    for (size_t i = team_first(team); i < rows * length; i += team_stride(team)) {
        size_t row = i / length;
        struct eight a = load(wide, i + row * length), b = load(wide, i + (row + 1) * length);
        for (int j = 0; j < 8; j++)
            a.at[j] = a.at[j] / (1.0f + expf(-a.at[j])) * b.at[j];
        store(y, i, a);
    }
}

BODY void body_gate_backward(const struct team *team, uint16_t *dwide, const uint16_t *dy,
                             const uint16_t *wide, size_t rows, size_t hidden)
{
    size_t length = hidden / 8;
    for (size_t i = team_first(team); i < rows * length; i += team_stride(team)) {
        size_t row = i / length;
        struct eight a = load(wide, i + row * length), b = load(wide, i + (row + 1) * length);
        struct eight slope = load(dy, i);
        for (int j = 0; j < 8; j++) {
            float x = a.at[j], sigmoid = 1.0f / (1.0f + expf(-x));
            a.at[j] = slope.at[j] * b.at[j] * sigmoid * (1.0f + x * (1.0f - sigmoid));
            b.at[j] = slope.at[j] * x * sigmoid;
        }
        store(dwide, i + row * length, a);
        store(dwide, i + (row + 1) * length, b);
    }
}

BODY void body_sum(const struct team *team, uint16_t *y, const uint16_t *a, const uint16_t *b,
                   size_t count)
{
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team)) {
        struct eight sum = load(a, i), more = load(b, i);
        for (int j = 0; j < 8; j++)
            sum.at[j] += more.at[j];
        store(y, i, sum);
    }
}

/* y += sums. */
BODY void body_add(const struct team *team, uint16_t *y, const float *sums, size_t count)
{
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team)) {
        struct eight sum = load(y, i), more = load_floats(sums, i);
        for (int j = 0; j < 8; j++)
            sum.at[j] += more.at[j];
        store(y, i, sum);
    }
}

BODY void body_embed(const struct team *team, uint16_t *y, const uint32_t *ids,
                     const uint16_t *table, size_t rows, size_t width)
{
    size_t length = width / 8;
    for (size_t i = team_first(team); i < rows * length; i += team_stride(team))
        store(y, i, load(table, ids[i / length] * length + i % length));
}

/* Rows with the same id add to the same numbers, in any order: the last bits may differ from run to
 * run. */
BODY void body_embed_backward(const struct team *team, float *dtable, const uint16_t *dy,
                              const uint32_t *ids, size_t rows, size_t width)
{
    size_t length = width / 8;
    for (size_t i = team_first(team); i < rows * length; i += team_stride(team)) {
        struct eight slope = load(dy, i);
        float *to = dtable + ids[i / length] * width + i % length * 8;
        for (int j = 0; j < 8; j++)
            team_add(to + j, slope.at[j]);
    }
}

/* A team for each row. The first pass finds the highest logit and the sum of exponentials at once:
 * each thread keeps the sum relative to its highest logit so far. parts[team] becomes the loss of
 * the rows of a team. */
BODY void body_cross_entropy(const struct team *team, uint16_t *logits, float *parts,
                             const uint32_t *targets, float gradient_scale, size_t rows,
                             size_t classes)
{
    size_t length = classes / 8;
    float loss = 0;
    for (size_t row = team->number; row < rows; row += team->count) {
        size_t first = row * length, target = targets[row];
        float highest = -INFINITY, sum = 0;
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight x = load(logits, first + i);
            float top = highest;
            for (int j = 0; j < 8; j++)
                top = fmaxf(top, x.at[j]);
            sum *= expf(highest - top);
            for (int j = 0; j < 8; j++)
                sum += expf(x.at[j] - top);
            highest = top;
        }
        float wanted = float_of(logits[row * classes + target]); /* read before it is written */
        float top = team_max(team, highest);
        float total = team_sum(team, sum * expf(highest - top));
        loss += logf(total) + top - wanted;
        float factor = gradient_scale / total;
        for (size_t i = team->index; i < length; i += team->size) {
            struct eight x = load(logits, first + i);
            for (int j = 0; j < 8; j++) {
                x.at[j] = expf(x.at[j] - top) * factor;
                x.at[j] -= i * 8 + (size_t)j == target ? gradient_scale : 0;
            }
            store(logits, first + i, x);
        }
    }
    if (team->index == 0)
        parts[team->number] = loss;
}

/* Tokens are drawn by bisection. A token has a key (rank of its logit, rank of its number), and the
 * token with the highest key comes first. For each bit of the key, a sum adds the weights of all
 * tokens whose key is not below a bound. All sums add in the same order, so a lower bound never has
 * a smaller sum. Without top-p the logits have no rank. */
struct draw_row {
    const uint16_t *logits;
    const struct kernel_parts *parts;
    size_t row, tokens;
    bool is_ranked;
    uint64_t last;         /* the highest number that a token can have: 2^n - 1 */
    float highest, factor; /* the highest logit; 1 / temperature */
};

/* Returns the most likely token. Its logit becomes row->highest. */
BODY uint32_t draw_most_likely(const struct team *team, struct draw_row *row)
{
    float best = -INFINITY, token = 0; /* a float holds the number of any token */
    for (size_t first = 0, count; first < row->tokens; first += count) {
        size_t at = kernel_parts_row(row->parts, first, row->row, &count);
        for (size_t i = team->index; i < count / 8; i += team->size) {
            struct eight x = load(row->logits, at / 8 + i);
            for (size_t j = 0; j < 8; j++)
                if (x.at[j] > best && first + i * 8 + j < row->tokens) {
                    best = x.at[j];
                    token = (float)(first + i * 8 + j);
                }
        }
    }
    row->highest = team_max(team, best);
    return (uint32_t)-team_max(team, best < row->highest ? -INFINITY : -token);
}

BODY uint64_t draw_key(const struct draw_row *row, float logit, size_t token)
{
    if (!row->is_ranked)
        return token;
    uint32_t bits = bfloat_of(logit + 0.0f); /* -0 becomes 0, which is as likely */
    uint32_t rank = bits & 0x8000 ? ~bits & 0xffff : bits | 0x8000;
    return rank * (row->last + 1) + (row->last - token);
}

/* Returns the sum of the weights of all tokens with this key or a higher one. A weight is e^((logit
 * - highest logit) / temperature), and 0 if that is not a number. */
BODY float draw_sum(const struct team *team, const struct draw_row *row, uint64_t key)
{
    float sum = 0;
    for (size_t first = 0, count; first < row->tokens; first += count) {
        size_t at = kernel_parts_row(row->parts, first, row->row, &count);
        for (size_t i = team->index; i < count / 8; i += team->size) {
            struct eight x = load(row->logits, at / 8 + i);
            for (size_t j = 0; j < 8; j++) {
                size_t token = first + i * 8 + j;
                float power = (x.at[j] - row->highest) * row->factor;
                if (token < row->tokens && power > -87 && draw_key(row, x.at[j], token) >= key)
                    sum += expf(power);
            }
        }
    }
    return team_sum(team, sum);
}

/* Returns the key of the first token at which the sum reaches `wanted`, which is not above the sum
 * of all tokens. *sum becomes the sum up to this token. */
BODY uint64_t draw_until(const struct team *team, const struct draw_row *row, float wanted,
                         float *sum)
{
    uint64_t key = 0;
    uint64_t bit = row->is_ranked ? (row->last + 1) << 15 : (row->last + 1) / 2;
    for (; bit; bit /= 2) {
        float higher = draw_sum(team, row, key | bit);
        if (higher >= wanted) {
            key |= bit;
            *sum = higher;
        }
    }
    return key;
}

/* A team for each row. With top-p 0 the sum that is kept is 0, and the first token is drawn. */
BODY void body_draw(const struct team *team, uint32_t *ret_tokens, const uint16_t *logits,
                    const double *randoms, size_t rows, const struct kernel_parts *parts,
                    const struct kernel_draw_options *how)
{
    for (size_t i = team->number; i < rows; i += team->count) {
        struct draw_row row = {logits, parts, i, how->tokens, how->top_p < 1, 0, 0, 0};
        uint32_t token = draw_most_likely(team, &row);
        while (row.last + 1 < row.tokens)
            row.last = 2 * row.last + 1;
        row.factor = (float)fmin(1 / how->temperature, 1e30);
        float sum = how->temperature > 0 ? draw_sum(team, &row, 0) : 0;
        if (sum > 0) {
            float random = fminf((float)randoms[i], 1 - 0x1p-24f); /* the cast rounds up to 1 */
            if (row.is_ranked)
                (void)draw_until(team, &row, (float)how->top_p * sum, &sum);
            uint64_t key = draw_until(team, &row, nextafterf(random * sum, INFINITY), &sum);
            token = (uint32_t)(row.is_ranked ? row.last - (key & row.last) : key);
        }
        if (team->index == 0)
            ret_tokens[i] = token;
    }
}

/* A thread for eight pairs of one head. */
BODY void body_rotary(const struct team *team, uint16_t *qkv, const float *table,
                      const uint32_t *firsts, const struct kernel_attention_shape *shape,
                      float sign)
{
    size_t turned = shape->heads + shape->kv_heads, heads = turned + shape->kv_heads;
    size_t half = shape->head_width / 16, rows = shape->batch * shape->sequence;
    for (size_t i = team_first(team); i < rows * turned * half; i += team_stride(team)) {
        size_t part = i % half, head = i / half % turned, row = i / half / turned;
        size_t first = firsts ? firsts[row / shape->sequence] : 0;
        size_t position = first + row % shape->sequence;
        size_t low = (row * heads + head) * 2 * half + part;
        struct eight x = load(qkv, low), y = load(qkv, low + half);
        size_t angles = (position * half + part) * 2;
        struct eight turns[2] = {load_floats(table, angles), load_floats(table, angles + 1)};
        for (int j = 0; j < 8; j++) {
            float c = turns[j / 4].at[2 * j % 8], s = sign * turns[j / 4].at[2 * j % 8 + 1];
            float old = x.at[j];
            x.at[j] = old * c - y.at[j] * s;
            y.at[j] = old * s + y.at[j] * c;
        }
        store(qkv, low, x);
        store(qkv, low + half, y);
    }
}

BODY void body_round(const struct team *team, uint16_t *weights, const float *master, size_t count)
{
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team))
        store(weights, i, load_floats(master, i));
}

/* parts[team] = the sum of the squares that the team meets. */
BODY void body_square_parts(const struct team *team, float *parts, const float *x, size_t count)
{
    float sum = 0;
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team)) {
        struct eight some = load_floats(x, i);
        for (int j = 0; j < 8; j++)
            sum += some.at[j] * some.at[j];
    }
    sum = team_sum(team, sum);
    if (team->index == 0)
        parts[team->number] = sum;
}

BODY void body_adamw(const struct team *team, float *master, uint16_t *weights, float *moment1,
                     float *moment2, const float *gradient, size_t count, const float *square_sum,
                     const struct kernel_adamw_step *step)
{
    float norm = sqrtf(*square_sum);
    if (!isfinite(norm))
        return;
    float factor = step->clip > 0 && norm > step->clip ? step->clip / norm : 1;
    for (size_t i = team_first(team); i < count / 8; i += team_stride(team)) {
        struct eight value = load_floats(master, i), slope = load_floats(gradient, i);
        struct eight first = load_floats(moment1, i), second = load_floats(moment2, i);
        for (int j = 0; j < 8; j++) {
            float g = slope.at[j] * factor;
            first.at[j] = step->beta1 * first.at[j] + (1 - step->beta1) * g;
            second.at[j] = step->beta2 * second.at[j] + (1 - step->beta2) * g * g;
            float mean = first.at[j] / step->correction1;
            float deviation = sqrtf(second.at[j] / step->correction2) + step->epsilon;
            value.at[j] -= step->rate * (mean / deviation + step->decay * value.at[j]);
        }
        store_floats(master, i, value);
        store_floats(moment1, i, first);
        store_floats(moment2, i, second);
        store(weights, i, value);
    }
}

#endif
