/* Moving in lines to read, and drawing them. */
#include "cli/top/scroll.h"

#include "lib/text.h"

#include <string.h>

static int scroll_rows(const struct scroll_lines *lines, size_t line, int columns)
{
    const struct area area = {.columns = columns};
    struct text text = {0};
    lines->get(lines->context, line, &text);
    int rows = grid_fold(NULL, &area, 0, text_string(&text));
    text_fini(&text);
    return rows;
}

/* The place from which the last lines fill the pane. */
static void scroll_find_end(const struct scroll_lines *lines, const struct area *area,
                            size_t *ret_line, int *ret_sub)
{
    int left = area->rows;
    *ret_line = 0;
    *ret_sub = 0;
    for (size_t line = lines->count; line-- > 0 && left > 0;) {
        int rows = scroll_rows(lines, line, area->columns);
        *ret_line = line;
        *ret_sub = rows > left ? rows - left : 0;
        left -= rows;
    }
}

/* Moves down, or up if `rows` is negative. */
static void scroll_move(const struct scroll_lines *lines, int columns, long rows,
                        struct scroll *scroll)
{
    for (; rows > 0; rows--) {
        if (scroll->sub + 1 < scroll_rows(lines, scroll->at, columns)) {
            scroll->sub++;
        } else if (scroll->at + 1 < lines->count) {
            scroll->at++;
            scroll->sub = 0;
        }
    }
    for (; rows < 0; rows++) {
        if (scroll->sub > 0) {
            scroll->sub--;
        } else if (scroll->at > 0) {
            scroll->at--;
            scroll->sub = scroll_rows(lines, scroll->at, columns) - 1;
        }
    }
}

static bool scroll_has_text(const struct scroll_lines *lines, size_t line, const char *search)
{
    struct text text = {0};
    lines->get(lines->context, line, &text);
    bool is_there = strcasestr(text_string(&text), search) != NULL;
    text_fini(&text);
    return is_there;
}

size_t scroll_find(const struct scroll_lines *lines, size_t from, enum scroll_seek seek,
                   const char *search)
{
    for (size_t i = 0; i < lines->count; i++) {
        size_t step = seek == SCROLL_SEEK_HERE ? i : i + 1;
        size_t line = seek == SCROLL_SEEK_BEFORE ? from + lines->count - step : from + step;
        if (scroll_has_text(lines, line % lines->count, search))
            return line % lines->count;
    }
    return lines->count;
}

/* Whether the line that was found last is still in view. */
static bool scroll_sees_found(const struct scroll *scroll, const struct area *area)
{
    return scroll->found >= scroll->at && scroll->found - scroll->at < (size_t)area->rows;
}

static void scroll_go_to_found(const struct scroll_lines *lines, const struct area *area,
                               struct scroll *scroll)
{
    size_t from = scroll_sees_found(scroll, area) ? scroll->found : scroll->at;
    size_t line = scroll_find(lines, from, scroll->seek, scroll->search);
    scroll->has_lost = line == lines->count;
    if (scroll->has_lost)
        return;
    scroll->follows = false;
    scroll->found = line;
    scroll->at = line;
    scroll->sub = 0;
}

static void scroll_settle(const struct scroll_lines *lines, const struct area *area,
                          struct scroll *scroll)
{
    size_t end;
    int end_sub;
    scroll_find_end(lines, area, &end, &end_sub);
    if (scroll->follows || scroll->to_end) {
        scroll->at = end;
        scroll->sub = end_sub;
    }
    if (scroll->to_begin || scroll->at >= lines->count) {
        scroll->at = 0;
        scroll->sub = 0;
    }
    long moves = scroll->lines + scroll->pages * (area->rows > 1 ? area->rows - 1 : 1);
    if (lines->count)
        scroll_move(lines, area->columns, moves, scroll);
    if (scroll->seek != SCROLL_STAY && scroll->search[0])
        scroll_go_to_found(lines, area, scroll);
    if (scroll->at > end || (scroll->at == end && scroll->sub > end_sub)) {
        scroll->at = end;
        scroll->sub = end_sub;
    }
}

void scroll_restart(struct scroll *scroll)
{
    struct scroll before = *scroll;
    *scroll = (struct scroll){.follows = before.follows};
    memcpy(scroll->search, before.search, sizeof scroll->search);
}

void scroll_clear(struct scroll *scroll)
{
    scroll->lines = scroll->pages = 0;
    scroll->to_begin = scroll->to_end = false;
    scroll->seek = SCROLL_STAY;
}

void scroll_draw(const struct scroll_lines *lines, struct grid *grid, const struct area *area,
                 struct scroll *scroll)
{
    struct text text = {0};
    int used = 0, skip;
    if (area->rows <= 0 || area->columns <= 0)
        return;
    scroll_settle(lines, area, scroll);
    scroll_clear(scroll);
    scroll->area = *area;
    scroll->count = 0;
    skip = scroll->sub;
    for (size_t line = scroll->at; line < lines->count && used < area->rows; line++) {
        struct area rest = {area->row + used, area->column, area->rows - used, area->columns};
        text_clear(&text);
        lines->get(lines->context, line, &text);
        used += grid_fold(grid, &rest, skip, text_string(&text)) - skip;
        skip = 0;
    }
    grid_mark_text(grid, area, scroll->search);
    text_fini(&text);
}
