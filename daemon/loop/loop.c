/* A loop: its life, its timer, and what rooms ask. */
#include "daemon/loop/loop_private.h"

#include "daemon/loop/clock.h"
#include "daemon/loop/crash.h"
#include "daemon/slurm/cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/mac.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

_Static_assert(TOKEN_LENGTH + 1 == MAC_TOKEN_SIZE, "a token is what mac_random() makes");

/* --- Time ------------------------------------------------------------------------------------- */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void on_alarm(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    if (loop->trouble[0] || core_deadline(loop->core) > loop_now_ms() ||
        clock_ms() - loop->time_ms < TIME_STEP_MS)
        return; /* the turn that follows does the rest */
    loop->time_ms = clock_ms();
    struct core_event event = {.kind = EV_TIME};
    loop_post(loop, &event);
}

/* When to ask the core for its deadline. The core then looks at all runs, and deadlines are seconds
 * away. So the loop asks at most every TIME_STEP_MS. */
static int64_t core_due(struct loop *loop, int64_t now_ms)
{
    int64_t next_look_ms = loop->looked_ms + TIME_STEP_MS;
    if (now_ms < next_look_ms)
        return next_look_ms;
    loop->looked_ms = now_ms;
    int64_t deadline_ms = clock_of(core_deadline(loop->core));
    return deadline_ms < loop->time_ms + TIME_STEP_MS ? loop->time_ms + TIME_STEP_MS : deadline_ms;
}

/* Sets the one timer to whatever is due first. */
static void set_alarm(struct loop *loop)
{
    int64_t now_ms = clock_ms();
    int64_t due_ms = loop->results_ms;
    if (loop->trouble[0]) {
        due_ms = earlier(due_ms, loop->retry_ms);
    } else {
        due_ms = earlier(due_ms, core_due(loop, now_ms));
        due_ms = earlier(due_ms, outbox_deadline(&loop->outbox, now_ms));
    }
    uint64_t delay_ms = due_ms > now_ms ? (uint64_t)(due_ms - now_ms) : 0;
    if (due_ms == INT64_MAX)
        (void)uv_timer_stop(&loop->alarm);
    else
        (void)uv_timer_start(&loop->alarm, on_alarm, delay_ms, 0);
}

static void on_prepare(uv_prepare_t *prepare)
{
    struct loop *loop = prepare->data;
    if (!loop->cluster || loop->is_closing)
        return;
    turn(loop);
    if (!loop->is_fenced)
        set_alarm(loop);
}

/* Runs right after the descriptors were served, so that no post waits for another round. */
static void on_check(uv_check_t *check)
{
    struct loop *loop = check->data;
    if (!STAILQ_EMPTY(&loop->queue))
        turn(loop);
}

/* Nobody waits for Slurm's results. A short delay lets more results share one commit. */
static void on_wake(uv_async_t *wake)
{
    struct loop *loop = wake->data;
    if (loop->results_ms == INT64_MAX)
        loop->results_ms = clock_ms() + RESULTS_DELAY_MS;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void make_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    (void)context;
    mac_random(ret_token, MAC_TOKEN_SIZE);
}

static int take_outbox(void *context, const struct core_effect *effect)
{
    struct loop *loop = context;
    int64_t longest_ms = effect->kind == FX_LOOKUP ? LOOKUP_LAST_MS : PAUSE_LAST_MS;
    struct core_effect due = *effect; /* the time may be from a clock that was set back since */
    due.due_ms = earlier(due.due_ms, loop_now_ms() + longest_ms);
    effects_keep(loop, &due);
    if (effect->kind == FX_SUBMIT)
        outbox_find(&loop->outbox, FX_SUBMIT, effect->allocation->id)->is_doubtful = true;
    return 0;
}

/* How long a job must be absent before it is lost, for tests that cannot wait for five minutes. */
static int read_absence(int64_t *ret_ms, struct error *err)
{
    const char *text = getenv("PHASED_ABSENCE_S");
    int seconds = 0;
    if (text && (sscanf(text, "%d", &seconds) != 1 || seconds < 1))
        return error_set(err, -EINVAL, "PHASED_ABSENCE_S=%s is not a number of seconds", text);
    *ret_ms = (int64_t)seconds * 1000;
    return 0;
}

static int load_record(struct loop *loop, struct error *err)
{
    struct store *store = loop->config.store;
    struct core_config config = {.token = make_token};
    int status = read_absence(&config.absence_ms, err);
    if (status == 0)
        status = store_cluster(store, loop->binding, sizeof loop->binding, err);
    if (status == 0)
        status = store_last_ids(store, &config, err);
    if (status < 0)
        return status;
    loop->core = core_new(&config);
    status = store_load(store, loop->core, err);
    if (status == 0)
        status = store_outbox(store, loop->core, take_outbox, loop, err);
    for (size_t i = 0; status == 0 && i < core_workflow_count(loop->core); i++) {
        struct workflow *workflow = core_workflow_at(loop->core, i);
        index_workflow(loop, workflow);
        if (workflow_is_final(workflow))
            finals_add(loop, workflow);
    }
    turn_clock(loop, 0); /* times in the record may be from a clock that was ahead */
    return status;
}

static void loop_free(struct loop *loop)
{
    rooms_free(loop);
    posts_free(&loop->queue);
    posts_free(&loop->batch);
    core_effects_fini(&loop->effects);
    outbox_fini(&loop->outbox);
    map_fini(&loop->runs);
    map_fini(&loop->allocations);
    free(loop->finals);
    core_free(loop->core);
    free(loop);
}

/* Called when the last hold is released. */
static void loop_end(struct loop *loop)
{
    void (*closed)(void *) = loop->closed;
    void *context = loop->closed_context;
    loop_free(loop);
    closed(context);
}

int loop_open(const struct loop_config *config, struct loop **ret_loop, struct error *err)
{
    struct loop *loop = xcalloc(1, sizeof *loop);
    loop->config = *config;
    loop->end = loop_end;
    loop->results_ms = INT64_MAX;
    STAILQ_INIT(&loop->queue);
    STAILQ_INIT(&loop->batch);
    int status = crash_init(err);
    if (status == 0)
        status = load_record(loop, err);
    if (status < 0) {
        loop_free(loop);
        return status;
    }
    status = uv_async_init(config->uv, &loop->wake, on_wake);
    if (status < 0) {
        loop_free(loop);
        return error_set(err, status, "could not set up the loop: %s", uv_strerror(status));
    }
    (void)uv_prepare_init(config->uv, &loop->prepare); /* these three cannot fail */
    (void)uv_check_init(config->uv, &loop->check);
    (void)uv_timer_init(config->uv, &loop->alarm);
    loop->wake.data = loop->prepare.data = loop->check.data = loop->alarm.data = loop;
    loop->holds = 4;
    (void)uv_prepare_start(&loop->prepare, on_prepare);
    (void)uv_check_start(&loop->check, on_check);
    rooms_open(loop);
    *ret_loop = loop;
    return 0;
}

void loop_wake(void *context)
{
    struct loop *loop = context;
    (void)uv_async_send(&loop->wake);
}

void loop_start(struct loop *loop, struct cluster *cluster)
{
    assert(!loop->cluster && cluster);
    loop->cluster = cluster;
}

void loop_settle(struct loop *loop)
{
    turn(loop);
}

static void on_closed(uv_handle_t *handle)
{
    loop_release(handle->data);
}

void loop_close(struct loop *loop, void (*closed)(void *context), void *context)
{
    turn(loop); /* what was posted already is recorded */
    loop->is_closing = true;
    loop->closed = closed;
    loop->closed_context = context;
    rooms_close(loop);
    uv_close((uv_handle_t *)&loop->wake, on_closed);
    uv_close((uv_handle_t *)&loop->prepare, on_closed);
    uv_close((uv_handle_t *)&loop->check, on_closed);
    uv_close((uv_handle_t *)&loop->alarm, on_closed);
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
    struct store_event event = {.type = EVENT_WARNING,
                                .time_ms = loop_now_ms(),
                                .workflow = item->workflow,
                                .phase = item->phase,
                                .run = item->run,
                                .message = item->message};
    return store_event_add(store, &event, err);
}

static void warning_free(void *context)
{
    struct warning_item *item = context;
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

/* --- Asking ----------------------------------------------------------------------------------- */

void loop_listen(struct loop *loop, void (*history)(void *context), void *context)
{
    loop->history = history;
    loop->history_context = context;
}

struct cluster *loop_cluster(const struct loop *loop)
{
    return loop->cluster;
}

const struct loop_config *loop_config(const struct loop *loop)
{
    return &loop->config;
}

struct core *loop_core(const struct loop *loop)
{
    return loop->core;
}

struct store *loop_store(const struct loop *loop)
{
    return loop->config.store;
}

const char *loop_trouble(const struct loop *loop)
{
    return loop->trouble[0] ? loop->trouble : NULL;
}

int64_t loop_trouble_since_ms(const struct loop *loop)
{
    return loop->trouble_since_ms;
}

const struct loop_cluster_state *loop_cluster_state(const struct loop *loop)
{
    return &loop->cluster_state;
}
