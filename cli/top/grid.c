/* Writing into cells. */
#include "cli/top/grid.h"

#include "cli/filter.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void grid_init(struct grid *grid, int rows, int columns)
{
    assert(rows > 0 && columns > 0);
    size_t count = (size_t)rows * (size_t)columns;
    *grid = (struct grid){.rows = rows, .columns = columns};
    grid->cells = xcalloc(count, sizeof *grid->cells);
    for (size_t i = 0; i < count; i++)
        grid->cells[i].letter[0] = ' ';
}

void grid_fini(struct grid *grid)
{
    free(grid->cells);
    *grid = (struct grid){0};
}

static struct grid_cell *grid_at(const struct grid *grid, int row, int column)
{
    bool is_inside = row >= 0 && row < grid->rows && column >= 0 && column < grid->columns;
    return is_inside ? &grid->cells[row * grid->columns + column] : NULL;
}

const struct grid_cell *grid_cell(const struct grid *grid, int row, int column)
{
    return grid_at(grid, row, column);
}

/* Skips the colours at `at`. Returns where the next letter is. */
static const char *grid_colour(const char *at, enum colour *colour)
{
    for (enum colour i = COLOUR_PLAIN; *at == '\033' && i < COLOUR_COUNT;) {
        if (!text_starts(at, filter_colours[i])) {
            i++;
            continue;
        }
        at += strlen(filter_colours[i]);
        *colour = i;
        i = COLOUR_PLAIN; /* another colour may follow */
    }
    return at;
}

static void grid_set(struct grid *grid, int row, int column, const char *letter, size_t size,
                     enum colour colour)
{
    struct grid_cell *cell = grid_at(grid, row, column);
    uint32_t number;
    if (!cell)
        return;
    bool is_plain = size < sizeof cell->letter && text_letter(letter, size, &number) == size &&
                    !text_is_control(number);
    *cell = (struct grid_cell){.colour = colour};
    memcpy(cell->letter, is_plain ? letter : "?", is_plain ? size : 1);
}

/* Adds an accent to the letter before `column`. */
static void grid_join(struct grid *grid, int row, int column, const char *accent, size_t size)
{
    struct grid_cell *cell = grid_at(grid, row, column - 1);
    uint32_t number;
    size_t used = cell ? strlen(cell->letter) : 0;
    if (used && used + size < sizeof cell->letter && text_letter(accent, size, &number) &&
        !text_is_control(number))
        memcpy(cell->letter + used, accent, size);
}

/* Writes the letters from `at` to `end` that fit into `columns`. Returns the first letter that does
 * not fit, or `end`. */
static const char *grid_write(struct grid *grid, const struct area *area, const char *at,
                              const char *end, enum colour *colour)
{
    int used = 0;
    for (at = grid_colour(at, colour); at < end && *at; at = grid_colour(at, colour)) {
        size_t width, size = terminal_letter(at, &width);
        if (used + (int)width > area->columns)
            break;
        int column = area->column + used;
        if (grid && width == 0)
            grid_join(grid, area->row, column, at, size);
        else if (grid)
            grid_set(grid, area->row, column, at, size, *colour);
        if (grid && width == 2 && grid_at(grid, area->row, column + 1))
            grid_at(grid, area->row, column + 1)->letter[0] = '\0';
        used += (int)width;
        at += size;
    }
    return at;
}

void grid_put(struct grid *grid, const struct area *area, const char *line)
{
    enum colour colour = COLOUR_PLAIN;
    const char *end = line + strcspn(line, "\n");
    if (area->columns <= 0 || grid_write(grid, area, line, end, &colour) >= end)
        return;
    const char *sign = grid->unicode ? "…" : ".";
    int count = grid->unicode || area->columns < 3 ? 1 : 2;
    int first = area->column + area->columns - count;
    struct grid_cell *cell = grid_at(grid, area->row, first);
    if (cell && !cell->letter[0] && first > 0)
        grid_set(grid, area->row, first - 1, " ", 1, colour);
    for (int column = first; column < first + count; column++)
        grid_set(grid, area->row, column, sign, strlen(sign), colour);
}

/* Where a row ends that begins at `at`: after the last word that fits, or within the first word. */
static const char *grid_break(const char *at, const char *end, int columns)
{
    enum colour colour = COLOUR_PLAIN;
    const struct area row = {.columns = columns};
    const char *full = grid_write(NULL, &row, at, end, &colour);
    if (full >= end || full == at) /* wider than the row: one letter at least */
        return full == at && full < end ? at + 1 : end;
    for (const char *space = full; space > at; space--)
        if (*space == ' ')
            return space;
    return full;
}

int grid_fold(struct grid *grid, const struct area *area, int skip, const char *line)
{
    const char *end = line + strcspn(line, "\n"), *at = line;
    enum colour colour = COLOUR_PLAIN;
    int rows = 0;
    do {
        const char *stop = grid_break(at, end, area->columns);
        bool is_shown = grid && rows >= skip && rows - skip < area->rows;
        struct area row = {area->row + rows - skip, area->column, 1, area->columns};
        (void)grid_write(is_shown ? grid : NULL, &row, at, stop, &colour); /* it fits */
        rows++;
        at = stop;
        while (at < end && *at == ' ')
            at++;
    } while (at < end);
    return rows;
}

void grid_mark(struct grid *grid, const struct area *area, enum grid_mark mark)
{
    for (int row = area->row; row < area->row + area->rows; row++) {
        for (int column = area->column; column < area->column + area->columns; column++) {
            struct grid_cell *cell = grid_at(grid, row, column);
            if (cell)
                cell->mark = mark;
        }
    }
}

bool grid_has_mark(const struct grid *grid, const struct area *area, enum grid_mark mark)
{
    for (int row = area->row; row < area->row + area->rows; row++) {
        for (int column = area->column; column < area->column + area->columns; column++) {
            const struct grid_cell *cell = grid_cell(grid, row, column);
            if (cell && cell->mark == mark)
                return true;
        }
    }
    return false;
}

/* How many cells from `column` on have the letters of `text`; 0: they have others. */
static int grid_match(const struct grid *grid, int row, int column, const char *text)
{
    int first = column;
    while (*text) {
        const struct grid_cell *cell = grid_cell(grid, row, column++);
        size_t size = cell ? strlen(cell->letter) : 0;
        if (!cell || (size && strncasecmp(cell->letter, text, size) != 0))
            return 0;
        text += size;
    }
    return column - first;
}

void grid_mark_text(struct grid *grid, const struct area *area, const char *text)
{
    for (int row = area->row; *text && row < area->row + area->rows; row++) {
        for (int column = area->column; column < area->column + area->columns; column++) {
            struct area found = {row, column, 1, grid_match(grid, row, column, text)};
            if (found.columns && column + found.columns <= area->column + area->columns)
                grid_mark(grid, &found, GRID_FOUND);
        }
    }
}
