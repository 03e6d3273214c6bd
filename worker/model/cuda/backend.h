/* What the files of the GPU backend share: the device, its streams, its libraries and the first
 * failure. worker/model/kernels.h says what the backend does. */
#ifndef PHASED_WORKER_MODEL_CUDA_BACKEND_H
#define PHASED_WORKER_MODEL_CUDA_BACKEND_H

#ifndef KERNELS_CUDA
#define KERNELS_CUDA
#endif

#include "lib/error.h"
#include "worker/model/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

enum {
    BACKEND_PARTS = 1 << 21,      /* floats for sums that are made in two passes */
    BACKEND_WORKSPACE = 32 << 20, /* bytes; the size that cuBLAS wants on Hopper */
    BACKEND_WAIT_MS = 600 * 1000, /* the host waits so long for a GPU that shows no progress */
};

struct kernels {
    int device;
    char name[256];                /* of the GPU */
    unsigned processors;           /* multiprocessors of the device */
    struct CUstream_st *stream;    /* all kernels, in the order of the calls */
    void *workspace;               /* BACKEND_WORKSPACE bytes */
    float *parts;                  /* BACKEND_PARTS floats, free between two kernels */
    struct puts *puts;             /* memory.c */
    struct products *products;     /* products.c */
    struct attentions *attentions; /* attention.c */
    struct sums *sums;             /* sums.c; NULL: a single rank */
    struct recordings *recordings; /* recording.c */
    struct fp8 *fp8;               /* fp8.c; NULL: all products have factors of 16 bits */
    size_t changes;                /* how often weights have changed */
    bool is_failed;
    struct error failure; /* the first one */
};

/* Keeps an error of CUDA, by its number; 0 is not an error. Returns whether it is 0. `doing` is
 * part of the message. */
bool backend_check(struct kernels *kernels, unsigned code, const char *doing);
/* Keeps an error with a message. */
void backend_fail(struct kernels *kernels, const struct error *err);
/* Returns 0 or the first failure that was kept. Does not wait. */
int backend_failure(const struct kernels *kernels, struct error *err);

/* Returns whether a wait that began at `began_s` (clock_steady_s()) is so short that it asks again
 * at once. Lets other threads run before. A pause would take longer than most waits: those for the
 * launch of a sum, and for the token of a step. */
bool backend_asks_again(double began_s);

/* Open and close what the files keep. Opening returns 0 or a negative errno. After a failure
 * nothing is closed (kernels_free()). */
int memory_open(struct kernels *kernels, struct error *err);
void memory_close(struct kernels *kernels);
int products_open(struct kernels *kernels, struct error *err);
void products_close(struct kernels *kernels);
int attentions_open(struct kernels *kernels, struct error *err);
void attentions_close(struct kernels *kernels);
void recordings_open(struct kernels *kernels);
void recordings_close(struct kernels *kernels);
/* Leaves the group. It is a failure if that takes too long. */
void sums_close(struct kernels *kernels);
/* After a failure: aborts, so that the other ranks learn of it, but waits only for some seconds. */
void sums_abort(struct kernels *kernels);
void fp8_close(struct kernels *kernels);

/* For waits (sums.c). Returns the time that a rank may take for its part of a sum; BACKEND_WAIT_MS
 * for a single rank. */
int64_t sums_patience_ms(const struct kernels *kernels);
/* Looks for trouble: an error of NCCL, a rank that is gone, or a rank whose GPU was not done in
 * time. Does not wait, except to compare the GPUs of all ranks in the last case. */
int sums_look(struct kernels *kernels, struct error *err);
/* Fills the error after a wait for the GPU without success. If ranks add, compares how far their
 * GPUs are, and names the rank that the others wait for. Returns the code of the error. */
int sums_say_late(struct kernels *kernels, struct error *err);

/* Replaces `values`[count] on every rank by their sum over the ranks, between the kernels that are
 * queued before and later. There are several ranks. */
void sums_add_up(struct kernels *kernels, float *values, size_t count);
/* y += sums, rounded (rows.cu). */
void own_add(struct kernels *kernels, uint16_t *y, const float *sums, size_t count);

/* Attention by own kernels (own_attention.cu), for any shape that kernels_check() allows. */
void own_attention(struct kernels *kernels, uint16_t *y, float *ret_kept, const uint16_t *qkv,
                   const struct kernel_attention_shape *shape);
void own_attention_backward(struct kernels *kernels, uint16_t *dqkv, const uint16_t *dy,
                            const uint16_t *y, const float *kept, const uint16_t *qkv,
                            const struct kernel_attention_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
