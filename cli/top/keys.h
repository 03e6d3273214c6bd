/* What keys and the mouse do to the model. */
#ifndef PHASED_CLI_TOP_KEYS_H
#define PHASED_CLI_TOP_KEYS_H

struct model;

/* Keys that are not letters. Letters are their own numbers. */
enum top_key {
    TOP_KEY_BEGIN = 0x110000, /* no letter has this number */
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_ESCAPE,
    TOP_KEY_BACKSPACE,
    TOP_KEY_TAB,
    TOP_KEY_BACK_TAB,
};

void keys_press(struct model *model, int key);

enum keys_mouse { KEYS_CLICK, KEYS_WHEEL_UP, KEYS_WHEEL_DOWN };

/* A click selects a row. A click on the selected row opens it. */
void keys_click(struct model *model, enum keys_mouse event, int row, int column);

/* The rows of the help: "j, Down" and "one row down". NULL ends them. */
struct keys_help {
    const char *keys, *words;
};
extern const struct keys_help keys_help[];

#endif
