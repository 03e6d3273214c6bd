/* Graphs of the CUDA runtime for tests: the work of a stream that captures goes into a graph, and a
 * launch queues all of it. FAKE_CUDA:
 *
 *   bare     no capture succeeds
 *   graphs   tells at the end how many graphs were captured and launched */
#include "tests/fake/cuda.h"

#include <cuda_runtime_api.h>

#include <stdio.h>
#include <stdlib.h>

struct CUgraphExec_st {
    struct CUgraphExec_st *next; /* all that a program has, which it may leave to its end */
    struct fake_work *first;
};

static struct CUgraph_st *capturing; /* NULL: no stream captures */
static struct CUgraphExec_st *executables;
static unsigned captured_count, launched_count;

__attribute__((destructor)) static void tell_graphs(void)
{
    if (fake_said("graphs") >= 0)
        fprintf(stderr, "graphs: %u captured, %u launched\n", captured_count, launched_count);
}

bool fake_breaks_capture(void)
{
    if (capturing)
        capturing->is_broken = true;
    return capturing;
}

static void free_works(struct fake_work *works)
{
    while (works) {
        struct fake_work *next = works->next;
        free(works->owned);
        free(works);
        works = next;
    }
}

/* A thread of NCCL may queue sums, so only the mode of the thread is right. */
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    if (fake_breaks_capture() || mode != cudaStreamCaptureModeThreadLocal ||
        stream->device != fake_device())
        return cudaErrorInvalidValue;
    capturing = stream->captured = calloc(1, sizeof *capturing);
    if (!capturing)
        abort();
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    struct CUgraph_st *captured = stream->captured;
    *graph = NULL;
    if (!captured)
        return cudaErrorStreamCaptureUnmatched;
    capturing = stream->captured = NULL;
    captured_count++;
    if (captured->is_broken || fake_said("bare") >= 0) {
        (void)cudaGraphDestroy(captured); /* cannot fail */
        return cudaErrorStreamCaptureInvalidated;
    }
    *graph = captured;
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    free_works(graph->first);
    free(graph);
    return cudaSuccess;
}

/* Takes the works of the graph, which can be used once. */
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *made, cudaGraph_t graph, unsigned long long flags)
{
    *made = fake_allocate(sizeof **made);
    **made = (struct CUgraphExec_st){executables, graph->first};
    executables = *made;
    graph->first = NULL;
    return flags ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
    unsigned error = fake_breaks_capture() ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
    launched_count++;
    for (const struct fake_work *work = graph->first; work && !error; work = work->next) {
        struct fake_work again = *work;
        again.is_repeated = true;
        error = fake_queue(stream, again);
    }
    return (cudaError_t)error;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph)
{
    struct CUgraphExec_st **link = &executables;
    fake_check("cudaGraphExecDestroy()");
    if (fake_breaks_capture())
        return cudaErrorStreamCaptureUnsupported;
    while (*link != graph)
        link = &(*link)->next;
    *link = graph->next;
    free_works(graph->first);
    free(graph);
    return cudaSuccess;
}
