/* Where a person is in a pane: the selected row of a table, or the first line of what is read.
 *
 * Keys only ask for a move. The move is made when the pane is drawn, because only then are its rows
 * and its size known. */
#ifndef PHASED_CLI_TOP_SCROLL_H
#define PHASED_CLI_TOP_SCROLL_H

#include "cli/top/grid.h"
#include "lib/address.h"

#include <stdbool.h>
#include <stddef.h>

struct text;

enum { SCROLL_SEARCH_SIZE = 80 };

enum scroll_seek { SCROLL_STAY, SCROLL_SEEK_HERE, SCROLL_SEEK_NEXT, SCROLL_SEEK_BEFORE };

struct scroll {
    size_t at;                       /* the selected row, or the first line shown */
    int sub;                         /* how many rows of that line are above the pane */
    size_t first;                    /* the first row of a table that is shown */
    char key[ADDRESS_TEXT_SIZE];     /* the address of the selected row; it stays selected if rows
                                        change places */
    bool follows;                    /* shows the last lines, also when lines are added */
    char search[SCROLL_SEARCH_SIZE]; /* what is sought; empty: nothing */
    size_t found;                    /* the line that was found last */
    bool has_lost;                   /* the last search has found nothing */

    struct area area; /* where the rows were drawn last */
    size_t count;     /* how many rows could be selected then */

    long lines, pages; /* moves that were asked for */
    bool to_begin, to_end;
    enum scroll_seek seek;
};

/* Lines that are made when they are needed. */
struct scroll_lines {
    size_t count;
    void (*get)(const void *context, size_t line, struct text *text);
    const void *context;
};

/* The line with the text that is nearest to `from`. After one end, goes on at the other end.
 * Returns `lines->count`: no line has it. */
size_t scroll_find(const struct scroll_lines *lines, size_t from, enum scroll_seek seek,
                   const char *search);

/* Makes the moves and writes the pane. */
void scroll_draw(const struct scroll_lines *lines, struct grid *grid, const struct area *area,
                 struct scroll *scroll);

/* Goes to the beginning, or follows as before. The search stays. */
void scroll_restart(struct scroll *scroll);

/* Forgets the moves: they are made. */
void scroll_clear(struct scroll *scroll);

#endif
