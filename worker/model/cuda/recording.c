/* Work that is repeated, as CUDA graphs: one launch instead of one for each kernel.
 *
 * The first time the work of a key is queued as it is. So all that happens only once, such as the
 * loading of a kernel or the connections of NCCL, happens outside of a graph. The second time the
 * work is captured. NCCL wants all ranks to capture and to launch the same sums, so ranks that
 * repeat the same keys stay together. */
#include "worker/model/cuda/backend.h"

#include "lib/memory.h"

#include <cuda_runtime_api.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEPT_MAX = 32 }; /* a graph of 500 kernels has about 1 MiB */

struct recording {
    size_t key;
    cudaGraphExec_t graph; /* NULL: the work was queued once */
};

struct recordings {
    struct recording kept[KEPT_MAX];
    size_t count, next; /* that are kept; which one is replaced next */
    bool is_off;        /* the work cannot be captured */
};

void recordings_open(struct kernels *kernels)
{
    kernels->recordings = xcalloc(1, sizeof *kernels->recordings);
}

static void forget(struct recording *recording)
{
    if (recording->graph)
        (void)cudaGraphExecDestroy(recording->graph); /* it is not used any more */
    recording->graph = NULL;
}

void kernels_forget(struct kernels *kernels)
{
    struct recordings *recordings = kernels->recordings;
    for (size_t i = 0; i < recordings->count; i++)
        if (kernels_status(kernels, NULL) == 0) /* it may run; a GPU that hangs keeps it */
            forget(&recordings->kept[i]);
    recordings->count = recordings->next = 0;
}

void recordings_close(struct kernels *kernels)
{
    if (!kernels->recordings)
        return;
    kernels_forget(kernels);
    free(kernels->recordings);
    kernels->recordings = NULL;
}

/* Returns what is kept of the key, or NULL if the key is new. A new key is kept from now on. */
static struct recording *find(struct kernels *kernels, size_t key)
{
    struct recordings *recordings = kernels->recordings;
    for (size_t i = 0; i < recordings->count; i++)
        if (recordings->kept[i].key == key)
            return &recordings->kept[i];
    struct recording *made = &recordings->kept[recordings->next];
    if (recordings->next < recordings->count)
        forget(made);
    else
        recordings->count++;
    recordings->next = (recordings->next + 1) % KEPT_MAX;
    *made = (struct recording){.key = key};
    return NULL;
}

/* Captures the work. Sums may be queued by a thread of NCCL, which the mode allows to do anything
 * else meanwhile. */
static void record(struct kernels *kernels, struct recording *recording,
                   void (*work)(void *context), void *context)
{
    cudaGraph_t graph = NULL;
    if (!backend_check(kernels,
                       cudaStreamBeginCapture(kernels->stream, cudaStreamCaptureModeThreadLocal),
                       "capturing"))
        return;
    work(context);
    cudaError_t code = cudaStreamEndCapture(kernels->stream, &graph);
    if (backend_check(kernels, code, "capturing"))
        (void)backend_check(kernels, cudaGraphInstantiate(&recording->graph, graph, 0),
                            "capturing");
    if (graph)
        (void)cudaGraphDestroy(graph); /* the executable graph stays */
}

/* A capture queues nothing, so the work can still be queued as it is. But other ranks may have
 * captured the same work, so a rank of several cannot work without the graph. */
static bool does_without(struct kernels *kernels)
{
    char message[sizeof kernels->failure.where + sizeof kernels->failure.message];
    if (!kernels->is_failed || kernels->sums)
        return false;
    fprintf(stderr, "phase-model: works without CUDA graphs: %s\n",
            error_text(&kernels->failure, message, sizeof message));
    (void)cudaGetLastError(); /* it must not look like an error of the next call */
    kernels->is_failed = false;
    kernels->recordings->is_off = true;
    return true;
}

void kernels_repeat(struct kernels *kernels, size_t key, void (*work)(void *context), void *context)
{
    if (kernels->is_failed)
        return;
    struct recording *recording = kernels->recordings->is_off ? NULL : find(kernels, key);
    if (recording && !recording->graph)
        record(kernels, recording, work, context);
    if (!recording || does_without(kernels))
        work(context);
    else if (!kernels->is_failed)
        (void)backend_check(kernels, cudaGraphLaunch(recording->graph, kernels->stream),
                            "launching a graph");
}
