/* A growing string. Always NUL-terminated; `size` does not count the NUL. Zero-initialised is a
 * valid empty text. Memory exhaustion aborts: nothing sensible can be said without memory. */
#ifndef PHASED_LIB_TEXT_H
#define PHASED_LIB_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *data; /* NULL until something was added: use text_string() to read */
    size_t size, capacity;
};

void text_fini(struct text *text);
/* Empties the text and keeps its memory. */
void text_clear(struct text *text);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t size);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(struct text *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));
/* Adds `string` as one word for a POSIX shell. */
void text_add_quoted(struct text *text, const char *string);

/* Adds `bytes` so that no terminal obeys or is deceived by them: control characters (also C1),
 * letters that change the direction or are not seen, and what is not UTF-8 become ^[, <U+202E>,
 * <9B>. Those of the ASCII characters in `keep` stay. */
void text_add_visible(struct text *text, const char *bytes, size_t size, const char *keep);
/* The size of the UTF-8 letter at the beginning of `bytes`; 0: it is none, or is not whole. */
size_t text_letter(const char *bytes, size_t size, uint32_t *ret_letter);
/* Whether it is a control character, or one of those that change the direction or are not seen. */
bool text_is_control(uint32_t letter);
/* Whether a string is UTF-8 with no such letters but those in `keep`. */
bool text_is_plain(const char *string, const char *keep);

/* Borrowed until the next call on `text`; never NULL. */
const char *text_string(const struct text *text);
/* The caller's to free(); never NULL. The text is empty afterwards. */
char *text_steal(struct text *text);

/* A new string from a format; the caller's to free(). */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool text_equal(const char *a, const char *b);
bool text_starts(const char *string, const char *prefix);
bool text_ends(const char *string, const char *suffix);

/* The nearest of `count` names to `name` by edit distance, for "did you mean"; NULL when none is
 * near (more than a third of its letters differ, rounded up). */
const char *text_nearest(const char *name, const char *const *names, size_t count);
/* The same, of those that are one letter away. */
const char *text_next_to(const char *name, const char *const *names, size_t count);

#endif
