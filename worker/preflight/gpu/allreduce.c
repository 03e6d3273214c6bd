/* NCCL's all-reduce in the groups of a run, one round of groups after the other.
 *
 * Communicators do not block: a call may say that it is in progress, and is then polled until it is
 * done or the deadline has passed. Aborting the communicators may hang, too. So this is the last
 * action: all output has been written, and the parent process kills this process.
 *
 * Each rank sends the stream of its place in the group, so each rank knows the correct result. */
#include "worker/preflight/gpu/bench.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/preflight/gpu/kernels.h"
#include "worker/preflight/gpu/meeting.h"
#include "worker/preflight/reference.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { ROUNDS = 20, WARM_ROUNDS = 5, SEED = 900 };

/* The part of a GPU of this node in a round. */
struct member {
    void *given, *reduced;
    unsigned group;       /* GROUPS_NONE: the GPU takes no part */
    unsigned size, place; /* size of the group; place of this rank in the group */
    ncclUniqueId id;
    ncclComm_t communicator;
    double seconds;
};

struct reduction {
    struct bench *bench;
    unsigned round;
    size_t words; /* of 8 floats in a buffer */
    struct member members[FACTS_GPUS_MAX];
};

static bool takes_part(const struct member *member)
{
    return member->group != GROUPS_NONE;
}

/* Reports that a group is late. Nobody knows for which member the other members wait. If the group
 * has several nodes, nobody even knows which node is at fault. A late start is not a fault: nobody
 * has measured how long NCCL takes. */
static int tell_late(struct reduction *reduction, unsigned device, const char *doing)
{
    struct bench *bench = reduction->bench;
    unsigned round = reduction->round, group = reduction->members[device].group;
    struct text ranks = {0};
    groups_text_of_one(&bench->groups, round, group, &ranks);
    const char *name = bench->groups.rounds[round].name, *list = text_string(&ranks);
    if (groups_nodes(&bench->groups, round, group) > 1)
        (void)bench_tell_unknown(bench, BENCH_NO_DEVICE,
                                 "%s %s: %s: not done in time, here or on another node", name, list,
                                 doing);
    else if (!bench->is_ready)
        (void)bench_tell_unknown(bench, BENCH_NO_DEVICE, "%s %s: %s: not done in time", name, list,
                                 doing);
    else
        (void)bench_tell_failed(bench, BENCH_NO_DEVICE, "%s %s: %s: not done in time", name, list,
                                doing);
    text_fini(&ranks);
    return -1;
}

/* Whether another node takes part in the group of `device`; BENCH_NO_DEVICE: in any group. */
static bool has_other_node(const struct reduction *reduction, int device)
{
    const struct groups *groups = &reduction->bench->groups;
    for (unsigned i = 0; i < reduction->bench->device_count; i++)
        if ((device == BENCH_NO_DEVICE || device == (int)i) && takes_part(&reduction->members[i]) &&
            groups_nodes(groups, reduction->round, reduction->members[i].group) > 1)
            return true;
    return false;
}

/* Whether a GPU of this node, or a link between its GPUs, is at fault for an error. */
static bool is_own_fault(const struct reduction *reduction, int device, ncclResult_t result)
{
    switch (result) {
    case ncclUnhandledCudaError:
        return true;
    case ncclSystemError: /* among nodes, a node that has gone away looks the same */
    case ncclInternalError:
        return !has_other_node(reduction, device);
    default: /* another node is at fault, or NCCL is used or set up wrongly */
        return false;
    }
}

/* Reports an error of NCCL in an action on `device`, or on all devices. Returns 0 if there is no
 * error. */
static int check_nccl(struct reduction *reduction, int device, ncclResult_t result,
                      const char *doing)
{
    struct bench *bench = reduction->bench;
    const char *round = bench->groups.rounds[reduction->round].name;
    if (result == ncclSuccess || result == ncclInProgress)
        return 0;
    if (is_own_fault(reduction, device, result))
        return bench_tell_failed(bench, device, "%s: %s: %s: %s", round, doing,
                                 ncclGetErrorString(result), ncclGetLastError(NULL));
    return bench_tell_unknown(bench, device, "%s: %s: %s: %s", round, doing,
                              ncclGetErrorString(result), ncclGetLastError(NULL));
}

/* Polls the communicator of a member. Returns -1, 0, or 1 if it is in progress. */
static int ask_nccl(struct reduction *reduction, unsigned device, const char *doing)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(reduction->members[device].communicator, &state);
    if (check_nccl(reduction, (int)device, asked, doing) < 0 ||
        check_nccl(reduction, (int)device, state, doing) < 0)
        return -1;
    return state == ncclInProgress;
}

/* Waits until no communicator is in progress. */
static int wait_for_nccl(struct reduction *reduction, const char *doing)
{
    for (unsigned i = 0; i < reduction->bench->device_count; i++) {
        int status = takes_part(&reduction->members[i]);
        while (status > 0 && (status = ask_nccl(reduction, i, doing)) > 0)
            if (bench_pause(reduction->bench) < 0)
                return tell_late(reduction, i, doing);
        if (status < 0)
            return -1;
    }
    return 0;
}

/* Waits until all queued work is done. Polls the communicators meanwhile, because the kernel of a
 * communicator with an error goes on. */
static int wait_for_streams(struct reduction *reduction, const char *doing)
{
    struct bench *bench = reduction->bench;
    for (unsigned i = 0; i < bench->device_count; i++) {
        while (takes_part(&reduction->members[i])) {
            if (bench_choose(bench, i) < 0)
                return -1;
            unsigned code = bench_look(bench, i);
            if (code == cudaSuccess)
                break;
            if (code != cudaErrorNotReady)
                return bench_check(bench, i, code, doing);
            if (ask_nccl(reduction, i, doing) < 0)
                return -1;
            if (bench_pause(bench) < 0)
                return tell_late(reduction, i, doing);
        }
    }
    return 0;
}

/* Returns the first member of this node in the same group, which may be the member itself. */
static unsigned first_of_group(const struct reduction *reduction, unsigned device)
{
    unsigned first = 0;
    while (reduction->members[first].group != reduction->members[device].group)
        first++;
    return first;
}

/* Gives all members of a group the same id. The node with the first rank makes it; the other nodes
 * wait for it. */
static int find_id(struct reduction *reduction, unsigned device)
{
    struct bench *bench = reduction->bench;
    struct member *member = &reduction->members[device];
    unsigned first = first_of_group(reduction, device);
    bool is_shared = groups_nodes(&bench->groups, reduction->round, member->group) > 1;
    struct error err;
    if (first != device) {
        member->id = reduction->members[first].id;
        return 0;
    }
    if (member->place > 0) {
        if (meeting_await(bench->rendezvous, reduction->round, member->group, &member->id,
                          sizeof member->id, bench->end_ms, &err) < 0)
            return bench_tell_unknown(bench, (int)device, "%s", err.message);
        return 0;
    }
    if (check_nccl(reduction, (int)device, ncclGetUniqueId(&member->id), "founding a group") < 0)
        return -1;
    if (is_shared && meeting_publish(bench->rendezvous, reduction->round, member->group,
                                     &member->id, sizeof member->id, &err) < 0)
        return bench_tell_unknown(bench, (int)device, "%s", err.message);
    return 0;
}

/* Makes the communicators of a round, all at once: a thread that waited for one group would hold up
 * the others. */
static int open_groups(struct reduction *reduction)
{
    struct bench *bench = reduction->bench;
    const struct groups *groups = &bench->groups;
    bench_start(bench);
    for (unsigned i = 0; i < bench->device_count; i++) {
        struct member *member = &reduction->members[i];
        unsigned rank = bench->node * groups->rank_count_of_node + i;
        member->group = groups->rounds[reduction->round].group[rank];
        member->size =
            takes_part(member) ? groups_size(groups, reduction->round, member->group) : 0;
        if (member->size < 2)
            member->group = GROUPS_NONE; /* a single rank has nothing to reduce */
        if (!takes_part(member))
            continue;
        member->place = groups_place(groups, reduction->round, rank);
        if (find_id(reduction, i) < 0)
            return -1;
    }
    if (check_nccl(reduction, BENCH_NO_DEVICE, ncclGroupStart(), "founding a group") < 0)
        return -1;
    for (unsigned i = 0; i < bench->device_count; i++) {
        struct member *member = &reduction->members[i];
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        if (takes_part(member) &&
            (bench_choose(bench, i) < 0 ||
             check_nccl(reduction, (int)i,
                        ncclCommInitRankConfig(&member->communicator, (int)member->size, member->id,
                                               (int)member->place, &config),
                        "joining a group") < 0))
            return -1;
    }
    if (check_nccl(reduction, BENCH_NO_DEVICE, ncclGroupEnd(), "joining a group") < 0)
        return -1;
    if (wait_for_nccl(reduction, "joining a group") < 0)
        return -1;
    bench_ready(bench);
    return 0;
}

/* Queues one all-reduce in each group. */
static int reduce(struct reduction *reduction)
{
    struct bench *bench = reduction->bench;
    if (check_nccl(reduction, BENCH_NO_DEVICE, ncclGroupStart(), "reducing") < 0)
        return -1;
    for (unsigned i = 0; i < bench->device_count; i++) {
        struct member *member = &reduction->members[i];
        if (takes_part(member) &&
            (bench_choose(bench, i) < 0 ||
             check_nccl(reduction, (int)i,
                        ncclAllReduce(member->given, member->reduced, reduction->words * 8,
                                      ncclFloat, ncclSum, member->communicator,
                                      bench->devices[i].stream),
                        "reducing") < 0))
            return -1;
    }
    if (check_nccl(reduction, BENCH_NO_DEVICE, ncclGroupEnd(), "reducing") < 0)
        return -1;
    return wait_for_nccl(reduction, "reducing");
}

static int for_members(struct reduction *reduction,
                       int (*act)(struct reduction *reduction, unsigned device))
{
    for (unsigned i = 0; i < reduction->bench->device_count; i++)
        if (takes_part(&reduction->members[i]) &&
            (bench_choose(reduction->bench, i) < 0 || act(reduction, i) < 0))
            return -1;
    return 0;
}

static int fill(struct reduction *reduction, unsigned device)
{
    struct bench *bench = reduction->bench;
    struct member *member = &reduction->members[device];
    return bench_check(bench, device,
                       kernels_fill_floats(member->given, reduction->words, SEED + member->place,
                                           bench->devices[device].stream),
                       "filling memory");
}

static int mark_begin(struct reduction *reduction, unsigned device)
{
    return bench_mark_begin(reduction->bench, device);
}

/* Clears the result before the last all-reduce, because the result of the last one is compared. */
static int mark_end(struct reduction *reduction, unsigned device)
{
    struct bench *bench = reduction->bench;
    if (bench_mark_end(bench, device) < 0)
        return -1;
    return bench_check(bench, device,
                       cudaMemsetAsync(reduction->members[device].reduced, 0xff,
                                       reduction->words * 8 * sizeof(float),
                                       bench->devices[device].stream),
                       "clearing memory");
}

static int count(struct reduction *reduction, unsigned device)
{
    struct bench *bench = reduction->bench;
    struct bench_device *own = &bench->devices[device];
    struct member *member = &reduction->members[device];
    if (bench_reset_counter(bench, device) < 0 ||
        bench_check(bench, device,
                    kernels_count_sums(member->reduced, reduction->words, SEED, member->size,
                                       own->counter, own->stream),
                    "comparing sums") < 0)
        return -1;
    return bench_fetch_counter(bench, device);
}

static int take_time(struct reduction *reduction, unsigned device)
{
    struct bench *bench = reduction->bench;
    struct member *member = &reduction->members[device];
    unsigned long long wrong = *bench->devices[device].counter_here;
    if (wrong)
        bench_tell_wrong(bench, reduction->round, member->group,
                         "%llu of %zu sums are wrong on its rank %u", wrong, reduction->words * 8,
                         member->place);
    return bench_seconds(bench, device, &member->seconds);
}

/* A group is as fast as its slowest member. */
static void tell_figures(struct reduction *reduction)
{
    struct bench *bench = reduction->bench;
    for (unsigned i = 0; i < bench->device_count; i++) {
        const struct member *member = &reduction->members[i];
        double slowest = member->seconds;
        if (!takes_part(member) || first_of_group(reduction, i) != i)
            continue;
        for (unsigned j = i; j < bench->device_count; j++)
            if (reduction->members[j].group == member->group &&
                reduction->members[j].seconds > slowest)
                slowest = reduction->members[j].seconds;
        bench_tell_figure(bench, FIGURE_ALLREDUCE, reduction->round, member->group,
                          reference_bus_gbps((double)reduction->words * 8 * sizeof(float) * ROUNDS,
                                             slowest, member->size));
    }
}

static int measure(struct reduction *reduction)
{
    if (for_members(reduction, fill) < 0)
        return -1;
    for (int i = 0; i < WARM_ROUNDS; i++)
        if (reduce(reduction) < 0)
            return -1;
    /* Runs once without measuring, so that the code is on the GPU. Loading code may wait until the
     * GPU is idle, which must not happen while an all-reduce waits for others.
     *
     * All members begin when all have done this. Otherwise the time of a late member would count
     * for the others. */
    if (for_members(reduction, count) < 0 ||
        wait_for_streams(reduction, "reducing for the first time") < 0 ||
        for_members(reduction, mark_begin) < 0)
        return -1;
    for (int i = 0; i < ROUNDS; i++)
        if (reduce(reduction) < 0)
            return -1;
    if (for_members(reduction, mark_end) < 0 || reduce(reduction) < 0 ||
        for_members(reduction, count) < 0 || wait_for_streams(reduction, "reducing") < 0 ||
        for_members(reduction, take_time) < 0)
        return -1;
    tell_figures(reduction);
    return 0;
}

static int finalize(struct reduction *reduction, unsigned device)
{
    return check_nccl(reduction, (int)device,
                      ncclCommFinalize(reduction->members[device].communicator), "leaving a group");
}

static int destroy(struct reduction *reduction, unsigned device)
{
    ncclComm_t communicator = reduction->members[device].communicator;
    reduction->members[device].communicator = NULL;
    return check_nccl(reduction, (int)device, ncclCommDestroy(communicator), "leaving a group");
}

/* The one reduction of this process. It is global because its last step takes no argument. */
static struct reduction the_reduction;

static void abort_groups(void)
{
    for (unsigned i = 0; i < FACTS_GPUS_MAX; i++)
        if (the_reduction.members[i].communicator)
            (void)ncclCommAbort(the_reduction.members[i].communicator); /* failures were reported */
}

static int allocate(struct reduction *reduction)
{
    struct bench *bench = reduction->bench;
    size_t bytes = (size_t)bench->size << 20;
    reduction->words = bytes / (8 * sizeof(float));
    for (unsigned i = 0; i < bench->device_count; i++)
        if (bench_choose(bench, i) < 0 ||
            bench_allocate(bench, i, bytes, &reduction->members[i].given) < 0 ||
            bench_allocate(bench, i, bytes, &reduction->members[i].reduced) < 0)
            return -1;
    return 0;
}

int allreduce_measure(struct bench *bench)
{
    struct reduction *reduction = &the_reduction;
    reduction->bench = bench;
    if (allocate(reduction) < 0)
        return -1;
    bench->last_step = abort_groups;
    for (reduction->round = 0; reduction->round < bench->groups.round_count; reduction->round++) {
        if (open_groups(reduction) < 0 || measure(reduction) < 0 ||
            for_members(reduction, finalize) < 0 ||
            wait_for_nccl(reduction, "leaving a group") < 0 || for_members(reduction, destroy) < 0)
            return -1;
    }
    return 0;
}
