/* Cells to the terminal, keys and clicks to the model. */
#include "cli/top/screen.h"

#include "cli/top/grid.h"
#include "cli/top/keys.h"
#include "lib/error.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

enum {
    SCREEN_ESCAPE_MS = 100, /* how long the rest of a key's letters may take, as over ssh */
    SCREEN_FOUND_PAIR = COLOUR_COUNT,
};

static struct {
    FILE *output; /* standard output has a filter, which ncurses cannot use */
    SCREEN *screen;
    bool has_colours;
} screen;

static const short screen_colours[COLOUR_COUNT] = {
    [COLOUR_RED] = COLOR_RED,   [COLOUR_GREEN] = COLOR_GREEN,     [COLOUR_YELLOW] = COLOR_YELLOW,
    [COLOUR_BLUE] = COLOR_BLUE, [COLOUR_MAGENTA] = COLOR_MAGENTA, [COLOUR_CYAN] = COLOR_CYAN,
};

static void screen_make_colours(void)
{
    (void)start_color();        /* has_colors() was true */
    (void)use_default_colors(); /* if it fails, the background is black */
    for (enum colour colour = COLOUR_RED; colour < COLOUR_COUNT; colour++)
        (void)init_pair((short)colour, screen_colours[colour],
                        -1);                                       /* plain letters are good, too */
    (void)init_pair(SCREEN_FOUND_PAIR, COLOR_BLACK, COLOR_YELLOW); /* as above */
}

int screen_open(bool has_colours, struct error *err)
{
    int fd = dup(STDOUT_FILENO);
    screen.output = fd < 0 ? NULL : fdopen(fd, "w");
    screen.screen = screen.output ? newterm(NULL, screen.output, stdin) : NULL;
    if (!screen.screen) {
        if (screen.output)
            (void)fclose(screen.output); /* nothing was written */
        return error_set(err, -ENOTTY, "cannot use this terminal; is TERM=%s right?",
                         getenv("TERM") ? getenv("TERM") : "");
    }
    screen.has_colours = has_colours && has_colors();
    if (screen.has_colours)
        screen_make_colours();
    /* Each of these only makes the view nicer. */
    (void)cbreak();
    (void)noecho();
    (void)nonl();
    (void)curs_set(0);
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(SCREEN_ESCAPE_MS);
    (void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    (void)mouseinterval(0);
    return 0;
}

void screen_close(void)
{
    (void)endwin(); /* there is nothing else to try */
    delscreen(screen.screen);
    (void)fclose(screen.output); /* everything is written */
}

void screen_size(int *ret_rows, int *ret_columns)
{
    *ret_rows = LINES > 0 ? LINES : 1;
    *ret_columns = COLS > 0 ? COLS : 1;
}

/* --- Showing ---------------------------------------------------------------------------------- */

/* On a selected row all letters look alike. */
static attr_t screen_attributes(const struct grid_cell *cell, short *ret_pair)
{
    *ret_pair = 0;
    if (cell->mark == GRID_SELECTED)
        return A_REVERSE;
    if (cell->mark == GRID_FOUND) {
        *ret_pair = screen.has_colours ? SCREEN_FOUND_PAIR : 0;
        return screen.has_colours ? A_NORMAL : A_REVERSE;
    }
    if (cell->colour == COLOUR_BOLD)
        return A_BOLD;
    if (cell->colour == COLOUR_DIM)
        return A_DIM;
    *ret_pair = screen.has_colours ? (short)cell->colour : 0;
    return A_NORMAL;
}

static void screen_show_cell(const struct grid_cell *cell, int row, int column)
{
    wchar_t letters[GRID_LETTER_SIZE] = {0};
    short pair;
    attr_t attributes = screen_attributes(cell, &pair);
    cchar_t cchar;
    if (!cell->letter[0])
        return; /* the right half of a wide letter */
    if (mbstowcs(letters, cell->letter, GRID_LETTER_SIZE - 1) == (size_t)-1)
        letters[0] = L'?'; /* the locale has no such letter */
    if (setcchar(&cchar, letters, attributes, pair, NULL) == OK)
        (void)mvadd_wch(row, column, &cchar); /* fails in the last corner only, which is written */
}

void screen_show(const struct grid *grid)
{
    (void)erase(); /* cannot fail */
    for (int row = 0; row < grid->rows; row++)
        for (int column = 0; column < grid->columns; column++)
            screen_show_cell(grid_cell(grid, row, column), row, column);
    (void)refresh(); /* a terminal that is gone is noticed when keys are read */
}

/* --- Keys ------------------------------------------------------------------------------------- */

static int screen_key(wint_t key)
{
    static const struct {
        wint_t curses;
        int key;
    } rows[] = {
        {KEY_UP, TOP_KEY_UP},         {KEY_DOWN, TOP_KEY_DOWN},
        {KEY_LEFT, TOP_KEY_LEFT},     {KEY_RIGHT, TOP_KEY_RIGHT},
        {KEY_PPAGE, TOP_KEY_PAGE_UP}, {KEY_NPAGE, TOP_KEY_PAGE_DOWN},
        {KEY_HOME, TOP_KEY_HOME},     {KEY_END, TOP_KEY_END},
        {KEY_ENTER, TOP_KEY_ENTER},   {KEY_BACKSPACE, TOP_KEY_BACKSPACE},
        {KEY_BTAB, TOP_KEY_BACK_TAB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].curses == key)
            return rows[i].key;
    return -1;
}

static int screen_letter(wint_t letter)
{
    switch (letter) {
    case '\r':
    case '\n':
        return TOP_KEY_ENTER;
    case '\t':
        return TOP_KEY_TAB;
    case 27:
        return TOP_KEY_ESCAPE;
    case 8:
    case 127:
        return TOP_KEY_BACKSPACE;
    default:
        return (int)letter;
    }
}

/* Returns whether there was an event. */
static bool screen_click(struct model *model)
{
    MEVENT event;
    if (getmouse(&event) != OK)
        return false;
    enum keys_mouse what = event.bstate & BUTTON4_PRESSED   ? KEYS_WHEEL_UP
                           : event.bstate & BUTTON5_PRESSED ? KEYS_WHEEL_DOWN
                                                            : KEYS_CLICK;
    keys_click(model, what, event.y, event.x);
    return true;
}

enum screen_input screen_read(struct model *model)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    wint_t key;
    if (poll(&input, 1, 0) > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)))
        return SCREEN_GONE;
    if (screen_click(model))
        return SCREEN_INPUT; /* clicks that come together have one KEY_MOUSE */
    int kind = get_wch(&key);
    if (kind == ERR)
        return SCREEN_NO_INPUT;
    int number = kind == KEY_CODE_YES ? screen_key(key) : screen_letter(key);
    if (kind == KEY_CODE_YES && key == KEY_MOUSE)
        (void)screen_click(model); /* the event may be of no interest */
    else if (number >= 0)
        keys_press(model, number);
    return SCREEN_INPUT;
}
