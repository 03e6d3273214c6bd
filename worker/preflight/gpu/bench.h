/* What all rows on the GPUs share: the devices, the deadlines, and the output.
 *
 * A row ends at the first trouble: it reports the trouble, and all its functions return -1. Nothing
 * is freed, because the end of the process frees all that it has on the GPUs. Every wait polls and
 * checks the deadline. No call blocks on work that may never end. */
#ifndef PHASED_WORKER_PREFLIGHT_GPU_BENCH_H
#define PHASED_WORKER_PREFLIGHT_GPU_BENCH_H

#include "worker/preflight/facts.h"
#include "worker/preflight/figures.h"
#include "worker/preflight/groups.h"

#include <stdbool.h>
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
    unsigned long long *counter_here; /* on the host, for reading */
};

struct bench {
    FILE *output;   /* for the lines of worker/preflight/measures.h */
    uint64_t size;  /* of the buffers in MiB, or of the matrices */
    int64_t end_ms; /* the deadline of the row, or of the start that goes on, by the steady clock */
    int64_t start_ms, left_ms; /* a start may take start_ms; then the row has left_ms more */
    bool is_ready;             /* no start is going on */
    struct groups groups;
    unsigned node;
    const char *rendezvous;
    unsigned device_count;
    struct bench_device devices[FACTS_GPUS_MAX];
    /* What is done after all output: it may hang. NULL: nothing. */
    void (*last_step)(void);
};

/* The rows. Each returns 0, or -1 if it could not come to its end. */
int hbm_measure(struct bench *bench);
int matrix_measure(struct bench *bench);
int copies_measure(struct bench *bench);
int peers_measure(struct bench *bench);
int allreduce_measure(struct bench *bench);

/* Runs each kernel on each device and compares it with worker/preflight/reference.h. Returns -1 if
 * a kernel computes something else, which is then reported. */
int proof_make(struct bench *bench);

/* Finds `bench->groups.rank_count_of_node` devices and makes what each device needs. */
int bench_open(struct bench *bench);

/* A start of CUDA or NCCL begins, or has ended. Its time does not count for the deadline of the
 * row. A new `struct bench` is in a start, which ends at `end_ms`. */
void bench_start(struct bench *bench);
void bench_ready(struct bench *bench);

void bench_tell_figure(struct bench *bench, enum figure figure, unsigned a, unsigned b,
                       double value);
void bench_tell_wrong(struct bench *bench, unsigned a, unsigned b, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Report about one device, or about no device in particular: BENCH_NO_DEVICE. Both return -1. */
int bench_tell_failed(struct bench *bench, int device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bench_tell_unknown(struct bench *bench, int device, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports the error `code` of CUDA in an action on `device`. Returns 0 if there is no error. */
int bench_check(struct bench *bench, unsigned device, unsigned code, const char *doing);

/* Makes `device` the current device, for calls and kernels. */
int bench_choose(struct bench *bench, unsigned device);

/* Allocates memory of `device`, which is the current device. */
int bench_allocate(struct bench *bench, unsigned device, size_t bytes, void **ret_memory);

/* Whether all work is done that was queued for `device`, which is the current device. Returns
 * CUDA's error; cudaErrorNotReady: it is not done. */
unsigned bench_look(const struct bench *bench, unsigned device);

/* Waits until all work is done that was queued for `device`. */
int bench_wait(struct bench *bench, unsigned device, const char *doing);

/* Waits a moment before the next poll. Returns -1 if the deadline has passed, and reports
 * nothing. */
int bench_pause(const struct bench *bench);

/* Queue that the counter of a device is set to 0, or read. */
int bench_reset_counter(struct bench *bench, unsigned device);
int bench_fetch_counter(struct bench *bench, unsigned device);

/* Queue a mark of the time. bench_seconds() returns the time between the marks, after both have
 * passed. */
int bench_mark_begin(struct bench *bench, unsigned device);
int bench_mark_end(struct bench *bench, unsigned device);
int bench_seconds(struct bench *bench, unsigned device, double *ret_seconds);

#endif
