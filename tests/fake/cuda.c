/* The CUDA runtime for tests: eight devices, or as many as CUDA_VISIBLE_DEVICES names, with memory
 * of the host. Streams do their work when they are asked (tests/fake/cuda.h). FAKE_CUDA lists the
 * faults, separated by commas:
 *
 *   driver   there is no driver, or with a number, such as 12040, an old driver
 *   count=7  there are seven devices
 *   lost=3   device 3 cannot be chosen
 *   room=3   device 3 has no MiB of memory
 *   pinned=9 there are 9 MiB of pinned memory
 *   hang=3   the work of device 3 never ends
 *   after=9  that happens after 9 pieces of work
 *   error=3  the work of device 3 fails
 *   slow=3   the work of device 3 takes ten times as long
 *   flip=3   a copy by device 3 flips a bit
 *   skip=3   the kernel `copy` of device 3 does nothing from the second time on
 *   lazy=3   no kernel of device 3 works, except those that fill
 *   old=3    device 3 is of an old architecture
 *   far=3    other devices reach device 3 only through the host
 *   waits, memory, allocations   tell at the end how often the program waited, how many bytes of
 *            memory it had at most, and how often it asked for memory, also for pinned memory */
#include "tests/fake/cuda.h"
#include "tests/fake/script.h"

#include <cuda_runtime_api.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARBITRARY = 2 << 20 }; /* bytes of new memory with arbitrary content */

struct CUevent_st {
    struct CUevent_st *next; /* all that were made */
    double ns;
    bool is_marked;
    unsigned recorded, marked; /* how often */
};

struct pinned {
    const char *memory;
    size_t size;
};

static struct pinned pinned[256];
static size_t pinned_count;
static int current;
static cudaError_t last_error;
static struct CUstream_st *streams[64];
static unsigned waits, allocations;
static const void *not_ready;                /* what the last question was about */
static atomic_bool is_locked;                /* by an abort of NCCL that hangs */
static int done_count;                       /* pieces of work */
static size_t stream_count, used, used_most; /* bytes of memory of the devices */

int fake_said(const char *word)
{
    return script_said(getenv("FAKE_CUDA"), word);
}

void fake_lock(void)
{
    atomic_store(&is_locked, true);
}

void fake_check(const char *call)
{
    if (!atomic_load(&is_locked))
        return;
    fprintf(stderr, "fake CUDA: %s would hang\n", call);
    abort();
}

__attribute__((destructor)) static void tell_waits(void)
{
    fake_check("the end of the process");
    if (fake_said("waits") >= 0)
        fprintf(stderr, "waits: %u\n", waits);
    if (fake_said("allocations") >= 0)
        fprintf(stderr, "allocations: %u\n", allocations);
    if (fake_said("memory") >= 0)
        fprintf(stderr, "memory: %zu\n", used_most);
}

int fake_device(void)
{
    return current;
}

void *fake_allocate(size_t size)
{
    void *memory = aligned_alloc(256, (size + 255) / 256 * 256);
    if (!memory)
        abort();
    /* New memory has arbitrary content. Nearly all of what is larger is never touched. */
    memset(memory, 0x5a, size < ARBITRARY ? size : ARBITRARY);
    return memory;
}

void fake_append(struct fake_work **first, struct fake_work **last, struct fake_work *work)
{
    work->next = NULL;
    *(*last ? &(*last)->next : first) = work;
    *last = work;
}

unsigned fake_queue(struct CUstream_st *stream, struct fake_work work)
{
    fake_check("queueing");
    if (!stream || stream->device != current)
        return cudaErrorInvalidResourceHandle;
    struct fake_work *kept = fake_allocate(sizeof *kept);
    *kept = work;
    kept->stream = stream;
    if (stream->captured) {
        fake_append(&stream->captured->first, &stream->captured->last, kept);
        return cudaSuccess;
    }
    if (kept->begin)
        kept->begin(kept);
    fake_append(&stream->first, &stream->last, kept);
    return cudaSuccess;
}

/* Whether a device hangs. */
static bool hangs(int device)
{
    return device == fake_said("hang") && done_count >= fake_said("after");
}

/* Does the possible work. Returns whether there was any. */
static bool work(struct CUstream_st *stream)
{
    bool is_any = false;
    while (stream->first && !hangs(stream->device) && stream->first->act(stream->first)) {
        struct fake_work *done = stream->first;
        done_count++;
        stream->first = done->next;
        stream->ns += done->ns * (stream->device == fake_said("slow") ? FAKE_SLOWNESS : 1);
        if (!stream->first)
            stream->last = NULL;
        if (!done->is_repeated)
            free(done->owned);
        free(done);
        is_any = true;
    }
    return is_any;
}

static bool act_kernel(struct fake_work *kernel)
{
    kernel->run(kernel->to);
    return true;
}

static bool act_nothing(struct fake_work *kernel)
{
    (void)kernel;
    return true;
}

unsigned serial_queue(struct CUstream_st *stream, const char *kernel, void (*run)(void *body),
                      void *body);
unsigned serial_queue(struct CUstream_st *stream, const char *kernel, void (*run)(void *body),
                      void *body)
{
    bool is_copy = strcmp(kernel, "copy") == 0, is_triad = strcmp(kernel, "triad") == 0;
    static unsigned copy_count;
    bool is_skipped = (is_copy && current == fake_said("skip") && ++copy_count > 1) ||
                      (strncmp(kernel, "fill", 4) != 0 && current == fake_said("lazy"));
    double bytes = (double)((is_triad ? 3 : is_copy ? 2 : 1) << 20);
    return fake_queue(stream, (struct fake_work){.act = is_skipped ? act_nothing : act_kernel,
                                                 .ns = bytes / FAKE_MEMORY_RATE,
                                                 .run = run,
                                                 .to = body,
                                                 .owned = body});
}

cudaError_t cudaGetLastError(void)
{
    fake_check("cudaGetLastError()");
    cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error == cudaErrorMemoryAllocation ? "out of memory" : "an error of the fake";
}

cudaError_t cudaDriverGetVersion(int *version)
{
    fake_start();
    *version = fake_said("driver") > 1 ? fake_said("driver") : 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    fake_start();
    *count = visible && *visible ? 1 : 0;
    for (const char *at = visible; at && *at; at++)
        *count += *at == ',';
    if (fake_said("count") >= 0)
        *count = fake_said("count");
    return fake_said("driver") >= 0 ? cudaErrorInsufficientDriver : cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    if (device == fake_said("lost"))
        return cudaErrorDevicesUnavailable;
    current = device;
    return device < FAKE_DEVICES ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetPCIBusId(char *address, int size, int device)
{
    (void)snprintf(address, (size_t)size, "0000:F%d:00.0", device);
    return cudaSuccess;
}

/* Memory of the devices, which a program may leave to its end. */
struct block {
    struct block *next;
    char *memory;
    size_t size;
};

static struct block *blocks;

cudaError_t cudaMalloc(void **memory, size_t size)
{
    if (size >= 1 << 20 && current == fake_said("room"))
        return cudaErrorMemoryAllocation;
    if (fake_breaks_capture())
        return cudaErrorStreamCaptureUnsupported;
    allocations++;
    struct block *block = fake_allocate(sizeof *block);
    *block = (struct block){blocks, fake_allocate(size), size};
    blocks = block;
    used_most = (used += size) > used_most ? used : used_most;
    *memory = block->memory;
    return cudaSuccess;
}

cudaError_t cudaFree(void *memory)
{
    fake_check("cudaFree()");
    if (fake_breaks_capture())
        return cudaErrorStreamCaptureUnsupported;
    for (size_t i = 0; i < stream_count; i++)
        while (streams[i]->first && work(streams[i])) /* it waits for the device */
            ;
    struct block **link = &blocks;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    if (!memory || !*link)
        return memory ? cudaErrorInvalidValue : cudaSuccess;
    struct block *gone = *link;
    *link = gone->next;
    used -= gone->size;
    free(gone->memory);
    free(gone);
    return cudaSuccess;
}

bool fake_holds(const void *at, size_t size)
{
    const char *first = at;
    for (const struct block *block = blocks; block; block = block->next)
        if (first >= block->memory && first + size <= block->memory + block->size)
            return true;
    return false;
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *all)
{
    *unused = (*all = (size_t)80 << 30) - used;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **memory, size_t size, unsigned flags)
{
    (void)flags;
    if (fake_breaks_capture())
        return cudaErrorStreamCaptureUnsupported;
    size_t total = size;
    for (size_t i = 0; i < pinned_count; i++)
        total += pinned[i].size;
    if (fake_said("pinned") >= 0 && total > (size_t)fake_said("pinned") << 20)
        return last_error = cudaErrorMemoryAllocation;
    allocations++;
    *memory = fake_allocate(size);
    if (pinned_count == sizeof pinned / sizeof *pinned)
        abort();
    pinned[pinned_count++] = (struct pinned){*memory, size};
    return cudaSuccess;
}

static bool is_pinned(const void *memory)
{
    for (size_t i = 0; i < pinned_count; i++)
        if ((const char *)memory >= pinned[i].memory &&
            (const char *)memory < pinned[i].memory + pinned[i].size)
            return true;
    return false;
}

cudaError_t cudaFreeHost(void *memory)
{
    fake_check("cudaFreeHost()");
    free(memory);
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    *stream = calloc(1, sizeof **stream);
    if (!*stream || flags != cudaStreamNonBlocking ||
        stream_count == sizeof streams / sizeof *streams)
        abort();
    (*stream)->device = current;
    streams[stream_count++] = *stream;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    if (priority > 0 || priority < -5) /* of a real device such a priority is cut to the range */
        return cudaErrorInvalidValue;
    return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    fake_check("cudaStreamDestroy()");
    return stream->first ? cudaErrorNotReady : cudaSuccess; /* it is never freed */
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    if (attribute != cudaDevAttrComputeCapabilityMajor &&
        attribute != cudaDevAttrMultiProcessorCount)
        return cudaErrorInvalidValue;
    *value = attribute == cudaDevAttrMultiProcessorCount ? 1 : device == fake_said("old") ? 7 : 9;
    return cudaSuccess;
}

/* An H100, although it is slow. */
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    int count;
    (void)cudaGetDeviceCount(&count); /* a list of devices cannot be wrong */
    if (device < 0 || device >= count)
        return cudaErrorInvalidDevice;
    *properties = (struct cudaDeviceProp){.name = "NVIDIA H100 80GB HBM3"};
    return cudaSuccess;
}

/* Answers whether a stream or an event is done. If not, all streams go on. A program waits if it
 * asks for a stream again, or for an event twice in a row, until that is done. A single question
 * for an event is only a look. */
static cudaError_t answer(const void *asked, bool is_done, bool is_again)
{
    static const void *awaited;
    not_ready = is_done ? NULL : asked;
    fake_check("asking whether work is done");
    if (fake_breaks_capture())
        return cudaErrorStreamCaptureUnsupported;
    waits += is_again && asked != awaited;
    if (is_again)
        awaited = asked;
    if (is_done) {
        awaited = asked == awaited ? NULL : awaited;
        return cudaSuccess;
    }
    bool is_any = false;
    for (size_t i = 0; i < stream_count; i++)
        is_any |= work(streams[i]);
    if (!is_any && fake_said("hang") >= 0 && (fake_said("after") < 0 || hangs(current)))
        fake_leap();                /* it hangs, or waits for a device that hangs from the start */
    last_error = cudaErrorNotReady; /* like the runtime */
    return last_error;              /* the program must ask at least twice */
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (stream->device != current)
        return cudaErrorInvalidResourceHandle;
    if (stream->device == fake_said("error"))
        return cudaErrorECCUncorrectable;
    bool is_again = stream->is_asked;
    stream->is_asked = stream->first;
    return answer(stream, !stream->first, is_again);
}

static bool act_set(struct fake_work *set)
{
    memset(set->to, (int)set->number, set->size);
    return true;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t size, cudaStream_t stream)
{
    return fake_queue(
        stream, (struct fake_work){
                    .act = act_set, .to = memory, .size = size, .number = (unsigned char)value});
}

/* A copy from memory that is not pinned: the program may change the source at once. */
static bool act_put(struct fake_work *put)
{
    memcpy(put->to, put->owned, put->size);
    return true;
}

static bool act_copy(struct fake_work *copy)
{
    memcpy(copy->to, copy->from, copy->size);
    static size_t place; /* each flip is elsewhere, because a copy there and back would undo it */
    if (copy->size > 4096 && copy->stream->device == fake_said("flip"))
        ((char *)copy->to)[place++ * 8 % copy->size] ^= 4;
    return true;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t size, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    struct fake_work copy = {
        .act = act_copy, .ns = (double)size / FAKE_HOST_RATE, .to = to, .from = from, .size = size};
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost)
        return cudaErrorInvalidMemcpyDirection;
    if (fake_breaks_capture()) /* the host does not know when a graph reads or writes its memory */
        return cudaErrorStreamCaptureUnsupported;
    if (kind == cudaMemcpyHostToDevice && !is_pinned(from)) {
        waits++;
        copy.act = act_put;
        copy.owned = fake_allocate(size);
        memcpy(copy.owned, from, size);
    }
    return fake_queue(stream, copy);
}

static bool is_far(int device, int peer)
{
    return device == fake_said("far") || peer == fake_said("far");
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
    *can = device != peer && !is_far(device, peer);
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    static bool is_open[FAKE_DEVICES][FAKE_DEVICES];
    if (is_far(current, peer))
        return cudaErrorPeerAccessUnsupported;
    if (flags || is_open[current][peer])
        return cudaErrorPeerAccessAlreadyEnabled;
    is_open[current][peer] = true;
    return cudaSuccess;
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
                                size_t size, cudaStream_t stream)
{
    if (to_device == from_device)
        return cudaErrorInvalidDevice;
    int rate = is_far(to_device, from_device) ? FAKE_FAR_RATE : FAKE_PEER_RATE;
    return fake_queue(
        stream,
        (struct fake_work){
            .act = act_copy, .ns = (double)size / rate, .to = to, .from = from, .size = size});
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    return flags == cudaEventDisableTiming ? cudaEventCreate(event) : cudaErrorInvalidValue;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    static cudaEvent_t events;
    *event = calloc(1, sizeof **event);
    if (!*event)
        return cudaErrorMemoryAllocation;
    (*event)->next = events;
    events = *event;
    return cudaSuccess;
}

static bool act_mark(struct fake_work *mark)
{
    cudaEvent_t event = mark->to;
    event->ns = mark->stream->ns;
    event->is_marked = true;
    event->marked++;
    return true;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    return answer(event, event->marked == event->recorded, event == not_ready);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (fake_breaks_capture()) /* the fake captures a single stream */
        return cudaErrorStreamCaptureUnsupported;
    event->is_marked = false;
    event->recorded++;
    return fake_queue(stream, (struct fake_work){.act = act_mark, .to = event});
}

static bool act_await(struct fake_work *await)
{
    cudaEvent_t event = await->to;
    return event->marked >= await->number;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    if (flags)
        return cudaErrorInvalidValue;
    return fake_queue(stream,
                      (struct fake_work){.act = act_await, .to = event, .number = event->recorded});
}

/* Queued work may still await it, so nothing is freed. */
cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    fake_check("cudaEventDestroy()");
    return event ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    if (!begin->is_marked || !end->is_marked)
        return cudaErrorNotReady;
    *ms = (float)((end->ns - begin->ns) / 1e6);
    return cudaSuccess;
}
