/* The picture of the model. */
#ifndef PHASED_CLI_TOP_DRAW_H
#define PHASED_CLI_TOP_DRAW_H

struct grid;
struct model;

/* Fills an empty grid of any size. Makes the moves that keys have asked for. `clock_s` is steady
 * time (lib/clock.h). */
void draw(struct model *model, double clock_s, struct grid *grid);

/* Shares `rows` among the panes. A pane that wants no rows gets no rows. Each other pane gets rows
 * for its title, its headings and one row, or only for its title if there are too few rows. Then
 * the pane with the number `focus` gets what it wants, but the other panes keep what they want, up
 * to half of the rows. The last pane gets what is left. */
void draw_share(const int *wanted, int count, int focus, int rows, int *ret_rows);

#endif
