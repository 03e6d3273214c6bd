/* Values: their types, arithmetic step by step, and the limits on memory and rows. */
#include "lib/expr/value.h"

#include "lib/error.h"
#include "lib/memory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum {
    VALUE_MEMORY_MAX = 128 << 20, /* enough for five series of a million rows */
    VALUE_WORK_MAX = 100000000,   /* rows; they take about half a second */
};

/* A number or a series, read in the same way. */
struct operand {
    struct metrics_series series; /* without rows: the operand is a number */
    double number;
    size_t at;
};

double operation_compute(double a, double b, enum operation operation)
{
    switch (operation) {
    case OPERATION_NONE:
        break;
    case OPERATION_ADD:
        return a + b;
    case OPERATION_SUBTRACT:
        return a - b;
    case OPERATION_MULTIPLY:
        return a * b;
    case OPERATION_DIVIDE:
        return a / b;
    case OPERATION_FLOOR_DIVIDE:
        return floor(a / b);
    case OPERATION_MODULO: { /* the result has the sign of b */
        double rest = fmod(a, b);
        return rest != 0 && signbit(rest) != signbit(b) ? rest + b : rest;
    }
    case OPERATION_POWER:
        return pow(a, b);
    case OPERATION_LESSER:
        return isnan(a) || a < b ? a : b; /* b if b is NaN */
    case OPERATION_GREATER:
        return isnan(a) || a > b ? a : b;
    }
    return NAN;
}

bool comparison_holds(enum comparison comparison, double a, double b)
{
    switch (comparison) {
    case COMPARISON_EQUAL:
        return a == b;
    case COMPARISON_UNEQUAL:
        return a != b;
    case COMPARISON_LESS:
        return a < b;
    case COMPARISON_LESS_EQUAL:
        return a <= b;
    case COMPARISON_GREATER:
        return a > b;
    case COMPARISON_GREATER_EQUAL:
        return a >= b;
    }
    return false;
}

int evaluation_charge(struct evaluation *evaluation, size_t rows)
{
    evaluation->work += rows;
    if (evaluation->work <= VALUE_WORK_MAX)
        return 0;
    return error_set(evaluation->err, -E2BIG, "takes too long: more than %d rows to read",
                     VALUE_WORK_MAX);
}

struct value value_of_number(double number)
{
    return (struct value){.type = VALUE_NUMBER, .number = number};
}

struct value value_of_boolean(bool boolean)
{
    return (struct value){.type = VALUE_BOOLEAN, .boolean = boolean};
}

void value_release(struct evaluation *evaluation, struct value *value)
{
    if (value->owned_rows)
        evaluation->memory -= value->series.count * sizeof *value->owned_rows;
    free(value->owned_rows);
    *value = (struct value){0};
}

const char *value_type_name(const struct value *value)
{
    static const char *const names[] = {
        [VALUE_NUMBER] = "a number",
        [VALUE_BOOLEAN] = "true or false",
        [VALUE_TEXT] = "text",
        [VALUE_SERIES] = "a metric",
    };
    return names[value->type];
}

/* Returns the number, or the newest value of the series. -EINVAL for another type. */
static int value_number(struct evaluation *evaluation, const struct value *value,
                        double *ret_number)
{
    if (value->type != VALUE_SERIES && value->type != VALUE_NUMBER)
        return error_set(evaluation->err, -EINVAL, "%s is used where a number is needed",
                         value_type_name(value));
    *ret_number = value->number;
    if (value->type == VALUE_SERIES)
        *ret_number = value->series.rows[value->series.count - 1].value;
    return 0;
}

int value_rows(struct evaluation *evaluation, const struct value *value, struct metrics_row *one,
               struct metrics_series *ret_rows)
{
    *one = (struct metrics_row){0};
    *ret_rows = (struct metrics_series){.rows = one, .count = 1};
    if (value->type == VALUE_SERIES)
        *ret_rows = value->series;
    return value_number(evaluation, value, &one->value);
}

/* Makes a series with `count` rows of its own, which the caller fills. */
static int value_new_series(struct evaluation *evaluation, size_t count, struct value *ret_value)
{
    size_t size = count * sizeof(struct metrics_row);
    if (size > VALUE_MEMORY_MAX - evaluation->memory)
        return error_set(evaluation->err, -E2BIG, "needs too much memory");
    struct metrics_row *rows = xmalloc(size);
    evaluation->memory += size;
    *ret_value = (struct value){
        .type = VALUE_SERIES, .series = {.rows = rows, .count = count}, .owned_rows = rows};
    return 0;
}

static int operand_of(struct evaluation *evaluation, const struct value *value,
                      struct operand *ret_operand)
{
    *ret_operand = (struct operand){0};
    if (value->type == VALUE_SERIES)
        ret_operand->series = value->series;
    return value_number(evaluation, value, &ret_operand->number);
}

/* Moves both operands to the next step that both have. Returns false if there is no such step. */
static bool operands_meet(struct operand *a, struct operand *b)
{
    const struct metrics_row *a_rows = a->series.rows, *b_rows = b->series.rows;
    size_t a_count = a->series.count, b_count = b->series.count;
    while (a_count && b_count && a->at < a_count && b->at < b_count) {
        if (a_rows[a->at].step == b_rows[b->at].step)
            return true;
        if (a_rows[a->at].step < b_rows[b->at].step)
            a->at++;
        else
            b->at++;
    }
    return (!a_count || a->at < a_count) && (!b_count || b->at < b_count);
}

static double operand_value(const struct operand *operand)
{
    return operand->series.count ? operand->series.rows[operand->at].value : operand->number;
}

/* Returns how many rows a combination has. */
static size_t operands_count_met(struct operand a, struct operand b)
{
    size_t count = 0;
    for (; operands_meet(&a, &b); a.at++, b.at++)
        count++;
    return count;
}

int value_combine(struct evaluation *evaluation, const struct value *a_value,
                  const struct value *b_value, enum operation operation, struct value *ret_value)
{
    struct operand a, b;
    int status = operand_of(evaluation, a_value, &a);
    if (status == 0)
        status = operand_of(evaluation, b_value, &b);
    if (status == 0)
        status = evaluation_charge(evaluation, a.series.count + b.series.count);
    if (status < 0)
        return status;
    if (!a.series.count && !b.series.count) {
        *ret_value = value_of_number(operation_compute(a.number, b.number, operation));
        return 0;
    }
    size_t count = operands_count_met(a, b);
    if (!count)
        return error_set(evaluation->err, -ENODATA, "the metrics have no step in common");
    status = value_new_series(evaluation, count, ret_value);
    if (status < 0)
        return status;
    struct metrics_row *rows = ret_value->owned_rows;
    /* A number has every step; its `at` has no meaning. */
    for (size_t i = 0; operands_meet(&a, &b); a.at++, b.at++, i++) {
        rows[i] = a.series.count ? a.series.rows[a.at] : b.series.rows[b.at];
        rows[i].value = operation_compute(operand_value(&a), operand_value(&b), operation);
    }
    return 0;
}

int value_map(struct evaluation *evaluation, const struct value *value, double (*f)(double),
              struct value *ret_value)
{
    struct metrics_row one;
    struct metrics_series from;
    int status = value_rows(evaluation, value, &one, &from);
    if (status < 0)
        return status;
    if (value->type == VALUE_NUMBER) {
        *ret_value = value_of_number(f(value->number));
        return 0;
    }
    status = evaluation_charge(evaluation, from.count);
    if (status == 0)
        status = value_new_series(evaluation, from.count, ret_value);
    for (size_t i = 0; status == 0 && i < from.count; i++) {
        ret_value->owned_rows[i] = from.rows[i];
        ret_value->owned_rows[i].value = f(from.rows[i].value);
    }
    return status;
}
