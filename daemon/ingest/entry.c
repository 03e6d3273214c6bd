/* The types of entries: a table of what each type writes, and what it tells the core. */
#include "daemon/ingest/entry.h"

#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/json_double.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NODE_NAME_MAX = 255, /* POSIX's limit for a host's name */
    METRIC_NAME_MAX = EXPR_NAME_MAX,
    MESSAGE_MAX = 1024, /* bytes that people see */
};

#define NODE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* 2^53 - 1: a double holds all whole numbers up to it exactly. */
#define NUMBER_MAX 9007199254740991.0

/* --- Reading members, which a worker wrote ---------------------------------------------------- */

static const char *text_of(const json_t *entry, const char *name)
{
    return json_string_value(json_object_get(entry, name));
}

/* Returns `otherwise` also for a number beyond NUMBER_MAX. So sums and differences of numbers that
 * were taken never overflow. */
static int64_t integer_of(const json_t *entry, const char *name, int64_t otherwise)
{
    double value = json_number_value(json_object_get(entry, name));
    if (!json_is_number(json_object_get(entry, name)) || fabs(value) > NUMBER_MAX)
        return otherwise;
    return (int64_t)value;
}

static int64_t time_ms_of(const json_t *entry, const char *name)
{
    double time_s = json_number_value(json_object_get(entry, name));
    return time_s > 0 && time_s < 1e11 ? (int64_t)(time_s * 1000) : 0;
}

static int int_of(const json_t *entry, const char *name)
{
    int64_t value = integer_of(entry, name, 0);
    return value >= 0 && value < 1 << 16 ? (int)value : 0;
}

int64_t entry_step(const json_t *json)
{
    int64_t step = integer_of(json, "step", -1);
    return step < 0 ? -1 : step;
}

uint64_t entry_sequence(const json_t *entry)
{
    json_int_t sequence = json_integer_value(json_object_get(entry, "seq"));
    return sequence > 0 ? (uint64_t)sequence : 0;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Returns up to `size_max` bytes of the text, and never cuts a letter. */
static size_t whole_size(const char *text, size_t size_max)
{
    size_t size = strnlen(text, size_max + 1);
    if (size <= size_max)
        return size;
    size = size_max;
    while (size > 0 && ((unsigned char)text[size] & 0xc0) == 0x80)
        size--;
    return size;
}

static int write_history(const json_t *entry, const struct entry_origin *origin,
                         enum event_type type, const char *message, struct store *store,
                         struct error *err)
{
    size_t size = whole_size(message, MESSAGE_MAX);
    char *shown = text_format("%.*s%s", (int)size, message, message[size] ? "..." : "");
    struct store_event event = {.type = type,
                                .time_ms = time_ms_of(entry, "time"),
                                .workflow = origin->workflow,
                                .phase = origin->phase,
                                .run = origin->run,
                                .message = shown};
    int status = origin->workflow ? store_event_add(store, &event, err) : 0;
    free(shown);
    return status;
}

/* The writers below return -EINVAL for what they do not understand. An entry that was a metric, or
 * may have been a metric, then counts as missing, and a gate knows that. */
static int write_strange(const json_t *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    uint64_t sequence = entry_sequence(entry);
    unsigned type = entry_type(entry);
    char *message = text_format("entry %" PRIu64 " of the journal of %s was not understood: %s",
                                sequence, origin->node, err->message);
    int status = write_history(entry, origin, EVENT_WARNING, message, store, err);
    free(message);
    if (status < 0 || (type != ENTRY_METRIC && type != ENTRY_UNKNOWN))
        return status;
    return store_journal_gap_add(store, origin->run, origin->node, sequence, sequence, err);
}

static int write_metric(const json_t *entry, const struct entry_origin *origin, struct store *store,
                        struct error *err)
{
    json_t *values = json_object_get(entry, "values");
    int64_t step = entry_step(entry), time_ms = time_ms_of(entry, "time");
    if (!json_is_object(values) || step < 0)
        return error_set(err, -EINVAL, "a metric has `values`, and a `step` from 0 to 2^53");
    const char *name, *strange = NULL;
    json_t *json;
    json_object_foreach(values, name, json)
    {
        if (strlen(name) > METRIC_NAME_MAX)
            return error_set(err, -EINVAL, "a metric's name has at most %d bytes", METRIC_NAME_MAX);
    }
    json_object_foreach(values, name, json)
    {
        double value;
        if (!json_double_read(json, &value)) {
            strange = name;
            continue;
        }
        int status = store_metric_add(store, origin->run, step, name, value, time_ms, err);
        if (status < 0)
            return status;
    }
    return strange ? error_set(err, -EINVAL, "%.40s has no number", strange) : 0;
}

static bool is_node_name(const char *name)
{
    size_t size = name ? strspn(name, NODE_CHARACTERS) : 0;
    return size > 0 && size <= NODE_NAME_MAX && !name[size];
}

/* Adds the names of a list. A name that no node can have becomes "?". */
static void add_names(struct text *text, const json_t *names, const char *between)
{
    size_t i;
    const json_t *item;
    json_array_foreach(names, i, item)
    {
        const char *name = json_string_value(item);
        text_addf(text, "%s%s", i ? between : "", is_node_name(name) ? name : "?");
    }
}

static int write_started(const json_t *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    struct text nodes = {0};
    add_names(&nodes, json_object_get(entry, "nodes"), ",");
    int status = store_run_nodes_set(store, origin->run, text_string(&nodes), err);
    text_fini(&nodes);
    const json_t *hardware = json_object_get(entry, "hardware");
    if (status == 0 && json_is_object(hardware))
        status = store_run_hardware_set(store, origin->run, text_of(hardware, "model"),
                                        text_of(hardware, "by_gpu"), err);
    return status;
}

static int write_checkpoint(const json_t *entry, const struct entry_origin *origin,
                            struct store *store, struct error *err)
{
    struct store_checkpoint checkpoint = {
        .run = origin->run,
        .path = text_of(entry, "path"),
        .step = entry_step(entry),
        .bytes = integer_of(entry, "bytes", -1),
        .time_ms = time_ms_of(entry, "time"),
        .is_suspect = json_is_true(json_object_get(entry, "suspect")),
        .is_unseen = json_is_true(json_object_get(entry, "unseen"))};
    const json_t *paths = json_object_get(entry, "paths");
    if (json_is_array(paths))
        checkpoint.paths = paths;
    if (!checkpoint.path || checkpoint.step < 0)
        return error_set(err, -EINVAL, "a checkpoint has a `path`, and a `step` from 0 to 2^53");
    int status = store_checkpoint_add(store, &checkpoint, err);
    if (status < 0)
        return status;
    char *message = text_format("step %lld: %s", (long long)checkpoint.step, checkpoint.path);
    status = write_history(entry, origin, EVENT_CHECKPOINT, message, store, err);
    free(message);
    return status;
}

static int write_suspect(const json_t *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    int64_t step = entry_step(entry);
    return step < 0 ? error_set(err, -EINVAL, "what is suspect has a `step` from 0 to 2^53")
                    : store_run_suspect(store, origin->run, step, time_ms_of(entry, "time"), err);
}

static int write_guard(const json_t *entry, const struct entry_origin *origin, struct store *store,
                       struct error *err)
{
    const json_t *verdict = json_object_get(entry, "verdict");
    const char *name = text_of(verdict, "name"), *reason = text_of(verdict, "reason");
    int status = store_guard_add(store, origin->run, verdict, time_ms_of(entry, "time"), err);
    if (status < 0)
        return status;
    char *message = text_format("%s%s%s", name, reason ? ": " : "", reason ? reason : "");
    status = write_history(entry, origin, EVENT_GUARD, message, store, err);
    free(message);
    return status;
}

/* The evidence is recorded without `seq`, `time` and `type`, which every entry has. */
static int write_evidence(const json_t *entry, const struct entry_origin *origin,
                          struct store *store, struct error *err)
{
    if (!json_is_array(json_object_get(entry, "processes")))
        return error_set(err, -EINVAL, "evidence has a list of `processes`");
    json_t *evidence = json_copy((json_t *)entry);
    if (!evidence)
        abort();
    (void)json_object_del(evidence, "seq"); /* a key that is absent does not matter */
    (void)json_object_del(evidence, "time");
    (void)json_object_del(evidence, "type");
    int status = store_evidence_put(store, origin->run, origin->node, evidence,
                                    time_ms_of(entry, "time"), err);
    json_decref(evidence);
    return status;
}

static int write_preflight(const json_t *entry, const struct entry_origin *origin,
                           struct store *store, struct error *err)
{
    const json_t *seconds = json_object_get(entry, "seconds");
    const struct store_preflight preflight = {
        .run = origin->run,
        .node = origin->node,
        .level = text_of(entry, "level"),
        .outcome = text_of(entry, "outcome"),
        .reason = text_of(entry, "reason"),
        .is_observed = json_is_true(json_object_get(entry, "observe")),
        .lasted_ms = (int64_t)(fmin(fmax(json_number_value(seconds), 0), 1e6) * 1000),
        .time_ms = time_ms_of(entry, "time"),
        .rows = json_object_get(entry, "rows"),
    };
    return store_preflight_add(store, &preflight, err);
}

static int write_gpus(const json_t *entry, const struct entry_origin *origin, struct store *store,
                      struct error *err)
{
    return store_gpus_put(store, origin->run, origin->node, entry, err);
}

static int write_sample(const json_t *entry, const struct entry_origin *origin, struct store *store,
                        struct error *err)
{
    return store_samples_put(store, origin->run, origin->node, entry, err);
}

static int write_pace(const json_t *entry, const struct entry_origin *origin, struct store *store,
                      struct error *err)
{
    const struct store_pace pace = {
        .step = entry_step(entry),
        .steps = integer_of(entry, "steps", 0),
        .seconds = json_number_value(json_object_get(entry, "seconds")),
        .time_ms = time_ms_of(entry, "time"),
    };
    return store_pace_put(store, origin->run, origin->node, &pace, err);
}

/* An entry of the lead names its nodes. An entry of a node is about the node itself. */
static int write_warning(const json_t *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    const char *message = text_of(entry, "message");
    if (!message)
        return error_set(err, -EINVAL, "a warning has a `message`");
    if (text_equal(origin->node, "lead"))
        return write_history(entry, origin, EVENT_WARNING, message, store, err);
    char *placed = text_format("%s: %s", origin->node, message);
    int status = write_history(entry, origin, EVENT_WARNING, placed, store, err);
    free(placed);
    return status;
}

static int write_unknown(const json_t *entry, const struct entry_origin *origin,
                         struct store *store, struct error *err)
{
    const char *type = text_of(entry, "type");
    (void)origin;
    (void)store;
    return error_set(err, -EINVAL, "no entry has the type %.40s", type ? type : "of none");
}

/* With a message, these are entries that never got a number, because the disk was full. */
static int write_lost(const json_t *entry, const struct entry_origin *origin, struct store *store,
                      struct error *err)
{
    uint64_t first = entry_first(entry), last = entry_sequence(entry);
    int status = store_journal_gap_add(store, origin->run, origin->node, first, last, err);
    if (status < 0 || text_of(entry, "message"))
        return status < 0 ? status : write_warning(entry, origin, store, err);
    char *message =
        first == last
            ? text_format("the journal of %s has lost entry %" PRIu64, origin->node, first)
            : text_format("the journal of %s has lost entries %" PRIu64 " to %" PRIu64,
                          origin->node, first, last);
    status = write_history(entry, origin, EVENT_WARNING, message, store, err);
    free(message);
    return status;
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

static bool tell_started(const json_t *entry, char buffer[REASON_MAX], struct core_event *event)
{
    int64_t job_id = integer_of(entry, "job_id", 0);
    event->kind = EV_RUN_STARTED;
    event->slurm_id = job_id > 0 && job_id <= UINT32_MAX ? (uint32_t)job_id : 0;
    write_place(json_object_get(entry, "nodes"), event->slurm_id, buffer);
    event->message = buffer;
    event->token = text_of(entry, "token");
    event->started_ms = time_ms_of(entry, "time");
    return true;
}

static bool tell_checkpoint(const json_t *entry, char buffer[REASON_MAX], struct core_event *event)
{
    (void)buffer;
    event->kind = EV_CHECKPOINT;
    event->path = text_of(entry, "path");
    event->step = entry_step(entry);
    return event->path && event->step >= 0 && !json_is_true(json_object_get(entry, "suspect"));
}

static bool tell_suspect(const json_t *entry, char buffer[REASON_MAX], struct core_event *event)
{
    (void)buffer;
    event->kind = EV_SUSPECT;
    event->since = entry_step(entry);
    event->suspected_ms = time_ms_of(entry, "time");
    return event->since >= 0;
}

static bool tell_stopping(const json_t *entry, char buffer[REASON_MAX], struct core_event *event)
{
    const char *why = text_of(entry, "why"), *message = text_of(entry, "message");
    (void)snprintf(buffer, REASON_MAX, "%.40s%s%.200s", why ? why : "",
                   message && *message ? ": " : "", message ? message : "");
    event->kind = EV_RUN_STOPPING;
    event->message = buffer;
    if (why && text_equal(why, stop_reason_name(STOP_HELD)))
        event->hold_reason = message ? message : "";
    return true;
}

static bool tell_ended(const json_t *entry, char buffer[REASON_MAX], struct core_event *event)
{
    (void)buffer;
    return entry_outcome(entry, event);
}

/* Returns the names of nodes that jobs will be kept away from, with commas between. Slurm refuses
 * every job that names anything but nodes. NULL: this is no such list. */
static const char *nodes_of(const json_t *json, const char *name)
{
    const char *nodes = text_of(json, name);
    size_t size = nodes ? strspn(nodes, NODE_CHARACTERS ",") : 0;
    return size > 0 && size <= NODE_NAME_MAX && !nodes[size] ? nodes : NULL;
}

bool entry_outcome(const json_t *json, struct core_event *ret_event)
{
    const char *name = text_of(json, "outcome"), *cause_name = text_of(json, "cause");
    int outcome = name ? run_outcome_parse(name) : -1;
    int cause = cause_name ? run_cause_parse(cause_name) : CAUSE_NONE;
    if (outcome <= OUTCOME_NONE || outcome == OUTCOME_LOST || cause < 0)
        return false;
    if ((outcome == OUTCOME_FAILED) != (cause != CAUSE_NONE))
        return false; /* every failure has a cause, and nothing else has */
    const char *message = text_of(json, "message");
    int64_t job_id = integer_of(json, "job_id", 0);
    ret_event->kind = EV_RUN_ENDED;
    ret_event->slurm_id = job_id > 0 && job_id <= UINT32_MAX ? (uint32_t)job_id : 0;
    ret_event->token = text_of(json, "token");
    ret_event->outcome = (enum run_outcome)outcome;
    ret_event->cause = (enum run_cause)cause;
    ret_event->exit_code = int_of(json, "exit_code");
    ret_event->signal = int_of(json, "signal");
    ret_event->started_ms = time_ms_of(json, "started");
    ret_event->ended_ms = time_ms_of(json, "ended");
    ret_event->step = integer_of(json, "last_step", -1);
    ret_event->node = nodes_of(json, "node");
    ret_event->checks = text_of(json_object_get(json, "guard"), "name");
    ret_event->requeues = json_is_true(json_object_get(json, "requeues"));
    ret_event->message = message ? message : "";
    return true;
}

/* --- The table -------------------------------------------------------------------------------- */

static const struct {
    int (*write)(const json_t *entry, const struct entry_origin *origin, struct store *store,
                 struct error *err);
    bool (*tell)(const json_t *entry, char buffer[REASON_MAX], struct core_event *event);
} types[ENTRY_UNKNOWN + 1] = {
    [ENTRY_STARTED] = {write_started, tell_started},
    [ENTRY_PREFLIGHT] = {write_preflight, NULL},
    [ENTRY_METRIC] = {write_metric, NULL},
    [ENTRY_CHECKPOINT] = {write_checkpoint, tell_checkpoint},
    [ENTRY_GUARD] = {write_guard, NULL},
    [ENTRY_SUSPECT] = {write_suspect, tell_suspect},
    [ENTRY_WARNING] = {write_warning, NULL},
    [ENTRY_STOPPING] = {NULL, tell_stopping},
    [ENTRY_ENDED] = {NULL, tell_ended},
    [ENTRY_EVIDENCE] = {write_evidence, NULL},
    [ENTRY_GPUS] = {write_gpus, NULL},
    [ENTRY_SAMPLE] = {write_sample, NULL},
    [ENTRY_PACE] = {write_pace, NULL},
    [ENTRY_LOST] = {write_lost, NULL},
    [ENTRY_UNKNOWN] = {write_unknown, NULL},
};

unsigned entry_type(const json_t *entry)
{
    int type = entry_type_parse(text_of(entry, "type"));
    return type < 0 ? ENTRY_UNKNOWN : (unsigned)type;
}

uint64_t entry_first(const json_t *entry)
{
    uint64_t sequence = entry_sequence(entry);
    json_int_t from = json_integer_value(json_object_get(entry, "from"));
    bool is_lost = entry_type(entry) == ENTRY_LOST && from > 0 && (uint64_t)from < sequence;
    return is_lost ? (uint64_t)from : sequence;
}

json_t *entry_lost(uint64_t first, uint64_t last, int64_t time_ms)
{
    json_t *entry =
        json_pack("{s:I, s:f, s:s, s:I}", "seq", (json_int_t)last, "time", (double)time_ms / 1000,
                  "type", entry_type_name(ENTRY_LOST), "from", (json_int_t)first);
    if (!entry)
        abort();
    return entry;
}

int entry_write(const json_t *entry, const struct entry_origin *origin, struct store *store,
                struct error *err)
{
    unsigned type = entry_type(entry);
    int status = types[type].write ? types[type].write(entry, origin, store, err) : 0;
    if (status == -EINVAL && store_excuse(store))
        status = write_strange(entry, origin, store, err);
    return status;
}

bool entry_event(const json_t *entry, char buffer[REASON_MAX], struct core_event *ret_event)
{
    unsigned type = entry_type(entry);
    *ret_event = (struct core_event){.step = -1};
    return types[type].tell && types[type].tell(entry, buffer, ret_event);
}

/* --- What was recognised of a failure --------------------------------------------------------- */

struct failure_item {
    struct loop_item item;
    uint64_t run;
    json_t *outcome;
};

/* A worker may have written something that is no failure. Then nothing is recorded. */
static int failure_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct failure_item *item = (const struct failure_item *)base;
    const char *cause = json_string_value(json_object_get(item->outcome, "cause"));
    int status = store_failure_put(store, item->run, json_object_get(item->outcome, "failure"),
                                   cause ? cause : "exit", err);
    return status == -EINVAL && store_excuse(store) ? 0 : status;
}

static void failure_free(struct loop_item *base)
{
    struct failure_item *item = (struct failure_item *)base;
    json_decref(item->outcome);
    free(item);
}

struct loop_item *entry_failure_item(const struct run *run, const json_t *outcome)
{
    if (!json_is_object(json_object_get(outcome, "failure")))
        return NULL;
    struct failure_item *item = xcalloc(1, sizeof *item);
    *item = (struct failure_item){
        .item = {.write = failure_write, .free = failure_free},
        .run = run->id,
        .outcome = json_incref((json_t *)outcome),
    };
    return &item->item;
}
