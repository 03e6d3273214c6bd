/* Metrics, guards and gates on the logs of earlier runs. */
#include "cli/oldlog.h"

#include "cli/format.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "lib/metrics/speed.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OLDLOG_JUDGED_EACH = 1000, /* after this many judgements, the share of judged rows is halved */
    OLDLOG_PIECE = 256 * 1024, /* bytes read at a time */
};

/* One log and what was read from it. */
struct oldlog {
    const json_t *phase; /* borrowed, like all names */
    const char *name, *file;
    struct metrics *metrics;
    struct guards *guards;
    struct speed speed;
    json_t *facts;
    bool has_times;
    double begin_s, time_s; /* the time of the first line; from there to the newest line */
    int64_t last_step;
    size_t lines, rows;
    bool is_within; /* the next piece continues a long line */
    char *unread;   /* a line of the log, if no metric was recognised; or NULL */
    char *left_out; /* a message about names that were left out, or NULL */
    size_t judged_each, judged;
    json_t *verdicts; /* what guards and `until` would have told */
    char *stopped;    /* why guards would have stopped the run, or NULL */
    bool is_end_good; /* `until` was reached */
    int64_t stopped_step;
};

/* --- Reading ---------------------------------------------------------------------------------- */

static void oldlog_told(void *context, json_t *verdict)
{
    struct oldlog *log = context;
    if (json_array_append(log->verdicts, verdict) < 0)
        abort();
}

static void oldlog_judge(struct oldlog *log)
{
    struct guards_reason reason = {0};
    enum guards_judgement judgement =
        guards_judge(log->guards, log->time_s, oldlog_told, log, &reason);
    if (judgement != GUARDS_FINE && !log->stopped) {
        log->stopped = reason.message;
        log->stopped_step = log->last_step;
        log->is_end_good = judgement == GUARDS_REACHED;
        reason.message = NULL;
    }
    free(reason.message);
    json_decref(reason.verdict);
}

/* A real run is judged every few seconds. Most logs have no times, so rows are counted instead. */
static void oldlog_row(void *context, const struct extract_row *printed)
{
    struct oldlog *log = context;
    const struct extract_row *row = speed_read(&log->speed, printed, (int64_t)(log->time_s * 1000));
    log->rows++;
    log->last_step = row->step;
    for (size_t i = 0; i < row->count; i++) {
        metrics_add(log->metrics, row->values[i].name, row->step, log->time_s,
                    row->values[i].value);
        if (!log->stopped)
            guards_add(log->guards, row->step, log->time_s, &row->values[i]);
    }
    if (log->stopped || log->rows % log->judged_each)
        return;
    oldlog_judge(log);
    if (++log->judged % OLDLOG_JUDGED_EACH == 0)
        log->judged_each *= 2;
}

/* Reads the time that `phasectl logs` writes before a line, such as "2026-11-21T08:50:04.721Z ".
 * Returns its size; 0: there is no time. */
static size_t oldlog_time(struct oldlog *log, const char *line, size_t size)
{
    double time_s = clock_stamp_s(line, size);
    if (isnan(time_s))
        return 0;
    if (!log->has_times)
        log->begin_s = time_s;
    log->has_times = true;
    log->time_s = time_s - log->begin_s;
    return CLOCK_STAMP_SIZE;
}

/* Recognises formats that are not text by their first bytes. NULL: it may be text. */
static const char *oldlog_format(const char *data, size_t size)
{
    static const struct {
        const char *begin;
        size_t size;
        const char *name;
    } formats[] = {
        {"\x1f\x8b", 2, "compressed (zcat reads it)"},
        {"\x28\xb5\x2f\xfd", 4, "compressed (zstdcat reads it)"},
        {"\xfd\x37zXZ", 5, "compressed (xzcat reads it)"},
        {"BZh", 3, "compressed (bzcat reads it)"},
        {"\xff\xfe", 2, "UTF-16 (iconv -f UTF-16 reads it)"},
        {"\xfe\xff", 2, "UTF-16 (iconv -f UTF-16 reads it)"},
    };
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (size >= formats[i].size && memcmp(data, formats[i].begin, formats[i].size) == 0)
            return formats[i].name;
    return NULL;
}

/* Reads a line, or a piece of a line that is too long for metrics. */
static void oldlog_line(struct oldlog *log, struct extract *extract, const char *line, size_t size)
{
    size_t begin = log->is_within ? 0 : oldlog_time(log, line, size);
    log->lines += !log->is_within;
    log->is_within = line[size - 1] != '\n';
    extract_feed(extract, line + begin, size - begin);
}

/* Reads the log in pieces: it may be larger than the memory, and may have no line ends. */
static int oldlog_read_file(struct oldlog *log, FILE *file, struct extract *extract,
                            struct error *err)
{
    static char piece[OLDLOG_PIECE];
    size_t size = 0, read;
    while ((read = fread(piece + size, 1, sizeof piece - size, file)) > 0) {
        size += read;
        const char *format = log->lines || log->is_within ? NULL : oldlog_format(piece, size);
        if (format)
            return error_set(err, -EINVAL, "%s is %s: pipe the text into --log %s=/dev/stdin",
                             log->file, format, log->name);
        const char *at = piece, *end = piece + size, *next;
        while ((next = memchr(at, '\n', (size_t)(end - at)))) {
            oldlog_line(log, extract, at, (size_t)(next + 1 - at));
            at = next + 1;
        }
        size = (size_t)(end - at);
        if (size == sizeof piece) {
            oldlog_line(log, extract, at, size);
            size = 0;
        }
        memmove(piece, at, size);
    }
    if (size > 0)
        oldlog_line(log, extract, piece, size);
    return ferror(file) ? error_set(err, -errno, "cannot read %s: %s", log->file, strerror(errno))
                        : 0;
}

static int oldlog_read(struct oldlog *log, struct extract *extract, struct error *err)
{
    FILE *file = fopen(log->file, "re");
    if (!file)
        return error_set(err, -errno, "cannot open %s: %s", log->file, strerror(errno));
    int status = oldlog_read_file(log, file, extract, err);
    extract_end(extract);
    if (!log->stopped)
        oldlog_judge(log);
    (void)fclose(file); /* it was only read */
    return status;
}

/* The GPUs of an old run are not known. The facts name the GPUs that the phase asks for. */
static void oldlog_init_speed(struct oldlog *log)
{
    const json_t *resources = json_object_get(log->phase, "resources");
    const char *type = json_string_value(json_object_get(resources, "gpu_type"));
    json_int_t gpus = json_integer_value(json_object_get(resources, "nodes")) *
                      json_integer_value(json_object_get(resources, "gpus"));
    speed_init(&log->speed, log->phase, (unsigned)gpus);
    if (type)
        speed_model(&log->speed, type);
}

static int oldlog_init(struct oldlog *log, const json_t *workflow, const char *text,
                       struct error *err)
{
    struct extract_options options;
    struct extract *extract = NULL;
    const char *equals = strchr(text, '=');
    if (!equals || !equals[1])
        return error_set(err, -EINVAL, "--log wants PHASE=FILE, not '%s'", text);
    char *name = xstrndup(text, (size_t)(equals - text));
    *log = (struct oldlog){
        .phase = phase_spec_find(workflow, name),
        .file = equals + 1,
        .metrics = metrics_new(),
        .judged_each = 1,
        .verdicts = json_array(),
    };
    free(name);
    if (!log->phase)
        return error_set(err, -EINVAL, "--log %s: there is no such phase", text);
    log->name = json_string_value(json_object_get(log->phase, "name"));
    oldlog_init_speed(log);
    int status = extract_options_from_json(json_object_get(log->phase, "metrics"), &options, err);
    options.step_name =
        json_string_value(json_object_get(json_object_get(log->phase, "progress"), "step"));
    if (status == 0)
        status = guards_new(log->phase, 0, &log->guards, err);
    if (status == 0)
        status = extract_new(&options, oldlog_row, log, &extract, err);
    if (status == 0) {
        guards_want_of(log->guards, extract);
        speed_want_of(extract);
        status = oldlog_read(log, extract, err);
    }
    if (extract) {
        log->unread = xstrdup(extract_unread(extract));
        log->left_out = extract_left_out(extract);
    }
    extract_free(extract);
    log->facts = json_pack("{s:f}", "elapsed", log->time_s);
    if (log->rows)
        (void)json_object_set_new(log->facts, "step", json_integer(log->last_step));
    return status;
}

static void oldlog_fini(struct oldlog *log)
{
    metrics_free(log->metrics);
    guards_free(log->guards);
    speed_fini(&log->speed);
    json_decref(log->facts);
    json_decref(log->verdicts);
    free(log->stopped);
    free(log->unread);
    free(log->left_out);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void oldlog_write_metrics(const struct oldlog *log, const struct terminal *terminal,
                                 struct text *text)
{
    static const struct table_column columns[] = {
        {"METRIC", TABLE_LEFT, TABLE_REST},  {"ROWS", TABLE_RIGHT, TABLE_WHOLE},
        {"FROM", TABLE_RIGHT, TABLE_WHOLE},  {"TO", TABLE_RIGHT, TABLE_WHOLE},
        {"FIRST", TABLE_RIGHT, TABLE_WHOLE}, {"LAST", TABLE_RIGHT, TABLE_WHOLE},
    };
    struct table table;
    table_init(&table, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < metrics_name_count(log->metrics); i++) {
        const char *name = metrics_name(log->metrics, i);
        struct metrics_series series = metrics_find(log->metrics, name);
        const struct metrics_row *first = &series.rows[0], *last = &series.rows[series.count - 1];
        table_add(&table, name);
        table_addf(&table, "%zu", series.count);
        table_addf(&table, "%lld", (long long)first->step);
        table_addf(&table, "%lld", (long long)last->step);
        table_add_number(&table, first->value);
        table_add_number(&table, last->value);
    }
    table_write(&table, terminal, 2, text);
}

static void oldlog_write_nothing(const struct oldlog *log, struct text *text)
{
    text_add(text, "  no metric was recognised");
    if (*log->unread)
        text_addf(text, " in lines such as '%s'", log->unread);
    text_add(text, "\n  " EXTRACT_ADVICE "\n");
}

/* Metrics that guards, until and gate ask for, and that the log lacks. A guard without its metric
 * watches nothing. */
static void oldlog_write_missing(const struct oldlog *log, const struct terminal *terminal,
                                 struct text *text)
{
    size_t count = metrics_name_count(log->metrics);
    char *missing = guards_missing(log->guards), *rest = missing;
    const char **names = xcalloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = metrics_name(log->metrics, i);
    for (char *name; (name = strtok_r(rest, ", ", &rest));) {
        const char *nearest = text_nearest(name, names, count);
        terminal_colour(terminal, text, COLOUR_RED, "  never came: ");
        text_addf(text, "%s%s%s%s\n", name, nearest ? " (did you mean " : "",
                  nearest ? nearest : "", nearest ? "?)" : "");
    }
    free(names);
    free(missing);
}

static struct expr_names oldlog_names(const struct oldlog *log, const char *phase)
{
    return (struct expr_names){
        .phase = phase,
        .params = json_object_get(log->phase, "params"),
        .facts = log->facts,
        .metrics = log->metrics,
    };
}

/* Judges as the daemon does. Expressions can name the phases of all given logs. */
static void oldlog_write_gate(const struct oldlog *logs, size_t count, const struct oldlog *log,
                              const struct terminal *terminal, struct text *text)
{
    struct expr_names *before = xcalloc(count, sizeof *before);
    const json_t *gate = json_object_get(log->phase, "gate");
    json_t *json, *verdicts = json_array();
    const char *name;
    bool has_failed = false;
    for (size_t i = 0; i < count; i++)
        before[i] = oldlog_names(&logs[i], logs[i].name);
    json_object_foreach((json_t *)gate, name, json)
    {
        struct check check;
        struct verdict verdict;
        struct error err;
        if (check_from_json(name, json, &check, &err) < 0)
            continue; /* a resolved workflow has no such check */
        struct expr_scope scope = {
            .own = oldlog_names(log, NULL), .before = before, .before_count = count};
        check_evaluate(&check, CHECK_GATE, &scope, &verdict);
        has_failed = has_failed || verdict_is_failure(&verdict);
        if (json_array_append_new(verdicts, verdict_to_json(&verdict)) < 0)
            abort();
        verdict_fini(&verdict);
        check_fini(&check);
    }
    json_t *shown = json_pack("{s:o}", "checks", verdicts);
    if (json_array_size(verdicts) == 0) {
        text_add(text, "  the phase has no gate: a run that succeeds passes\n");
    } else {
        text_add(text, "  its gate would have ");
        terminal_colour(terminal, text, has_failed ? COLOUR_RED : COLOUR_GREEN,
                        has_failed ? "failed" : "passed");
        text_add(text, ":\n");
        view_gate(terminal, shown, 2, text);
    }
    json_decref(shown);
    free(before);
}

static void oldlog_write_guards(const struct oldlog *log, const struct terminal *terminal,
                                struct text *text)
{
    size_t count = json_object_size(json_object_get(log->phase, "guards"));
    if (log->stopped)
        text_addf(text, "  at step %lld the run would have %s: %s\n", (long long)log->stopped_step,
                  log->is_end_good ? "ended with success" : "been stopped", log->stopped);
    else if (count)
        text_addf(text, "  its %zu guard%s would not have stopped it\n", count,
                  count == 1 ? "" : "s");
    if (json_array_size(log->verdicts) == 0)
        return;
    json_t *shown = json_pack("{s:O}", "checks", log->verdicts);
    view_gate(terminal, shown, 2, text);
    json_decref(shown);
}

static void oldlog_write_one(const struct oldlog *logs, size_t count, const struct oldlog *log,
                             const struct terminal *terminal, struct text *text)
{
    char number[FORMAT_SIZE];
    text_addf(text, "%s, by %s: %zu line%s, %zu row%s of metrics", log->name, log->file, log->lines,
              log->lines == 1 ? "" : "s", log->rows, log->rows == 1 ? "" : "s");
    if (log->has_times)
        text_addf(text, ", %s\n", format_duration(log->time_s, number));
    else
        text_add(text, "; the log has no times, so all lines seem to come at once\n");
    if (log->rows)
        oldlog_write_metrics(log, terminal, text);
    else
        oldlog_write_nothing(log, text);
    if (log->left_out)
        text_addf(text, "  %s\n", log->left_out);
    oldlog_write_missing(log, terminal, text);
    oldlog_write_guards(log, terminal, text);
    oldlog_write_gate(logs, count, log, terminal, text);
}

int oldlog_write(const json_t *workflow, const char *const *logs, size_t count,
                 const struct terminal *terminal, struct text *text, struct error *err)
{
    struct oldlog *read = xcalloc(count + 1, sizeof *read);
    int status = 0;
    size_t done = 0;
    for (; done < count && status == 0; done++)
        status = oldlog_init(&read[done], workflow, logs[done], err);
    for (size_t i = 0; i < count && status == 0; i++)
        oldlog_write_one(read, count, &read[i], terminal, text);
    for (size_t i = 0; i < done; i++)
        oldlog_fini(&read[i]);
    free(read);
    return status;
}
