/* A growing string. It is always NUL-terminated, and `size` does not count the NUL. A
 * zero-initialised struct is a valid empty text. Without memory the program aborts
 * (lib/memory.h). */
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
/* Adds the fewest digits that give the same number again: 0.1. NaN is nan, and infinities are inf
 * and -inf. */
void text_add_number(struct text *text, double number);
/* Adds `string` as one word for a POSIX shell. */
void text_add_quoted(struct text *text, const char *string);

/* Adds `bytes` so that a terminal neither obeys them nor hides them. Control characters (also C1),
 * letters that change the direction or are invisible, and bytes that are not UTF-8 become ^[,
 * <U+202E>, <9B>. The ASCII characters in `keep` are not changed. */
void text_add_visible(struct text *text, const char *bytes, size_t size, const char *keep);
/* The size of the UTF-8 letter at the beginning of `bytes`; 0: the bytes are not a whole letter. */
size_t text_letter(const char *bytes, size_t size, uint32_t *ret_letter);
/* The size of the escape sequence (a colour, a title, a link) at the beginning of `bytes`, which
 * may end within the sequence; 0: the bytes begin otherwise. */
size_t text_escape_size(const char *bytes, size_t size);
/* The largest size, up to `size_max`, that does not cut a letter of a UTF-8 string. */
size_t text_fit(const char *string, size_t size_max);
/* If the string is not UTF-8, each of its bytes that is not ASCII becomes a question mark. */
void text_make_utf8(char *string);
/* Whether the letter is a control character, changes the direction, or is invisible. */
bool text_is_control(uint32_t letter);
/* Whether a string is UTF-8 and has no letters for which text_is_control() is true, except those in
 * `keep`. */
bool text_is_plain(const char *string, const char *keep);

/* Returns the string, borrowed until the next call on `text`; never NULL. */
const char *text_string(const struct text *text);
/* Returns the string, which the caller frees; never NULL. The text is empty afterwards. */
char *text_steal(struct text *text);

/* A new string from a format. The caller frees it. */
char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A time for people: "119 s", "2 min". The caller frees it. */
char *text_time(double seconds);

bool text_equal(const char *a, const char *b);
bool text_starts(const char *string, const char *prefix);
bool text_ends(const char *string, const char *suffix);
bool text_is_one_of(const char *word, const char *const *words, size_t count);
/* Adds the words with commas between. `last` is between the last two: " or ". */
void text_add_list(struct text *text, const char *const *words, size_t count, const char *last);

/* The characters of the names of nodes, and POSIX's limit for the name of a host. */
#define TEXT_NODE_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
enum { TEXT_NODE_MAX = 255 };
/* Whether a node can have this name. Such a name is good in paths and in lists. NULL is not a name.
 */
bool text_is_node(const char *name);

/* How many bytes at the beginning are letters and digits, or are in `others`. */
size_t text_name_size(const char *string, const char *others);
/* How many bytes at the beginning are digits. */
size_t text_digits_size(const char *string);

/* How many newlines the string has. */
unsigned text_count_lines(const char *string);
/* Where the last `count` lines of the string begin. */
const char *text_last_lines(const char *string, unsigned count);

/* Lists with commas between their items; NULL is an empty list. */
bool text_has_item(const char *list, const char *item);
/* Takes the first item from the list; the caller frees it. NULL: no item is left. */
char *text_take_item(const char **list);

/* Returns the nearest of `count` names to `name` by edit distance, for "did you mean". NULL: no
 * name is near. A name is near if at most a third of its letters differ, rounded up. */
const char *text_nearest(const char *name, const char *const *names, size_t count);
/* Like text_nearest(), for names that are one letter away. */
const char *text_next_to(const char *name, const char *const *names, size_t count);

#endif
