/* Warnings: lines of history that belong to no event. */
#include "daemon/loop/inside.h"

#include "daemon/loop/log.h"
#include "daemon/store/store.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdarg.h>
#include <stdlib.h>

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
