/* Measuring and writing columns. */
#include "cli/table.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <stdint.h>
#include <string.h>

enum {
    TABLE_GAP = 2,
    TABLE_GIVES_MIN = 8, /* a name of which less is left tells nothing */
    TABLE_CUT_MIN = 8,   /* the same of the rest, where it is cut */
    TABLE_FOLD_MIN = 24, /* sentences in a narrower column are hard to read */
    TABLE_BELOW = 4,     /* how much further in the lines below a row begin */
};

struct table_cell {
    char *string;
    enum colour colour;
};

/* Where things stand on this terminal. */
struct table_layout {
    size_t columns, indent, gap;
    size_t widths[TABLE_COLUMNS_MAX]; /* 0: the column is left out */
    size_t rest;                      /* the column with the rest of the line; or past the last */
    bool folds;                       /* it continues on further lines */
    bool below;                       /* all of them below the row; its width is 0 */
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
        table->cells = xrealloc(table->cells, table->cell_capacity * sizeof table->cells[0]);
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

static void table_measure(const struct table *table, bool has_titles, size_t *widths)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const char *title = table->columns[column].title;
        widths[column] = has_titles && title ? terminal_columns(title) : 0;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t columns = terminal_columns(table->cells[i].string);
        size_t *width = &widths[i % table->column_count];
        *width = columns > *width ? columns : *width;
    }
}

/* How far the line is too long. */
static size_t layout_excess(const struct table_layout *layout, size_t column_count)
{
    size_t used = layout->indent;
    bool is_first = true;
    for (size_t column = 0; column < column_count; column++) {
        if (!layout->widths[column])
            continue;
        used += layout->widths[column] + (is_first ? 0 : layout->gap);
        is_first = false;
    }
    return used > layout->columns ? used - layout->columns : 0;
}

/* Takes from the widest of the columns of this kind, until the line fits or they have given what
 * they can. */
static size_t layout_give(struct table_layout *layout, const struct table *table,
                          enum table_fit fit)
{
    size_t excess = layout_excess(layout, table->column_count);
    for (; excess; excess--) {
        size_t *widest = NULL;
        for (size_t column = 0; column < table->column_count; column++) {
            if (table->columns[column].fit == fit && (!widest || layout->widths[column] > *widest))
                widest = &layout->widths[column];
        }
        if (!widest || *widest <= TABLE_GIVES_MIN)
            break;
        --*widest;
    }
    return excess;
}

/* Puts the rest below the rows, which makes room for the other columns. */
static void layout_fold_below(struct table_layout *layout, const struct table *table)
{
    layout->below = true;
    layout->widths[layout->rest] = 0;
    if (layout_excess(layout, table->column_count))
        layout->gap = 1;
    if (layout_give(layout, table, TABLE_GIVES))
        (void)layout_give(layout, table, TABLE_NAME); /* too narrow for numbers breaks the line */
}

/* The most that the rest can have when the other columns are as wide as they are. */
static void layout_take_rest(struct table_layout *layout, size_t whole, size_t column_count)
{
    size_t *rest = &layout->widths[layout->rest];
    *rest = whole;
    *rest -= layout_excess(layout, column_count); /* which is less: it fits with the least */
}

static void layout_init(struct table_layout *layout, const struct table *table,
                        const struct terminal *terminal, unsigned indent)
{
    size_t count = table->column_count, filled[TABLE_COLUMNS_MAX];
    *layout = (struct table_layout){
        .columns = (size_t)terminal_width(terminal),
        .indent = indent,
        .gap = TABLE_GAP,
        .rest = count,
    };
    table_measure(table, true, layout->widths);
    if (!layout_excess(layout, count))
        return;
    table_measure(table, false, filled);
    for (size_t column = 0; column < count; column++) {
        if (!filled[column])
            layout->widths[column] = 0;
        else if (table->columns[column].fit == TABLE_REST)
            layout->rest = column;
    }
    layout->folds = layout->rest + 1 == count;
    struct table_layout whole = *layout;
    if (layout->rest < count) {
        size_t *rest = &layout->widths[layout->rest];
        size_t least = layout->folds ? TABLE_FOLD_MIN : TABLE_CUT_MIN;
        *rest = *rest < least ? *rest : least;
    }
    size_t excess = layout_give(layout, table, TABLE_GIVES);
    if (!layout->folds)
        excess = layout_give(layout, table, TABLE_NAME);
    if (layout->rest < count && !excess) {
        layout_take_rest(layout, whole.widths[layout->rest], count);
    } else if (layout->folds) {
        *layout = whole;
        layout_fold_below(layout, table);
    }
}

static void table_write_cell(const struct table *table, const struct terminal *terminal,
                             const struct table_layout *layout, size_t column,
                             const struct table_cell *cell, struct text *text)
{
    struct text cut = {0};
    size_t width = layout->widths[column];
    if (table->columns[column].fit == TABLE_GIVES || table->columns[column].fit == TABLE_NAME)
        terminal_add_middle(&cut, cell->string, width);
    else
        terminal_add_cut(&cut, cell->string, width);
    size_t blanks = width - terminal_columns(text_string(&cut));
    bool right = table->columns[column].align == TABLE_RIGHT;
    if (right)
        text_addf(text, "%*s", (int)blanks, "");
    terminal_colour(terminal, text, cell->colour, text_string(&cut));
    if (!right)
        text_addf(text, "%*s", (int)blanks, "");
    text_fini(&cut);
}

static void table_trim(struct text *text)
{
    while (text->size && text->data[text->size - 1] == ' ')
        text->data[--text->size] = '\0';
}

/* Writes lines of at most `width` columns; the first begins where the text ends now. */
static void table_write_folded(const struct terminal *terminal, const struct table_cell *cell,
                               size_t indent, size_t width, struct text *text)
{
    const char *at = cell->string;
    while (*at) {
        size_t size = terminal_fold(at, width);
        struct text line = {0};
        text_add_bytes(&line, at, size);
        terminal_colour(terminal, text, cell->colour, text_string(&line));
        text_fini(&line);
        at += size;
        at += strspn(at, " ");
        if (*at)
            text_addf(text, "\n%*s", (int)indent, "");
    }
}

/* The last cell of a row, in the rest of its line or below it. */
static void table_write_rest(const struct terminal *terminal, const struct table_layout *layout,
                             const struct table_cell *cell, struct text *text)
{
    size_t width = layout->widths[layout->rest], indent = layout->columns - width;
    if (layout->below && cell->string[0]) {
        indent = layout->indent + TABLE_BELOW;
        width = layout->columns - indent;
        table_trim(text);
        text_addf(text, "\n%*s", (int)indent, "");
    }
    table_write_folded(terminal, cell, indent, width, text);
}

static void table_write_row(const struct table *table, const struct terminal *terminal,
                            const struct table_layout *layout, const struct table_cell *cells,
                            struct text *text)
{
    bool is_first = true;
    text_addf(text, "%*s", (int)layout->indent, "");
    for (size_t column = 0; column < table->column_count; column++) {
        if (layout->widths[column] && !is_first)
            text_addf(text, "%*s", (int)layout->gap, "");
        if (layout->folds && column == layout->rest)
            table_write_rest(terminal, layout, &cells[column], text);
        else if (layout->widths[column])
            table_write_cell(table, terminal, layout, column, &cells[column], text);
        is_first = is_first && !layout->widths[column];
    }
    table_trim(text);
    text_add(text, "\n");
}

void table_write(const struct table *table, const struct terminal *terminal, unsigned indent,
                 struct text *text)
{
    assert(table->cell_count % table->column_count == 0);
    struct table_layout layout;
    struct table_cell titles[TABLE_COLUMNS_MAX];
    layout_init(&layout, table, terminal, indent);
    for (size_t column = 0; column < table->column_count; column++)
        titles[column] = (struct table_cell){(char *)table->columns[column].title, COLOUR_DIM};
    if (layout.below)
        titles[layout.rest].string = "";
    if (table->columns[0].title)
        table_write_row(table, terminal, &layout, titles, text);
    for (size_t i = 0; i < table->cell_count; i += table->column_count)
        table_write_row(table, terminal, &layout, &table->cells[i], text);
}
