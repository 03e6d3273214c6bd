/* The picture of the model. */
#ifndef PHASED_CLI_TOP_DRAW_H
#define PHASED_CLI_TOP_DRAW_H

struct grid;
struct model;

/* Fills an empty grid of any size. Makes the moves that keys have asked for. `clock_s` is of a
 * clock that only goes on. */
void draw(struct model *model, double clock_s, struct grid *grid);

/* Shares `rows` among the panes. A pane that wants no rows gets no rows. Each other pane gets rows
 * for its title, its headings and one row, or for its title alone if there are too few. Then the
 * pane with the number `focus` takes what it wants, but it leaves the other panes what they want,
 * up to half of the rows. The last pane gets what is left. */
void draw_share(const int *wanted, int count, int focus, int rows, int *ret_rows);

#endif
