/* JSON as text, and texts and numbers in JSON. JSON has neither NaN nor infinities. Journals, the
 * record and answers of the API have the texts "nan", "inf" and "-inf" instead. */
#ifndef PHASED_LIB_JSON_H
#define PHASED_LIB_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* 2^53 - 1: a double holds all whole numbers up to it exactly, and other programs read the numbers
 * of JSON as doubles. Sums and differences of two such numbers never overflow. */
#define JSON_WHOLE_MAX 9007199254740991

/* Returns the JSON as text, made with the flags of json_dumps(). Aborts without memory. `json` is a
 * value that jansson can write, with JSON_ENCODE_ANY if it is neither an object nor an array. */
char *json_text(const json_t *json, size_t flags);

/* A new string, as text_make_utf8() makes it. */
json_t *json_string_of(const char *text);

/* Returns the text of a member; empty: there is no such member, or it has no text. */
const char *json_member_text(const json_t *object, const char *name);
/* The same, but NULL: there is no such member, or it has no text. */
const char *json_member_string(const json_t *object, const char *name);
/* Returns the whole number of a member; 0: there is no such member, or it has no whole number. */
json_int_t json_member_integer(const json_t *object, const char *name);

/* NaN: the value is not a number. */
double json_number(const json_t *json);
/* A new reference. */
json_t *json_double(double value);
/* False: the value is neither a number nor one of these texts. */
bool json_double_read(const json_t *json, double *ret_value);

#endif
