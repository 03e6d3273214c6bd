/* Sums over the ranks by NCCL: those of training on a stream beside the kernels, those of
 * generation between the kernels.
 *
 * The two streams wait for each other by events, and the host waits for neither. When sums end, and
 * whenever the host waits for the GPU, it asks NCCL for errors and the ranks' own connections for a
 * rank that is gone. NCCL cannot tell which rank is missing, but the connections of
 * worker/model/ranks.h can. The communicator does not block, and every wait has a deadline. After
 * that the hosts compare which sums their GPUs have reached. Aborting comes last, and in a thread
 * of its own, because it may hang. */
#include "worker/model/cuda/backend.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "worker/model/ranks.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    LEAVE_MS = 5000,  /* how long closing may take */
    NAMING_MS = 1000, /* between an error of NCCL and the end of a connection */
    GRACE_MS = 2000,  /* a rank that is gone may have done its part of a sum before */
    PAUSE_NS = 100000,
    MARKS = 4096, /* the host is at most 4 batches ahead, and a step of 1.5b has 60 sums */
};

struct sums {
    struct ranks *ranks; /* borrowed; zeroed before the backend is closed */
    int timeout_ms;      /* of the ranks */
    ncclComm_t communicator;
    cudaStream_t stream;
    cudaEvent_t ready[MARKS]; /* of sum n at n % MARKS: its values are computed */
    uint64_t queued;          /* sums so far, without those between the kernels */
    cudaEvent_t done;         /* the sums until kernels_sums_end() are made */
    int64_t gone_ms;          /* since when a rank is gone; 0: no rank is gone */
    atomic_bool is_aborted;
};

static const char adding[] = "adding over the ranks";

static int fail(struct kernels *kernels, ncclResult_t result, const char *doing, struct error *err)
{
    return error_set(err, -EIO, "GPU %d: rank %u: %s: %s: %s", kernels->device,
                     kernels->sums->ranks->rank, doing, ncclGetErrorString(result),
                     ncclGetLastError(kernels->sums->communicator));
}

/* NCCL may notice first that a rank is gone, but cannot tell which. Gives the connections a moment
 * to tell. Returns the code of `err`. */
static int name_gone(const struct ranks *ranks, struct error *err)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    int64_t deadline_ms = clock_steady_ms() + NAMING_MS;
    struct error gone;
    while (ranks_look(ranks, &gone) == 0 && clock_steady_ms() < deadline_ms)
        (void)nanosleep(&moment, NULL); /* a shorter pause after a signal is fine */
    if (ranks_look(ranks, &gone) < 0)
        *err = gone;
    return err->code;
}

/* Returns 0 for success, 1 if the communicator is in progress, or a negative errno. */
static int ask(struct kernels *kernels, const char *doing, struct error *err)
{
    ncclResult_t state = ncclSuccess;
    ncclResult_t asked = ncclCommGetAsyncError(kernels->sums->communicator, &state);
    if (asked != ncclSuccess)
        state = asked;
    if (state == ncclSuccess || state == ncclInProgress)
        return state == ncclInProgress;
    (void)fail(kernels, state, doing, err);
    return name_gone(kernels->sums->ranks, err);
}

int64_t sums_patience_ms(const struct kernels *kernels)
{
    return kernels->sums ? kernels->sums->timeout_ms : BACKEND_WAIT_MS;
}

/* Returns the number, from 1, of the first sum that the GPU has not reached; 0: no sum is queued.
 */
static uint64_t next_sum(struct sums *sums)
{
    uint64_t next = sums->queued > MARKS ? sums->queued - MARKS : 0;
    while (next < sums->queued && cudaEventQuery(sums->ready[next % MARKS]) == cudaSuccess)
        next++;
    (void)cudaGetLastError(); /* "not ready" must not look like an error of the next call */
    return sums->queued > 0 ? next + 1 : 0;
}

int sums_say_late(struct kernels *kernels, struct error *err)
{
    struct sums *sums = kernels->sums;
    (void)error_set(err, -ETIMEDOUT, "GPU %d: computing: not done in time", kernels->device);
    return sums ? ranks_compare(sums->ranks, next_sum(sums), err) : err->code;
}

int sums_look(struct kernels *kernels, struct error *err)
{
    struct sums *sums = kernels->sums;
    struct error gone;
    if (!sums)
        return 0;
    int looked = ranks_look(sums->ranks, &gone);
    if (looked == RANKS_LATE)
        return sums_say_late(kernels, err);
    if (looked < 0) {
        if (!sums->gone_ms)
            sums->gone_ms = clock_steady_ms();
        if (clock_steady_ms() - sums->gone_ms > GRACE_MS) {
            *err = gone;
            return gone.code;
        }
    }
    int status = sums->communicator ? ask(kernels, adding, err) : 0;
    return status < 0 ? status : 0;
}

static bool is_under_way(ncclResult_t result)
{
    return result == ncclSuccess || result == ncclInProgress;
}

/* Waits until the communicator is not in progress. For each group of calls NCCL starts a thread
 * that launches them, which takes tens of microseconds. */
static int settle(struct kernels *kernels, int64_t deadline_ms, const char *doing,
                  struct error *err)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    double began_s = clock_steady_s();
    int status;
    while ((status = ask(kernels, doing, err)) > 0) {
        if (backend_asks_again(began_s))
            continue;
        int looked = sums_look(kernels, err);
        if (looked < 0)
            return looked;
        if (clock_steady_ms() >= deadline_ms)
            return error_set(err, -ETIMEDOUT, "GPU %d: rank %u: %s: not done in time",
                             kernels->device, kernels->sums->ranks->rank, doing);
        (void)nanosleep(&moment, NULL); /* a shorter pause after a signal is fine */
    }
    return status;
}

/* Gives all ranks the id of rank 0. Each byte is a float, and only rank 0 has numbers above 0. */
static int share_id(struct ranks *ranks, ncclUniqueId *id, struct error *err)
{
    float bytes[sizeof id->internal];
    for (size_t i = 0; i < sizeof id->internal; i++)
        bytes[i] = ranks->rank == 0 ? (float)(unsigned char)id->internal[i] : 0;
    int status = ranks_sum(ranks, bytes, sizeof id->internal, err);
    for (size_t i = 0; status == 0 && i < sizeof id->internal; i++)
        id->internal[i] = (char)(unsigned char)bytes[i];
    return status;
}

static int meet(struct kernels *kernels, struct error *err)
{
    struct sums *sums = kernels->sums;
    struct ranks *ranks = sums->ranks;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id = {{0}};
    config.blocking = 0;
    ncclResult_t result = ranks->rank == 0 ? ncclGetUniqueId(&id) : ncclSuccess;
    if (result != ncclSuccess)
        return fail(kernels, result, "founding a group", err);
    int shared = share_id(ranks, &id, err);
    if (shared < 0)
        return shared;
    result = ncclGroupStart();
    if (result == ncclSuccess)
        result = ncclCommInitRankConfig(&sums->communicator, (int)ranks->size, id, (int)ranks->rank,
                                        &config);
    if (is_under_way(result))
        result = ncclGroupEnd();
    if (!is_under_way(result))
        return fail(kernels, result, "joining a group", err);
    return settle(kernels, clock_steady_ms() + ranks->timeout_ms, "joining a group", err);
}

int kernels_join(struct kernels *kernels, struct ranks *ranks, struct error *err)
{
    const char *alone = getenv("PHASED_MODEL_NCCL");
    if (ranks->size == 1 && !(alone && *alone))
        return 0;
    int lowest = 0, highest = 0;
    struct sums *sums = xcalloc(1, sizeof *sums);
    sums->ranks = ranks;
    sums->timeout_ms = ranks->timeout_ms;
    kernels->sums = sums;
    /* Blocks of a sum must not wait until all blocks of a large product have begun. */
    if (!backend_check(kernels, cudaDeviceGetStreamPriorityRange(&lowest, &highest),
                       "making a stream") ||
        !backend_check(kernels,
                       cudaStreamCreateWithPriority(&sums->stream, cudaStreamNonBlocking, highest),
                       "making a stream") ||
        !backend_check(kernels, cudaEventCreateWithFlags(&sums->done, cudaEventDisableTiming),
                       "making an event"))
        return backend_failure(kernels, err);
    for (size_t i = 0; i < MARKS; i++)
        if (!backend_check(kernels,
                           cudaEventCreateWithFlags(&sums->ready[i], cudaEventDisableTiming),
                           "making an event"))
            return backend_failure(kernels, err);
    int status = meet(kernels, err);
    if (status < 0)
        backend_fail(kernels, err);
    return status;
}

/* Opens a group of calls, which begin after the kernels that were queued before. Returns false if
 * there is nothing to do. */
static bool begin(struct kernels *kernels, ncclResult_t *ret_result)
{
    struct sums *sums = kernels->sums;
    if (!sums || kernels->is_failed)
        return false;
    cudaEvent_t ready = sums->ready[sums->queued++ % MARKS];
    if (!backend_check(kernels, cudaEventRecord(ready, kernels->stream), "marking") ||
        !backend_check(kernels, cudaStreamWaitEvent(sums->stream, ready, 0), "marking"))
        return false;
    *ret_result = ncclGroupStart();
    return true;
}

/* Closes the group. `result` is that of its calls. */
static void end(struct kernels *kernels, ncclResult_t result, const char *doing)
{
    struct error err;
    if (is_under_way(result))
        result = ncclGroupEnd();
    int settled = is_under_way(result)
                      ? settle(kernels, clock_steady_ms() + kernels->sums->timeout_ms, doing, &err)
                      : fail(kernels, result, doing, &err);
    if (settled < 0)
        backend_fail(kernels, &err);
}

/* `result` is that of begin(). */
static void all_reduce(struct kernels *kernels, float *values, size_t count, cudaStream_t stream,
                       ncclResult_t result)
{
    if (is_under_way(result))
        result = ncclAllReduce(values, values, count, ncclFloat, ncclSum,
                               kernels->sums->communicator, stream);
    end(kernels, result, adding);
}

void kernels_sum(struct kernels *kernels, float *values, size_t count)
{
    ncclResult_t result;
    if (begin(kernels, &result))
        all_reduce(kernels, values, count, kernels->sums->stream, result);
}

void sums_add_up(struct kernels *kernels, float *values, size_t count)
{
    if (!kernels->is_failed)
        all_reduce(kernels, values, count, kernels->stream, ncclGroupStart());
}

/* Returns the size of a part if all ranks have equal parts, or 0. NCCL's ReduceScatter and
 * AllGather want equal parts. A group of one call for each part is slower, but takes parts of any
 * size. */
static size_t equal_part(const struct ranks *ranks, size_t count)
{
    size_t first = ranks_part(0, ranks->size, count).count;
    return ranks_part(ranks->size - 1, ranks->size, count).count == first ? first : 0;
}

void kernels_sum_parts(struct kernels *kernels, float *values, size_t count)
{
    struct sums *sums = kernels->sums;
    ncclResult_t result;
    if (!begin(kernels, &result))
        return;
    size_t each = equal_part(sums->ranks, count);
    if (each > 0 && is_under_way(result))
        result = ncclReduceScatter(values, values + sums->ranks->rank * each, each, ncclFloat,
                                   ncclSum, sums->communicator, sums->stream);
    for (unsigned rank = 0; each == 0 && rank < sums->ranks->size && is_under_way(result); rank++) {
        struct ranks_part part = ranks_part(rank, sums->ranks->size, count);
        if (part.count > 0)
            result = ncclReduce(values + part.first, values + part.first, part.count, ncclFloat,
                                ncclSum, (int)rank, sums->communicator, sums->stream);
    }
    end(kernels, result, adding);
}

/* Adds the gathering of a run to the group of calls. */
static ncclResult_t gather(const struct sums *sums, const struct kernel_run *run)
{
    unsigned size = sums->ranks->size;
    kernel_number *numbers = run->numbers;
    size_t each = equal_part(sums->ranks, run->count);
    ncclResult_t result = ncclSuccess;
    if (each > 0)
        return ncclAllGather(numbers + sums->ranks->rank * each, numbers, each, ncclBfloat16,
                             sums->communicator, sums->stream);
    for (unsigned rank = 0; rank < size && is_under_way(result); rank++) {
        struct ranks_part part = ranks_part(rank, size, run->count);
        if (part.count > 0)
            result = ncclBroadcast(numbers + part.first, numbers + part.first, part.count,
                                   ncclBfloat16, (int)rank, sums->communicator, sums->stream);
    }
    return result;
}

/* One group of calls is one launch, for which the host waits. */
void kernels_gather(struct kernels *kernels, const struct kernel_run *runs, size_t run_count)
{
    ncclResult_t result;
    kernels->changes++;
    if (!begin(kernels, &result))
        return;
    for (size_t i = 0; i < run_count && is_under_way(result); i++)
        result = gather(kernels->sums, &runs[i]);
    end(kernels, result, "gathering the weights of the ranks");
}

/* AllGather gives the numbers to all ranks. Rank 0 receives no more than with a call for each rank,
 * and the ranks need no other connections than for sums. */
void kernels_collect(struct kernels *kernels, kernel_number *numbers, size_t count)
{
    struct sums *sums = kernels->sums;
    if (!sums || kernels->is_failed)
        return;
    ncclResult_t result = ncclGroupStart();
    if (is_under_way(result))
        result = ncclAllGather(numbers + sums->ranks->rank * count, numbers, count, ncclBfloat16,
                               sums->communicator, kernels->stream);
    end(kernels, result, "gathering the logits of the ranks");
}

int kernels_sums_end(struct kernels *kernels, struct error *err)
{
    struct sums *sums = kernels->sums;
    struct error found;
    if (sums && !kernels->is_failed &&
        backend_check(kernels, cudaEventRecord(sums->done, sums->stream), "marking") &&
        backend_check(kernels, cudaStreamWaitEvent(kernels->stream, sums->done, 0), "marking") &&
        sums_look(kernels, &found) < 0)
        backend_fail(kernels, &found);
    return backend_failure(kernels, err);
}

static void *abort_communicator(void *context)
{
    struct sums *sums = context;
    (void)ncclCommAbort(sums->communicator); /* the first failure is reported already */
    atomic_store(&sums->is_aborted, true);
    return NULL;
}

void sums_abort(struct kernels *kernels)
{
    const struct timespec moment = {.tv_nsec = PAUSE_NS};
    struct sums *sums = kernels->sums;
    int64_t deadline_ms = clock_steady_ms() + LEAVE_MS;
    pthread_t thread;
    if (!sums || !sums->communicator ||
        pthread_create(&thread, NULL, abort_communicator, sums) != 0)
        return;
    (void)pthread_detach(thread); /* it ends with the process, if abort hangs */
    while (!atomic_load(&sums->is_aborted) && clock_steady_ms() < deadline_ms)
        (void)nanosleep(&moment, NULL);
}

void sums_close(struct kernels *kernels)
{
    struct sums *sums = kernels->sums;
    struct error err;
    if (!sums)
        return;
    if (sums->communicator) {
        static const char leaving[] = "leaving a group";
        ncclResult_t result = ncclCommFinalize(sums->communicator);
        int settled = is_under_way(result)
                          ? settle(kernels, clock_steady_ms() + LEAVE_MS, leaving, &err)
                          : fail(kernels, result, leaving, &err);
        if (settled < 0) {
            backend_fail(kernels, &err);
            return;
        }
        (void)ncclCommDestroy(sums->communicator); /* nothing depends on it any more */
    }
    for (size_t i = 0; i < MARKS && sums->ready[i]; i++)
        (void)cudaEventDestroy(sums->ready[i]);
    if (sums->done)
        (void)cudaEventDestroy(sums->done);
    if (sums->stream)
        (void)cudaStreamDestroy(sums->stream);
    free(sums);
    kernels->sums = NULL;
}
