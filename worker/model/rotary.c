/* Computes the turns of all positions by repeated complex multiplication. */
#include "worker/model/rotary.h"

#include "lib/memory.h"

/* Returns e^x for -10 <= x <= 0: a series for a small x, squared four times. */
static double exponential(double x)
{
    double small = x / 16, term = 1, sum = 1;
    for (int i = 1; i < 24; i++) {
        term *= small / i;
        sum += term;
    }
    for (int i = 0; i < 4; i++)
        sum *= sum;
    return sum;
}

/* Sets the cosine and the sine of an angle from 0 to 1. */
static void turn_of(double angle, double *ret_cosine, double *ret_sine)
{
    double term = 1, cosine = 1, sine = 0;
    for (int i = 1; i < 24; i++) {
        term *= angle / i;
        if (i % 2)
            sine += i % 4 == 1 ? term : -term;
        else
            cosine += i % 4 == 0 ? term : -term;
    }
    *ret_cosine = cosine;
    *ret_sine = sine;
}

float *rotary_new(size_t positions, size_t head_width)
{
    const double log_base = 9.210340371976184; /* of 10000 */
    float *table = xmalloc(positions * head_width * sizeof *table);
    for (size_t i = 0; i < head_width / 2; i++) {
        double cosine, sine, c = 1, s = 0;
        turn_of(exponential(-log_base * 2 * (double)i / (double)head_width), &cosine, &sine);
        for (size_t position = 0; position < positions; position++) {
            float *entry = table + position * head_width + 2 * i;
            entry[0] = (float)c;
            entry[1] = (float)s;
            double next = c * cosine - s * sine;
            s = c * sine + s * cosine;
            c = next;
        }
    }
    return table;
}
