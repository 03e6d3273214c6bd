/* Where output goes: a terminal with a width, colours and live lines, or a file or pipe that gets
 * plain text. */
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
    COLOUR_BLUE,
    COLOUR_MAGENTA,
    COLOUR_CYAN,
    COLOUR_COUNT,
};

struct terminal {
    int fd;
    bool live;      /* a terminal that can move its cursor: lines may be drawn again */
    bool colours;   /* live, and $NO_COLOR does not refuse them */
    bool unicode;   /* the locale is UTF-8 */
    int columns;    /* the width if it is not a terminal; 0: no limit */
    bool one_line;  /* each row of a table has one line */
    int live_lines; /* how many lines of the live area are drawn now */
};

/* Looks at `fd`, the environment and the locale (setlocale() must have been called). */
void terminal_init(struct terminal *terminal, int fd);

/* The width now, in columns; INT_MAX: no limit. */
int terminal_width(const struct terminal *terminal);

/* Adds `string` in a colour, or as it is if the terminal has no colours. */
void terminal_colour(const struct terminal *terminal, struct text *text, enum colour colour,
                     const char *string);

/* Replaces the live area by the lines `above`, which stay, and the new live area `live`. Lines of
 * `live` must fit the width. Only for a live terminal. */
void terminal_draw(struct terminal *terminal, const char *above, const char *live);

/* The size of the letter at `at` in bytes. It takes two columns if it is wide, and none if it joins
 * the letter before it. */
size_t terminal_letter(const char *at, size_t *ret_columns);

/* How many columns a UTF-8 text takes. Colours take no column, wide letters two. */
size_t terminal_columns(const char *string);

/* Adds `string` without its colours, and with a '?' for each other control character: texts of
 * programs must not command a terminal. */
void terminal_add_plain(struct text *text, const char *string);

/* Adds `before` and then `line` in the same way, as a line of its own. Empties `line`. */
void terminal_add_line(struct text *text, const char *before, struct text *line);

/* As terminal_add_line(), but folds a line that is wider than the terminal. Further lines begin two
 * columns after the spaces of `before`. `before` may have colours. */
void terminal_add_folded(const struct terminal *terminal, struct text *text, const char *before,
                         struct text *line);

/* As terminal_add_plain(), at most `columns` wide. A text that was cut ends in an ellipsis: two
 * dots if the terminal does not show UTF-8. */
void terminal_add_cut(const struct terminal *terminal, struct text *text, const char *string,
                      size_t columns);

/* Adds at most `columns` of a `string` without colours and control characters. A longer string
 * loses its middle, where an ellipsis stands: names differ at their ends. */
void terminal_add_middle(const struct terminal *terminal, struct text *text, const char *string,
                         size_t columns);

/* Where to break such a `string`: the size of its longest beginning that fits into `columns` and
 * ends with a word. Breaks a word only if the first word does not fit. 0 only for an empty string.
 */
size_t terminal_fold(const char *string, size_t columns);

#endif
