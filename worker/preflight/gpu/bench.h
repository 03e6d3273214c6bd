/* What all rows on the GPUs share: the devices, the deadline, and how it is told what was found.
 *
 * A row ends at the first trouble: it has been told then, and -1 is returned all the way up.
 * Nothing is given back on the way: the process ends, and with it all it has on the GPUs. Every
 * wait polls, and looks at the deadline; no call that waits by itself is made on work that may
 * never end. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_BENCH_H
#define PHASED_WORKER_PREFLIGHT_GPU_BENCH_H

#include "worker/preflight/facts.h"
#include "worker/preflight/figures.h"
#include "worker/preflight/groups.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct CUevent_st;
struct CUstream_st;

enum { BENCH_NO_DEVICE = -1 };

struct bench_device {
    struct CUstream_st *stream;
    struct CUevent_st *begin, *end;
    unsigned long long *counter;      /* on the device */
    unsigned long long *counter_here; /* on the host, where it is read */
};

struct bench {
    FILE *output;   /* the lines of worker/preflight/measures.h */
    uint64_t size;  /* of the row's buffers in MiB, or of its matrices */
    int64_t end_ms; /* on the steady clock */
    struct groups groups;
    unsigned node;
    const char *rendezvous;
    unsigned device_count;
    struct bench_device devices[FACTS_GPUS_MAX];
    /* What is done when all has been told: it may hang. NULL: nothing. */
    void (*last_step)(void);
};

/* The rows. Each returns 0, or -1 when it could not come to its end. */
int hbm_measure(struct bench *bench);
int matrix_measure(struct bench *bench);
int copies_measure(struct bench *bench);
int peers_measure(struct bench *bench);
int allreduce_measure(struct bench *bench);

/* Runs each kernel on each device and compares with worker/preflight/reference.h. Returns -1 where
 * one computes something else, which has been told. */
int proof_make(struct bench *bench);

/* Finds `bench->groups.rank_count_of_node` devices and makes what each needs. */
int bench_open(struct bench *bench);

void bench_tell_figure(struct bench *bench, enum figure figure, unsigned a, unsigned b,
                       double value);
void bench_tell_wrong(struct bench *bench, unsigned a, unsigned b, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Of one device, or of BENCH_NO_DEVICE. Both return -1. */
int bench_tell_failed(struct bench *bench, int device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bench_tell_unknown(struct bench *bench, int device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Tells CUDA's error `code` of what was tried on `device`. Returns 0 where there is none. */
int bench_check(struct bench *bench, unsigned device, unsigned code, const char *doing);

/* Makes `device` the one that calls and kernels are for. */
int bench_choose(struct bench *bench, unsigned device);

/* Memory of the device that is current, which is `device`. */
int bench_allocate(struct bench *bench, unsigned device, size_t bytes, void **ret_memory);

/* Whether all that was queued for `device`, which is current, is done: CUDA's error, which is
 * cudaErrorNotReady when it is not. */
unsigned bench_look(const struct bench *bench, unsigned device);

/* Waits until all that was queued for `device` is done. */
int bench_wait(struct bench *bench, unsigned device, const char *doing);

/* Waits a moment before the next look. Returns -1 where the deadline has passed: nothing is told.
 */
int bench_pause(const struct bench *bench);

/* Queues the setting to 0 of a device's counter, and its reading. */
int bench_reset_counter(struct bench *bench, unsigned device);
int bench_fetch_counter(struct bench *bench, unsigned device);

/* Queues a mark of the time. bench_seconds() gives the time between them, once both have passed. */
int bench_mark_begin(struct bench *bench, unsigned device);
int bench_mark_end(struct bench *bench, unsigned device);
int bench_seconds(struct bench *bench, unsigned device, double *ret_seconds);

#endif
