/* Reductions and broadcasts for tests, also between processes. The members of a group share a
 * mapped file, whose name is the unique id. Communicators do not block, and refuse to be used while
 * in progress. FAKE_CUDA lists the faults:
 *
 *   alone    no other member ever joins
 *   sum=3    device 3 gets one sum wrong
 *   fault=3  the communicator of device 3 has an error after its first use
 *   remote   that error is of another member
 *   system   that error is of the system
 *   busy     what is asked for never reaches the devices
 *   leaving  no other member comes to leave
 *   stuck    aborting hangs, and so does any call of CUDA after that
 *   mute=3   device 3 never gives its part of a sum
 *   groups   tells at the end how many groups of calls there were */
#include "tests/fake/cuda.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MEMBERS_MAX = 32, SLOT = 1 << 20, STUCK_LEAPS = 20 };

struct shared {
    atomic_uint joined;
    /* Counts of reductions: of each member, of all members together, and of those that are summed
     * up. */
    atomic_ullong given[MEMBERS_MAX], taken[MEMBERS_MAX], given_by_all, summed;
    float slots[MEMBERS_MAX][SLOT / sizeof(float)];
    float sums[SLOT / sizeof(float)];
};

struct ncclComm {
    struct shared *shared;
    int device, size, place;
    unsigned long long queued;
    unsigned asked; /* since it is in progress */
    unsigned group; /* in which it became busy */
    bool is_joining, is_busy, is_leaving;
    atomic_bool is_aborted;
    struct ncclComm *next; /* of those that were aborted */
};

static int depth;
static unsigned group;

__attribute__((destructor)) static void tell_groups(void)
{
    if (fake_said("groups") >= 0)
        fprintf(stderr, "groups: %u\n", group);
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclRemoteError ? "remote error" : "an error of the fake";
}

const char *ncclGetLastError(ncclComm_t communicator)
{
    (void)communicator;
    return "and its reason";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    const char *folder = getenv("TMPDIR");
    memset(id, 0, sizeof *id);
    (void)snprintf(id->internal, sizeof id->internal, "%s/nccl-XXXXXX", folder ? folder : "/tmp");
    int file = mkstemp(id->internal);
    if (file < 0 || ftruncate(file, sizeof(struct shared)) < 0)
        return ncclSystemError;
    close(file);
    return ncclSuccess;
}

/* The declarations of the header are not prototypes. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

ncclResult_t ncclGroupStart(void)
{
    group += depth++ == 0;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    return depth-- > 0 ? ncclInProgress : ncclInvalidUsage;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *communicator, int size, ncclUniqueId id, int place,
                                    ncclConfig_t *config)
{
    int file = open(id.internal, O_RDWR | O_CLOEXEC);
    void *shared = MAP_FAILED;
    while (getenv("NCCL_COMM_BLOCKING")) /* the environment overrides the program */
        (void)pause();                   /* until it is killed */
    if (place == 0)
        fake_start();
    if (config->blocking != 0 || !depth || size > MEMBERS_MAX || place >= size)
        return ncclInvalidArgument;
    if (file >= 0)
        shared = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED)
        return ncclSystemError;
    close(file);
    *communicator = calloc(1, sizeof **communicator);
    if (!*communicator)
        abort();
    **communicator = (struct ncclComm){.shared = shared,
                                       .device = fake_device(),
                                       .size = size,
                                       .place = place,
                                       .is_joining = true};
    if (atomic_fetch_add(&(*communicator)->shared->joined, 1) + 1 == (unsigned)size)
        (void)unlink(id.internal); /* all members have it open */
    return ncclInProgress;
}

static bool is_in_progress(struct ncclComm *communicator)
{
    return communicator->is_joining || communicator->is_busy || communicator->is_leaving;
}

/* Whether the communicator stays in progress forever. */
static bool is_stuck(const struct ncclComm *communicator)
{
    return (communicator->is_joining && fake_said("alone") >= 0) ||
           (communicator->is_busy && fake_said("busy") >= 0) ||
           (communicator->is_leaving && fake_said("leaving") >= 0);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t *state)
{
    *state = ncclSuccess;
    if (communicator->queued && communicator->device == fake_said("fault")) {
        *state = fake_said("remote") >= 0   ? ncclRemoteError
                 : fake_said("system") >= 0 ? ncclSystemError
                                            : ncclUnhandledCudaError;
    } else if (is_stuck(communicator)) {
        fake_leap();
        *state = ncclInProgress;
    } else if ((communicator->is_joining &&
                atomic_load(&communicator->shared->joined) < (unsigned)communicator->size) ||
               (is_in_progress(communicator) && communicator->asked++ < 2)) {
        *state = ncclInProgress;
    } else {
        communicator->is_joining = communicator->is_busy = communicator->is_leaving = false;
    }
    return ncclSuccess;
}

/* Makes the result of what all members gave: `size` bytes in each slot. */
typedef void combine(struct shared *shared, int members, size_t size);

static void sum_up(struct shared *shared, int members, size_t size)
{
    memcpy(shared->sums, shared->slots[0], size);
    for (int member = 1; member < members; member++)
        for (size_t i = 0; i < size / sizeof(float); i++)
            shared->sums[i] += shared->slots[member][i];
}

/* One member gave bytes, and the others gave zeros. */
static void unite(struct shared *shared, int members, size_t size)
{
    unsigned char *united = (unsigned char *)shared->sums;
    memset(united, 0, size);
    for (int member = 0; member < members; member++)
        for (size_t i = 0; i < size; i++)
            united[i] |= ((const unsigned char *)shared->slots[member])[i];
}

/* Gives the values, waits for all members, and takes the result. The last member to give has made
 * the result. A member without values gives zeros, and a member without a place takes nothing. */
static bool act(struct fake_work *work, combine *make)
{
    struct ncclComm *communicator = work->other;
    struct shared *shared = communicator->shared;
    unsigned long long turn = work->number, size = (unsigned long long)communicator->size;
    if (atomic_load(&communicator->is_aborted))
        return true;
    if (communicator->device == fake_said("mute"))
        return false;
    if (atomic_load(&shared->given[communicator->place]) == turn) {
        for (int i = 0; i < communicator->size; i++)
            if (atomic_load(&shared->taken[i]) < turn)
                return false; /* another member still reads the last values */
        if (work->from)
            memcpy(shared->slots[communicator->place], work->from, work->size);
        else
            memset(shared->slots[communicator->place], 0, work->size);
        atomic_store(&shared->given[communicator->place], turn + 1);
        if (atomic_fetch_add(&shared->given_by_all, 1) + 1 == (turn + 1) * size) {
            make(shared, communicator->size, work->size);
            atomic_store(&shared->summed, turn + 1);
        }
    }
    if (atomic_load(&shared->summed) < turn + 1)
        return false;
    if (work->to)
        memcpy(work->to, shared->sums, work->size);
    atomic_store(&shared->taken[communicator->place], turn + 1);
    return true;
}

static bool act_reduce(struct fake_work *work)
{
    struct ncclComm *communicator = work->other;
    if (!act(work, sum_up))
        return false;
    if (work->to && !atomic_load(&communicator->is_aborted) &&
        communicator->device == fake_said("sum"))
        ((float *)work->to)[work->size / sizeof(float) / 2] += 1;
    return true;
}

static bool act_broadcast(struct fake_work *work)
{
    return act(work, unite);
}

/* All members must begin their sums in the same order. */
static void take_turn(struct fake_work *work)
{
    struct ncclComm *communicator = work->other;
    work->number = communicator->queued++;
}

/* Several calls of one group may use a communicator, but no call may while it is in progress. */
static ncclResult_t ask(ncclComm_t communicator, cudaStream_t stream, struct fake_work work)
{
    bool is_in_group = communicator->is_busy && communicator->group == group && depth;
    if ((is_in_progress(communicator) && !is_in_group) || !depth || work.size > SLOT ||
        fake_device() != communicator->device)
        return ncclInvalidUsage;
    if (cudaGetLastError() != cudaSuccess) /* NCCL also takes over older errors */
        return ncclUnhandledCudaError;
    communicator->is_busy = true;
    communicator->group = group;
    communicator->asked = 0;
    work.ns = (double)work.size / FAKE_REDUCE_RATE;
    work.other = communicator;
    work.begin = take_turn;
    return fake_queue(stream, work) ? ncclUnhandledCudaError : ncclInProgress;
}

ncclResult_t ncclAllReduce(const void *given, void *reduced, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream)
{
    if (type != ncclFloat || operation != ncclSum)
        return ncclInvalidUsage;
    return ask(communicator, stream,
               (struct fake_work){
                   .act = act_reduce, .from = given, .to = reduced, .size = count * sizeof(float)});
}

ncclResult_t ncclReduce(const void *given, void *reduced, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t communicator,
                        cudaStream_t stream)
{
    if (type != ncclFloat || operation != ncclSum)
        return ncclInvalidUsage;
    return ask(communicator, stream,
               (struct fake_work){.act = act_reduce,
                                  .from = given,
                                  .to = communicator->place == root ? reduced : NULL,
                                  .size = count * sizeof(float)});
}

ncclResult_t ncclBroadcast(const void *given, void *received, size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream)
{
    if (type != ncclBfloat16)
        return ncclInvalidUsage;
    return ask(communicator, stream,
               (struct fake_work){.act = act_broadcast,
                                  .from = communicator->place == root ? given : NULL,
                                  .to = received,
                                  .size = count * sizeof(uint16_t)});
}

/* The parts one after the other, each in place or not. */
ncclResult_t ncclReduceScatter(const void *given, void *reduced, size_t part_count,
                               ncclDataType_t type, ncclRedOp_t operation, ncclComm_t communicator,
                               cudaStream_t stream)
{
    ncclResult_t result = ncclInProgress;
    for (int root = 0; root < communicator->size && result == ncclInProgress; root++)
        result = ncclReduce((const float *)given + (size_t)root * part_count, reduced, part_count,
                            type, operation, root, communicator, stream);
    return result;
}

ncclResult_t ncclAllGather(const void *given, void *gathered, size_t part_count,
                           ncclDataType_t type, ncclComm_t communicator, cudaStream_t stream)
{
    ncclResult_t result = ncclInProgress;
    for (int root = 0; root < communicator->size && result == ncclInProgress; root++)
        result = ncclBroadcast(given, (uint16_t *)gathered + (size_t)root * part_count, part_count,
                               type, root, communicator, stream);
    return result;
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator)
{
    if (is_in_progress(communicator))
        return ncclInvalidUsage;
    communicator->is_leaving = true;
    communicator->asked = 0;
    return ncclInProgress;
}

static ncclResult_t leave(ncclComm_t communicator)
{
    (void)munmap(communicator->shared, sizeof(struct shared));
    free(communicator);
    return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator)
{
    return is_in_progress(communicator) ? ncclInvalidUsage : leave(communicator);
}

ncclResult_t ncclCommAbort(ncclComm_t communicator)
{
    if (fake_said("stuck") >= 0)
        fake_lock();
    for (int i = 0; fake_said("stuck") >= 0; i++) {
        if (i < STUCK_LEAPS)
            fake_leap(); /* the program need not wait for that */
        else
            (void)pause(); /* until it is killed */
    }
    static ncclComm_t aborted; /* queued work still has them */
    communicator->next = aborted;
    aborted = communicator;
    atomic_store(&communicator->is_aborted, true);
    return ncclSuccess;
}
