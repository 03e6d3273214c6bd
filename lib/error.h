/* One error: what went wrong, where, and a code that callers may act on.
 *
 * A function that can fail takes `struct error *err` as its last parameter and returns a negative
 * errno. The caller owns the struct. The function fills it on failure only. With NULL the caller
 * gets the code only. */
#ifndef PHASED_LIB_ERROR_H
#define PHASED_LIB_ERROR_H

#include <stddef.h>

struct error {
    int code;              /* negative errno */
    unsigned line, column; /* from 1; 0: no position */
    char where[192];       /* the file, path of keys or object in question; may be empty */
    char message[512];     /* lower case, no full stop */
};

/* Fills `err` and returns `code`, so that a failing function can `return error_set(...)`. */
int error_set(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Like error_set(), with the file (or object) and the position in it. */
int error_set_at(struct error *err, int code, const char *where, unsigned line, unsigned column,
                 const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Puts context before the message: "could not open the record: disk full". Returns the code of
 * `err`, or 0 if `err` is NULL. */
int error_prefix(struct error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes "where:line:column: message" into `buffer`, without the parts that are absent. Returns
 * `buffer`. */
const char *error_text(const struct error *err, char *buffer, size_t size);

#endif
