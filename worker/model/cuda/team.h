/* What the bodies of kernels stand on: teams of threads, and numbers of 16 bits.
 *
 * A body is the text of a kernel without its launch. Each thread runs it once. Threads form teams
 * of equal size, a warp or a block, and a body learns about its thread and its team only from
 * struct team. All bodies stride over their data, so any number of teams of any size computes the
 * same. That is how tests run the bodies on a processor: tests/fake/teams.c has the functions
 * below, and runs the threads of a team in turns.
 *
 * Arrays of bfloats begin at addresses that are multiples of 16 bytes, and so do all their rows:
 * every access moves eight bfloats. */
#ifndef PHASED_WORKER_MODEL_CUDA_TEAM_H
#define PHASED_WORKER_MODEL_CUDA_TEAM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#define BODY static __device__ __forceinline__
#else
#define BODY static inline
#endif

struct team {
    unsigned index, size; /* of this thread, and how many threads the team has */
    size_t number, count; /* of this team, and how many teams there are */
    float *shared;        /* `size` floats that the team shares; NULL for warps */
};

/* Every thread of a team calls these together, in the same order. */
#ifndef __CUDACC__
#ifdef __cplusplus
extern "C" {
#endif
float team_sum(const struct team *team, float value);
float team_max(const struct team *team, float value);
/* Returns after all threads of the team have called it. Then they see all that was written. */
void team_wait(const struct team *team);
/* Adds to a number to which other threads may add at the same time. */
void team_add(float *to, float value);
#ifdef __cplusplus
}
#endif
#else
BODY float warp_sum(float value)
{
    for (int distance = 16; distance; distance /= 2)
        value += __shfl_xor_sync(0xffffffff, value, distance);
    return value;
}

BODY float warp_max(float value)
{
    for (int distance = 16; distance; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, distance));
    return value;
}

BODY float team_sum(const struct team *team, float value)
{
    __shared__ float parts[32];
    value = warp_sum(value);
    if (!team->shared)
        return value;
    __syncthreads(); /* the parts of the last call have been read */
    if (team->index % 32 == 0)
        parts[team->index / 32] = value;
    __syncthreads();
    return warp_sum(team->index % 32 < team->size / 32 ? parts[team->index % 32] : 0);
}

BODY float team_max(const struct team *team, float value)
{
    __shared__ float parts[32];
    value = warp_max(value);
    if (!team->shared)
        return value;
    __syncthreads();
    if (team->index % 32 == 0)
        parts[team->index / 32] = value;
    __syncthreads();
    return warp_max(team->index % 32 < team->size / 32 ? parts[team->index % 32] : -INFINITY);
}

BODY void team_wait(const struct team *team)
{
    (void)team;
    __syncthreads();
}

BODY void team_add(float *to, float value)
{
    atomicAdd(to, value);
}
#endif

/* Return the number of this thread among all threads, and how many there are. */
BODY size_t team_first(const struct team *team)
{
    return team->number * team->size + team->index;
}

BODY size_t team_stride(const struct team *team)
{
    return team->count * team->size;
}

/* Eight bfloats, and four floats, as they lie in memory: one access of 16 bytes moves them. */
struct packed {
    uint32_t words[4];
} __attribute__((aligned(16), may_alias));

struct packed_floats {
    float at[4];
} __attribute__((aligned(16), may_alias));

struct eight {
    float at[8];
};

/* Rounds to the nearest bfloat, and to an even one if two are equally near. */
BODY uint32_t bfloat_of(float value)
{
#ifdef __CUDACC__
    return __bfloat16_as_ushort(__float2bfloat16_rn(value));
#else
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return bits >> 16 | 0x40; /* NaN stays NaN */
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
#endif
}

BODY float float_of_bits(uint32_t bits)
{
#ifdef __CUDACC__
    return __uint_as_float(bits);
#else
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
#endif
}

BODY float float_of(uint16_t bfloat)
{
    return float_of_bits((uint32_t)bfloat << 16);
}

/* Loads the bfloats 8 index .. 8 index + 7. */
BODY struct packed load_packed(const uint16_t *from, size_t index)
{
    return ((const struct packed *)(const void *)from)[index];
}

BODY struct eight unpack(struct packed packed)
{
    struct eight eight;
    for (int i = 0; i < 4; i++) {
        eight.at[2 * i] = float_of_bits(packed.words[i] << 16);
        eight.at[2 * i + 1] = float_of_bits(packed.words[i] & 0xffff0000);
    }
    return eight;
}

BODY struct eight load(const uint16_t *from, size_t index)
{
    return unpack(load_packed(from, index));
}

BODY void store(uint16_t *to, size_t index, struct eight eight)
{
    struct packed packed;
    for (int i = 0; i < 4; i++)
        packed.words[i] = bfloat_of(eight.at[2 * i]) | bfloat_of(eight.at[2 * i + 1]) << 16;
    ((struct packed *)(void *)to)[index] = packed;
}

/* Loads the floats 8 index .. 8 index + 7. */
BODY struct eight load_floats(const float *from, size_t index)
{
    const struct packed_floats *packed = (const struct packed_floats *)(const void *)from;
    struct packed_floats low = packed[2 * index], high = packed[2 * index + 1];
    struct eight eight;
    for (int i = 0; i < 4; i++) {
        eight.at[i] = low.at[i];
        eight.at[4 + i] = high.at[i];
    }
    return eight;
}

BODY void store_floats(float *to, size_t index, struct eight eight)
{
    struct packed_floats low, high;
    for (int i = 0; i < 4; i++) {
        low.at[i] = eight.at[i];
        high.at[i] = eight.at[4 + i];
    }
    ((struct packed_floats *)(void *)to)[2 * index] = low;
    ((struct packed_floats *)(void *)to)[2 * index + 1] = high;
}

#endif
