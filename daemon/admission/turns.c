/* Deciding whose turn it is. */
#include "daemon/admission/turns.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Sorts by workflow. The jobs of one workflow stand in the order in which they were made. */
static int by_workflow(const void *one, const void *other)
{
    const struct turn *a = one, *b = other;
    int order = compare(a->workflow, b->workflow);
    return order ? order : compare(a->job, b->job);
}

static int by_turn(const void *one, const void *other)
{
    const struct turn *a = one, *b = other;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return a->place != b->place ? compare(a->place, b->place) : by_workflow(one, other);
}

/* Gives each run a place behind the earlier runs of its workflow. So runs of different workflows
 * take turns. */
static void put_in_order(struct turn *turns, size_t count)
{
    unsigned before = 0;
    qsort(turns, count, sizeof *turns, by_workflow);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || turns[i].workflow != turns[i - 1].workflow)
            before = 0;
        else
            before += turns[i].run != turns[i - 1].run && !turns[i - 1].is_candidate;
        turns[i].place = turns[i].has + before;
    }
    qsort(turns, count, sizeof *turns, by_turn);
}

static bool is_bounded(const struct turn *turn, const struct turn_limits *limits)
{
    return limits->jobs || limits->running || (limits->gpus && turn->gpus);
}

/* `runs`: whether the job adds one more job that may run. */
static enum turn_wait wait_for_room(unsigned gpus, bool runs, const struct turn_limits *limits,
                                    const struct turn_limits *used)
{
    if (limits->gpus && gpus > limits->gpus)
        return TURN_NEVER;
    if (limits->jobs && used->jobs >= limits->jobs)
        return TURN_JOBS;
    if (limits->running && runs && used->running >= limits->running)
        return TURN_RUNNING;
    if (limits->gpus && runs && gpus && used->gpus + gpus > limits->gpus)
        return TURN_GPUS;
    return TURN_GOES;
}

enum turn_wait turns_ask(unsigned gpus, const struct turn_limits *limits,
                         const struct turn_limits *used)
{
    return wait_for_room(gpus, true, limits, used);
}

void turns_decide(struct turn *turns, size_t count, const struct turn_limits *limits,
                  struct turn_limits *used, turn_may *may, void *context)
{
    bool is_closed = false; /* a job before waits for room */
    uint64_t newest = 0;    /* the run that was admitted last */
    put_in_order(turns, count);
    for (size_t i = 0; i < count; i++) {
        struct turn *turn = &turns[i];
        bool runs = !turn->is_candidate && turn->run != newest;
        turn->wait = wait_for_room(turn->gpus, runs, limits, used);
        if (turn->wait == TURN_NEVER)
            continue; /* it keeps no other job waiting */
        if (turn->wait == TURN_GOES && is_closed && is_bounded(turn, limits))
            turn->wait = TURN_BEHIND;
        is_closed = is_closed || turn->wait != TURN_GOES;
        if (turn->wait != TURN_GOES || (may && !may(context, turn)))
            continue;
        newest = turn->run;
        used->jobs++;
        used->running += runs;
        used->gpus += runs ? turn->gpus : 0;
    }
}
