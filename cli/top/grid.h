/* A picture of the terminal: rows of cells. Views write coloured text into it, the screen shows it,
 * and tests read it back. No cell holds a letter that a terminal would obey. */
#ifndef PHASED_CLI_TOP_GRID_H
#define PHASED_CLI_TOP_GRID_H

#include "cli/terminal.h"

enum { GRID_LETTER_SIZE = 16 }; /* a letter with its accents; further accents are left out */

enum grid_mark { GRID_UNMARKED, GRID_SELECTED, GRID_FOUND };

struct grid_cell {
    char letter[GRID_LETTER_SIZE]; /* UTF-8; empty: the right half of a wide letter */
    enum colour colour;
    enum grid_mark mark;
};

struct grid {
    int rows, columns;
    bool unicode;            /* the terminal shows UTF-8 */
    struct grid_cell *cells; /* row by row */
};

/* A part of the grid. */
struct area {
    int row, column, rows, columns;
};

/* Makes a grid of blanks. */
void grid_init(struct grid *grid, int rows, int columns);
void grid_fini(struct grid *grid);

const struct grid_cell *grid_cell(const struct grid *grid, int row, int column);

/* Writes a line of text, with colours as terminal_colour() gives them, into the first row of
 * `area`. A longer line ends in an ellipsis: two dots if the terminal does not show UTF-8. */
void grid_put(struct grid *grid, const struct area *area, const char *line);

/* Writes a line of text into as many rows of `area` as it needs, without its first `skip` rows.
 * Breaks it after words. Returns how many rows the whole line needs. With NULL for `grid` it only
 * counts them. */
int grid_fold(struct grid *grid, const struct area *area, int skip, const char *line);

/* Marks all cells of the area. */
void grid_mark(struct grid *grid, const struct area *area, enum grid_mark mark);
/* Whether a cell of the area has this mark. */
bool grid_has_mark(const struct grid *grid, const struct area *area, enum grid_mark mark);
/* Marks each place in the area where `text` stands within a row. Case does not count. */
void grid_mark_text(struct grid *grid, const struct area *area, const char *text);

#endif
