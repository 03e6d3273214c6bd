/* Where output goes: a terminal of some width, with colours and live lines, or a file or pipe that
 * gets plain text. */
#ifndef PHASED_CLI_TERMINAL_H
#define PHASED_CLI_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

struct text;

enum colour {
    COLOUR_PLAIN,
    COLOUR_BOLD,
    COLOUR_DIM,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_CYAN,
};

struct terminal {
    int fd;
    bool live;      /* a terminal that can move its cursor: lines may be drawn again */
    bool colours;   /* live, and not refused by $NO_COLOR */
    bool unicode;   /* the locale is UTF-8 */
    int columns;    /* how wide lines may be where it is no terminal; 0: as wide as they are */
    int live_lines; /* how many lines of the live area are drawn now */
};

/* Looks at `fd`, the environment and the locale (setlocale() must have been called). */
void terminal_init(struct terminal *terminal, int fd);

/* Columns now; INT_MAX when there is no limit. */
int terminal_width(const struct terminal *terminal);

/* Adds `string` in a colour, or as it is where there are none. */
void terminal_colour(const struct terminal *terminal, struct text *text, enum colour colour,
                     const char *string);

/* Prints `above` for good and then the live area `live`, whole lines both, in place of the live
 * area drawn before. Lines of `live` must fit the width. Only on a live terminal. */
void terminal_draw(struct terminal *terminal, const char *above, const char *live);

/* How many columns a UTF-8 text takes, without the colours in it. */
size_t terminal_columns(const char *string);

/* Adds `string` without its colours, and with a '?' for each other control character: texts of
 * programs must not command a terminal. */
void terminal_add_plain(struct text *text, const char *string);

/* The same, at most `columns` wide. The last column becomes a dot when something was cut. */
void terminal_add_cut(struct text *text, const char *string, size_t columns);

/* Adds at most `columns` of a `string` that has no colours and control characters; where something
 * was cut, it is from the middle, and two dots tell of it: names differ at their ends. */
void terminal_add_middle(struct text *text, const char *string, size_t columns);

/* The size of the longest beginning of such a `string` that fills at most `columns` and ends with
 * a word; within a word only where the first is longer. 0 for an empty one alone. */
size_t terminal_fold(const char *string, size_t columns);

#endif
