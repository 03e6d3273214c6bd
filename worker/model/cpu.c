/* The CPU as a backend: memory, scratch, and sums over the ranks by TCP. The arithmetic is in
 * cpu_product.c, cpu_rows.c, cpu_attention.c and cpu_draw.c. */
#include "worker/model/cpu.h"
#include "worker/model/kernels.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "worker/model/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 256, STATM_MAX = 4096 };

struct kernels {
    struct ranks *ranks; /* borrowed; NULL: there is one rank */
    float *scratch;
    size_t scratch_count;
    struct error failure; /* the first one; its code is 0 before */
};

struct kernels *kernels_new(int device, struct error *err)
{
    (void)device; /* there is one CPU */
    struct kernels *kernels = calloc(1, sizeof *kernels);
    if (!kernels)
        (void)error_set(err, -ENOMEM, "no memory is left");
    return kernels;
}

void kernels_free(struct kernels *kernels)
{
    if (!kernels)
        return;
    free(kernels->scratch);
    free(kernels);
}

bool kernels_are_left(void)
{
    return false;
}

const char *kernels_device(const struct kernels *kernels)
{
    (void)kernels; /* a CPU has no rate that everybody knows */
    return "";
}

int kernels_status(struct kernels *kernels, struct error *err)
{
    if (kernels->failure.code && err)
        *err = kernels->failure;
    return kernels->failure.code;
}

void kernels_abandon(struct kernels *kernels, const struct error *err)
{
    if (!kernels->failure.code)
        kernels->failure = *err;
}

void *kernels_memory(struct kernels *kernels, size_t bytes)
{
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *memory = aligned_alloc(ALIGNMENT, whole ? whole : ALIGNMENT);
    if (memory)
        memset(memory, 0, bytes);
    else if (!kernels->failure.code)
        (void)error_set(&kernels->failure, -ENOMEM, "the host has no %zu MiB of free memory",
                        bytes >> 20);
    return memory;
}

void kernels_release(struct kernels *kernels, void *memory)
{
    (void)kernels; /* the C library owns the memory */
    free(memory);
}

/* The second number of the file is the resident pages. */
size_t kernels_memory_used(struct kernels *kernels)
{
    char *text = NULL, *end = NULL;
    (void)kernels; /* all memory of the process counts */
    if (file_read("/proc/self/statm", STATM_MAX, &text, NULL, NULL) < 0)
        return 0;
    (void)strtoull(text, &end, 10); /* all pages, also those that were never used */
    size_t pages = strtoull(end, NULL, 10);
    free(text);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Linux takes memory when it is first written, and then kills a program beyond the limit of its
 * job. So this writes the memory before the first step, and not at the first checkpoint. */
void *kernels_host_memory(struct kernels *kernels, size_t bytes)
{
    (void)kernels; /* all memory is the host's */
    void *memory = malloc(bytes);
    return memory ? memset(memory, 1, bytes) : NULL; /* zeros would make calloc() of it */
}

void kernels_release_host(struct kernels *kernels, void *memory)
{
    (void)kernels; /* the C library owns the memory */
    free(memory);
}

void kernels_clear(struct kernels *kernels, void *memory, size_t bytes)
{
    (void)kernels; /* nothing is queued on a CPU */
    memset(memory, 0, bytes);
}

void kernels_put(struct kernels *kernels, void *to_backend, const void *from_host, size_t bytes)
{
    (void)kernels; /* nothing is queued on a CPU */
    memcpy(to_backend, from_host, bytes);
}

void kernels_get(struct kernels *kernels, void *to_host, const void *from_backend, size_t bytes)
{
    (void)kernels; /* nothing is queued on a CPU */
    memcpy(to_host, from_backend, bytes);
}

void kernels_repeat(struct kernels *kernels, size_t key, void (*work)(void *context), void *context)
{
    (void)kernels, (void)key; /* kernels run at once */
    work(context);
}

void kernels_forget(struct kernels *kernels)
{
    (void)kernels; /* nothing is kept */
}

int kernels_use_fp8(struct kernels *kernels, struct error *err)
{
    (void)kernels; /* a CPU has no other products */
    return error_set(err, -ERANGE, "--precision fp8: a CPU computes in floats, use a GPU");
}

int kernels_check(const struct kernels_needs *needs, struct error *err)
{
    (void)needs; /* a CPU computes every size */
    (void)err;
    return 0;
}

int kernels_join(struct kernels *kernels, struct ranks *ranks, struct error *err)
{
    (void)err; /* the ranks have met already */
    kernels->ranks = ranks;
    return 0;
}

void kernels_sum(struct kernels *kernels, float *values, size_t count)
{
    if (kernels->ranks && !kernels->failure.code)
        (void)ranks_sum(kernels->ranks, values, count, &kernels->failure); /* it fills `failure` */
}

void kernels_sum_parts(struct kernels *kernels, float *values, size_t count)
{
    if (kernels->ranks && !kernels->failure.code)
        (void)ranks_sum_parts(kernels->ranks, values, count, &kernels->failure);
}

void kernels_gather(struct kernels *kernels, const struct kernel_run *runs, size_t run_count)
{
    for (size_t i = 0; i < run_count && kernels->ranks && !kernels->failure.code; i++)
        (void)ranks_gather(kernels->ranks, runs[i].numbers, runs[i].count, &kernels->failure);
}

void kernels_collect(struct kernels *kernels, kernel_number *numbers, size_t count)
{
    if (kernels->ranks && !kernels->failure.code)
        (void)ranks_collect(kernels->ranks, numbers, count, &kernels->failure);
}

int kernels_sums_end(struct kernels *kernels, struct error *err)
{
    return kernels_status(kernels, err);
}

float *cpu_scratch(struct kernels *kernels, size_t count)
{
    if (count > kernels->scratch_count) {
        free(kernels->scratch);
        kernels->scratch = xmalloc(count * sizeof *kernels->scratch);
        kernels->scratch_count = count;
    }
    return kernels->scratch;
}
