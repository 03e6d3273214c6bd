/* Runs side by side, as CSV and for gnuplot. */
#include "cli/metrics/curves.h"

#include "cli/field.h"
#include "lib/option.h"
#include "lib/text.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CURVES_WIDTH = 1000, CURVES_HEIGHT = 400 /* pixels */ };

void curves_add(struct curves *curves, const struct address *run, json_t *metrics)
{
    assert(curves->count < CURVES_RUNS_MAX);
    struct curves_run *added = &curves->runs[curves->count];
    (void)address_text(run, added->name);
    added->metrics = metrics;
    for (size_t i = 0; i < curves->count; i++) {
        if (text_equal(curves->runs[i].name, added->name)) {
            json_decref(metrics);
            return;
        }
    }
    curves->count++;
}

void curves_fini(struct curves *curves)
{
    for (size_t i = 0; i < curves->count; i++)
        json_decref(curves->runs[i].metrics);
    curves->count = 0;
}

static const json_t *curves_series(const struct curves_run *run, const char *name)
{
    return json_object_get(json_object_get(run->metrics, "series"), name);
}

bool curves_has(const json_t *metrics, const char *name)
{
    const json_t *value;
    size_t i;
    json_array_foreach(json_object_get(json_object_get(metrics, "series"), name), i, value)
    {
        if (!json_is_null(value))
            return true;
    }
    return false;
}

json_t *curves_names(const struct curves *curves, const struct option_list *wanted)
{
    json_t *names = json_object(), *values;
    const char *name;
    for (size_t i = 0; i < wanted->count; i++)
        (void)json_object_set_new(names, wanted->items[i], json_true());
    for (size_t i = 0; i < curves->count && !wanted->count; i++) {
        json_object_foreach(json_object_get(curves->runs[i].metrics, "series"), name, values)(void)
            json_object_set_new(names, name, json_true());
    }
    return names;
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Adds a field. A name may hold anything, as programs print it. */
static void curves_csv_field(struct text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n")) {
        text_add(text, field);
        return;
    }
    text_add(text, "\"");
    for (const char *c = field; *c; c++) {
        if (*c == '"')
            text_add(text, "\"");
        text_add_bytes(text, c, 1);
    }
    text_add(text, "\"");
}

void curves_csv(const struct curves *curves, const json_t *names, struct text *text)
{
    const json_t *step;
    const char *name;
    json_t *value;
    size_t row;
    text_add(text, "run,step");
    json_object_foreach((json_t *)names, name, value)
    {
        text_add(text, ",");
        curves_csv_field(text, name);
    }
    text_add(text, "\n");
    for (size_t i = 0; i < curves->count; i++) {
        const struct curves_run *run = &curves->runs[i];
        json_array_foreach(json_object_get(run->metrics, "steps"), row, step)
        {
            text_addf(text, "%s,%.0f", run->name, json_number_value(step));
            json_object_foreach((json_t *)names, name, value)
            {
                const json_t *cell = json_array_get(curves_series(run, name), row);
                text_add(text, ",");
                if (cell && !json_is_null(cell))
                    text_add_number(text, field_as_number(cell));
            }
            text_add(text, "\n");
        }
    }
}

/* --- gnuplot ---------------------------------------------------------------------------------- */

/* Adds a string of gnuplot. Names come from programs, and gnuplot can run commands. */
static void curves_gnuplot_string(struct text *text, const char *string)
{
    text_add(text, "'");
    for (const char *c = string; *c; c++) {
        bool is_control = (unsigned char)*c < ' ';
        if (*c == '\'')
            text_add(text, "'");
        text_add_bytes(text, is_control ? "?" : c, 1);
    }
    text_add(text, "'");
}

/* Adds the rows of a run as a block of data. A value that is not a finite number interrupts the
 * line.
 */
static void curves_gnuplot_data(const struct curves_run *run, const char *name, struct text *text)
{
    const json_t *series = curves_series(run, name), *step;
    size_t row;
    json_array_foreach(json_object_get(run->metrics, "steps"), row, step)
    {
        const json_t *value = json_array_get(series, row);
        double number = field_as_number(value);
        if (isfinite(number)) {
            text_addf(text, "%.0f ", json_number_value(step));
            text_add_number(text, number);
        }
        if (value && !json_is_null(value))
            text_add(text, "\n");
    }
}

/* Whether any run has a value that can be drawn. gnuplot fails if no line has one. */
static bool curves_has_points(const struct curves *curves, const char *name)
{
    const json_t *value;
    size_t row;
    for (size_t i = 0; i < curves->count; i++) {
        json_array_foreach(curves_series(&curves->runs[i], name), row, value)
        {
            if (isfinite(field_as_number(value)))
                return true;
        }
    }
    return false;
}

/* Adds a picture of one metric. Its blocks of data have the numbers of the runs. */
static void curves_gnuplot_picture(const struct curves *curves, const char *name, struct text *text)
{
    for (size_t i = 0; i < curves->count; i++) {
        text_addf(text, "$run_%zu << END_OF_DATA\n", i);
        curves_gnuplot_data(&curves->runs[i], name, text);
        text_add(text, "END_OF_DATA\n");
    }
    text_add(text, "set title ");
    curves_gnuplot_string(text, name);
    text_add(text, "\nplot ");
    for (size_t i = 0; i < curves->count; i++) {
        text_addf(text, "%s$run_%zu using 1:2 with lines title ", i ? ", " : "", i);
        curves_gnuplot_string(text, curves->runs[i].name);
    }
    text_add(text, "\n");
}

size_t curves_gnuplot(const struct curves *curves, const json_t *names, struct text *text)
{
    const char *name;
    json_t *value;
    size_t pictures = 0;
    json_object_foreach((json_t *)names, name, value) pictures += curves_has_points(curves, name);
    text_addf(text, "size_x = %d\nsize_y = %zu\n", CURVES_WIDTH, pictures * CURVES_HEIGHT);
    text_add(text, "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) {\n"
                   "set terminal pngcairo noenhanced size size_x, size_y\n"
                   "} else {\nset terminal png noenhanced size size_x, size_y\n}\n"
                   "set xlabel 'step'\nset grid\n");
    text_addf(text, "set multiplot layout %zu, 1\n", pictures);
    json_object_foreach((json_t *)names, name, value)
    {
        if (curves_has_points(curves, name))
            curves_gnuplot_picture(curves, name, text);
    }
    text_add(text, "unset multiplot\n");
    return pictures;
}
