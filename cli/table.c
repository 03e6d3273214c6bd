/* Measuring and writing columns. */
#include "cli/table.h"

#include "lib/text.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

enum { TABLE_GAP = 2, TABLE_FLEXIBLE_MIN = 8 };

struct table_cell {
    char *string;
    enum colour colour;
};

void table_init(struct table *table, const struct table_column *columns, size_t column_count)
{
    assert(column_count > 0 && column_count <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns, .column_count = column_count};
}

void table_fini(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].string);
    free(table->cells);
    *table = (struct table){0};
}

void table_add(struct table *table, enum colour colour, const char *string)
{
    if (table->cell_count == table->cell_capacity) {
        table->cell_capacity = table->cell_capacity ? table->cell_capacity * 2 : 64;
        table->cells = realloc(table->cells, table->cell_capacity * sizeof table->cells[0]);
        if (!table->cells)
            abort();
    }
    struct text safe = {0};
    terminal_add_cut(&safe, string, SIZE_MAX);
    table->cells[table->cell_count++] =
        (struct table_cell){.string = text_steal(&safe), .colour = colour};
}

void table_addf(struct table *table, enum colour colour, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    table_add(table, colour, text_string(&text));
    text_fini(&text);
}

static void table_measure(const struct table *table, size_t widths[TABLE_COLUMNS_MAX])
{
    for (size_t column = 0; column < table->column_count; column++) {
        const char *title = table->columns[column].title;
        widths[column] = title ? terminal_columns(title) : 0;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t columns = terminal_columns(table->cells[i].string);
        size_t *width = &widths[i % table->column_count];
        *width = columns > *width ? columns : *width;
    }
}

/* Makes the flexible column fit what the terminal has left for it. */
static void table_fit(const struct table *table, const struct terminal *terminal, unsigned indent,
                      size_t widths[TABLE_COLUMNS_MAX])
{
    size_t flexible = table->column_count - 1, used = indent;
    size_t columns = (size_t)terminal_width(terminal);
    for (size_t column = 0; column < table->column_count; column++) {
        if (table->columns[column].flexible)
            flexible = column;
    }
    for (size_t column = 0; column < table->column_count; column++)
        used += (column == flexible ? 0 : widths[column]) + (column ? TABLE_GAP : 0);
    size_t left = columns > used + TABLE_FLEXIBLE_MIN ? columns - used : TABLE_FLEXIBLE_MIN;
    if (widths[flexible] > left)
        widths[flexible] = left;
}

static void table_write_cell(const struct table *table, const struct terminal *terminal,
                             size_t column, size_t width, const struct table_cell *cell,
                             struct text *text)
{
    struct text cut = {0};
    terminal_add_cut(&cut, cell->string, width);
    size_t blanks = width - terminal_columns(text_string(&cut));
    bool right = table->columns[column].align == TABLE_RIGHT;
    bool last = column + 1 == table->column_count;
    if (right)
        text_addf(text, "%*s", (int)blanks, "");
    terminal_colour(terminal, text, cell->colour, text_string(&cut));
    if (!last)
        text_addf(text, "%*s", (int)(right ? 0 : blanks) + TABLE_GAP, "");
    text_fini(&cut);
}

static void table_trim(struct text *text)
{
    while (text->size && text->data[text->size - 1] == ' ')
        text->data[--text->size] = '\0';
}

void table_write(const struct table *table, const struct terminal *terminal, unsigned indent,
                 struct text *text)
{
    assert(table->cell_count % table->column_count == 0);
    size_t widths[TABLE_COLUMNS_MAX];
    table_measure(table, widths);
    table_fit(table, terminal, indent, widths);
    bool titles = table->columns[0].title != NULL;
    size_t rows = table->cell_count / table->column_count;
    for (size_t line = titles ? 0 : 1; line <= rows; line++) {
        text_addf(text, "%*s", (int)indent, "");
        for (size_t column = 0; column < table->column_count; column++) {
            struct table_cell title = {(char *)table->columns[column].title, COLOUR_DIM};
            const struct table_cell *cell =
                line ? &table->cells[(line - 1) * table->column_count + column] : &title;
            table_write_cell(table, terminal, column, widths[column], cell, text);
        }
        table_trim(text);
        text_add(text, "\n");
    }
}
