/* What the stand-ins for CUDA's libraries share: streams of work that is done later.
 *
 * Work is done when a stream is asked whether it is done, and never sooner, so that a program which
 * does not wait reads what is not there yet. It takes no time but what is written down for it: that
 * is what events tell, so figures are the same on any machine. Misuse is an error: another device's
 * stream, a communicator that is in progress. One process alone has them, in one thread. */
#ifndef PHASED_TESTS_FAKE_CUDA_H
#define PHASED_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

enum { FAKE_DEVICES = 8 };

/* How fast the devices are, in bytes (or operations, of products) a nanosecond. All kernels take as
 * long as those that move 1 MiB buffers. */
enum {
    FAKE_MEMORY_RATE = 3000,
    FAKE_PRODUCT_RATE = 700000,
    FAKE_HOST_RATE = 55,
    FAKE_PEER_RATE = 380,
    FAKE_FAR_RATE = 20, /* to a device that can be reached through the host only */
    FAKE_REDUCE_RATE = 275,
    FAKE_SLOWNESS = 10, /* of a slow device */
};

struct fake_work {
    struct fake_work *next;
    /* Returns whether it is done; else it is asked again. */
    bool (*act)(struct fake_work *work);
    struct CUstream_st *stream; /* which fake_queue() sets */
    double ns;                  /* what it takes on a device that is not slow */
    void *to, *other;
    const void *from;
    size_t size;
    unsigned long long number;
    void (*run)(void *body);
};

struct CUstream_st {
    int device;
    double ns; /* what was done until now has taken */
    struct fake_work *first, *last;
};

/* The number after `word=` in FAKE_CUDA, a list with commas between; 1 for a word alone; -1 when it
 * is not said. */
int fake_said(const char *word);

/* Queues a copy of `work`. Returns CUDA's error. */
unsigned fake_queue(struct CUstream_st *stream, struct fake_work work);

/* Makes the steady clock leap: what the program waits for will never come. */
void fake_leap(void);

/* The device that is current. */
int fake_device(void);

#endif
