/* Deciding which of the jobs that wait are submitted. */
#include "daemon/admission/round.h"

#include <stdlib.h>

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Sorts by workflow. The jobs of one workflow stand in the order in which they were made. */
static int by_workflow(const void *one, const void *other)
{
    const struct round_job *a = one, *b = other;
    int order = compare(a->workflow, b->workflow);
    return order ? order : compare(a->id, b->id);
}

static int by_priority(const void *one, const void *other)
{
    const struct round_job *a = one, *b = other;
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return a->place != b->place ? compare(a->place, b->place) : by_workflow(one, other);
}

/* Gives each run a place behind the earlier runs of its workflow. So runs of different workflows
 * alternate. */
static void put_in_order(struct round_job *jobs, size_t count)
{
    unsigned before = 0;
    qsort(jobs, count, sizeof *jobs, by_workflow);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || jobs[i].workflow != jobs[i - 1].workflow)
            before = 0;
        else
            before += jobs[i].run != jobs[i - 1].run && !jobs[i - 1].is_candidate;
        jobs[i].place = jobs[i].has + before;
    }
    qsort(jobs, count, sizeof *jobs, by_priority);
}

bool round_limits_job(const struct round_limits *limits, unsigned gpus)
{
    return limits->jobs || limits->running || (limits->gpus && gpus);
}

enum round_wait round_ask(unsigned gpus, bool runs, const struct round_limits *limits,
                          const struct round_limits *used)
{
    if (limits->gpus && gpus > limits->gpus)
        return ROUND_NEVER;
    if (limits->jobs && used->jobs >= limits->jobs)
        return ROUND_JOBS;
    if (limits->running && runs && used->running >= limits->running)
        return ROUND_RUNNING;
    if (limits->gpus && runs && gpus && used->gpus + gpus > limits->gpus)
        return ROUND_GPUS;
    return ROUND_GOES;
}

void round_decide(struct round_job *jobs, size_t count, const struct round_limits *limits,
                  struct round_limits *used, round_permit *may, void *context)
{
    bool is_closed = false; /* a job before waits for room */
    uint64_t newest = 0;    /* the run that was admitted last */
    put_in_order(jobs, count);
    for (size_t i = 0; i < count; i++) {
        struct round_job *job = &jobs[i];
        bool runs = !job->is_candidate && job->run != newest;
        job->wait = round_ask(job->gpus, runs, limits, used);
        if (job->wait == ROUND_NEVER)
            continue; /* it keeps no other job waiting */
        if (job->wait == ROUND_GOES && is_closed && round_limits_job(limits, job->gpus))
            job->wait = ROUND_BEHIND;
        is_closed = is_closed || job->wait != ROUND_GOES;
        if (job->wait != ROUND_GOES || (may && !may(context, job)))
            continue;
        newest = job->run;
        used->jobs++;
        used->running += runs;
        used->gpus += runs ? job->gpus : 0;
    }
}
