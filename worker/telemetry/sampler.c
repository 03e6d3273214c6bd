/* The sampler. It has one thread, because a call into the driver may block forever. */
#include "worker/telemetry/sampler.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/protocol/sampler_line.h"
#include "lib/text.h"
#include "worker/telemetry/reader.h"
#include "worker/telemetry/second.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLER_EVERY_MS = 1000 };

struct sampler {
    unsigned seconds; /* 0: no end */
    const char *nvml, *devices;
    bool is_detached;
    int output;
    bool is_over; /* the output has no reader */
};

static const char sampler_usage[] =
    "usage: phase-worker gpus [OPTION]...\n"
    "\n"
    "Prints what the GPUs of this node do: one line of JSON each second.\n";

static void sampler_print(struct sampler *sampler, json_t *json)
{
    char *dump = json_text(json, JSON_REAL_PRECISION(15) | JSON_COMPACT);
    char *line = text_format("%s\n", dump);
    if (!sampler->is_over)
        sampler->is_over = file_write(sampler->output, line, strlen(line)) < 0;
    free(line);
    free(dump);
    json_decref(json);
}

static void sampler_tell(struct sampler *sampler, const struct sampler_line *line)
{
    sampler_print(sampler, sampler_line_to_json(line));
}

static void sampler_lost(void *context, unsigned gpu, const char *why)
{
    sampler_tell(context, &(struct sampler_line){.lost = gpu, .why = why, .xid = -1, .gpu = -1});
}

static void sampler_xid(void *context, unsigned gpu, unsigned number)
{
    sampler_tell(context, &(struct sampler_line){.lost = -1, .xid = number, .gpu = gpu});
}

/* Waits for the next second, or for the end of standard input, which the agent closes. */
static void sampler_wait(struct sampler *sampler, int64_t until_ms)
{
    int64_t left_ms;
    while (!sampler->is_over && (left_ms = until_ms - clock_steady_ms()) > 0) {
        struct pollfd input = {.fd = sampler->is_detached ? STDIN_FILENO : -1, .events = POLLIN};
        char byte;
        if (poll(&input, 1, (int)left_ms) > 0)
            sampler->is_over = read(STDIN_FILENO, &byte, 1) <= 0;
    }
}

static void sampler_run(struct sampler *sampler, struct reader *reader)
{
    int64_t next_ms = clock_steady_ms();
    for (unsigned i = 0; !sampler->is_over && (!sampler->seconds || i < sampler->seconds); i++) {
        struct gpu_second second;
        if (i > 0)
            sampler_wait(sampler, next_ms);
        reader_read(reader, &second);
        second.time_s = clock_calendar_s();
        sampler_print(sampler, second_to_json(&second, SECOND_EXACT));
        /* Missed seconds are skipped. */
        int64_t now_ms = clock_steady_ms();
        next_ms += SAMPLER_EVERY_MS;
        if (next_ms < now_ms)
            next_ms = now_ms;
    }
}

/* The driver's library may print, and its text must not mix with the lines of the sampler. srun
 * waits for its open pipes, so a process that is stuck in the kernel must not hold them. */
static int sampler_keep_output(struct sampler *sampler)
{
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    sampler->output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (nowhere < 0 || sampler->output < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        (sampler->is_detached && dup2(nowhere, STDERR_FILENO) < 0))
        return -errno;
    return 0;
}

/* Returns in the process that continues. The process that was started ends at once, so the sampler
 * is not a child of the caller. */
static int sampler_detach(void)
{
    static const int deaf[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE};
    pid_t child = fork();
    if (child < 0)
        return -errno;
    if (child > 0)
        _exit(0);
    for (size_t i = 0; i < sizeof deaf / sizeof *deaf; i++)
        (void)signal(deaf[i], SIG_IGN); /* cannot fail for these signals */
    return 0;
}

/* Returns -1 if the sampler can continue, otherwise the exit code. */
static int sampler_options(struct sampler *sampler, char **words)
{
    const struct option_rule rules[] = {
        {"seconds", 0, "N", "end after N seconds; 0: never", .number = &sampler->seconds},
        {"devices", 0, "LIST", "these GPUs, by number or UUID (default: $CUDA_VISIBLE_DEVICES)",
         .text = &sampler->devices},
        {"nvml", 0, "PATH", "the library of the driver (default: $PHASED_NVML)",
         .text = &sampler->nvml},
        {"detach", 0, NULL, "go on as a separate process until standard input ends",
         .flag = &sampler->is_detached},
        {0},
    };
    return option_main("phase-worker gpus", sampler_usage, words, rules, NULL);
}

int sampler_main(char **words)
{
    struct sampler sampler = {.nvml = getenv("PHASED_NVML"),
                              .devices = getenv("CUDA_VISIBLE_DEVICES")};
    struct error err;
    struct reader *reader;
    int status = sampler_options(&sampler, words);
    if (status >= 0)
        return status;
    if ((sampler.is_detached && sampler_detach() < 0) || sampler_keep_output(&sampler) < 0)
        return 1;
    if (sampler.is_detached)
        sampler_tell(&sampler, &(struct sampler_line){.pid = getpid(), SAMPLER_LINE_NOTHING});
    const struct reader_listener listener = {sampler_lost, sampler_xid, &sampler};
    status = reader_open(sampler.nvml, sampler.devices, &listener, &reader, &err);
    if (status < 0) {
        bool is_absent = status == -ENODEV;
        sampler_tell(&sampler, &(struct sampler_line){.absent = is_absent ? err.message : NULL,
                                                      .trouble = is_absent ? NULL : err.message,
                                                      SAMPLER_LINE_NOTHING});
        return 1;
    }
    json_t *devices = reader_devices(reader);
    sampler_tell(&sampler, &(struct sampler_line){.devices = devices, SAMPLER_LINE_NOTHING});
    json_decref(devices);
    sampler_run(&sampler, reader);
    reader_close(reader);
    return 0;
}
