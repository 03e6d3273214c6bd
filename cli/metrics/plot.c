/* A picture is a grid of letters. Each letter has dots, and belongs to the last curve that was
 * drawn there. */
#include "cli/metrics/plot.h"

#include "cli/format.h"
#include "cli/terminal.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PLOT_COLUMNS_MIN = 30,
    PLOT_MARGIN = 12, /* columns left of the picture: a number and the axis */
    PLOT_DOTS_X = 2,  /* in a letter of braille */
    PLOT_DOTS_Y = 4,
};

struct plot_cell {
    uint8_t dots;
    uint8_t curve; /* from 1; 0: empty */
};

struct plot {
    const struct terminal *terminal;
    int columns;
    int dots_x, dots_y; /* in a letter */
    bool has_letters;   /* each curve has a letter of its own */
    double x_min, x_max, y_min, y_max;
    struct plot_cell *cells; /* row by row, from the top */
};

static const enum colour plot_colours[] = {COLOUR_CYAN,  COLOUR_YELLOW, COLOUR_GREEN,
                                           COLOUR_PLAIN, COLOUR_RED,    COLOUR_DIM};
enum { PLOT_COLOURS = sizeof plot_colours / sizeof plot_colours[0] };

/* --- Drawing ---------------------------------------------------------------------------------- */

/* Finds the ends of the axes. Returns false if no point can be drawn. */
static bool plot_measure(struct plot *plot, const struct plot_curve *curves, size_t count)
{
    plot->x_min = plot->y_min = INFINITY;
    plot->x_max = plot->y_max = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < curves[i].count; j++) {
            if (!isfinite(curves[i].y[j]))
                continue;
            plot->x_min = fmin(plot->x_min, curves[i].x[j]);
            plot->x_max = fmax(plot->x_max, curves[i].x[j]);
            plot->y_min = fmin(plot->y_min, curves[i].y[j]);
            plot->y_max = fmax(plot->y_max, curves[i].y[j]);
        }
    }
    return plot->x_min <= plot->x_max;
}

/* Where `value` is on an axis of `dots` dots. A value that never changes is in the middle. */
static int plot_place(double value, double min, double max, int dots)
{
    double range = max - min;
    if (!(range > 0))
        return dots / 2;
    if (!isfinite(range)) /* the ends are too far apart for their difference */
        return (int)lround((value / 2 - min / 2) / (max / 2 - min / 2) * (dots - 1));
    return (int)lround((value - min) / range * (dots - 1));
}

static void plot_dot(struct plot *plot, int x, int y, size_t curve)
{
    static const uint8_t bits[PLOT_DOTS_Y][PLOT_DOTS_X] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    int row = PLOT_ROWS - 1 - y / plot->dots_y, column = x / plot->dots_x;
    struct plot_cell *cell = &plot->cells[row * plot->columns + column];
    cell->dots |= bits[PLOT_DOTS_Y - 1 - y % plot->dots_y][x % plot->dots_x];
    cell->curve = (uint8_t)(curve + 1);
}

static void plot_line(struct plot *plot, int from_x, int from_y, int to_x, int to_y, size_t curve)
{
    int wide = abs(to_x - from_x), high = abs(to_y - from_y), length = wide > high ? wide : high;
    for (int i = 0; i <= length; i++) {
        double part = length ? (double)i / length : 0;
        plot_dot(plot, from_x + (int)lround(part * (to_x - from_x)),
                 from_y + (int)lround(part * (to_y - from_y)), curve);
    }
}

static void plot_draw(struct plot *plot, const struct plot_curve *curve, size_t number)
{
    int last_x = 0, last_y = 0;
    bool has_last = false;
    for (size_t i = 0; i < curve->count; i++) {
        if (!isfinite(curve->y[i])) {
            has_last = false;
            continue;
        }
        int x = plot_place(curve->x[i], plot->x_min, plot->x_max, plot->columns * plot->dots_x);
        int y = plot_place(curve->y[i], plot->y_min, plot->y_max, PLOT_ROWS * plot->dots_y);
        plot_line(plot, has_last ? last_x : x, has_last ? last_y : y, x, y, number);
        last_x = x;
        last_y = y;
        has_last = true;
    }
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum colour plot_colour(const struct plot *plot, size_t curve)
{
    return plot->terminal->colours ? plot_colours[curve % PLOT_COLOURS] : COLOUR_PLAIN;
}

/* The sign of a curve: its dots, its letter, or an asterisk. */
static const char *plot_sign(const struct plot *plot, uint8_t dots, size_t curve, char buffer[4])
{
    if (plot->has_letters) {
        buffer[0] = (char)('a' + curve);
        buffer[1] = '\0';
    } else if (plot->terminal->unicode) { /* U+2800 and the dots */
        buffer[0] = (char)0xE2;
        buffer[1] = (char)(0xA0 + (dots >> 6));
        buffer[2] = (char)(0x80 + (dots & 0x3F));
        buffer[3] = '\0';
    } else {
        memcpy(buffer, "*", 2);
    }
    return buffer;
}

/* Adds a row of the picture. Letters of one curve beside each other share their colour. */
static void plot_write_row(const struct plot *plot, int row, struct text *text)
{
    const struct plot_cell *cells = &plot->cells[row * plot->columns];
    int last = plot->columns - 1;
    while (last >= 0 && !cells[last].curve)
        last--;
    for (int i = 0; i <= last;) {
        struct text part = {0};
        uint8_t curve = cells[i].curve;
        char sign[4];
        for (; i <= last && cells[i].curve == curve; i++)
            text_add(&part, curve ? plot_sign(plot, cells[i].dots, curve - 1u, sign) : " ");
        terminal_colour(plot->terminal, text, curve ? plot_colour(plot, curve - 1u) : COLOUR_PLAIN,
                        text_string(&part));
        text_fini(&part);
    }
    text_add(text, "\n");
}

/* Adds the picture with the y axis: its highest, middle and lowest value. */
static void plot_write_rows(const struct plot *plot, struct text *text)
{
    for (int row = 0; row < PLOT_ROWS; row++) {
        bool is_flat = !(plot->y_min < plot->y_max);
        double part = 1 - (double)row / (PLOT_ROWS - 1);
        bool is_named = is_flat ? row == PLOT_ROWS - 1 - PLOT_ROWS / 2
                                : row == 0 || row == PLOT_ROWS / 2 || row == PLOT_ROWS - 1;
        double value = plot->y_min * (1 - part) + plot->y_max * part;
        char number[FORMAT_SIZE] = "";
        if (is_named)
            (void)format_number(is_flat ? plot->y_min : value, number);
        text_addf(text, "%*s ", PLOT_MARGIN - 2, number);
        text_add(text, !plot->terminal->unicode ? "|" : is_named ? "┤" : "│");
        plot_write_row(plot, row, text);
    }
}

/* Adds the x axis with the first and the last step. */
static void plot_write_steps(const struct plot *plot, struct text *text)
{
    char first[FORMAT_SIZE], last[FORMAT_SIZE];
    (void)snprintf(first, sizeof first, "%.0f", plot->x_min);
    (void)snprintf(last, sizeof last, "%.0f", plot->x_max);
    text_addf(text, "%*s%s", PLOT_MARGIN - 1, "", plot->terminal->unicode ? "└" : "+");
    for (int i = 0; i < plot->columns; i++)
        text_add(text, plot->terminal->unicode ? "─" : "-");
    int room = plot->columns - (int)strlen(first) - (int)strlen(last);
    bool is_point = plot->x_min == plot->x_max;
    text_addf(text, "\n%*s%s%*s%s\n", PLOT_MARGIN, "", is_point ? "" : first,
              is_point ? plot->columns / 2 : room, "", last);
}

/* Adds a line for each curve: its sign, its name and its last value. */
static void plot_write_names(const struct plot *plot, const struct plot_curve *curves, size_t count,
                             struct text *text)
{
    for (size_t i = 0; i < count; i++) {
        char sign[4], number[FORMAT_SIZE];
        size_t last = curves[i].count;
        text_addf(text, "%*s", PLOT_MARGIN, "");
        terminal_colour(plot->terminal, text, plot_colour(plot, i), plot_sign(plot, 0xFF, i, sign));
        text_addf(text, " %s  %s\n", curves[i].name,
                  last ? format_number(curves[i].y[last - 1], number) : "no values");
    }
}

void plot_write(const struct terminal *terminal, const char *title, const struct plot_curve *curves,
                size_t count, struct text *text)
{
    int width = terminal_width(terminal);
    bool is_apart = count == 1 || (terminal->colours && count <= PLOT_COLOURS);
    struct plot plot = {.terminal = terminal, .has_letters = !is_apart};
    width = width == INT_MAX ? PLOT_COLUMNS_DEFAULT : width;
    width = width > PLOT_COLUMNS_MAX ? PLOT_COLUMNS_MAX : width;
    plot.columns = (width < PLOT_COLUMNS_MIN ? PLOT_COLUMNS_MIN : width) - PLOT_MARGIN - 1;
    bool is_fine = terminal->unicode && !plot.has_letters;
    plot.dots_x = is_fine ? PLOT_DOTS_X : 1;
    plot.dots_y = is_fine ? PLOT_DOTS_Y : 1;
    terminal_add_plain(text, title);
    text_add(text, "\n");
    if (plot_measure(&plot, curves, count)) {
        plot.cells = xcalloc((size_t)plot.columns * PLOT_ROWS, sizeof *plot.cells);
        for (size_t i = 0; i < count; i++)
            plot_draw(&plot, &curves[i], i);
        plot_write_rows(&plot, text);
        plot_write_steps(&plot, text);
        free(plot.cells);
    }
    plot_write_names(&plot, curves, count, text);
}
