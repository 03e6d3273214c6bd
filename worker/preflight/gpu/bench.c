/* Devices, waiting and output. */
#include "worker/preflight/gpu/bench.h"

#include "lib/clock.h"

#include <cuda_runtime_api.h>

#include <stdarg.h>
#include <time.h>

enum { PAUSE_NS = 20000, TEXT_SIZE = 320 };

/* Ends a line with a text. Texts may come from libraries, so the text is cut and kept in one
 * line. */
__attribute__((format(printf, 2, 0))) static void tell(struct bench *bench, const char *format,
                                                       va_list args)
{
    char text[TEXT_SIZE];
    (void)vsnprintf(text, sizeof text, format, args);
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ')
            *at = ' ';
    (void)fprintf(bench->output, "%s\n", text); /* nothing can be done if nobody reads it */
    (void)fflush(bench->output);                /* the next call may be the last */
}

static void tell_kind(struct bench *bench, const char *kind, int device)
{
    if (device == BENCH_NO_DEVICE)
        (void)fprintf(bench->output, "%s - ", kind);
    else
        (void)fprintf(bench->output, "%s %d ", kind, device);
}

void bench_tell_figure(struct bench *bench, enum figure figure, unsigned a, unsigned b,
                       double value)
{
    (void)fprintf(bench->output, "%s %u %u %.3f\n", figure_kinds[figure].name, a, b, value);
    (void)fflush(bench->output);
}

void bench_tell_wrong(struct bench *bench, unsigned a, unsigned b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)fprintf(bench->output, "wrong %u %u ", a, b);
    tell(bench, format, args);
    va_end(args);
}

int bench_tell_failed(struct bench *bench, int device, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell_kind(bench, "failed", device);
    tell(bench, format, args);
    va_end(args);
    return -1;
}

int bench_tell_unknown(struct bench *bench, int device, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell_kind(bench, "unknown", device);
    tell(bench, format, args);
    va_end(args);
    return -1;
}

void bench_start(struct bench *bench)
{
    int64_t now_ms = clock_steady_ms();
    bench->left_ms = bench->end_ms - now_ms;
    bench->end_ms = now_ms + bench->start_ms;
    bench->is_ready = false;
    (void)fputs("start\n", bench->output);
    (void)fflush(bench->output);
}

void bench_ready(struct bench *bench)
{
    bench->end_ms = clock_steady_ms() + bench->left_ms;
    bench->is_ready = true;
    (void)fputs("ready\n", bench->output);
    (void)fflush(bench->output);
}

/* Errors that are not about the hardware: something is missing, or belongs to somebody else. */
static bool is_no_fault(unsigned code)
{
    switch (code) {
    case cudaErrorMemoryAllocation:
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
    case cudaErrorNotSupported:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorStubLibrary:
    case cudaErrorTooManyPeers:
        return true;
    default:
        return false;
    }
}

int bench_check(struct bench *bench, unsigned device, unsigned code, const char *doing)
{
    if (code == cudaSuccess)
        return 0;
    const char *text = cudaGetErrorString((cudaError_t)code);
    if (is_no_fault(code))
        return bench_tell_unknown(bench, (int)device, "%s: %s", doing, text);
    return bench_tell_failed(bench, (int)device, "%s: %s", doing, text);
}

int bench_choose(struct bench *bench, unsigned device)
{
    return bench_check(bench, device, cudaSetDevice((int)device), "beginning");
}

int bench_allocate(struct bench *bench, unsigned device, size_t bytes, void **ret_memory)
{
    void *memory = NULL;
    cudaError_t code = cudaMalloc(&memory, bytes);
    if (code == cudaErrorMemoryAllocation)
        return bench_tell_unknown(bench, (int)device, "no %zu MiB of memory are free", bytes >> 20);
    if (bench_check(bench, device, code, "allocating memory") < 0)
        return -1;
    *ret_memory = memory;
    return 0;
}

int bench_pause(const struct bench *bench)
{
    struct timespec moment = {.tv_nsec = PAUSE_NS};
    if (clock_steady_ms() >= bench->end_ms)
        return -1;
    (void)nanosleep(&moment, NULL); /* a shorter sleep after a signal is fine */
    return 0;
}

unsigned bench_look(const struct bench *bench, unsigned device)
{
    cudaError_t code = cudaStreamQuery(bench->devices[device].stream);
    /* The thread keeps this answer as its last error. A library that asks for the last error would
     * take it for its own. */
    if (code == cudaErrorNotReady)
        (void)cudaGetLastError();
    return code;
}

int bench_wait(struct bench *bench, unsigned device, const char *doing)
{
    if (bench_choose(bench, device) < 0)
        return -1;
    for (;;) {
        unsigned code = bench_look(bench, device);
        if (code != cudaErrorNotReady)
            return bench_check(bench, device, code, doing);
        if (bench_pause(bench) < 0)
            return bench_tell_failed(bench, (int)device, "%s: not done in time", doing);
    }
}

int bench_reset_counter(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    return bench_check(bench, device,
                       cudaMemsetAsync(own->counter, 0, sizeof *own->counter, own->stream),
                       "counting");
}

int bench_fetch_counter(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    return bench_check(bench, device,
                       cudaMemcpyAsync(own->counter_here, own->counter, sizeof *own->counter,
                                       cudaMemcpyDeviceToHost, own->stream),
                       "counting");
}

int bench_mark_begin(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    return bench_check(bench, device, cudaEventRecord(own->begin, own->stream), "taking the time");
}

int bench_mark_end(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    return bench_check(bench, device, cudaEventRecord(own->end, own->stream), "taking the time");
}

int bench_seconds(struct bench *bench, unsigned device, double *ret_seconds)
{
    struct bench_device *own = &bench->devices[device];
    float ms = 0;
    unsigned code = cudaEventElapsedTime(&ms, own->begin, own->end);
    if (bench_check(bench, device, code, "taking the time") < 0)
        return -1;
    if (!(ms > 0))
        return bench_tell_unknown(bench, (int)device, "no time has passed");
    *ret_seconds = (double)ms / 1000;
    return 0;
}

static int open_device(struct bench *bench, unsigned device)
{
    struct bench_device *own = &bench->devices[device];
    unsigned code = cudaSetDevice((int)device);
    if (code == cudaSuccess)
        code = cudaStreamCreateWithFlags(&own->stream, cudaStreamNonBlocking);
    if (code == cudaSuccess)
        code = cudaEventCreate(&own->begin);
    if (code == cudaSuccess)
        code = cudaEventCreate(&own->end);
    if (code == cudaSuccess)
        code = cudaMalloc((void **)&own->counter, sizeof *own->counter);
    if (code == cudaSuccess)
        code = cudaHostAlloc((void **)&own->counter_here, sizeof *own->counter_here,
                             cudaHostAllocDefault);
    return bench_check(bench, device, code, "beginning");
}

int bench_open(struct bench *bench)
{
    int count = 0;
    unsigned wanted = bench->groups.rank_count_of_node;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code != cudaSuccess)
        return is_no_fault(code)
                   ? bench_tell_unknown(bench, BENCH_NO_DEVICE, "CUDA finds no GPU: %s",
                                        cudaGetErrorString(code))
                   : bench_tell_failed(bench, BENCH_NO_DEVICE, "CUDA finds no GPU: %s",
                                       cudaGetErrorString(code));
    if (count < 0 || (unsigned)count != wanted)
        return bench_tell_failed(bench, BENCH_NO_DEVICE, "CUDA finds %d GPUs, %u are allocated",
                                 count, wanted);
    for (bench->device_count = 0; bench->device_count < wanted; bench->device_count++)
        if (open_device(bench, bench->device_count) < 0)
            return -1;
    return 0;
}
