/* Makes lines of a stream of bytes, and rows of lines.
 *
 * A line is read in place. It is copied only if it came in pieces or has escape sequences. A
 * carriage return ends a line as a line feed does, but the row of that line waits, because the next
 * state of the same progress bar may replace it. extract_flush() lets it wait no longer than a
 * second: a bar may have the same step, or no step, for the whole run. */
#include "lib/metrics/extract.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/metrics/line.h"
#include "lib/metrics/literal.h"
#include "lib/metrics/pattern.h"
#include "lib/metrics/values.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    UNREAD_MAX = 96, /* bytes of a line that is shown to a person */
    PENDING_MS = 1000,
};

struct extract {
    enum extract_kind kind;
    extract_row_found *found;
    void *context;
    struct pattern *pattern; /* only with EXTRACT_PATTERN */
    struct line_memory memory;
    struct values values;
    bool has_step;
    bool has_real_step; /* the step is not a count of whole epochs */
    int64_t step;
    bool has_told; /* there was a row */
    char unread[UNREAD_MAX + 1];
    int unread_rank; /* how much `unread` looks like metrics */

    /* The newest state of a progress bar. It is told when the next state has another step, or after
     * PENDING_MS. */
    bool has_pending;
    bool is_pending_told;
    int64_t pending_ms; /* when extract_flush() first saw a state that waits; -1: not yet */
    struct extract_row pending;
    struct extract_value pending_items[EXTRACT_VALUES_MAX];
    struct text pending_names;

    char line[EXTRACT_LINE_MAX]; /* the bytes since the last line end */
    size_t line_size;
    char plain[EXTRACT_LINE_MAX]; /* a line without terminal sequences */
};

static void extract_tell_pending(struct extract *extract)
{
    if (extract->has_pending && !extract->is_pending_told)
        extract->found(extract->context, &extract->pending);
    extract->has_pending = false;
}

/* Keeps a copy of the row until a row with another step shows that no newer state comes. */
static void extract_keep_pending(struct extract *extract, const struct extract_row *row)
{
    text_clear(&extract->pending_names);
    for (size_t i = 0; i < row->count; i++)
        text_add_bytes(&extract->pending_names, row->values[i].name,
                       strlen(row->values[i].name) + 1);
    const char *name = text_string(&extract->pending_names);
    for (size_t i = 0; i < row->count; i++) {
        extract->pending_items[i] =
            (struct extract_value){.name = name, .value = row->values[i].value};
        name += strlen(name) + 1;
    }
    extract->pending = *row;
    extract->pending.values = extract->pending_items;
    extract->has_pending = true;
    extract->is_pending_told = false;
}

/* Sets the step for this line, and for later lines without a step. */
static void extract_update_step(struct extract *extract)
{
    const struct values *values = &extract->values;
    const double *epoch = values_find(values, "epoch");
    if (values->so_far.step_rank) {
        extract->step = values->so_far.step;
        extract->has_step = extract->has_real_step = true;
    } else if (!extract->has_real_step && epoch && values_is_step(*epoch) && *epoch < 1e9) {
        extract->step = (int64_t)*epoch;
        extract->has_step = true;
    } else if (!extract->has_step) {
        extract->step = values_round(&extract->values);
    }
}

enum line_end { LINE_FEED, CARRIAGE_RETURN };

/* Whether the row has the step and all values of the pending row. A NaN or an infinity must not get
 * lost, so no finite value replaces it. */
static bool extract_is_newer_state(const struct extract *extract, const struct extract_row *row)
{
    const struct extract_row *pending = &extract->pending;
    if (!extract->has_pending || pending->has_step != row->has_step ||
        (row->has_step && pending->step != row->step))
        return false;
    for (size_t i = 0; i < pending->count; i++) {
        const double *value = values_find(&extract->values, pending->values[i].name);
        if (!value || (isfinite(*value) && !isfinite(pending->values[i].value)))
            return false;
    }
    return true;
}

/* Whether the row is a state that extract_flush() has told. A bar that stands still, or that ends,
 * shows its last state again. */
static bool extract_is_told_state(const struct extract *extract, const struct extract_row *row)
{
    const struct extract_row *pending = &extract->pending;
    if (!extract_is_newer_state(extract, row) || !extract->is_pending_told ||
        pending->count != row->count)
        return false;
    for (size_t i = 0; i < pending->count; i++) {
        double told = pending->values[i].value;
        double value = *values_find(&extract->values, pending->values[i].name);
        if (value != told && !(isnan(value) && isnan(told)))
            return false;
    }
    return true;
}

static void extract_tell(struct extract *extract, enum line_end line_end)
{
    extract_update_step(extract);
    values_settle(&extract->values);
    struct extract_row row = {.has_step = extract->has_step,
                              .step = extract->step,
                              .values = extract->values.items,
                              .count = extract->values.so_far.count};
    if (row.count && extract_is_told_state(extract, &row)) {
        extract->has_pending = line_end == CARRIAGE_RETURN;
        return;
    }
    if (extract_is_newer_state(extract, &row))
        extract->has_pending = false;
    else if (row.count)
        extract->pending_ms = -1;
    if (row.count || line_end == LINE_FEED)
        extract_tell_pending(extract);
    if (!row.count)
        return;
    extract->has_told = true;
    if (line_end == CARRIAGE_RETURN)
        extract_keep_pending(extract, &row);
    else
        extract->found(extract->context, &row);
}

/* Copies the line without escape sequences (colours, cursor) and returns its new size. */
static size_t extract_make_plain(struct extract *extract, const char *line, size_t size)
{
    size_t plain = 0;
    for (size_t i = 0, escape; i < size; i += escape) {
        escape = text_escape_size(line + i, size - i);
        if (!escape)
            extract->plain[plain++] = line[i++];
    }
    return plain;
}

/* Returns how much a line looks like metrics; 0: the line is empty. */
static int extract_rank_unread(const char *line, size_t size)
{
    static const char *const words[] = {"loss", "step", "epoch", "iter"};
    char text[UNREAD_MAX + 1];
    (void)snprintf(text, sizeof text, "%.*s", (int)(size < UNREAD_MAX ? size : UNREAD_MAX), line);
    int rank = text[0] != '\0';
    rank += 2 * (strpbrk(text, "0123456789") != NULL);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        rank += strcasestr(text, words[i]) != NULL;
    return rank;
}

/* Keeps plain ASCII only, so that any message can contain the line. */
static void extract_keep_unread(struct extract *extract, const char *line, size_t size)
{
    int rank = extract_rank_unread(line, size);
    if (rank == 0 || rank < extract->unread_rank)
        return;
    size = size < UNREAD_MAX ? size : UNREAD_MAX;
    for (size_t i = 0; i < size; i++)
        extract->unread[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
    extract->unread[size] = '\0';
    extract->unread_rank = rank;
}

/* Whether a program of Slurm wrote the line, such as "srun: Force Terminated StepId=7.1". */
static bool extract_is_of_slurm(const char *line, size_t size)
{
    static const char *const begins[] = {"srun: ", "slurmstepd: "};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (size >= strlen(begins[i]) && memcmp(line, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Reads one line of any kind, also an empty line: it may be the end of a progress bar. */
static void extract_read_line(struct extract *extract, const char *line, size_t size,
                              enum line_end line_end)
{
    /* A tensor or an image that went to the terminal would be full of accidental pairs. */
    if (memchr(line, '\0', size))
        size = 0; /* not text */
    if (memchr(line, '\x1b', size)) {
        size = extract_make_plain(extract, line, size);
        line = extract->plain;
    }
    while (size && (line[0] == ' ' || line[0] == '\t')) {
        line++;
        size--;
    }
    if (extract->kind == EXTRACT_AUTO && extract_is_of_slurm(line, size))
        size = 0;
    values_clear(&extract->values);
    if (extract->kind == EXTRACT_PATTERN)
        pattern_read(extract->pattern, &extract->values, line, size);
    else if (extract->kind == EXTRACT_FILE)
        (void)literal_read(&extract->values, line, line + size); /* other lines are skipped */
    else
        line_read(&extract->memory, &extract->values, line, size);
    extract_tell(extract, line_end);
    if (!extract->has_told)
        extract_keep_unread(extract, line, size);
}

/* Keeps the beginning of a line for the next call. Bytes beyond the bound are lost. */
static void extract_collect(struct extract *extract, const char *bytes, size_t size)
{
    size_t left = EXTRACT_LINE_MAX - extract->line_size;
    size = size < left ? size : left;
    memcpy(extract->line + extract->line_size, bytes, size);
    extract->line_size += size;
}

/* Ends a line with these bytes, after the bytes that were collected. */
static void extract_end_line(struct extract *extract, const char *bytes, size_t size,
                             enum line_end line_end)
{
    if (extract->line_size) {
        extract_collect(extract, bytes, size);
        bytes = extract->line;
        size = extract->line_size;
        extract->line_size = 0;
    }
    size = size < EXTRACT_LINE_MAX ? size : EXTRACT_LINE_MAX;
    extract_read_line(extract, bytes, size, line_end);
}

int extract_new(const struct extract_options *options, extract_row_found *found, void *context,
                struct extract **ret_extract, struct error *err)
{
    struct extract *extract = xcalloc(1, sizeof *extract);
    extract->kind = options->kind;
    extract->found = found;
    extract->context = context;
    values_init(&extract->values, options->step_name);
    int status = 0;
    if (options->kind == EXTRACT_PATTERN)
        status = pattern_new(options->pattern, &extract->pattern, err);
    if (status < 0)
        extract_free(extract);
    else
        *ret_extract = extract;
    return status;
}

void extract_free(struct extract *extract)
{
    if (!extract)
        return;
    pattern_free(extract->pattern);
    text_fini(&extract->pending_names);
    free(extract);
}

void extract_feed(struct extract *extract, const void *bytes, size_t size)
{
    const char *at = bytes, *end = at + size;
    while (at < end) {
        /* Looks for the line feed once per line, and not once per state of a progress bar. */
        const char *feed = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = feed ? feed : end, *back;
        while ((back = memchr(at, '\r', (size_t)(line_end - at)))) {
            extract_end_line(extract, at, (size_t)(back - at), CARRIAGE_RETURN);
            at = back + 1;
        }
        if (feed)
            extract_end_line(extract, at, (size_t)(feed - at), LINE_FEED);
        else
            extract_collect(extract, at, (size_t)(end - at));
        at = feed ? feed + 1 : end;
    }
}

void extract_flush(struct extract *extract, int64_t now_ms)
{
    if (!extract->has_pending || extract->is_pending_told)
        return;
    if (extract->pending_ms < 0)
        extract->pending_ms = now_ms;
    if (now_ms - extract->pending_ms < PENDING_MS)
        return;
    extract->found(extract->context, &extract->pending);
    extract->is_pending_told = true;
    extract->pending_ms = -1;
}

void extract_end(struct extract *extract)
{
    extract_end_line(extract, "", 0, LINE_FEED);
}

void extract_want(struct extract *extract, const char *name)
{
    values_want(&extract->values, name);
}

char *extract_left_out(const struct extract *extract)
{
    const char *name = extract->values.left_out, *advice = "";
    if (extract->kind == EXTRACT_AUTO)
        advice = "; see `metrics: {pattern: ...}` in phased-spec(5)";
    return *name ? text_format("there were more than %d names of metrics; later names are left "
                               "out, first '%s'%s",
                               EXTRACT_NAMES_MAX, name, advice)
                 : NULL;
}

const char *extract_unread(const struct extract *extract)
{
    return extract->has_told ? "" : extract->unread;
}

int extract_options_from_json(const json_t *json, struct extract_options *ret_options,
                              struct error *err)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));
    const char *pattern = json_string_value(json_object_get(json, "pattern"));
    struct extract_options options = {.kind = EXTRACT_AUTO};
    if (kind && text_equal(kind, "pattern"))
        options.kind = EXTRACT_PATTERN;
    else if (kind && text_equal(kind, "file"))
        options.kind = EXTRACT_FILE;
    else if (!kind || !text_equal(kind, "auto"))
        return error_set(err, -EINVAL, "metrics: the kind must be auto, pattern or file, not %s",
                         kind ? kind : "absent");
    if (options.kind == EXTRACT_PATTERN && !pattern)
        return error_set(err, -EINVAL, "metrics: the pattern is missing");
    options.pattern = pattern;
    *ret_options = options;
    return 0;
}

bool extract_is_name(const char *name)
{
    size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return size && !name[size] && size <= EXTRACT_NAME_MAX && (name[0] < '0' || name[0] > '9');
}

/* --- Rows as JSON ---------------------------------------------------------------------------- */

/* Names are plain, so they need no quotes. */
void extract_row_write(const struct extract_row *row, struct text *text)
{
    text_add(text, "{");
    if (row->has_step)
        text_addf(text, "\"step\": %lld", (long long)row->step);
    for (size_t i = 0; i < row->count; i++) {
        const char *quote = isfinite(row->values[i].value) ? "" : "\"";
        text_addf(text, "%s\"%s\": %s", i || row->has_step ? ", " : "", row->values[i].name, quote);
        text_add_number(text, row->values[i].value);
        text_add(text, quote);
    }
    text_add(text, "}");
}
