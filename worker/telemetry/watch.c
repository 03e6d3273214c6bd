/* Runs the sampler, and journals its samples. */
#include "worker/telemetry/watch.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/sampler_line.h"
#include "lib/text.h"
#include "worker/process/child.h"
#include "worker/protocol/journal.h"
#include "worker/telemetry/news.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

enum {
    WATCH_LINE_MAX = 65536,
    WATCH_LOOK_MS = 1000,
    WATCH_FIRST_MS = 90000, /* the driver may take long to wake up eight GPUs */
    WATCH_SILENCE_MS = 10000,
    WATCH_LATEST_MS = 5000,
    WATCH_LAST_SECONDS = 60,
    WATCH_FINE_S = 10, /* of an entry at first */
    WATCH_FINE_FOR_MS = 600000,
    WATCH_COARSE_S = 60, /* of an entry later */
};

struct watch {
    struct watch_options options;
    struct child *child; /* the sampler, which ends with its standard input */
    uv_timer_t timer;
    pid_t pid;                  /* of the sampler; 0: unknown yet */
    int64_t began_ms, heard_ms; /* on the steady clock */
    bool is_silent, is_over;
    struct news news;
    struct means means;
    int64_t from_s; /* the start of the current span */
    unsigned span_s;
    struct gpu_second last[WATCH_LAST_SECONDS]; /* a ring buffer */
    unsigned last_count, last_at;               /* `last_at` is the index of the newest */
};

/* Warns of something that may be why the run fails. */
static void watch_fault(struct watch *watch, char *take_line)
{
    journal_warn(watch->options.journal, "%s", take_line);
    watch->options.fault(watch->options.context, take_line);
    free(take_line);
}

/* --- Into the journal ------------------------------------------------------------------------- */

/* Tells what the GPUs did in a span of `seconds`, from which `sampled` samples came. */
static void watch_tell(struct watch *watch, const struct gpu_second *second, int64_t from_s,
                       unsigned seconds, unsigned sampled)
{
    json_t *gpus = second_to_json(second, SECOND_SHORT);
    struct sample sample = sample_read(gpus);
    sample.from = from_s;
    sample.seconds = seconds;
    sample.sampled = sampled == seconds ? -1 : (int64_t)sampled;
    journal_add(watch->options.journal,
                &(struct entry){.type = ENTRY_SAMPLE, .json = sample_to_json(&sample)});
    json_decref(gpus);
}

void watch_tell_rest(struct watch *watch)
{
    struct gpu_second mean;
    unsigned sampled = watch ? watch->means.seconds : 0;
    if (sampled && means_take(&watch->means, &mean))
        watch_tell(watch, &mean, watch->from_s, watch->span_s, sampled);
}

void watch_tell_last_minute(struct watch *watch)
{
    for (unsigned i = watch ? watch->last_count : 0; i-- > 0;) {
        unsigned at = (watch->last_at + WATCH_LAST_SECONDS - i) % WATCH_LAST_SECONDS;
        const struct gpu_second *second = &watch->last[at];
        watch_tell(watch, second, (int64_t)floor(second->time_s), 1, 1);
    }
    if (watch)
        watch->last_count = 0; /* so that they are written once */
}

/* A span begins at a multiple of its length, so that the spans of all nodes are parallel. */
static void watch_add(struct watch *watch, const struct gpu_second *second)
{
    bool is_fine = clock_steady_ms() - watch->began_ms < WATCH_FINE_FOR_MS;
    unsigned span_s = is_fine ? WATCH_FINE_S : WATCH_COARSE_S;
    int64_t now_s = (int64_t)floor(second->time_s), from_s = now_s - now_s % span_s;
    if (watch->means.seconds && (from_s != watch->from_s || span_s != watch->span_s))
        watch_tell_rest(watch);
    watch->from_s = from_s;
    watch->span_s = span_s;
    means_add(&watch->means, second);
    watch->last_at = (watch->last_at + 1) % WATCH_LAST_SECONDS;
    watch->last[watch->last_at] = *second;
    if (watch->last_count < WATCH_LAST_SECONDS)
        watch->last_count++;
}

/* --- What the sampler tells ------------------------------------------------------------------- */

static void watch_devices(struct watch *watch, json_t *devices)
{
    size_t i;
    json_t *model;
    journal_add(watch->options.journal,
                &(struct entry){.type = ENTRY_GPUS, .json = json_incref(devices)});
    json_array_foreach(gpu_devices_read(devices).models, i, model)
    {
        if (!json_is_string(model))
            continue;
        watch->options.model(watch->options.context, json_string_value(model));
        return;
    }
}

static void watch_told(struct watch *watch, const json_t *json)
{
    const struct sampler_line line = sampler_line_read(json);
    struct gpu_second second;
    if (line.pid) {
        watch->pid = (pid_t)line.pid;
    } else if (line.devices) {
        watch_devices(watch, line.devices);
    } else if (line.lost >= 0) {
        watch_fault(watch, text_format("GPU %" PRId64 " is no longer sampled: %s", line.lost,
                                       line.why ? line.why : "it is lost"));
    } else if (line.xid >= 0) {
        if (news_is_xid(&watch->news, line.gpu, line.xid, watch->heard_ms))
            watch_fault(watch,
                        text_format("GPU %" PRId64 " reported Xid %" PRId64, line.gpu, line.xid));
    } else if (line.trouble) {
        journal_warn(watch->options.journal, "GPUs are not sampled: %s", line.trouble);
    } else if (second_from_json(json, &second)) {
        watch_add(watch, &second);
        watch->options.second(watch->options.context, &second);
    } else {
        watch->is_over = line.absent != NULL;
    }
    watch->is_over |= line.trouble != NULL;
}

static void watch_line(void *context, const char *line, size_t size)
{
    struct watch *watch = context;
    json_t *json = json_loadb(line, size, 0, NULL);
    watch->heard_ms = clock_steady_ms();
    news_hear(&watch->news);
    if (watch->is_silent)
        journal_warn(watch->options.journal, "the driver of the GPUs answers again");
    watch->is_silent = false;
    if (json_is_object(json))
        watch_told(watch, json);
    json_decref(json);
}

static void watch_ended(void *context, const struct child_end *end)
{
    struct watch *watch = context;
    (void)end; /* the sampler is nobody's child, so its status is unknown */
    if (!watch->is_over)
        journal_warn(watch->options.journal,
                     "GPUs are not sampled any more: the sampler has ended");
    watch->is_over = true;
}

static void watch_look_done(uv_timer_t *timer)
{
    struct watch *watch = timer->data;
    int64_t allowed_ms = watch->last_count ? WATCH_SILENCE_MS : WATCH_FIRST_MS;
    int64_t silence_ms = news_silence_ms(&watch->news, clock_steady_ms());
    if (watch->is_over || watch->is_silent || silence_ms < allowed_ms)
        return;
    watch->is_silent = true;
    journal_warn(
        watch->options.journal,
        "the driver of the GPUs has not answered for %d s; the GPUs are not sampled until it "
        "answers, and the run goes on",
        (int)(allowed_ms / 1000));
}

/* --- The process ------------------------------------------------------------------------------ */

static void watch_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

int watch_open(const struct watch_options *options, struct watch **ret_watch, struct error *err)
{
    char *const arguments[] = {"phase-worker", "gpus", "--detach", NULL};
    struct watch *watch = xcalloc(1, sizeof *watch);
    const struct child_options child = {
        .loop = options->loop,
        .kind = CHILD_OF_NOBODY,
        .program = options->program,
        .arguments = arguments,
        .environment = options->environment,
        .has_input = true,
        .out = {.output = CHILD_LINES, .size_max = WATCH_LINE_MAX, .found = watch_line},
        .err = {.output = CHILD_INHERITS},
        .ended = watch_ended,
        .context = watch,
    };
    int status = child_start(&child, &watch->child, err);
    if (status < 0) {
        free(watch);
        return status;
    }
    watch->options = *options;
    watch->began_ms = watch->heard_ms = clock_steady_ms();
    news_init(&watch->news, watch->began_ms);
    watch->timer.data = watch;
    uv_timer_init(options->loop, &watch->timer);
    uv_timer_start(&watch->timer, watch_look_done, WATCH_LOOK_MS, WATCH_LOOK_MS);
    *ret_watch = watch;
    return 0;
}

const struct gpu_second *watch_latest(const struct watch *watch)
{
    if (!watch || !watch->last_count || clock_steady_ms() - watch->heard_ms > WATCH_LATEST_MS)
        return NULL;
    return &watch->last[watch->last_at];
}

void watch_close(struct watch *watch)
{
    if (!watch)
        return;
    /* Its pipe is open, so the pid is still its own. A sampler that is stuck in the kernel survives
     * this. */
    if (watch->is_silent && !watch->is_over && watch->pid > 0)
        (void)kill(watch->pid, SIGKILL);
    child_close(watch->child);
    uv_close((uv_handle_t *)&watch->timer, watch_timer_closed);
}
