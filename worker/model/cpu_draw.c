/* Draws tokens by temperature and top-p on a CPU. Probabilities are never divided by their sum. The
 * random number is multiplied by it instead. */
#include "worker/model/kernels.h"

#include "lib/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

struct sampler {
    struct kernel_draw_options how;
    float *logits;   /* of the row */
    double *weights; /* of each token: e^((logit - highest logit) / temperature) */
    uint32_t *order; /* all tokens; the kept tokens are at the end, the most likely token last */
};

/* Returns e^x for x <= 0, and 0 if x is not a number. The function of the C library is not used,
 * because its result depends on the processor. */
static double exponential(double x)
{
    const double log2_high = 0.6931471803691238, log2_low = 1.9082149292705877e-10;
    static const double terms[] = {1.0 / 479001600,
                                   1.0 / 39916800,
                                   1.0 / 3628800,
                                   1.0 / 362880,
                                   1.0 / 40320,
                                   1.0 / 5040,
                                   1.0 / 720,
                                   1.0 / 120,
                                   1.0 / 24,
                                   1.0 / 6,
                                   1.0 / 2,
                                   1,
                                   1};
    if (!(x > -700))
        return 0;
    double power = floor(x * 1.4426950408889634 + 0.5), sum = 0;
    double rest = x - power * log2_high - power * log2_low;
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        sum = sum * rest + terms[i];
    return ldexp(sum, (int)power);
}

static uint32_t most_likely(const struct sampler *sampler)
{
    const float *logits = sampler->logits;
    uint32_t best = 0;
    for (uint32_t i = 1; i < sampler->how.tokens; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Sets the weights of all tokens. Returns their sum. */
static double weigh(struct sampler *sampler, float highest)
{
    double total = 0;
    for (size_t i = 0; i < sampler->how.tokens; i++) {
        double difference = (double)sampler->logits[i] - (double)highest;
        sampler->weights[i] = exponential(difference / sampler->how.temperature);
        total += sampler->weights[i];
    }
    return total;
}

static bool is_likelier(const struct sampler *sampler, uint32_t a, uint32_t b)
{
    double left = sampler->weights[a], right = sampler->weights[b];
    return left > right || (!(left < right) && a < b);
}

/* The first `count` tokens of the order are a heap, except for the token at `at`. Moves that token
 * down to its place. */
static void sift_down(struct sampler *sampler, size_t at, size_t count)
{
    uint32_t *order = sampler->order, token = order[at];
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && is_likelier(sampler, order[child + 1], order[child]))
            child++;
        if (!is_likelier(sampler, order[child], token))
            break;
        order[at] = order[child];
    }
    order[at] = token;
}

/* Moves the most likely tokens to the end of the order, until their weights sum to `wanted`.
 * Returns the sum. At least one token is moved. */
static double keep_likely(struct sampler *sampler, double wanted, size_t *ret_kept)
{
    uint32_t *order = sampler->order;
    size_t left = sampler->how.tokens;
    double sum = 0;
    for (size_t i = left / 2; i-- > 0;)
        sift_down(sampler, i, left);
    do {
        uint32_t token = order[0];
        order[0] = order[--left];
        order[left] = token;
        sift_down(sampler, 0, left);
        sum += sampler->weights[token];
    } while (left && sum < wanted);
    *ret_kept = sampler->how.tokens - left;
    return sum;
}

static uint32_t draw(struct sampler *sampler, double random)
{
    const struct kernel_draw_options *how = &sampler->how;
    uint32_t token = most_likely(sampler);
    if (!(how->temperature > 0))
        return token;
    double total = weigh(sampler, sampler->logits[token]);
    if (!(total > 0))
        return token;
    size_t kept = how->tokens;
    for (uint32_t i = 0; i < how->tokens; i++)
        sampler->order[i] = i;
    if (how->top_p < 1)
        total = keep_likely(sampler, how->top_p * total, &kept);
    double left = random * total;
    for (size_t i = 0; i < kept && left >= 0; i++) {
        uint32_t next = sampler->order[how->tokens - 1 - i];
        if (!(sampler->weights[next] > 0))
            continue;
        token = next;
        left -= sampler->weights[next];
    }
    return token;
}

void kernel_draw(struct kernels *kernels, uint32_t *ret_tokens, const kernel_number *logits,
                 const double *randoms, size_t rows, const struct kernel_parts *parts,
                 const struct kernel_draw_options *how)
{
    (void)kernels; /* the tokens are drawn at once */
    struct sampler sampler = {
        .how = *how,
        .logits = xcalloc(parts->classes, sizeof *sampler.logits),
        .weights = xcalloc(how->tokens, sizeof *sampler.weights),
        .order = xcalloc(how->tokens, sizeof *sampler.order),
    };
    for (size_t row = 0; row < rows; row++) {
        for (size_t first = 0, count; first < parts->classes; first += count) {
            size_t at = kernel_parts_row(parts, first, row, &count);
            memcpy(sampler.logits + first, logits + at, count * sizeof *logits);
        }
        ret_tokens[row] = draw(&sampler, randoms[row]);
    }
    free(sampler.logits);
    free(sampler.weights);
    free(sampler.order);
}
