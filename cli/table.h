/* Aligned columns of text. A table is filled cell by cell and then written. Where a line would be
 * wider than the terminal, in this order:
 *
 * - columns without any text are left out;
 * - columns that may give (TABLE_GIVES) are cut in their middle, the widest first;
 * - one column (TABLE_REST) has what is left of the line. If it is the last one, it continues on
 *   further lines, beside the other columns, or below its row where that would be too narrow.
 *   Elsewhere it is cut, or continues beside the other columns (TABLE_WRAPS);
 * - names (TABLE_NAME) are cut in their middle when no other column can give any more.
 *
 * If the terminal wants one line for each row, the rest is cut. Where it would be too narrow,
 * columns are left out, the last first: first TABLE_SPARE, then the rest, then TABLE_USEFUL. Names
 * of up to 24 letters are whole while the rest is there. Longer names are cut to that before any
 * column is left out, and further before the rest is left out. Names are cut before TABLE_USEFUL is
 * left out, down to a width at which most names still differ, and further only if no other column
 * can give any more.
 *
 * libsmartcols 2.38 is not used: it cuts names first, does not mark a cut and breaks lines within
 * words. */
#ifndef PHASED_CLI_TABLE_H
#define PHASED_CLI_TABLE_H

#include "cli/terminal.h"

#include <stddef.h>

struct text;

enum { TABLE_COLUMNS_MAX = 16, TABLE_NAMES_COLUMNS = 2 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/* What becomes of a column where the line is too long. At most one column has the rest: TABLE_REST
 * or TABLE_WRAPS. */
enum table_fit {
    TABLE_WHOLE,
    TABLE_NAME,
    TABLE_GIVES,
    TABLE_REST,
    TABLE_WRAPS,
    TABLE_SPARE,
    TABLE_USEFUL,
};

struct table_column {
    const char *title; /* borrowed; NULL in all columns: a table without titles */
    enum table_align align;
    enum table_fit fit;
};

struct table_cell;

struct table {
    const struct table_column *columns; /* borrowed */
    size_t column_count;
    struct table_cell *cells; /* row by row */
    size_t cell_count, cell_capacity;
};

void table_init(struct table *table, const struct table_column *columns, size_t column_count);
void table_fini(struct table *table);

/* Each adds the next cell, copied; control characters in it become '?'. */
void table_add(struct table *table, const char *string);
void table_addf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_add_in(struct table *table, enum colour colour, const char *string);
void table_addf_in(struct table *table, enum colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Empties `text`. */
void table_take(struct table *table, enum colour colour, struct text *text);

/* Cells as cli/format.h writes them. */
void table_add_duration(struct table *table, double seconds);
void table_add_number(struct table *table, double number);
void table_add_cost(struct table *table, double dollars);

/* The columns of a table of names and values, and a row of such a table; no row if the value is
 * empty. */
extern const struct table_column table_names[TABLE_NAMES_COLUMNS];
void table_add_named(struct table *table, const char *name, const char *value);

/* Adds the table to `text`, each line `indent` columns in, and empties the table. All rows must be
 * complete. */
void table_write(struct table *table, const struct terminal *terminal, unsigned indent,
                 struct text *text);

#endif
