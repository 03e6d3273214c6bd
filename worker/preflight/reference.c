/* The generator and the sums, written to be read and not to be fast. */
#include "worker/preflight/reference.h"

#include <math.h>
#include <string.h>

/* Vigna's splitmix64: a counter whose bits are mixed. */
uint64_t reference_word(uint64_t seed, uint64_t index)
{
    uint64_t word =
        seed * UINT64_C(0xd1342543de82ef95) + (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
    return word ^ (word >> 31);
}

int reference_element(uint64_t seed, uint64_t index)
{
    uint64_t byte = reference_word(seed, index / 8) >> (index % 8 * 8) & 0xff;
    return (int)(byte ^ 0x80) - 0x80;
}

float reference_from_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

uint16_t reference_bfloat(int element)
{
    float value = (float)element / 128;
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    return (uint16_t)(wide >> 16); /* the lower half of the float of a byte is zero */
}

uint64_t reference_checksum(const uint64_t *words, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += reference_word(words[i], i);
    return sum;
}

int64_t reference_product(uint64_t row_seed, uint64_t row, uint64_t column_seed, uint64_t column,
                          uint64_t depth)
{
    int64_t sum = 0;
    for (uint64_t i = 0; i < depth; i++)
        sum += reference_element(row_seed, row * depth + i) *
               reference_element(column_seed, column * depth + i);
    return sum;
}

bool reference_product_matches(uint16_t bits, int64_t product)
{
    /* bfloat16 has 8 bits, so rounding is off by at most 2^-9 of the value. The rest is for units
     * that drop low bits when they add. One flipped bit that matters in one factor changes more
     * than that. */
    double want = (double)product / 16384, got = (double)reference_from_bfloat(bits);
    return fabs(got - want) <= fabs(want) / 256 + 1.0 / 64;
}

int64_t reference_sum(uint64_t seed, unsigned ranks, uint64_t index)
{
    int64_t sum = 0;
    for (unsigned rank = 0; rank < ranks; rank++)
        sum += reference_element(seed + rank, index);
    return sum;
}

double reference_bus_gbps(double bytes, double seconds, unsigned ranks)
{
    return bytes / seconds / 1e9 * 2 * (ranks - 1) / ranks;
}
