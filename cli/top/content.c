/* Panes of rows and panes of lines. */
#include "cli/top/content.h"

#include "cli/top/grid.h"
#include "cli/top/scroll.h"
#include "lib/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void content_fini(struct content *content)
{
    text_fini(&content->title);
    text_fini(&content->text);
    free(content->keys);
    *content = (struct content){0};
}

void content_add_key(struct content *content, const char *key)
{
    content->keys = xrealloc(content->keys, (content->key_count + 1) * sizeof content->keys[0]);
    char *copy = content->keys[content->key_count++];
    size_t size = strnlen(key, sizeof content->keys[0] - 1);
    memcpy(copy, key, size);
    copy[size] = '\0';
}

/* The beginnings of the lines of the content. */
struct content_lines {
    const char **starts;
    size_t count;
};

static struct content_lines content_split(const struct content *content)
{
    struct content_lines lines = {0};
    size_t capacity = 0;
    for (const char *at = text_string(&content->text); *at; at += strcspn(at, "\n") + 1) {
        if (lines.count == capacity) {
            capacity = capacity ? capacity * 2 : 64;
            lines.starts = xrealloc(lines.starts, capacity * sizeof lines.starts[0]);
        }
        lines.starts[lines.count++] = at;
    }
    return lines;
}

/* The lines after the headings. */
static void content_get(const void *context, size_t line, struct text *text)
{
    const char *at = ((const char *const *)context)[line];
    text_add_bytes(text, at, strcspn(at, "\n"));
}

int content_rows(const struct content *content, int columns)
{
    struct content_lines lines = content_split(content);
    const struct area area = {.columns = columns};
    int rows = 0;
    for (size_t i = 0; i < lines.count; i++)
        rows += content->key_count ? 1 : grid_fold(NULL, &area, 0, lines.starts[i]);
    free(lines.starts);
    return rows;
}

static void content_find_key(const struct content *content, struct scroll *scroll)
{
    for (size_t i = 0; i < content->key_count; i++) {
        if (text_equal(content->keys[i], scroll->key)) {
            scroll->at = i;
            return;
        }
    }
}

/* Selects a row and keeps it in view. */
static void content_settle(const struct content *content, const struct scroll_lines *rows,
                           int height, struct scroll *scroll)
{
    content_find_key(content, scroll);
    long count = (long)content->key_count, height_max = height > 0 ? height : 1;
    long at = (long)scroll->at + scroll->lines + scroll->pages * height_max;
    at = scroll->to_begin ? 0 : scroll->to_end ? count - 1 : at;
    at = at < 0 ? 0 : at >= count ? count - 1 : at;
    scroll->at = at < 0 ? 0 : (size_t)at;
    if (scroll->seek != SCROLL_STAY && scroll->search[0] && count > 0) {
        size_t line = scroll_find(rows, scroll->at, scroll->seek, scroll->search);
        scroll->has_lost = line == rows->count;
        scroll->at = scroll->has_lost ? scroll->at : line;
    }
    size_t shown = (size_t)height_max;
    if (scroll->at < scroll->first)
        scroll->first = scroll->at;
    if (scroll->at >= scroll->first + shown)
        scroll->first = scroll->at + 1 - shown;
    if (scroll->first + shown > content->key_count)
        scroll->first = content->key_count > shown ? content->key_count - shown : 0;
    memset(scroll->key, 0, sizeof scroll->key);
    if (count > 0)
        memcpy(scroll->key, content->keys[scroll->at], sizeof scroll->key);
    scroll_clear(scroll);
}

static void content_draw_rows(const struct content *content, struct grid *grid,
                              const struct area *area, const struct scroll_lines *rows,
                              bool is_marked, struct scroll *scroll)
{
    content_settle(content, rows, area->rows, scroll);
    scroll->area = *area;
    scroll->count = content->key_count;
    for (int i = 0; i < area->rows && scroll->first + (size_t)i < rows->count; i++) {
        struct area line = {area->row + i, area->column, 1, area->columns};
        size_t row = scroll->first + (size_t)i;
        grid_put(grid, &line, ((const char *const *)rows->context)[row]);
        grid_mark_text(grid, &line, scroll->search);
        if (is_marked && row == scroll->at)
            grid_mark(grid, &line, GRID_SELECTED);
    }
}

void content_draw(const struct content *content, struct grid *grid, const struct area *area,
                  bool is_marked, struct scroll *scroll)
{
    struct content_lines lines = content_split(content);
    size_t headings = content->headings < lines.count ? content->headings : lines.count;
    struct scroll_lines rest = {.count = lines.count - headings,
                                .get = content_get,
                                .context = lines.starts ? lines.starts + headings : NULL};
    struct area below = *area;
    for (size_t i = 0; i < headings && below.rows > 0; i++) {
        assert(lines.starts); /* there are lines */
        grid_put(grid, &below, lines.starts[i]);
        below.row++;
        below.rows--;
    }
    if (content->key_count)
        content_draw_rows(content, grid, &below, &rest, is_marked, scroll);
    else
        scroll_draw(&rest, grid, &below, scroll);
    free(lines.starts);
}
