/* What a pane shows. Rows can be selected if they have keys. Other lines are read: they fold, and
 * the pane scrolls. */
#ifndef PHASED_CLI_TOP_CONTENT_H
#define PHASED_CLI_TOP_CONTENT_H

#include "lib/address.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>

struct area;
struct grid;
struct scroll;

struct content {
    struct text title;               /* of the pane, without colours */
    struct text text;                /* lines with colours, each with its newline */
    size_t headings;                 /* the first lines, which stay in their place */
    char (*keys)[ADDRESS_TEXT_SIZE]; /* of the lines after the headings; NULL: lines to read */
    size_t key_count;
};

void content_fini(struct content *content);
/* Gives this address to the next row. */
void content_add_key(struct content *content, const char *key);
/* How many rows the content needs in `columns`. */
int content_rows(const struct content *content, int columns);

/* Makes the moves and writes the pane. `is_marked` says whether the selected row is marked. */
void content_draw(const struct content *content, struct grid *grid, const struct area *area,
                  bool is_marked, struct scroll *scroll);

#endif
