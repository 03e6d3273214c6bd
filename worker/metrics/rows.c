/* Collects rows of metrics. */
#include "worker/metrics/rows.h"

#include "lib/clock.h"
#include "lib/json.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "worker/protocol/journal.h"

#include <stdlib.h>

enum { ROWS_UNFLUSHED_MAX = 1000 };

/* Ends the current entry. */
static void rows_end_entry(struct rows *rows)
{
    if (!rows->values)
        return;
    journal_add(rows->journal, &(struct entry){.type = ENTRY_METRIC,
                                               .step = rows->step,
                                               .values = rows->values,
                                               .is_stepless = rows->is_stepless});
    json_decref(rows->values);
    rows->values = NULL;
    rows->unflushed++;
}

static bool rows_fits(const struct rows *rows, int64_t step, const struct extract_value *values,
                      size_t count)
{
    if (!rows->values || rows->step != step || rows->is_stepless != !rows->has_step)
        return false;
    for (size_t i = 0; i < count; i++)
        if (json_object_get(rows->values, values[i].name))
            return false;
    return true;
}

/* Puts values into the entry of this step. Begins a new entry if they do not fit into the current
 * one. */
static void rows_note(struct rows *rows, int64_t step, const struct extract_value *values,
                      size_t count)
{
    if (!rows_fits(rows, step, values, count)) {
        rows_end_entry(rows);
        rows->values = json_object();
        rows->step = step;
        rows->is_stepless = !rows->has_step;
    }
    for (size_t i = 0; i < count; i++)
        json_object_set_new(rows->values, values[i].name, json_double(values[i].value));
}

int64_t rows_step(const struct rows *rows)
{
    return rows->has_row ? rows->last_step : rows->begin_step;
}

void rows_add_samples(struct rows *rows, const struct extract_value *values, size_t count)
{
    rows_note(rows, rows_step(rows), values, count);
}

void rows_add(struct rows *rows, const struct extract_row *row)
{
    int64_t step = row->step;
    if (!row->has_step) /* settings, which are printed first, belong to the beginning of the run */
        step = rows->has_step ? rows->last_step : rows->begin_step + row->step;
    double time_s = (double)(clock_steady_ms() - rows->began_ms) / 1000;
    rows->has_row = true;
    rows->has_step |= row->has_step;
    rows->last_step = step;
    if (row->has_step && step > rows->highest_step)
        rows->highest_step = step;
    rows_note(rows, step, row->values, row->count);
    for (size_t i = 0; i < row->count; i++)
        guards_add(rows->guards, step, time_s, &row->values[i]);
    if (rows->unflushed >= ROWS_UNFLUSHED_MAX)
        rows_flush(rows);
}

void rows_flush(struct rows *rows)
{
    rows_end_entry(rows);
    rows->unflushed = 0;
    journal_flush(rows->journal);
}

void rows_fini(struct rows *rows)
{
    json_decref(rows->values);
    *rows = (struct rows){0};
}
