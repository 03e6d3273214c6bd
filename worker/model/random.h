/* Random numbers without a state: the n-th number of a stream is a function of (stream, n). So a
 * checkpoint needs no state of a generator, and a rank can draw its share without the shares of
 * others. */
#ifndef PHASED_WORKER_MODEL_RANDOM_H
#define PHASED_WORKER_MODEL_RANDOM_H

#include <stdint.h>

/* The finishing mix of SplitMix64. */
static inline uint64_t random_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t random_at(uint64_t stream, uint64_t index)
{
    return random_mix(random_mix(stream) ^ index);
}

/* Returns a number that is uniform in [0, 1). */
static inline double random_unit_at(uint64_t stream, uint64_t index)
{
    return (double)(random_at(stream, index) >> 11) / 9007199254740992.0; /* 2^53 */
}

/* Returns a number that is uniform in [-1, 1). */
static inline float random_signed_at(uint64_t stream, uint64_t index)
{
    return (float)(random_at(stream, index) >> 40) / 8388608.0f - 1.0f;
}

#endif
