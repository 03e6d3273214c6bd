/* GPUs for people. A cell is blank if the driver does not report its value. */
#include "cli/gpu_view.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/table.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GPU_VIEW_SLOW 0.75 /* a slower node is a straggler; the worker uses the same share */

#define GPU_VIEW_NOTHING "nothing is known about the GPUs of this run\n"

/* Sums over several GPUs. Zero-initialised: no GPU. */
struct gpu_view {
    const char *node;
    const json_t *pace; /* NULL: not known */
    unsigned count, util_count, power_count;
    double util, power_w;    /* sums */
    double least;            /* the lowest util */
    long long least_gpu;     /* the GPU that has it */
    double memory_gb, of_gb; /* of the GPU with the most memory in use */
    double temperature_c;    /* the highest */
    double sampled, idle;    /* seconds, sums */
    struct text notes;
};

static double gpu_view_gb(double mib)
{
    return mib * 1048576 / 1e9;
}

/* --- Trouble ---------------------------------------------------------------------------------- */

/* Adds to an empty text what a person should know about a GPU. A power cap is normal for a busy
 * GPU. */
static void gpu_view_trouble(const json_t *gpu, struct text *text)
{
    static const struct {
        unsigned bits;
        const char *what;
    } reasons[] = {
        {0x20 | 0x40, "slowed by heat"},
        {0x8, "slowed by its hardware"},
        {0x80, "slowed by the power supply"},
    };
    long long bits = field_integer(gpu, "clock_reasons"), xid = field_integer(gpu, "xid");
    long long errors = field_integer(gpu, "ecc_uncorrected");
    if (isnan(field_number(gpu, "util")) && isnan(field_number(gpu, "memory_mib")) &&
        isnan(field_number(gpu, "power_w")))
        text_add(text, "no data");
    if (xid)
        text_addf(text, "%sXid %lld", text->size ? ", " : "", xid);
    if (errors)
        text_addf(text, "%s%lld memory error%s", text->size ? ", " : "", errors,
                  errors == 1 ? "" : "s");
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (bits & reasons[i].bits)
            text_addf(text, "%s%s", text->size ? ", " : "", reasons[i].what);
}

/* --- Together --------------------------------------------------------------------------------- */

static void gpu_view_add(struct gpu_view *view, const json_t *gpu)
{
    double util = field_number(gpu, "util"), power_w = field_number(gpu, "power_w");
    double memory_gb = gpu_view_gb(field_number(gpu, "memory_mib"));
    struct text trouble = {0};
    view->count++;
    if (!isnan(util)) {
        if (view->util_count++ == 0 || util < view->least) {
            view->least = util;
            view->least_gpu = field_integer(gpu, "gpu");
        }
        view->util += util;
    }
    if (!isnan(power_w)) {
        view->power_count++;
        view->power_w += power_w;
    }
    if (memory_gb > view->memory_gb) {
        view->memory_gb = memory_gb;
        view->of_gb = gpu_view_gb(field_number(gpu, "memory_total_mib"));
    }
    view->temperature_c = fmax(view->temperature_c, field_number(gpu, "temperature_c"));
    view->sampled += (double)field_integer(gpu, "sampled");
    view->idle += (double)field_integer(gpu, "idle");
    gpu_view_trouble(gpu, &trouble);
    if (trouble.size)
        text_addf(&view->notes, "%sGPU %lld: %s", view->notes.size ? "; " : "",
                  field_integer(gpu, "gpu"), text_string(&trouble));
    text_fini(&trouble);
}

static double gpu_view_busy(const struct gpu_view *view)
{
    return view->util_count ? view->util / view->util_count : NAN;
}

/* The share of the time, in percent. */
static double gpu_view_idle(const struct gpu_view *view)
{
    return view->sampled > 0 ? 100 * view->idle / view->sampled : NAN;
}

static struct gpu_view *gpu_view_of(struct gpu_view *views, size_t *count, const char *node)
{
    for (size_t i = *count; i-- > 0;)
        if (text_equal(views[i].node, node))
            return &views[i];
    views[*count] = (struct gpu_view){.node = node};
    return &views[(*count)++];
}

/* Sums the GPUs of each node. The caller frees the result with gpu_view_free(). */
static struct gpu_view *gpu_view_group(const json_t *reply, size_t *ret_count)
{
    const json_t *gpus = json_object_get(reply, "gpus"), *paces = json_object_get(reply, "paces");
    const json_t *item;
    size_t i, count = 0;
    struct gpu_view *views =
        xcalloc(json_array_size(gpus) + json_array_size(paces) + 1, sizeof *views);
    json_array_foreach(gpus, i, item)
        gpu_view_add(gpu_view_of(views, &count, field_text(item, "node")), item);
    json_array_foreach(paces, i, item) gpu_view_of(views, &count, field_text(item, "node"))->pace =
        item;
    *ret_count = count;
    return views;
}

static void gpu_view_free(struct gpu_view *views, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_fini(&views[i].notes);
    free(views);
}

/* The node with the fastest steps; NULL if no step time is known. */
static const struct gpu_view *gpu_view_fastest(const struct gpu_view *views, size_t count)
{
    const struct gpu_view *fastest = NULL;
    for (size_t i = 0; i < count; i++)
        if (views[i].pace && (!fastest || field_number(views[i].pace, "step_seconds") <
                                              field_number(fastest->pace, "step_seconds")))
            fastest = &views[i];
    return fastest;
}

/* --- Tables ----------------------------------------------------------------------------------- */

/* Adds a cell such as 97%; blank for NaN. */
static void gpu_view_cell(struct table *table, double number, const char *unit)
{
    if (isnan(number))
        table_add(table, "");
    else
        table_addf(table, "%.0f%s", number, unit);
}

static void gpu_view_memory_cell(struct table *table, double memory_gb, double of_gb)
{
    if (!(memory_gb >= 0))
        table_add(table, "");
    else if (isnan(of_gb))
        table_addf(table, "%.1fGB", memory_gb);
    else
        table_addf(table, "%.1f/%.0fGB", memory_gb, of_gb);
}

/* Adds a cell such as "1200, 40s ago". */
static void gpu_view_step_cell(struct table *table, const json_t *pace, double now)
{
    struct text cell = {0};
    char age[FORMAT_SIZE];
    double age_s = now - field_number(pace, "time");
    if (pace)
        text_addf(&cell, "%lld", field_integer(pace, "step"));
    if (!isnan(age_s))
        text_addf(&cell, ", %s ago", format_duration(fmax(age_s, 0), age));
    table_take(table, COLOUR_PLAIN, &cell);
}

static void gpu_view_pace_cell(struct table *table, const struct gpu_view *view,
                               const struct gpu_view *fastest)
{
    char number[FORMAT_SIZE];
    double step_s = field_number(view->pace, "step_seconds");
    if (!view->pace) {
        table_add(table, "");
        return;
    }
    double share = field_number(fastest->pace, "step_seconds") / step_s;
    table_addf_in(table, share < GPU_VIEW_SLOW ? COLOUR_YELLOW : COLOUR_PLAIN, "%ss",
                  format_number(step_s, number));
}

static void gpu_view_note_cell(struct table *table, const struct gpu_view *view,
                               const struct gpu_view *fastest)
{
    double share = field_number(fastest ? fastest->pace : NULL, "step_seconds") /
                   field_number(view->pace, "step_seconds");
    struct text note = {0};
    if (share < GPU_VIEW_SLOW)
        text_addf(&note, "%.2f as fast as %s%s", share, fastest->node,
                  view->notes.size ? "; " : "");
    text_add(&note, text_string(&view->notes));
    bool is_trouble = note.size > 0;
    if (view->count == 0)
        text_addf(&note, "%sno GPUs reported", is_trouble ? "; " : "");
    table_take(table, is_trouble ? COLOUR_YELLOW : COLOUR_PLAIN, &note);
}

bool gpu_view_knows(const json_t *reply)
{
    return json_array_size(json_object_get(reply, "gpus")) > 0 ||
           json_array_size(json_object_get(reply, "paces")) > 0;
}

void gpu_view_nodes(const struct terminal *terminal, const json_t *reply, double now,
                    struct text *text)
{
    static const struct table_column all[] = {
        {"NODE", TABLE_LEFT, TABLE_WHOLE},   {"STEP", TABLE_LEFT, TABLE_WHOLE},
        {"TAKES", TABLE_RIGHT, TABLE_WHOLE}, {"GPUS", TABLE_RIGHT, TABLE_WHOLE},
        {"BUSY", TABLE_RIGHT, TABLE_WHOLE},  {"LEAST", TABLE_RIGHT, TABLE_WHOLE},
        {"IDLE", TABLE_RIGHT, TABLE_WHOLE},  {"MEMORY", TABLE_RIGHT, TABLE_WHOLE},
        {"POWER", TABLE_RIGHT, TABLE_WHOLE}, {"TEMP", TABLE_RIGHT, TABLE_WHOLE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    static const size_t column_count = sizeof all / sizeof all[0];
    struct table_column columns[sizeof all / sizeof all[0]] = {all[0]};
    struct table table;
    size_t count, without = isnan(now) ? 1u : 0u; /* without the column STEP */
    struct gpu_view *views = gpu_view_group(reply, &count);
    const struct gpu_view *fastest = gpu_view_fastest(views, count);
    memcpy(columns + 1, all + 1 + without, (column_count - 1 - without) * sizeof all[0]);
    table_init(&table, columns, column_count - without);
    for (size_t i = 0; i < count; i++) {
        const struct gpu_view *view = &views[i];
        table_add(&table, view->node);
        if (!without)
            gpu_view_step_cell(&table, view->pace, now);
        gpu_view_pace_cell(&table, view, fastest);
        table_addf(&table, "%u", view->count);
        gpu_view_cell(&table, gpu_view_busy(view), "%");
        if (view->util_count)
            table_addf(&table, "%.0f%% (%lld)", view->least, view->least_gpu);
        else
            table_add(&table, "");
        gpu_view_cell(&table, gpu_view_idle(view), "%");
        gpu_view_memory_cell(&table, view->of_gb > 0 ? view->memory_gb : NAN, view->of_gb);
        gpu_view_cell(&table, view->power_count ? view->power_w / view->power_count : NAN, "W");
        gpu_view_cell(&table, view->temperature_c > 0 ? view->temperature_c : NAN, "C");
        gpu_view_note_cell(&table, view, fastest);
    }
    if (count)
        table_write(&table, terminal, 0, text);
    else
        text_add(text, GPU_VIEW_NOTHING);
    gpu_view_free(views, count);
}

void gpu_view_each(const struct terminal *terminal, const json_t *reply, struct text *text)
{
    static const struct table_column columns[] = {
        {"NODE", TABLE_LEFT, TABLE_WHOLE},    {"GPU", TABLE_RIGHT, TABLE_WHOLE},
        {"MODEL", TABLE_LEFT, TABLE_WHOLE},   {"BUSY", TABLE_RIGHT, TABLE_WHOLE},
        {"TENSOR", TABLE_RIGHT, TABLE_WHOLE}, {"IDLE", TABLE_RIGHT, TABLE_WHOLE},
        {"MEMORY", TABLE_RIGHT, TABLE_WHOLE}, {"POWER", TABLE_RIGHT, TABLE_WHOLE},
        {"TEMP", TABLE_RIGHT, TABLE_WHOLE},   {"CLOCK", TABLE_RIGHT, TABLE_WHOLE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    struct table table;
    const json_t *gpu;
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(json_object_get(reply, "gpus"), i, gpu)
    {
        struct gpu_view view = {0};
        struct text trouble = {0};
        gpu_view_add(&view, gpu);
        gpu_view_trouble(gpu, &trouble);
        table_add(&table, field_text(gpu, "node"));
        table_addf(&table, "%lld", field_integer(gpu, "gpu"));
        table_add(&table, field_text(gpu, "model"));
        gpu_view_cell(&table, field_number(gpu, "util"), "%");
        gpu_view_cell(&table, field_number(gpu, "tensor_active"), "%");
        gpu_view_cell(&table, gpu_view_idle(&view), "%");
        gpu_view_memory_cell(&table, gpu_view_gb(field_number(gpu, "memory_mib")),
                             gpu_view_gb(field_number(gpu, "memory_total_mib")));
        gpu_view_cell(&table, field_number(gpu, "power_w"), "W");
        gpu_view_cell(&table, field_number(gpu, "temperature_c"), "C");
        gpu_view_cell(&table, field_number(gpu, "sm_clock_mhz"), "MHz");
        table_take(&table, trouble.size ? COLOUR_YELLOW : COLOUR_PLAIN, &trouble);
        text_fini(&view.notes);
    }
    if (table.cell_count)
        table_write(&table, terminal, 0, text);
    else
        text_add(text, GPU_VIEW_NOTHING);
}

/* --- In a line -------------------------------------------------------------------------------- */

void gpu_view_summary(const json_t *reply, struct text *text)
{
    const json_t *gpus = json_object_get(reply, "gpus"), *gpu;
    struct gpu_view all = {0};
    const char *model = "";
    size_t i;
    json_array_foreach(gpus, i, gpu)
    {
        gpu_view_add(&all, gpu);
        if (!model[0])
            model = field_text(gpu, "model");
    }
    double busy = gpu_view_busy(&all), idle = gpu_view_idle(&all);
    if (all.count)
        text_addf(text, "%u%s%s", all.count, model[0] ? " x " : "", model);
    if (!isnan(busy))
        text_addf(text, ", %.0f%% busy", busy);
    if (all.of_gb > 0)
        text_addf(text, ", %.1f of %.0f GB", all.memory_gb, all.of_gb);
    if (all.power_count)
        text_addf(text, ", %.0f W", all.power_w / all.power_count);
    if (!isnan(idle))
        text_addf(text, ", idle %.0f%% of the time", idle);
    if (all.notes.size)
        text_add(text, "; in trouble: phasectl gpus");
    text_fini(&all.notes);
}

void gpu_view_step_time(const json_t *reply, struct text *text)
{
    size_t count;
    struct gpu_view *views = gpu_view_group(reply, &count);
    const struct gpu_view *fastest = gpu_view_fastest(views, count), *slowest = fastest;
    char number[FORMAT_SIZE];
    for (size_t i = 0; slowest && i < count; i++)
        if (views[i].pace && field_number(views[i].pace, "step_seconds") >
                                 field_number(slowest->pace, "step_seconds"))
            slowest = &views[i];
    if (fastest)
        text_addf(text, "%s s", format_number(field_number(fastest->pace, "step_seconds"), number));
    if (slowest != fastest)
        text_addf(text, " on %s, %s s on %s", fastest->node,
                  format_number(field_number(slowest->pace, "step_seconds"), number),
                  slowest->node);
    gpu_view_free(views, count);
}
