/* Measuring and writing columns. */
#include "cli/table.h"

#include "cli/format.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    TABLE_GAP = 2,
    TABLE_GIVES_MIN = 8,  /* a shorter piece of a name says nothing */
    TABLE_CUT_MIN = 8,    /* the least width of the rest where it is cut */
    TABLE_NAME_LONG = 24, /* of a row of one line: a longer name gives way like a sentence */
    TABLE_NAME_MIN = 16, /* of a row of one line: what a name keeps while other columns have room */
    TABLE_LINE_MIN = 12, /* of a row of one line: a shorter beginning of a sentence says nothing */
    TABLE_FOLD_MIN = 24, /* sentences in a narrower column are hard to read */
    TABLE_BELOW = 4,     /* how far the lines below a row are indented */
};

struct table_cell {
    char *string;
    enum colour colour;
};

/* Where the columns of a table stand on a terminal. */
struct layout {
    const struct table *table;
    const struct terminal *terminal;
    size_t columns, indent, gap;
    size_t widths[TABLE_COLUMNS_MAX + 1]; /* 0: the column is left out */
    size_t measured[TABLE_COLUMNS_MAX];   /* the widths of whole columns */
    size_t rest;                          /* the column that gets the rest of the line; or, if
                                             no column does, the number past the last column */
    bool folds;                           /* the rest continues on further lines */
    bool is_below;                        /* the rest stands below the row; its width is 0 */
};

const struct table_column table_names[TABLE_NAMES_COLUMNS] = {
    {NULL, TABLE_LEFT, TABLE_WHOLE},
    {NULL, TABLE_LEFT, TABLE_REST},
};

void table_init(struct table *table, const struct table_column *columns, size_t column_count)
{
    assert(column_count > 0 && column_count <= TABLE_COLUMNS_MAX);
    *table = (struct table){.columns = columns, .column_count = column_count};
}

void table_fini(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].string);
    free(table->cells);
    *table = (struct table){0};
}

void table_add_in(struct table *table, enum colour colour, const char *string)
{
    if (table->cell_count == table->cell_capacity) {
        table->cell_capacity = table->cell_capacity ? table->cell_capacity * 2 : 64;
        table->cells = xrealloc(table->cells, table->cell_capacity * sizeof table->cells[0]);
    }
    struct text safe = {0};
    terminal_add_plain(&safe, string);
    table->cells[table->cell_count++] =
        (struct table_cell){.string = text_steal(&safe), .colour = colour};
}

void table_add(struct table *table, const char *string)
{
    table_add_in(table, COLOUR_PLAIN, string);
}

void table_take(struct table *table, enum colour colour, struct text *text)
{
    table_add_in(table, colour, text_string(text));
    text_fini(text);
}

void table_addf(struct table *table, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    table_take(table, COLOUR_PLAIN, &text);
}

void table_addf_in(struct table *table, enum colour colour, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    table_take(table, colour, &text);
}

void table_add_duration(struct table *table, double seconds)
{
    char buffer[FORMAT_SIZE];
    table_add(table, format_duration(seconds, buffer));
}

void table_add_number(struct table *table, double number)
{
    char buffer[FORMAT_SIZE];
    table_add(table, format_number(number, buffer));
}

void table_add_cost(struct table *table, double dollars)
{
    char buffer[FORMAT_SIZE];
    table_add(table, format_cost(dollars, buffer));
}

void table_add_named(struct table *table, const char *name, const char *value)
{
    if (!value[0])
        return;
    table_add_in(table, COLOUR_DIM, name);
    table_add(table, value);
}

static bool table_is_empty(const struct table *table, size_t column)
{
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        if (table->cells[i].string[0])
            return false;
    }
    return true;
}

static size_t table_measure(const struct table *table, size_t column)
{
    const char *title = table->columns[column].title;
    size_t width = title ? terminal_columns(title) : 0;
    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        size_t columns = terminal_columns(table->cells[i].string);
        width = columns > width ? columns : width;
    }
    return width;
}

/* By how many columns the line is too long. */
static size_t layout_excess(const struct layout *layout)
{
    size_t used = layout->indent, gap = 0;
    for (size_t column = 0; column < layout->table->column_count; column++) {
        if (!layout->widths[column])
            continue;
        used += gap + layout->widths[column];
        gap = layout->gap;
    }
    return used > layout->columns ? used - layout->columns : 0;
}

/* Makes columns of this kind narrower, if their whole width is above `beyond`: always the widest
 * column, until the line fits or all have the least width. */
static void layout_give_beyond(struct layout *layout, enum table_fit fit, size_t beyond,
                               size_t least)
{
    for (size_t excess = layout_excess(layout); excess; excess--) {
        size_t *widest = NULL;
        for (size_t column = 0; column < layout->table->column_count; column++) {
            bool can_give =
                layout->table->columns[column].fit == fit && layout->measured[column] > beyond;
            if (can_give && (!widest || layout->widths[column] > *widest))
                widest = &layout->widths[column];
        }
        if (!widest || *widest <= least)
            break;
        --*widest;
    }
}

static void layout_give(struct layout *layout, enum table_fit fit, size_t least)
{
    layout_give_beyond(layout, fit, 0, least);
}

/* Leaves columns of this kind out, the last first, until the line fits. */
static void layout_leave_out(struct layout *layout, enum table_fit fit)
{
    for (size_t column = layout->table->column_count; column-- > 0 && layout_excess(layout);) {
        if (layout->table->columns[column].fit == fit)
            layout->widths[column] = 0;
    }
}

/* Puts the rest beside the other columns. Returns whether the line fits then. */
static bool layout_put_beside(struct layout *layout)
{
    size_t *rest = &layout->widths[layout->rest], whole = *rest;
    bool is_sentence = layout->folds || layout->terminal->one_line;
    size_t least = is_sentence ? TABLE_FOLD_MIN : TABLE_CUT_MIN;
    *rest = whole < least ? whole : least;
    if (layout->terminal->one_line)
        layout_give_beyond(layout, TABLE_NAME, TABLE_NAME_LONG, TABLE_NAME_LONG);
    layout_give(layout, TABLE_GIVES, TABLE_GIVES_MIN);
    layout_leave_out(layout, TABLE_SPARE);
    while (layout->terminal->one_line && layout_excess(layout) && *rest > TABLE_LINE_MIN)
        --*rest;
    if (layout->terminal->one_line)
        layout_give_beyond(layout, TABLE_NAME, TABLE_NAME_LONG, TABLE_NAME_MIN);
    if (!is_sentence)
        layout_give(layout, TABLE_NAME, TABLE_GIVES_MIN);
    if (layout_excess(layout))
        return false;
    *rest = whole;
    *rest -= layout_excess(layout); /* at least its width before */
    return true;
}

/* Puts the rest below the rows, which makes room for the other columns. A terminal that is too
 * narrow for the numbers breaks the line. */
static void layout_put_below(struct layout *layout)
{
    layout->is_below = true;
    layout->widths[layout->rest] = 0;
    if (layout_excess(layout))
        layout->gap = 1;
    layout_give(layout, TABLE_GIVES, TABLE_GIVES_MIN);
    layout_give(layout, TABLE_NAME, TABLE_GIVES_MIN);
}

/* Leaves the rest out, which makes room for the other columns. */
static void layout_put_nowhere(struct layout *layout)
{
    layout->widths[layout->rest] = 0;
    layout_give(layout, TABLE_GIVES, TABLE_GIVES_MIN);
    layout_leave_out(layout, TABLE_SPARE);
    struct layout least = *layout;
    layout_give(&least, TABLE_NAME, TABLE_NAME_MIN);
    layout_leave_out(&least, TABLE_USEFUL);
    for (size_t column = 0; column < layout->table->column_count; column++)
        layout->widths[column] = least.widths[column] ? layout->widths[column] : 0;
    layout_give(layout, TABLE_NAME, TABLE_GIVES_MIN);
}

static void layout_init(struct layout *layout, const struct table *table,
                        const struct terminal *terminal, unsigned indent)
{
    size_t count = table->column_count;
    *layout = (struct layout){
        .table = table,
        .terminal = terminal,
        .columns = (size_t)terminal_width(terminal),
        .indent = indent,
        .gap = TABLE_GAP,
        .rest = count,
    };
    for (size_t column = 0; column < count; column++)
        layout->widths[column] = layout->measured[column] = table_measure(table, column);
    if (!layout_excess(layout))
        return;
    for (size_t column = 0; column < count; column++) {
        if (table_is_empty(table, column))
            layout->widths[column] = 0;
        else if (table->columns[column].fit == TABLE_REST ||
                 table->columns[column].fit == TABLE_WRAPS)
            layout->rest = column;
    }
    layout->folds = layout->rest + 1 == count && !terminal->one_line;
    const struct layout whole = *layout;
    if (layout_put_beside(layout) || (!layout->folds && !terminal->one_line))
        return;
    *layout = whole;
    (terminal->one_line ? layout_put_nowhere : layout_put_below)(layout);
}

/* Whether the column continues on further lines although it is not the last one. */
static bool layout_wraps(const struct layout *layout, size_t column)
{
    return column < layout->table->column_count && !layout->terminal->one_line &&
           layout->table->columns[column].fit == TABLE_WRAPS;
}

static void layout_write_cell(const struct layout *layout, size_t column,
                              const struct table_cell *cell, struct text *text)
{
    const struct table_column *kind = &layout->table->columns[column];
    size_t width = layout->widths[column];
    struct text cut = {0};
    if (layout_wraps(layout, column))
        text_add_bytes(&cut, cell->string, terminal_fold(cell->string, width));
    else if (kind->fit == TABLE_REST || kind->fit == TABLE_WRAPS)
        terminal_add_cut(layout->terminal, &cut, cell->string, width);
    else
        terminal_add_middle(layout->terminal, &cut, cell->string, width);
    int blanks = (int)(width - terminal_columns(text_string(&cut)));
    text_addf(text, "%*s", kind->align == TABLE_RIGHT ? blanks : 0, "");
    terminal_colour(layout->terminal, text, cell->colour, text_string(&cut));
    text_addf(text, "%*s", kind->align == TABLE_RIGHT ? 0 : blanks, "");
    text_fini(&cut);
}

static void table_trim(struct text *text)
{
    while (text->size && text->data[text->size - 1] == ' ')
        text->data[--text->size] = '\0';
}

/* Writes a text on as many lines as it needs. */
static void layout_write_lines(const struct layout *layout, const char *at, enum colour colour,
                               size_t width, size_t indent, struct text *text)
{
    while (*at) {
        size_t size = terminal_fold(at, width);
        char *line = xstrndup(at, size);
        terminal_colour(layout->terminal, text, colour, line);
        free(line);
        at += size;
        at += strspn(at, " ");
        if (*at)
            text_addf(text, "\n%*s", (int)indent, "");
    }
}

/* Writes the last cell of a row on as many lines as it needs. */
static void layout_write_folded(const struct layout *layout, const struct table_cell *cell,
                                struct text *text)
{
    size_t width = layout->widths[layout->rest], indent = layout->columns - width;
    if (layout->is_below && cell->string[0]) {
        indent = layout->indent + TABLE_BELOW;
        width = layout->columns - indent;
        table_trim(text);
        text_addf(text, "\n%*s", (int)indent, "");
    }
    layout_write_lines(layout, cell->string, cell->colour, width, indent, text);
}

/* Writes the lines of a cell after its first line, which stands in its row. */
static void layout_write_wrapped(const struct layout *layout, const struct table_cell *cell,
                                 struct text *text)
{
    size_t indent = layout->indent, width = layout->widths[layout->rest];
    const char *more = cell->string + terminal_fold(cell->string, width);
    more += strspn(more, " ");
    if (!*more)
        return;
    for (size_t column = 0; column < layout->rest; column++)
        indent += layout->widths[column] ? layout->widths[column] + layout->gap : 0;
    text_addf(text, "%*s", (int)indent, "");
    layout_write_lines(layout, more, cell->colour, width, indent, text);
    text_add(text, "\n");
}

static void layout_write_row(const struct layout *layout, const struct table_cell *cells,
                             struct text *text)
{
    size_t gap = layout->indent;
    for (size_t column = 0; column < layout->table->column_count; column++) {
        if (layout->widths[column]) {
            text_addf(text, "%*s", (int)gap, "");
            gap = layout->gap;
        }
        if (layout->folds && column == layout->rest)
            layout_write_folded(layout, &cells[column], text);
        else if (layout->widths[column])
            layout_write_cell(layout, column, &cells[column], text);
    }
    table_trim(text);
    text_add(text, "\n");
    if (layout_wraps(layout, layout->rest))
        layout_write_wrapped(layout, &cells[layout->rest], text);
}

void table_write(struct table *table, const struct terminal *terminal, unsigned indent,
                 struct text *text)
{
    assert(table->cell_count % table->column_count == 0);
    struct layout layout;
    struct table_cell titles[TABLE_COLUMNS_MAX];
    layout_init(&layout, table, terminal, indent);
    for (size_t column = 0; column < table->column_count; column++)
        titles[column] = (struct table_cell){(char *)table->columns[column].title, COLOUR_DIM};
    if (layout.is_below)
        titles[layout.rest].string = "";
    if (table->columns[0].title)
        layout_write_row(&layout, titles, text);
    for (size_t i = 0; i < table->cell_count; i += table->column_count)
        layout_write_row(&layout, &table->cells[i], text);
    table_fini(table);
}
