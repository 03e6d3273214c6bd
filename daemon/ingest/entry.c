/* The types of entries: a table of what each type writes, and what it tells the core. */
#include "daemon/ingest/entry.h"

#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/protocol/hardware.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/protocol/told_evidence.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    METRIC_NAME_MAX = EXPR_NAME_MAX,
    MESSAGE_MAX = 1024, /* bytes that people see */
};

static int64_t time_ms(double time_s)
{
    return time_s > 0 && time_s < 1e11 ? (int64_t)(time_s * 1000) : 0;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Frees the message. */
static int write_history(const struct entry *entry, const struct entry_origin *origin,
                         enum event_type type, char *take_message, struct store *store,
                         struct error *err)
{
    size_t size = text_fit(take_message, MESSAGE_MAX);
    char *shown = text_format("%.*s%s", (int)size, take_message, take_message[size] ? "..." : "");
    struct store_event event = {.type = type,
                                .time_ms = time_ms(entry->time),
                                .workflow = origin->workflow,
                                .phase = origin->phase,
                                .run = origin->run,
                                .step = entry->step,
                                .message = shown};
    int status = origin->workflow ? store_event_add(store, &event, err) : 0;
    free(shown);
    free(take_message);
    return status;
}

/* Warns of an entry that was not understood. If the entry was or may have been a metric, it then
 * counts as missing, and a gate knows that. */
static int write_strange(const struct entry *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    uint64_t sequence = (uint64_t)entry->seq;
    char *message = text_format("entry %" PRIu64 " of the journal of %s was not understood: %s",
                                sequence, origin->node, err->message);
    int status = write_history(entry, origin, EVENT_WARNING, message, store, err);
    if (status < 0 ||
        (entry->type != ENTRY_METRIC && entry->type != (enum entry_type)ENTRY_UNKNOWN))
        return status;
    return store_journal_gap_add(store, origin->run, origin->node, sequence, sequence, err);
}

/* The functions below return -EINVAL for an entry that they do not understand. */
static int write_metric(const struct entry *entry, const struct entry_origin *origin,
                        struct store *store, struct error *err)
{
    if (!json_is_object(entry->values) || entry->step < 0)
        return error_set(err, -EINVAL, "a metric has `values`, and a `step` from 0 to 2^53 - 1");
    const char *name, *strange = NULL;
    json_t *json;
    json_object_foreach(entry->values, name, json)
    {
        if (strlen(name) > METRIC_NAME_MAX)
            return error_set(err, -EINVAL, "a metric's name must have at most %d bytes",
                             METRIC_NAME_MAX);
    }
    json_object_foreach(entry->values, name, json)
    {
        double value;
        if (!json_double_read(json, &value)) {
            strange = name;
            continue;
        }
        int status = store_metric_add(store, origin->run, entry->step, name, value,
                                      time_ms(entry->time), err);
        if (status < 0)
            return status;
    }
    return strange ? error_set(err, -EINVAL, "%.40s has no number", strange) : 0;
}

/* Adds the names of a list. A name that no node can have becomes "?". */
static void add_names(struct text *text, const json_t *names, const char *between)
{
    size_t i;
    const json_t *item;
    json_array_foreach(names, i, item)
    {
        const char *name = json_string_value(item);
        text_addf(text, "%s%s", i ? between : "", text_is_node(name) ? name : "?");
    }
}

static int write_started(const struct entry *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    struct text nodes = {0};
    add_names(&nodes, entry->nodes, ",");
    int status = store_run_nodes_set(store, origin->run, text_string(&nodes), err);
    text_fini(&nodes);
    struct hardware hardware = hardware_read(entry->hardware);
    if (status == 0 && json_is_object(entry->hardware))
        status = store_run_hardware_set(store, origin->run, hardware.model, hardware.by_gpu, err);
    return status;
}

static int write_checkpoint(const struct entry *entry, const struct entry_origin *origin,
                            struct store *store, struct error *err)
{
    struct told_checkpoint told = told_checkpoint_read(entry->json);
    struct store_checkpoint checkpoint = {.run = origin->run,
                                          .path = told.path,
                                          .step = told.step,
                                          .bytes = told.bytes,
                                          .time_ms = time_ms(told.time),
                                          .paths = json_is_array(told.paths) ? told.paths : NULL,
                                          .is_suspect = told.is_suspect,
                                          .is_unseen = told.is_unseen};
    if (!checkpoint.path || checkpoint.step < 0)
        return error_set(err, -EINVAL,
                         "a checkpoint has a `path`, and a `step` from 0 to 2^53 - 1");
    int status = store_checkpoint_add(store, &checkpoint, err);
    if (status < 0)
        return status;
    char *message = text_format("step %lld: %s", (long long)checkpoint.step, checkpoint.path);
    return write_history(entry, origin, EVENT_CHECKPOINT, message, store, err);
}

static int write_suspect(const struct entry *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    return entry->step < 0
               ? error_set(err, -EINVAL, "what is suspect has a `step` from 0 to 2^53 - 1")
               : store_run_suspect(store, origin->run, entry->step, time_ms(entry->time), err);
}

static int write_guard(const struct entry *entry, const struct entry_origin *origin,
                       struct store *store, struct error *err)
{
    const char *name = json_string_value(json_object_get(entry->verdict, "name"));
    const char *reason = json_string_value(json_object_get(entry->verdict, "reason"));
    int status = store_guard_add(store, origin->run, entry->verdict, time_ms(entry->time), err);
    if (status < 0)
        return status;
    char *message = text_format("%s%s%s", name, reason ? ": " : "", reason ? reason : "");
    return write_history(entry, origin, EVENT_GUARD, message, store, err);
}

/* The evidence is recorded without `seq`, `time` and `type`, which every entry has. */
static int write_evidence(const struct entry *entry, const struct entry_origin *origin,
                          struct store *store, struct error *err)
{
    if (!json_is_array(told_evidence_read(entry->json).processes))
        return error_set(err, -EINVAL, "evidence must have a list of `processes`");
    json_t *evidence = entry_rest(entry);
    int status =
        store_evidence_put(store, origin->run, origin->node, evidence, time_ms(entry->time), err);
    json_decref(evidence);
    return status;
}

static int write_preflight(const struct entry *entry, const struct entry_origin *origin,
                           struct store *store, struct error *err)
{
    const struct store_preflight preflight = {
        .run = origin->run,
        .node = origin->node,
        .level = entry->level,
        .outcome = entry->outcome,
        .reason = entry->reason,
        .is_observed = entry->is_observe,
        .lasted_ms = (int64_t)(fmin(fmax(entry->seconds, 0), 1e6) * 1000),
        .time_ms = time_ms(entry->time),
        .rows = entry->rows,
    };
    return store_preflight_add(store, &preflight, err);
}

static int write_gpus(const struct entry *entry, const struct entry_origin *origin,
                      struct store *store, struct error *err)
{
    return store_gpus_put(store, origin->run, origin->node, entry->json, err);
}

static int write_sample(const struct entry *entry, const struct entry_origin *origin,
                        struct store *store, struct error *err)
{
    return store_samples_put(store, origin->run, origin->node, entry->json, err);
}

static int write_pace(const struct entry *entry, const struct entry_origin *origin,
                      struct store *store, struct error *err)
{
    const struct store_pace pace = {
        .step = entry->step,
        .steps = entry->steps,
        .seconds = entry->seconds,
        .time_ms = time_ms(entry->time),
    };
    return store_pace_put(store, origin->run, origin->node, &pace, err);
}

/* An entry of the lead names its nodes. An entry of a node is about the node itself. */
static int write_warning(const struct entry *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    if (!entry->message)
        return error_set(err, -EINVAL, "a warning has a `message`");
    char *placed = text_equal(origin->node, "lead")
                       ? xstrdup(entry->message)
                       : text_format("%s: %s", origin->node, entry->message);
    return write_history(entry, origin, EVENT_WARNING, placed, store, err);
}

static int write_unknown(const struct entry *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    (void)origin;
    (void)store;
    return entry->type_name
               ? error_set(err, -EINVAL, "no entry has the type %.40s", entry->type_name)
               : error_set(err, -EINVAL, "the entry has no type");
}

/* If there is a message, the lost entries never got a number, because the disk was full. */
static int write_lost(const struct entry *entry, const struct entry_origin *origin,
                      struct store *store, struct error *err)
{
    uint64_t first = (uint64_t)entry_first(entry), last = (uint64_t)entry->seq;
    int status = store_journal_gap_add(store, origin->run, origin->node, first, last, err);
    if (status < 0 || entry->message)
        return status < 0 ? status : write_warning(entry, origin, store, err);
    char *message =
        first == last
            ? text_format("the journal of %s has lost entry %" PRIu64, origin->node, first)
            : text_format("the journal of %s has lost entries %" PRIu64 " to %" PRIu64,
                          origin->node, first, last);
    return write_history(entry, origin, EVENT_WARNING, message, store, err);
}

/* --- Events ----------------------------------------------------------------------------------- */

/* Writes "on n1, n2 (job 4711)" for people; a long text is cut. */
static void write_place(const json_t *nodes, uint32_t job_id, char buffer[REASON_MAX])
{
    struct text text = {0};
    if (json_array_size(nodes))
        text_add(&text, "on ");
    add_names(&text, nodes, ", ");
    if (job_id)
        text_addf(&text, "%s(job %u)", text.size ? " " : "", job_id);
    (void)snprintf(buffer, REASON_MAX, "%s", text_string(&text));
    text_fini(&text);
}

static uint32_t slurm_id(int64_t job_id)
{
    return job_id > 0 && job_id <= UINT32_MAX ? (uint32_t)job_id : 0;
}

static bool tell_started(const struct entry *entry, char buffer[REASON_MAX],
                         struct core_event *event)
{
    event->kind = EV_RUN_STARTED;
    event->slurm_id = slurm_id(entry->job_id);
    write_place(entry->nodes, event->slurm_id, buffer);
    event->message = buffer;
    event->token = entry->token;
    event->started_ms = time_ms(entry->time);
    return true;
}

static bool tell_checkpoint(const struct entry *entry, char buffer[REASON_MAX],
                            struct core_event *event)
{
    struct told_checkpoint told = told_checkpoint_read(entry->json);
    (void)buffer;
    event->kind = EV_CHECKPOINT;
    event->path = told.path;
    event->step = told.step;
    return told.path && told.step >= 0 && !told.is_suspect;
}

static bool tell_suspect(const struct entry *entry, char buffer[REASON_MAX],
                         struct core_event *event)
{
    (void)buffer;
    event->kind = EV_SUSPECT;
    event->since = entry->step;
    event->suspected_ms = time_ms(entry->time);
    return event->since >= 0;
}

static bool tell_stopping(const struct entry *entry, char buffer[REASON_MAX],
                          struct core_event *event)
{
    const char *why = entry->why, *message = entry->message;
    bool is_told = why && message && text_starts(message, why); /* "preempted by Slurm" */
    (void)snprintf(buffer, REASON_MAX, "%.40s%s%.200s", why && !is_told ? why : "",
                   !is_told && message && *message ? ": " : "", message ? message : "");
    event->kind = EV_RUN_STOPPING;
    event->message = buffer;
    int reason = stop_reason_parse(why);
    event->stop_reason = reason < 0 ? STOP_REASON_COUNT : (enum stop_reason)reason;
    if (event->stop_reason == STOP_HELD)
        event->hold_reason = message ? message : "";
    return true;
}

/* Returns the names of nodes that jobs will be kept away from, with commas between. Slurm refuses
 * every job that names anything but nodes. NULL: this is not such a list. */
static const char *nodes_of(const char *nodes)
{
    size_t size = strspn(nodes, TEXT_NODE_CHARACTERS ",");
    return size > 0 && size <= TEXT_NODE_MAX && !nodes[size] ? nodes : NULL;
}

/* An exit code or a signal, as the system can give it. Any other number becomes 0. */
static int status_of(int64_t value)
{
    return value >= 0 && value < 1 << 16 ? (int)value : 0;
}

bool entry_outcome(const struct outcome *outcome, struct core_event *ret_event)
{
    if (outcome->kind == OUTCOME_NONE || outcome->kind == OUTCOME_LOST)
        return false;
    if ((outcome->kind == OUTCOME_FAILED) != (outcome->cause != CAUSE_NONE))
        return false; /* every failure has a cause, and no other outcome has a cause */
    ret_event->kind = EV_RUN_ENDED;
    ret_event->slurm_id = slurm_id(outcome->job_id);
    ret_event->token = outcome->token[0] ? outcome->token : NULL;
    ret_event->outcome = outcome->kind;
    ret_event->cause = outcome->cause;
    ret_event->exit_code = status_of(outcome->exit_code);
    ret_event->signal = status_of(outcome->signal);
    ret_event->started_ms = time_ms(outcome->started);
    ret_event->ended_ms = time_ms(outcome->ended);
    ret_event->step = outcome->last_step;
    ret_event->node = nodes_of(outcome->node);
    ret_event->checks = json_string_value(json_object_get(outcome->guard, "name"));
    ret_event->requeues = outcome->requeues;
    ret_event->message = outcome->message;
    return true;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
    int (*write)(const struct entry *entry, const struct entry_origin *origin, struct store *store,
                 struct error *err);
    bool (*tell)(const struct entry *entry, char buffer[REASON_MAX], struct core_event *event);
} types[ENTRY_UNKNOWN + 1] = {
    [ENTRY_STARTED] = {write_started, tell_started},
    [ENTRY_PREFLIGHT] = {write_preflight, NULL},
    [ENTRY_METRIC] = {write_metric, NULL},
    [ENTRY_CHECKPOINT] = {write_checkpoint, tell_checkpoint},
    [ENTRY_GUARD] = {write_guard, NULL},
    [ENTRY_SUSPECT] = {write_suspect, tell_suspect},
    [ENTRY_WARNING] = {write_warning, NULL},
    [ENTRY_STOPPING] = {NULL, tell_stopping},
    [ENTRY_EVIDENCE] = {write_evidence, NULL},
    [ENTRY_GPUS] = {write_gpus, NULL},
    [ENTRY_SAMPLE] = {write_sample, NULL},
    [ENTRY_PACE] = {write_pace, NULL},
    [ENTRY_LOST] = {write_lost, NULL},
    [ENTRY_UNKNOWN] = {write_unknown, NULL},
};

int entry_write(const struct entry *entry, const struct entry_origin *origin, struct store *store,
                struct error *err)
{
    int status = types[entry->type].write ? types[entry->type].write(entry, origin, store, err) : 0;
    if (status == -EINVAL && store_excuse(store))
        status = write_strange(entry, origin, store, err);
    return status;
}

bool entry_event(const struct entry *entry, char buffer[REASON_MAX], struct core_event *ret_event)
{
    *ret_event = (struct core_event){.step = -1};
    return types[entry->type].tell && types[entry->type].tell(entry, buffer, ret_event);
}

/* --- What was recognised of a failure --------------------------------------------------------- */

struct failure_item {
    struct loop_item item;
    uint64_t run;
    enum run_cause cause;
    json_t *failure;
};

/* A worker may have written something that is not a failure. Then nothing is recorded. */
static int failure_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct failure_item *item = (const struct failure_item *)base;
    int status =
        store_failure_put(store, item->run, item->failure, run_cause_name(item->cause), err);
    return status == -EINVAL && store_excuse(store) ? 0 : status;
}

static void failure_free(void *context)
{
    struct failure_item *item = context;
    json_decref(item->failure);
    free(item);
}

struct loop_item *entry_failure_item(const struct run *run, const struct outcome *outcome)
{
    if (!json_is_object(outcome->failure))
        return NULL;
    struct failure_item *item = xcalloc(1, sizeof *item);
    *item = (struct failure_item){
        .item = {.write = failure_write, .free = failure_free},
        .run = run->id,
        .cause = outcome->cause == CAUSE_NONE ? CAUSE_EXIT : outcome->cause,
        .failure = json_incref(outcome->failure),
    };
    return &item->item;
}
