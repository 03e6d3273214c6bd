/* The kernels. Each thread strides over all of the data, so any grid works. Threads share only the
 * counters, and each thread adds to them once, atomically. */
#include "worker/preflight/gpu/kernels.h"

#include <cuda_runtime_api.h>

/* A grid that fills the 132 multiprocessors of a Hopper GPU. It also works well on any other
 * GPU. */
enum { BLOCKS = 132 * 16, THREADS = 256 };

/* The tests compile this file for a processor, where a launch is a loop of the tests. */
#ifdef __CUDACC__
/* Returns the error of this launch. After `<<<>>>` only the last error of the thread is known,
 * which may be that of an earlier call, such as the answer that a stream is not ready. */
template <typename... Wanted, typename... Given>
static unsigned launch(struct CUstream_st *stream, void (*kernel)(Wanted...), Given... given)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(BLOCKS);
    config.blockDim = dim3(THREADS);
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, given...);
}
#define KERNELS_LAUNCH(kernel, stream, ...) launch((stream), (kernel), __VA_ARGS__)
#endif

static __device__ size_t first_index(void)
{
    return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ size_t stride(void)
{
    return (size_t)gridDim.x * blockDim.x;
}

/* The same as reference_word(). */
static __device__ uint64_t make_word(uint64_t seed, uint64_t index)
{
    uint64_t word = seed * 0xd1342543de82ef95ULL + (index + 1) * 0x9e3779b97f4a7c15ULL;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9ULL;
    word = (word ^ (word >> 27)) * 0x94d049bb133111ebULL;
    return word ^ (word >> 31);
}

static __device__ int element_of(uint64_t word, int place)
{
    return (int)(signed char)(word >> (place * 8));
}

/* The bfloat16 of a small whole number is the upper half of its float. The scale is a power of
 * two. */
static __device__ unsigned bfloat_of(uint64_t word, int place)
{
    union {
        float value;
        unsigned bits;
    } wide;
    wide.value = (float)element_of(word, place) * (1.0f / 128);
    return wide.bits >> 16;
}

static __device__ void add_to(unsigned long long *counter, unsigned long long count)
{
    if (count)
        atomicAdd(counter, count);
}

static __global__ void fill_words(uint64_t *words, size_t count, uint64_t seed)
{
    for (size_t i = first_index(); i < count; i += stride())
        words[i] = make_word(seed, i);
}

static __global__ void fill_floats(float4 *floats, size_t count, uint64_t seed)
{
    for (size_t i = first_index(); i < count; i += stride()) {
        uint64_t word = make_word(seed, i);
        for (int half = 0; half < 2; half++) {
            float4 four;
            four.x = (float)element_of(word, half * 4);
            four.y = (float)element_of(word, half * 4 + 1);
            four.z = (float)element_of(word, half * 4 + 2);
            four.w = (float)element_of(word, half * 4 + 3);
            floats[i * 2 + half] = four;
        }
    }
}

static __global__ void fill_bfloats(uint4 *bfloats, size_t count, uint64_t seed)
{
    for (size_t i = first_index(); i < count; i += stride()) {
        uint64_t word = make_word(seed, i);
        uint4 eight;
        eight.x = bfloat_of(word, 0) | bfloat_of(word, 1) << 16;
        eight.y = bfloat_of(word, 2) | bfloat_of(word, 3) << 16;
        eight.z = bfloat_of(word, 4) | bfloat_of(word, 5) << 16;
        eight.w = bfloat_of(word, 6) | bfloat_of(word, 7) << 16;
        bfloats[i] = eight;
    }
}

static __global__ void count_words(const uint64_t *words, size_t count, uint64_t seed,
                                   unsigned long long *wrong)
{
    unsigned long long found = 0;
    for (size_t i = first_index(); i < count; i += stride())
        found += words[i] != make_word(seed, i);
    add_to(wrong, found);
}

static __global__ void count_sums(const float4 *floats, size_t count, uint64_t seed, unsigned ranks,
                                  unsigned long long *wrong)
{
    unsigned long long found = 0;
    for (size_t i = first_index(); i < count; i += stride()) {
        int sums[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (unsigned rank = 0; rank < ranks; rank++) {
            uint64_t word = make_word(seed + rank, i);
            for (int place = 0; place < 8; place++)
                sums[place] += element_of(word, place);
        }
        float4 low = floats[i * 2], high = floats[i * 2 + 1];
        /* Written as "not equal", so that NaN is wrong too. */
        found += !(low.x == (float)sums[0]) + !(low.y == (float)sums[1]);
        found += !(low.z == (float)sums[2]) + !(low.w == (float)sums[3]);
        found += !(high.x == (float)sums[4]) + !(high.y == (float)sums[5]);
        found += !(high.z == (float)sums[6]) + !(high.w == (float)sums[7]);
    }
    add_to(wrong, found);
}

static __global__ void add_checksum(const uint64_t *words, size_t count, unsigned long long *sum)
{
    unsigned long long part = 0;
    for (size_t i = first_index(); i < count; i += stride())
        part += make_word(words[i], i);
    add_to(sum, part);
}

static __global__ void copy(ulonglong2 *__restrict__ to, const ulonglong2 *__restrict__ from,
                            size_t count)
{
    for (size_t i = first_index(); i < count; i += stride())
        to[i] = from[i];
}

static __global__ void triad(float4 *__restrict__ sums, const float4 *__restrict__ a,
                             const float4 *__restrict__ b, float scale, size_t count)
{
    for (size_t i = first_index(); i < count; i += stride()) {
        float4 left = a[i], right = b[i], sum;
        sum.x = left.x + scale * right.x;
        sum.y = left.y + scale * right.y;
        sum.z = left.z + scale * right.z;
        sum.w = left.w + scale * right.w;
        sums[i] = sum;
    }
}

unsigned kernels_fill_words(uint64_t *words, size_t count, uint64_t seed,
                            struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(fill_words, stream, words, count, seed);
}

unsigned kernels_fill_floats(float *floats, size_t count, uint64_t seed, struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(fill_floats, stream, (float4 *)floats, count, seed);
}

unsigned kernels_fill_bfloats(uint16_t *bfloats, size_t count, uint64_t seed,
                              struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(fill_bfloats, stream, (uint4 *)bfloats, count, seed);
}

unsigned kernels_count_words(const uint64_t *words, size_t count, uint64_t seed,
                             unsigned long long *wrong, struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(count_words, stream, words, count, seed, wrong);
}

unsigned kernels_count_sums(const float *floats, size_t count, uint64_t seed, unsigned ranks,
                            unsigned long long *wrong, struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(count_sums, stream, (const float4 *)floats, count, seed, ranks, wrong);
}

unsigned kernels_checksum(const uint64_t *words, size_t count, unsigned long long *sum,
                          struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(add_checksum, stream, words, count, sum);
}

/* Copies two words at a time, 16 bytes, which is the widest access. It would leave out an odd last
 * word, so callers give an even count. */
unsigned kernels_copy(uint64_t *to, const uint64_t *from, size_t count, struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(copy, stream, (ulonglong2 *)to, (const ulonglong2 *)from, count / 2);
}

unsigned kernels_triad(float *sums, const float *a, const float *b, float scale, size_t count,
                       struct CUstream_st *stream)
{
    return KERNELS_LAUNCH(triad, stream, (float4 *)sums, (const float4 *)a, (const float4 *)b,
                          scale, count * 2);
}
