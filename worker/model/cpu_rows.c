/* What works row by row on a CPU: norms, gates, embeddings, losses and the optimizer. Sums have the
 * fixed order of cpu.h. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include <math.h>
#include <string.h>

/* The highest of `count` >= 1 numbers. */
static float highest_of(const float *x, size_t count)
{
    cpu_lanes4 lanes = x[0] - (cpu_lanes4){0};
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        cpu_lanes4 four = *(const cpu_lanes4 *)(x + i);
        cpu_integers4 higher = four > lanes;
        lanes = (cpu_lanes4)(((cpu_integers4)four & higher) | ((cpu_integers4)lanes & ~higher));
    }
    float highest = lanes[0];
    for (size_t lane = 1; lane < 4; lane++)
        highest = lanes[lane] > highest ? lanes[lane] : highest;
    for (; i < count; i++)
        highest = x[i] > highest ? x[i] : highest;
    return highest;
}

float cpu_softmax(float *x, size_t count)
{
    float highest = highest_of(x, count);
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

void kernel_sum_rmsnorm(struct kernels *kernels, kernel_number *state, kernel_number *y,
                        float *ret_scale, const kernel_number *a, const kernel_number *b,
                        const float *gain, size_t rows, size_t width)
{
    if (b)
        kernel_sum(kernels, state, a, b, rows * width);
    const float *x = b ? state : a;
    for (size_t row = 0; row < rows; row++, x += width, y += width) {
        /* The small number keeps a row of zeros finite. */
        float scale = 1.0f / sqrtf(cpu_dot(x, x, width) / (float)width + 1e-6f);
        for (size_t i = 0; i < width; i++)
            y[i] = x[i] * scale * gain[i];
        ret_scale[row] = scale;
    }
}

/* With s = 1 / rms: dx = s (g dy) - x s^3 mean(g dy x). */
void kernel_rmsnorm_backward(struct kernels *kernels, kernel_number *dx, float *dgain,
                             const kernel_number *dy, const kernel_number *x, const float *gain,
                             const float *scale, size_t rows, size_t width)
{
    (void)kernels; /* needs no scratch */
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

/* Returns 1 / (1 + e^-x) of four numbers. cpu_exp() takes no positive number, so numbers below 0
 * use e^x / (1 + e^x). */
static inline cpu_lanes4 sigmoid(cpu_lanes4 x)
{
    cpu_integers4 positive = x > 0;
    cpu_lanes4 below = (cpu_lanes4)((cpu_integers4)x | INT32_MIN); /* -|x| */
    cpu_lanes4 e = cpu_exp(below), one = {1, 1, 1, 1};
    cpu_lanes4 above =
        (cpu_lanes4)(((cpu_integers4)one & positive) | ((cpu_integers4)e & ~positive));
    return above / (1 + e);
}

/* Four numbers, of which only `count` are in memory. */
static inline cpu_lanes4 load(const float *x, size_t count)
{
    cpu_lanes4 four = {0};
    if (count >= 4)
        return *(const cpu_lanes4 *)x;
    memcpy(&four, x, count * sizeof *x);
    return four;
}

static inline void store(float *x, cpu_lanes4 four, size_t count)
{
    if (count >= 4)
        *(cpu_lanes4 *)x = four;
    else
        memcpy(x, &four, count * sizeof *x);
}

void kernel_gate(struct kernels *kernels, kernel_number *y, const kernel_number *wide, size_t rows,
                 size_t hidden)
{
    (void)kernels; /* needs no scratch */
    for (size_t row = 0; row < rows; row++, y += hidden, wide += 2 * hidden) {
        for (size_t i = 0; i < hidden; i += 4) {
            cpu_lanes4 a = load(wide + i, hidden - i), b = load(wide + hidden + i, hidden - i);
            store(y + i, a * sigmoid(a) * b, hidden - i);
        }
    }
}

/* The slope of silu is s (1 + a (1 - s)) with s = sigmoid(a). */
void kernel_gate_backward(struct kernels *kernels, kernel_number *dwide, const kernel_number *dy,
                          const kernel_number *wide, size_t rows, size_t hidden)
{
    (void)kernels; /* needs no scratch */
    for (size_t row = 0; row < rows; row++) {
        for (size_t i = 0; i < hidden; i += 4) {
            size_t left = hidden - i;
            cpu_lanes4 a = load(wide + i, left), b = load(wide + hidden + i, left);
            cpu_lanes4 d = load(dy + i, left), s = sigmoid(a);
            store(dwide + i, d * b * s * (1 + a * (1 - s)), left);
            store(dwide + hidden + i, d * a * s, left);
        }
        dy += hidden;
        wide += 2 * hidden;
        dwide += 2 * hidden;
    }
}

void kernel_sum(struct kernels *kernels, kernel_number *y, const kernel_number *a,
                const kernel_number *b, size_t count)
{
    (void)kernels; /* needs no scratch */
    for (size_t i = 0; i < count; i++)
        y[i] = a[i] + b[i];
}

void kernel_embed(struct kernels *kernels, kernel_number *y, const uint32_t *ids,
                  const kernel_number *table, size_t rows, size_t width)
{
    (void)kernels; /* needs no scratch */
    for (size_t row = 0; row < rows; row++)
        memcpy(y + row * width, table + ids[row] * width, width * sizeof *y);
}

void kernel_embed_backward(struct kernels *kernels, float *dtable, const kernel_number *dy,
                           const uint32_t *ids, size_t rows, size_t width)
{
    for (size_t row = 0; row < rows; row++, dy += width) {
        float *drow = dtable + ids[row] * width;
        kernel_sum(kernels, drow, drow, dy, width);
    }
}

void kernel_cross_entropy(struct kernels *kernels, kernel_number *logits, float *loss,
                          const uint32_t *targets, float gradient_scale, size_t rows,
                          size_t classes)
{
    (void)kernels; /* needs no scratch */
    double sum = 0;
    for (size_t row = 0; row < rows; row++, logits += classes) {
        float wanted = logits[targets[row]];
        sum += cpu_softmax(logits, classes) - wanted;
        logits[targets[row]] -= 1.0f;
        for (size_t i = 0; i < classes; i++)
            logits[i] *= gradient_scale;
    }
    *loss += (float)sum;
}

void kernel_round(struct kernels *kernels, kernel_number *weights, const float *master,
                  size_t count)
{
    (void)kernels; /* needs no scratch */
    if (weights != master)
        memcpy(weights, master, count * sizeof *weights);
}

void kernel_square_sum(struct kernels *kernels, float *sum, const float *x, size_t count)
{
    (void)kernels; /* needs no scratch */
    double squares = 0;
    for (size_t i = 0; i < count; i++)
        squares += (double)x[i] * x[i];
    *sum += (float)squares;
}

void kernel_adamw(struct kernels *kernels, float *master, kernel_number *weights, float *moment1,
                  float *moment2, const float *gradient, size_t count, const float *square_sum,
                  const struct kernel_adamw_step *step)
{
    float norm = sqrtf(*square_sum);
    if (!isfinite(norm))
        return;
    float scale = step->clip > 0 && norm > step->clip ? step->clip / norm : 1;
    for (size_t i = 0; i < count; i++) {
        float g = gradient[i] * scale;
        moment1[i] = step->beta1 * moment1[i] + (1 - step->beta1) * g;
        moment2[i] = step->beta2 * moment2[i] + (1 - step->beta2) * g * g;
        float mean = moment1[i] / step->correction1;
        float deviation = sqrtf(moment2[i] / step->correction2) + step->epsilon;
        master[i] -= step->rate * (mean / deviation + step->decay * master[i]);
    }
    kernel_round(kernels, weights, master, count);
}
