/* Aligned columns of text. A table is filled cell by cell and then printed. Where it would leave
 * the terminal, columns that nothing stands in are left out, those that may give are cut in their
 * middle, the widest first, and the rest of the line belongs to one column: the last continues on
 * further lines, below the row where too little is left beside it; any other one is cut. */
#ifndef PHASED_CLI_TABLE_H
#define PHASED_CLI_TABLE_H

#include "cli/terminal.h"

#include <stddef.h>

struct text;

enum { TABLE_COLUMNS_MAX = 16 };

enum table_align { TABLE_LEFT, TABLE_RIGHT };

/* What becomes of a column where the line is too short. At most one gets the rest. A name is cut
 * last, when no other column has anything left to give. */
enum table_fit { TABLE_WHOLE, TABLE_NAME, TABLE_GIVES, TABLE_REST };

struct table_column {
    const char *title; /* borrowed; a table without titles has only NULL ones */
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

/* Adds the next cell, copied; control characters in it become '?'. */
void table_add(struct table *table, enum colour colour, const char *string);
void table_addf(struct table *table, enum colour colour, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Adds the table to `text`, each line `indent` columns in. All rows must be complete. */
void table_write(const struct table *table, const struct terminal *terminal, unsigned indent,
                 struct text *text);

#endif
