/* The picture of the model. */
#ifndef PHASED_CLI_TOP_DRAW_H
#define PHASED_CLI_TOP_DRAW_H

struct grid;
struct model;

/* Fills an empty grid of any size. Makes the moves that keys have asked for. `clock_s` is of a
 * clock that only goes on. */
void draw(struct model *model, double clock_s, struct grid *grid);

/* Shares `rows` among panes that want some. A pane that wants none gets none. Each other pane
 * has rows for its title, its headings and a row, or only for its title if there are too few. Then
 * the pane with the number `focus` comes first, but it leaves to the others what they need, up to
 * half of the rows. The last pane gets what is left. */
void draw_share(const int *wanted, int count, int focus, int rows, int *ret_rows);

#endif
