/* Lets the kernels of worker/model/cuda be compiled as C++ for a processor: a launch runs the teams
 * one after the other (tests/fake/teams.c). This shows what a kernel computes, but not the races
 * between the teams of a GPU. It is included before the text of a file. */
#ifndef PHASED_TESTS_FAKE_TEAMS_CUH
#define PHASED_TESTS_FAKE_TEAMS_CUH

#define __device__

extern "C" {
#include "tests/fake/teams.h"

/* Queues one kernel: calls `run` with `body` once, or never, or in each launch of a graph. Takes
 * `body`, which is freed then. Returns CUDA's error. */
unsigned serial_queue(struct CUstream_st *stream, const char *kernel, void (*run)(void *body),
                      void *body);
}

#include <new>
#include <stdlib.h>

template <typename Body> struct queued {
    size_t count;
    unsigned size;
    Body body;
};

template <typename Body> static void run_body(const struct team *team, void *context)
{
    (*(Body *)context)(team);
}

template <typename Body> static void run_queued(void *body)
{
    queued<Body> *own = (queued<Body> *)body;
    teams_run(own->count, own->size, run_body<Body>, &own->body);
}

/* The arguments are copied, as in a launch. */
template <typename Body>
static unsigned teams_launch(struct CUstream_st *stream, size_t count, unsigned size, Body body)
{
    void *kept = malloc(sizeof(queued<Body>));
    if (!kept)
        abort();
    return serial_queue(stream, "teams", run_queued<Body>,
                        new (kept) queued<Body>{count, size, body});
}

/* Fewer threads than a GPU has: a coroutine costs more. */
#define LAUNCH_WARPS(stream, blocks, body) teams_launch((stream), (blocks), 4, (body))
#define LAUNCH_BLOCKS(stream, blocks, size, body)                                                  \
    teams_launch((stream), (blocks), (size) < 64 ? (size) : 64, (body))

#endif
