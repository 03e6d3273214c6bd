/* Reads the lines of the program on the GPUs. */
#include "worker/preflight/measures.h"

#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Drops what does not fit. There is room for every pair of 32 GPUs. */
static struct measure *measures_add(struct measures *measures, enum measure_kind kind,
                                    enum figure_row row)
{
    static struct measure dropped;
    struct measure *measure =
        measures->count < MEASURES_MAX ? &measures->items[measures->count++] : &dropped;
    *measure = (struct measure){.kind = kind, .row = row};
    return measure;
}

static void measures_put_text(struct measure *measure, const char *text)
{
    (void)snprintf(measure->text, sizeof measure->text, "%s", text);
}

/* Takes "KIND A TEXT" or "KIND - TEXT". The kind is known. */
static int measures_take_trouble(struct measures *measures, enum figure_row row, const char *line)
{
    unsigned a = 0;
    int size = 0;
    bool is_of_one = sscanf(line, "%*s %u %n", &a, &size) == 1 && size;
    if (!is_of_one)
        (void)sscanf(line, "%*s - %n", &size); /* `size` says whether it matched */
    if (!size || !line[size])
        return -EINVAL;
    struct measure *measure =
        measures_add(measures, line[0] == 'f' ? MEASURE_FAILED : MEASURE_UNKNOWN, row);
    measure->is_of_one = is_of_one;
    measure->a = a;
    measures_put_text(measure, line + size);
    return 0;
}

/* Takes "A B TEXT". */
static int measures_take_wrong(struct measures *measures, enum figure_row row, const char *line)
{
    unsigned a, b;
    int size = 0;
    if (sscanf(line, "%u %u %n", &a, &b, &size) != 2 || !size || !line[size])
        return -EINVAL;
    struct measure *measure = measures_add(measures, MEASURE_WRONG, row);
    measure->is_of_one = true;
    measure->a = a;
    measure->b = b;
    measures_put_text(measure, line + size);
    return 0;
}

int measures_take_line(struct measures *measures, enum figure_row row, const char *line)
{
    char name[32];
    unsigned a, b;
    double value;
    int size = 0;
    if (text_equal(line, "end")) {
        measures->is_whole[row] = true;
        return 0;
    }
    if (text_equal(line, "start") || text_equal(line, "ready")) {
        measures->is_ready[row] = text_equal(line, "ready");
        return 0;
    }
    if (text_starts(line, "failed ") || text_starts(line, "unknown "))
        return measures_take_trouble(measures, row, line);
    if (text_starts(line, "wrong "))
        return measures_take_wrong(measures, row, line + strlen("wrong "));
    if (sscanf(line, "%31s %u %u %lf%n", name, &a, &b, &value, &size) != 4 || line[size])
        return -EINVAL;
    enum figure figure = figure_of_name(name);
    if (figure == FIGURE_COUNT || figure_kinds[figure].row != row || !isfinite(value) || value < 0)
        return -EINVAL;
    struct measure *measure = measures_add(measures, MEASURE_FIGURE, row);
    measure->figure = figure;
    measure->is_of_one = true;
    measure->a = a;
    measure->b = b;
    measure->value = value;
    return 0;
}

void measures_add_trouble(struct measures *measures, enum measure_kind kind, enum figure_row row,
                          const char *format, ...)
{
    struct measure *measure = measures_add(measures, kind, row);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(measure->text, sizeof measure->text, format, args);
    va_end(args);
}
