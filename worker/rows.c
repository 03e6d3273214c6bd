/* Collecting rows of metrics. */
#include "worker/rows.h"

#include "worker/clock.h"
#include "worker/guards.h"
#include "worker/journal.h"
#include "worker/metrics/extract.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS_UNFLUSHED_MAX = 1000 };

static json_t *rows_number(double value)
{
    if (isnan(value))
        return json_string("nan");
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

/* Ends the entry that is being put together. */
static void rows_end_entry(struct rows *rows)
{
    if (!rows->values)
        return;
    json_t *members =
        json_pack("{s:I, s:o}", "step", (json_int_t)rows->step, "values", rows->values);
    rows->values = NULL;
    journal_add(rows->journal, JOURNAL_FACT, "metric", members);
    rows->unflushed++;
}

static bool rows_fits(const struct rows *rows, int64_t step, const struct extract_row *row)
{
    if (!rows->values || rows->step != step)
        return false;
    for (size_t i = 0; i < row->count; i++)
        if (json_object_get(rows->values, row->values[i].name))
            return false;
    return true;
}

void rows_add(struct rows *rows, const struct extract_row *row)
{
    int64_t step = row->has_step || !rows->has_step ? row->step : rows->last_step;
    double time_s = (double)(clock_steady_ms() - rows->began_ms) / 1000;
    rows->has_step |= row->has_step;
    rows->last_step = step;
    if (!rows_fits(rows, step, row)) {
        rows_end_entry(rows);
        rows->values = json_object();
        rows->step = step;
    }
    for (size_t i = 0; i < row->count; i++) {
        json_object_set_new(rows->values, row->values[i].name, rows_number(row->values[i].value));
        guards_add(rows->guards, step, time_s, &row->values[i]);
    }
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
