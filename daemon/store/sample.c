/* GPUs, and samples of what they did. */
#include "daemon/store/answers.h"
#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"
#include "lib/gpu_columns.h"
#include "lib/json.h"
#include "lib/protocol/sampler_line.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>

enum {
    SAMPLES_FINE_MS = 24 * 3600 * 1000, /* after that, minutes are enough */
    SAMPLES_AGED_AT_ONCE = 100000,      /* rows: a few tenths of a second */
    SAMPLES_MINUTE_MS = 60000,
};

static const char *const sample_parameters[GPU_COLUMN_COUNT] = {
#define X(symbol, name, kind, dcgm, what) ":" #name,
    GPU_COLUMNS(X)
#undef X
};

static void bind_word(struct stmt *stmt, const char *name, const json_t *list, size_t i)
{
    stmt_bind_text(stmt, name, json_string_value(json_array_get(list, i)));
}

/* NULL if the value is one that a GPU cannot have. */
static void bind_number(struct stmt *stmt, const char *name, const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);
    if (json_is_number(value) && fabs(json_number_value(value)) <= JSON_WHOLE_MAX)
        stmt_bind_int(stmt, name, (int64_t)round(json_number_value(value)));
    else
        stmt_bind_text(stmt, name, NULL);
}

int store_gpus_put(struct store *store, uint64_t run, const char *node, const json_t *devices,
                   struct error *err)
{
    const struct gpu_devices told = gpu_devices_read(devices);
    int status = 0;
    for (size_t i = 0; status == 0 && i < json_array_size(told.gpus); i++) {
        struct stmt *stmt = store_stmt(store, Q_GPU_PUT);
        stmt_bind_id(stmt, ":run", run);
        stmt_bind_text(stmt, ":node", node);
        stmt_bind_int(stmt, ":number", json_integer_value(json_array_get(told.gpus, i)));
        bind_word(stmt, ":model", told.models, i);
        bind_word(stmt, ":uuid", told.uuids, i);
        bind_number(stmt, ":memory_mib", told.memory_mib, i);
        status = stmt_run(stmt, err);
    }
    return status;
}

/* How many seconds of a sample were seen. A span is incomplete at the begin and the end of a run,
 * when spans become longer, and when the driver is slow. If the first or last sample comes around a
 * whole second, a span has one sample too many, and its neighbour has one too few. */
static int64_t sample_seen_s(const struct sample *sample)
{
    bool is_known = sample->sampled >= 0 && sample->sampled <= 2 * sample->seconds;
    return is_known ? sample->sampled : sample->seconds;
}

static int gpu_idle_add(struct store *store, uint64_t run, const char *node,
                        const struct sample *sample, size_t i, struct error *err)
{
    if (!json_is_number(json_array_get(sample->columns[GPU_UTIL], i)))
        return 0;
    struct stmt *stmt = store_stmt(store, Q_GPU_IDLE_ADD);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    bind_number(stmt, ":number", sample->gpus, i);
    bind_number(stmt, ":util", sample->columns[GPU_UTIL], i);
    stmt_bind_int(stmt, ":seconds", sample_seen_s(sample));
    return stmt_run(stmt, err);
}

int store_samples_put(struct store *store, uint64_t run, const char *node, const json_t *sample,
                      struct error *err)
{
    const struct sample told = sample_read(sample);
    int status = 0;
    if ((told.seconds != 1 && told.seconds != 10 && told.seconds != 60) || told.from <= 0 ||
        told.from > INT32_MAX * 8LL)
        return error_set(err, -EINVAL,
                         "a sample needs its time, and a length of 1, 10 or 60 seconds");
    for (size_t i = 0; status == 0 && i < json_array_size(told.gpus); i++) {
        struct stmt *stmt = store_stmt(store, Q_SAMPLE_PUT);
        stmt_bind_id(stmt, ":run", run);
        stmt_bind_text(stmt, ":node", node);
        stmt_bind_int(stmt, ":number", json_integer_value(json_array_get(told.gpus, i)));
        stmt_bind_int(stmt, ":seconds", told.seconds);
        stmt_bind_int(stmt, ":time", 1000 * told.from);
        for (unsigned column = 0; column < GPU_COLUMN_COUNT; column++)
            bind_number(stmt, sample_parameters[column], told.columns[column], i);
        status = stmt_run(stmt, err);
        if (status == 0 && told.seconds > 1) /* single seconds are written besides */
            status = gpu_idle_add(store, run, node, &told, i, err);
    }
    return status;
}

int store_pace_put(struct store *store, uint64_t run, const char *node,
                   const struct store_pace *pace, struct error *err)
{
    if (pace->step < 0 || pace->steps <= 0 || !(pace->seconds > 0) || pace->seconds > 1e9)
        return error_set(err, -EINVAL, "a pace has a `step`, and `steps` that took `seconds`");
    struct stmt *stmt = store_stmt(store, Q_PACE_PUT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    stmt_bind_int(stmt, ":step", pace->step);
    stmt_bind_int(stmt, ":steps", pace->steps);
    stmt_bind_real(stmt, ":seconds", pace->seconds);
    stmt_bind_int(stmt, ":time", pace->time_ms);
    return stmt_run(stmt, err);
}

/* The time before which rows are made coarser now; 0: no rows are old enough. */
static int samples_before(struct store *store, int64_t limit_ms, int64_t *ret_before_ms,
                          struct error *err)
{
    static const int64_t counts[] = {SAMPLES_AGED_AT_ONCE, 0};
    int64_t befores_ms[] = {0, 0};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct stmt *stmt = store_stmt(store, Q_SAMPLE_OLDEST);
        stmt_bind_int(stmt, ":before", limit_ms);
        stmt_bind_int(stmt, ":count", counts[i]);
        int status = stmt_read_int(stmt, "time", &befores_ms[i], err);
        if (status < 0)
            return status;
    }
    bool is_much = befores_ms[0] != 0, is_any = befores_ms[1] != 0;
    /* Whole minutes, and at least one. A part of a minute must not be taken for a whole minute. */
    int64_t before_ms = is_much ? befores_ms[0] : limit_ms;
    before_ms -= before_ms % SAMPLES_MINUTE_MS;
    if (is_any && before_ms <= befores_ms[1])
        before_ms = befores_ms[1] - befores_ms[1] % SAMPLES_MINUTE_MS + SAMPLES_MINUTE_MS;
    *ret_before_ms = is_any ? before_ms : 0;
    return 0;
}

int store_samples_age(struct store *store, int64_t now_ms, struct error *err)
{
    int64_t limit_ms = now_ms - SAMPLES_FINE_MS, before_ms;
    int status = samples_before(store, limit_ms - limit_ms % SAMPLES_MINUTE_MS, &before_ms, err);
    if (status < 0 || before_ms == 0)
        return status;
    static const enum query steps[] = {Q_SAMPLE_COARSEN, Q_SAMPLE_DROP};
    for (size_t i = 0; status == 0 && i < sizeof steps / sizeof *steps; i++) {
        struct stmt *stmt = store_stmt(store, steps[i]);
        stmt_bind_int(stmt, ":before", before_ms);
        status = stmt_run(stmt, err);
    }
    return status;
}

/* The rows of a run: Q_GPUS_ANSWER or Q_PACES_ANSWER. */
static int answer_rows(struct store *store, enum query query, uint64_t run, json_t **ret_rows,
                       struct error *err)
{
    struct stmt *stmt = store_stmt(store, query);
    stmt_bind_id(stmt, ":run", run);
    return row_json_list(stmt, ret_rows, err);
}

int answer_gpus(struct store *store, uint64_t run, json_t **ret_json, struct error *err)
{
    json_t *gpus, *paces;
    int status = answer_rows(store, Q_GPUS_ANSWER, run, &gpus, err);
    if (status < 0)
        return status;
    status = answer_rows(store, Q_PACES_ANSWER, run, &paces, err);
    if (status < 0)
        json_decref(gpus);
    else
        *ret_json = json_pack("{s:o, s:o}", "gpus", gpus, "paces", paces);
    return status;
}

/* The list of values of the GPU of this row of Q_GPUS_HISTORY. The rows of a GPU follow one
 * another. */
static json_t *history_values(struct stmt *stmt, json_t *gpus)
{
    const json_t *newest = json_array_get(gpus, json_array_size(gpus) - 1);
    const char *node = stmt_text(stmt, "node");
    int64_t number = stmt_int(stmt, "gpu");
    if (!newest || json_integer_value(json_object_get(newest, "gpu")) != number ||
        !text_equal(json_string_value(json_object_get(newest, "node")), node))
        json_array_append_new(
            gpus, json_pack("{s:s, s:I, s:[]}", "node", node, "gpu", (json_int_t)number, "util"));
    return json_object_get(json_array_get(gpus, json_array_size(gpus) - 1), "util");
}

int answer_gpu_history(struct store *store, uint64_t run, unsigned parts, json_t **ret_json,
                       struct error *err)
{
    int status;
    json_t *gpus = json_array(), *first = NULL, *seconds = NULL;
    struct stmt *stmt = store_stmt(store, Q_GPUS_HISTORY);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_int(stmt, ":parts", parts ? parts : 1);
    while ((status = stmt_step(stmt, err)) > 0) {
        json_array_append_new(history_values(stmt, gpus), stmt_is_null(stmt, "util")
                                                              ? json_null()
                                                              : json_real(stmt_real(stmt, "util")));
        if (!first) {
            first = json_real(stmt_real(stmt, "first"));
            seconds = json_real(stmt_real(stmt, "seconds"));
        }
    }
    if (status < 0) {
        json_decref(first);
        json_decref(seconds);
        json_decref(gpus);
        return status;
    }
    *ret_json = json_pack("{s:o, s:o, s:o}", "first", first ? first : json_null(), "seconds",
                          seconds ? seconds : json_null(), "gpus", gpus);
    return 0;
}
