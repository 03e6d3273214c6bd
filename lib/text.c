/* Growing strings, and common questions about strings. */
#include "lib/text.h"

#include "lib/memory.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_NAME_MAX = 64 }; /* longer names get no suggestions */

static void text_reserve(struct text *text, size_t more)
{
    size_t needed = text->size + more + 1;
    if (needed <= text->capacity)
        return;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    text->data = xrealloc(text->data, capacity);
    text->capacity = capacity;
}

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

void text_clear(struct text *text)
{
    text->size = 0;
    if (text->data)
        text->data[0] = '\0';
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_bytes(struct text *text, const void *bytes, size_t size)
{
    text_reserve(text, size);
    if (size)
        memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_addv(text, format, args);
    va_end(args);
}

void text_addv(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, again);
    va_end(again);
    assert(size >= 0);
    text_reserve(text, (size_t)size);
    (void)vsnprintf(text->data + text->size, (size_t)size + 1, format, args); /* measured above */
    text->size += (size_t)size;
}

void text_add_number(struct text *text, double number)
{
    char digits[40];
    if (isnan(number)) {
        text_add(text, "nan"); /* printf() may write -nan */
        return;
    }
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(digits, sizeof digits, "%.*g", precision, number); /* long enough */
        if (strtod(digits, NULL) == number)
            break;
    }
    text_add(text, digits);
}

void text_add_quoted(struct text *text, const char *string)
{
    text_add(text, "'");
    for (; *string; string++) {
        if (*string == '\'')
            text_add(text, "'\\''");
        else
            text_add_bytes(text, string, 1);
    }
    text_add(text, "'");
}

size_t text_letter(const char *bytes, size_t size, uint32_t *ret_letter)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* by size */
    unsigned char first = size ? (unsigned char)bytes[0] : 0xff;
    size_t count = first < 0x80    ? 1
                   : first < 0xc0  ? 0
                   : first < 0xe0  ? 2
                   : first < 0xf0  ? 3
                   : first <= 0xf4 ? 4
                                   : 0;
    if (count == 0 || count > size)
        return 0;
    uint32_t letter = count == 1 ? first : first & (0x7fU >> count);
    for (size_t i = 1; i < count; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if ((byte & 0xc0) != 0x80)
            return 0;
        letter = letter << 6 | (byte & 0x3f);
    }
    if (letter < least[count] || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000))
        return 0;
    *ret_letter = letter;
    return count;
}

/* ECMA-48: ESC [ parameters final, ESC ] text BEL, ESC _ text ESC \, or ESC intermediates final. */
size_t text_escape_size(const char *bytes, size_t size)
{
    size_t at = 2;
    if (size < 2 || bytes[0] != '\x1b')
        return size && bytes[0] == '\x1b';
    if (bytes[1] && strchr("]P_^X", bytes[1])) {
        while (at < size && bytes[at] != '\a' && (bytes[at] != '\\' || bytes[at - 1] != '\x1b'))
            at++;
        return at < size ? at + 1 : size;
    }
    char first = bytes[1] == '[' ? '@' : '0'; /* final bytes are from here to ~ */
    at = bytes[1] == '[' ? 2 : 1;
    while (at < size && bytes[at] >= ' ' && bytes[at] < first)
        at++;
    return at < size && bytes[at] >= first && bytes[at] <= '~' ? at + 1 : at;
}

size_t text_fit(const char *string, size_t size_max)
{
    size_t size = strnlen(string, size_max + 1);
    if (size <= size_max)
        return size;
    size = size_max;
    while (size > 0 && ((unsigned char)string[size] & 0xc0) == 0x80)
        size--;
    return size;
}

void text_make_utf8(char *string)
{
    size_t size = strlen(string), at = 0, length;
    uint32_t letter;
    while ((length = text_letter(string + at, size - at, &letter)) > 0)
        at += length;
    for (char *byte = string; at < size && *byte; byte++)
        if ((unsigned char)*byte >= 0x80)
            *byte = '?';
}

bool text_is_control(uint32_t letter)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
        {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (letter >= ranges[i].first && letter <= ranges[i].last)
            return true;
    return false;
}

static bool text_keeps(const char *keep, uint32_t letter)
{
    return letter && letter < 0x80 && strchr(keep, (int)letter);
}

void text_add_visible(struct text *text, const char *bytes, size_t size, const char *keep)
{
    for (size_t at = 0, count; at < size; at += count) {
        uint32_t letter = 0;
        count = text_letter(bytes + at, size - at, &letter);
        if (count == 0) {
            text_addf(text, "<%02X>", (unsigned)(unsigned char)bytes[at]);
            count = 1;
        } else if (!text_is_control(letter) || text_keeps(keep, letter)) {
            text_add_bytes(text, bytes + at, count);
        } else if (letter < 0x80) {
            text_addf(text, "^%c", (int)letter ^ 0x40);
        } else {
            text_addf(text, "<U+%04X>", (unsigned)letter);
        }
    }
}

bool text_is_plain(const char *string, const char *keep)
{
    size_t size = strlen(string);
    for (size_t at = 0, count; at < size; at += count) {
        uint32_t letter;
        count = text_letter(string + at, size - at, &letter);
        if (count == 0 || (text_is_control(letter) && !text_keeps(keep, letter)))
            return false;
    }
    return true;
}

const char *text_string(const struct text *text)
{
    return text->data ? text->data : "";
}

char *text_steal(struct text *text)
{
    text_reserve(text, 0);
    text->data[text->size] = '\0';
    char *data = text->data;
    *text = (struct text){0};
    return data;
}

char *text_format(const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    return text_steal(&text);
}

char *text_time(double seconds)
{
    return seconds < 120 ? text_format("%.0f s", seconds) : text_format("%.0f min", seconds / 60);
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_starts(const char *string, const char *prefix)
{
    return strncmp(string, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *string, const char *suffix)
{
    size_t size = strlen(string), suffix_size = strlen(suffix);
    return size >= suffix_size && text_equal(string + size - suffix_size, suffix);
}

bool text_is_node(const char *name)
{
    size_t size = name ? strspn(name, TEXT_NODE_CHARACTERS) : 0;
    return size > 0 && size <= TEXT_NODE_MAX && !name[size] && name[0] != '-' && name[0] != '.';
}

bool text_is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(word, words[i]))
            return true;
    return false;
}

size_t text_name_size(const char *string, const char *others)
{
    size_t size = 0;
    while (isalnum((unsigned char)string[size]) || (string[size] && strchr(others, string[size])))
        size++;
    return size;
}

size_t text_digits_size(const char *string)
{
    return strspn(string, "0123456789");
}

void text_add_list(struct text *text, const char *const *words, size_t count, const char *last)
{
    for (size_t i = 0; i < count; i++)
        text_addf(text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : last, words[i]);
}

unsigned text_count_lines(const char *string)
{
    unsigned lines = 0;
    for (; *string; string++)
        lines += *string == '\n';
    return lines;
}

const char *text_last_lines(const char *string, unsigned count)
{
    const char *at = string + strlen(string);
    unsigned lines = 0;
    if (at > string && at[-1] == '\n')
        at--;
    while (at > string && (at[-1] != '\n' || ++lines < count))
        at--;
    return at;
}

bool text_has_item(const char *list, const char *item)
{
    size_t size = strlen(item);
    for (const char *at = list; at && *at; at += strspn(at, ",")) {
        size_t length = strcspn(at, ",");
        if (length == size && memcmp(at, item, size) == 0)
            return true;
        at += length;
    }
    return false;
}

char *text_take_item(const char **list)
{
    if (!*list || !**list)
        return NULL;
    size_t size = strcspn(*list, ",");
    char *item = text_format("%.*s", (int)size, *list);
    *list += size + ((*list)[size] == ',');
    return item;
}

/* Levenshtein's distance, in which a swap of two neighbours is one step. Keeps three rows of the
 * table. */
static size_t text_distance(const char *a, const char *b)
{
    size_t rows[3][TEXT_NAME_MAX + 1], b_size = strlen(b), i = 0;
    for (size_t j = 0; j <= b_size; j++)
        rows[0][j] = j;
    while (a[i]) {
        size_t *row = rows[++i % 3];
        const size_t *above = rows[(i - 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            bool is_swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (is_swap && rows[(i - 2) % 3][j - 2] + 1 < best)
                best = rows[(i - 2) % 3][j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[i % 3][b_size];
}

/* Returns the nearest name with a distance of at most `least`; NULL: there is no such name. */
static const char *text_near(const char *name, const char *const *names, size_t count, size_t least)
{
    const char *nearest = NULL;
    if (strlen(name) > TEXT_NAME_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) > TEXT_NAME_MAX)
            continue;
        size_t distance = text_distance(name, names[i]);
        if (distance <= least && (!nearest || distance < least)) {
            nearest = names[i];
            least = distance;
        }
    }
    return nearest;
}

const char *text_nearest(const char *name, const char *const *names, size_t count)
{
    return text_near(name, names, count, (strlen(name) + 2) / 3);
}

const char *text_next_to(const char *name, const char *const *names, size_t count)
{
    return text_near(name, names, count, 1);
}
