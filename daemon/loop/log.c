/* What the daemon says: lines of its log, and warnings in the history of a run. */
#include "daemon/loop/loop.h"

#include "daemon/store/store.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Each line is one write, so that lines of a file that others write to stay whole. */
void log_line(const char *format, ...)
{
    struct timespec now;
    struct tm tm;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof stamp, "%F %T", &tm);

    struct text line = {0};
    text_addf(&line, "%s.%03ld ", stamp, now.tv_nsec / 1000000);
    va_list args;
    va_start(args, format);
    text_addv(&line, format, args);
    va_end(args);
    for (size_t i = 0; i < line.size; i++)
        if ((unsigned char)line.data[i] < ' ')
            line.data[i] = ' ';
    text_add(&line, "\n");
    /* A log that cannot be written (its disk is full) must not stop the work. */
    if (write(STDERR_FILENO, line.data, line.size) < 0)
        (void)0;
    text_fini(&line);
}

/* --- Warnings --------------------------------------------------------------------------------- */

struct warning_item {
    struct loop_item item;
    uint64_t workflow, phase, run;
    char *message;
};

static int warning_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct warning_item *item = (const struct warning_item *)base;
    struct store_event event = {.type = STORE_EVENT_WARNING,
                                .time_ms = loop_now_ms(),
                                .workflow = item->workflow,
                                .phase = item->phase,
                                .run = item->run,
                                .message = item->message};
    return store_event_add(store, &event, err);
}

static void warning_free(struct loop_item *base)
{
    struct warning_item *item = (struct warning_item *)base;
    free(item->message);
    free(item);
}

void loop_warn(struct loop *loop, const struct run *run, const char *format, ...)
{
    const struct phase *phase = run->phase;
    struct text message = {0};
    va_list args;
    struct warning_item *item = xcalloc(1, sizeof *item);
    va_start(args, format);
    text_addv(&message, format, args);
    va_end(args);
    log_line("warning: run %llu/%s#%u: %s", (unsigned long long)phase->workflow->id, phase->name,
             run->attempt, text_string(&message));
    *item = (struct warning_item){
        .item = {.write = warning_write, .free = warning_free, .adds_history = true},
        .workflow = phase->workflow->id,
        .phase = phase->id,
        .run = run->id,
        .message = text_steal(&message),
    };
    loop_post_item(loop, &item->item, NULL);
}
