/* What the fake CUDA libraries share: streams of work that is done later.
 *
 * Work is done when the stream is asked for it, and not sooner. So a program that does not wait
 * reads data that is not there yet. Work takes only the time that this file gives it, and events
 * report that time, so figures are equal on all machines. Misuse is an error: another device's
 * stream, or a communicator in progress. One process has them, in one thread. */
#ifndef PHASED_TESTS_FAKE_CUDA_H
#define PHASED_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FAKE_DEVICES = 8 };

/* The speed of the devices, in bytes (for products: operations) per nanosecond. All kernels take as
 * long as kernels that move 1 MiB buffers. */
enum {
    FAKE_MEMORY_RATE = 3000,
    FAKE_PRODUCT_RATE = 700000,
    FAKE_HOST_RATE = 55,
    FAKE_PEER_RATE = 380,
    FAKE_FAR_RATE = 20, /* to a device that is reached only through the host */
    FAKE_REDUCE_RATE = 275,
    FAKE_SLOWNESS = 10, /* of a slow device */
};

struct fake_work {
    struct fake_work *next;
    /* Returns whether the work is done. If not, it is called again. */
    bool (*act)(struct fake_work *work);
    /* Called when the work is queued to be done, and not only captured. May be NULL. */
    void (*begin)(struct fake_work *work);
    struct CUstream_st *stream; /* set by fake_queue() */
    void *owned;                /* freed after the work */
    bool is_repeated;           /* of a graph, which owns it */
    double ns;                  /* its time on a device that is not slow */
    void *to, *other;
    const void *from;
    size_t size;
    unsigned long long number;
    void (*run)(void *body);
};

struct CUgraph_st {
    struct fake_work *first, *last;
    bool is_broken;
};

struct CUstream_st {
    int device;
    struct CUgraph_st *captured; /* where the work goes; NULL: it is done */
    bool is_asked;               /* and was not done */
    double ns;                   /* the total time of the work until now */
    struct fake_work *first, *last;
};

/* Returns the number after `word=` in FAKE_CUDA, a list separated by commas; 1 for a word alone; -1
 * without the word. */
int fake_said(const char *word);

/* Queues a copy of `work`, or captures it. Returns CUDA's error. */
unsigned fake_queue(struct CUstream_st *stream, struct fake_work work);

/* Adds to the end of a list of work. */
void fake_append(struct fake_work **first, struct fake_work **last, struct fake_work *work);

/* Returns memory with arbitrary content, aligned to 256 bytes. The caller frees it. */
void *fake_allocate(size_t size);

/* Returns whether a stream captures. Then a call that waits, allocates or frees is an error, also
 * of the capture. */
bool fake_breaks_capture(void);

/* From now on each call of CUDA would hang: it is an error that ends the process, and so is an end
 * of the process that lets the libraries end. */
void fake_lock(void);

/* Ends the process if the call would hang. */
void fake_check(const char *call);

/* Lets the time pass that a start of CUDA or of a communicator takes. */
void fake_start(void);

/* Makes the steady clock leap, because the program waits for an event that will never come. */
void fake_leap(void);

/* Whether the device memory has `size` bytes at this place, in one allocation. */
bool fake_holds(const void *at, size_t size);

/* Returns the current device. */
int fake_device(void);

/* A bfloat16 is the upper half of a float. Rounding is to the nearest, ties to even. */
static inline float fake_wide(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static inline uint16_t fake_narrow(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}

#endif
