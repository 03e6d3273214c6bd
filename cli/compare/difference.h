/* What differs between two JSON documents, and between two texts. */
#ifndef PHASED_CLI_COMPARE_DIFFERENCE_H
#define PHASED_CLI_COMPARE_DIFFERENCE_H

#include <stdbool.h>

#include <jansson.h>

struct text;

/* Appends {"path", "left", "right"} to `list` for each value that differs. "path" is `path` and the
 * keys below it, joined by dots. If one side lacks the value, the object has no member for this
 * side. Objects are compared by their members, everything else as a whole. Numbers are equal if
 * their values are. */
void difference_find(const char *path, const json_t *left, const json_t *right, json_t *list);

/* Adds the lines that only the left text has, each after "- ", and those that only the right text
 * has, after "+ ", in the order of the texts, each line after `indent` spaces. */
void difference_lines(const char *left, const char *right, unsigned indent, struct text *text);

/* Whether difference_value() would show {...} for the value. */
bool difference_is_long_object(const json_t *value);

/* Adds a value for people: a text without quotes, `12 lines`, a number with all its digits, JSON.
 */
void difference_value(const json_t *value, struct text *text);

/* Whether the value is a text of several lines. */
bool difference_is_long(const json_t *value);

#endif
