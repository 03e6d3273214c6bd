/* Colours, widths and the live area. */
#include "cli/terminal.h"

#include "cli/filter.h"
#include "lib/file.h"
#include "lib/text.h"

#include <langinfo.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum {
    TERMINAL_WIDTH_DEFAULT = 80,
    TERMINAL_WIDTH_MIN = 20,
    TERMINAL_LETTER_MAX = 4, /* bytes of UTF-8 */
};

void terminal_init(struct terminal *terminal, int fd)
{
    const char *name = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    bool live = isatty(fd) && name && !text_equal(name, "dumb");
    *terminal = (struct terminal){
        .fd = fd,
        .live = live,
        .colours = live && !(no_colour && no_colour[0]),
        .unicode = text_equal(nl_langinfo(CODESET), "UTF-8"),
    };
}

int terminal_width(const struct terminal *terminal)
{
    if (!terminal->live)
        return terminal->columns ? terminal->columns : INT_MAX;
    struct winsize size;
    if (ioctl(terminal->fd, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return TERMINAL_WIDTH_DEFAULT;
    return size.ws_col < TERMINAL_WIDTH_MIN ? TERMINAL_WIDTH_MIN : size.ws_col;
}

void terminal_colour(const struct terminal *terminal, struct text *text, enum colour colour,
                     const char *string)
{
    if (!terminal->colours || colour == COLOUR_PLAIN || !string[0])
        text_add(text, string);
    else
        text_addf(text, "%s%s%s", filter_colours[colour], string, filter_colours[COLOUR_PLAIN]);
}

void terminal_draw(struct terminal *terminal, const char *above, const char *live)
{
    struct text text = {0};
    if (terminal->live_lines)
        text_addf(&text, "\033[%dA", terminal->live_lines);
    text_add(&text, "\r\033[J"); /* to the first column; erase to the end of the screen */
    filter_add(&text, above, strlen(above));
    filter_add(&text, live, strlen(live));
    (void)fflush(stdout); /* a lost terminal is not a failure */
    (void)file_write(terminal->fd, text_string(&text), text.size); /* as above */
    terminal->live_lines = (int)text_count_lines(live);
    text_fini(&text);
}

/* The size of the control sequence at `at`, such as a colour; 0: no sequence is there. */
static size_t terminal_escape(const char *at)
{
    if (at[0] != '\033' || at[1] != '[')
        return 0;
    size_t size = 2 + strspn(at + 2, "0123456789:;<=>?");
    return at[size] >= '@' && at[size] <= '~' ? size + 1 : size;
}

size_t terminal_letter(const char *at, size_t *ret_columns)
{
    uint32_t letter;
    size_t size = text_letter(at, strnlen(at, TERMINAL_LETTER_MAX), &letter);
    int columns = size ? wcwidth((wchar_t)letter) : 1;
    *ret_columns = columns < 0 ? 1 : (size_t)columns; /* negative: the locale does not know it */
    return size ? size : 1;
}

size_t terminal_columns(const char *string)
{
    size_t columns = 0;
    while (*string) {
        size_t width = 0, size = terminal_escape(string);
        if (!size)
            size = terminal_letter(string, &width);
        columns += width;
        string += size;
    }
    return columns;
}

/* Skips the letters that fit into `columns`. */
static const char *terminal_skip(const char *string, size_t columns)
{
    while (*string) {
        size_t width, size = terminal_letter(string, &width);
        if (width > columns)
            break;
        columns -= width;
        string += size;
    }
    return string;
}

void terminal_add_plain(struct text *text, const char *string)
{
    size_t size = strlen(string);
    for (size_t at = 0, count; at < size; at += count) {
        uint32_t letter;
        count = terminal_escape(string + at);
        if (count)
            continue;
        count = text_letter(string + at, size - at, &letter);
        if (count == 0 || text_is_control(letter))
            text_add(text, "?");
        else
            text_add_bytes(text, string + at, count);
        count = count ? count : 1;
    }
}

void terminal_add_line(struct text *text, const char *before, struct text *line)
{
    text_add(text, before);
    terminal_add_plain(text, text_string(line));
    text_add(text, "\n");
    text_fini(line);
}

/* The sign for a cut. It is shorter than `columns`, unless `columns` is 0. */
static const char *terminal_ellipsis(const struct terminal *terminal, size_t columns)
{
    if (columns == 0)
        return "";
    return terminal->unicode ? "…" : columns < 3 ? "." : "..";
}

void terminal_add_cut(const struct terminal *terminal, struct text *text, const char *string,
                      size_t columns)
{
    struct text plain = {0};
    terminal_add_plain(&plain, string);
    const char *at = text_string(&plain);
    if (terminal_columns(at) <= columns) {
        text_add(text, at);
    } else {
        const char *sign = terminal_ellipsis(terminal, columns);
        text_add_bytes(text, at,
                       (size_t)(terminal_skip(at, columns - terminal_columns(sign)) - at));
        text_add(text, sign);
    }
    text_fini(&plain);
}

void terminal_add_middle(const struct terminal *terminal, struct text *text, const char *string,
                         size_t columns)
{
    size_t all = terminal_columns(string);
    if (all <= columns || columns < 4) {
        terminal_add_cut(terminal, text, string, columns);
        return;
    }
    const char *sign = terminal_ellipsis(terminal, columns);
    size_t room = columns - terminal_columns(sign), left = (room + 1) / 2, right = room - left;
    text_add_bytes(text, string, (size_t)(terminal_skip(string, left) - string));
    const char *end = terminal_skip(string, all - right);
    size_t width;
    if (terminal_columns(end) > right) /* half of a wide letter would fit */
        end += terminal_letter(end, &width);
    text_addf(text, "%s%s", sign, end);
}

size_t terminal_fold(const char *string, size_t columns)
{
    const char *end = terminal_skip(string, columns);
    size_t width;
    if (end == string && *end)
        end += terminal_letter(end, &width);
    if (!*end)
        return strlen(string);
    for (const char *at = end; at > string; at--) {
        if (*at == ' ')
            return (size_t)(at - string);
    }
    return (size_t)(end - string);
}

void terminal_add_folded(const struct terminal *terminal, struct text *text, const char *before,
                         struct text *line)
{
    size_t width = (size_t)terminal_width(terminal), used = terminal_columns(before);
    size_t indent = strspn(before, " ") + 2;
    struct text plain = {0};
    terminal_add_plain(&plain, text_string(line));
    const char *at = text_string(&plain);
    text_add(text, before);
    while (true) {
        size_t room = width > used ? width - used : 1, size = terminal_fold(at, room);
        if (at[size] && at[size] != ' ' && used > indent)
            size = 0; /* the next line has more room for the first word */
        text_add_bytes(text, at, size);
        text_add(text, "\n");
        at += size;
        at += strspn(at, " ");
        if (!*at)
            break;
        text_addf(text, "%*s", (int)indent, "");
        used = indent;
    }
    text_fini(&plain);
    text_fini(line);
}
