/* The terminal, by ncurses. No other file of this folder knows the terminal. There is one
 * screen. */
#ifndef PHASED_CLI_TOP_SCREEN_H
#define PHASED_CLI_TOP_SCREEN_H

#include <stdbool.h>

struct error;
struct grid;
struct model;

/* Takes the terminal of standard output. Without `has_colours` it shows bold and dim letters only.
 */
int screen_open(bool has_colours, struct error *err);
/* Gives the terminal back as it was. */
void screen_close(void);

void screen_size(int *ret_rows, int *ret_columns);
void screen_show(const struct grid *grid);

enum screen_input { SCREEN_NO_INPUT, SCREEN_INPUT, SCREEN_GONE };

/* Gives the next key or click to the model, if one has come. Draw before the next call: the next
 * key is about the new picture. */
enum screen_input screen_read(struct model *model);

#endif
