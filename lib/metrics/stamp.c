/* Times as loggers print them: a date and a time (2024-01-01 10:00:00,123), a time with seconds
 * (10:00:00), or a date with a year (2024-01-01). The first letters of a month or of a weekday may
 * begin the date (Mon Jan  1 10:00:00 2024). A zone may follow the time (Z, UTC, +01:00). */
#include "lib/metrics/stamp.h"

#include "lib/metrics/values.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum {
    STAMP_FRACTION_MAX = 9, /* digits of a part of a second */
    STAMP_LINE_MAX = 7,     /* digits of the number of a line */
    STAMP_PLACE_MAX = 200,  /* bytes of a place */
};

static bool stamp_is(const char *at, const char *end, char c)
{
    return at && at < end && *at == c;
}

/* Reads a number with at least `least` and at most `most` digits. NULL: there is no such number. */
static const char *stamp_digits(const char *at, const char *end, int least, int most)
{
    int count = 0;
    while (at < end && isdigit((unsigned char)*at) && count <= most) {
        at++;
        count++;
    }
    return count >= least && count <= most ? at : NULL;
}

/* Reads ":00" to ":59". */
static const char *stamp_sixtieth(const char *at, const char *end)
{
    return stamp_is(at, end, ':') && at + 1 < end && at[1] < '6' ? stamp_digits(at + 1, end, 2, 2)
                                                                 : NULL;
}

/* Reads "+01:00", "+0100" or "-05". */
static const char *stamp_offset(const char *at, const char *end)
{
    if (!stamp_is(at, end, '+') && !stamp_is(at, end, '-'))
        return NULL;
    const char *hours = stamp_digits(at + 1, end, 2, 2);
    const char *minutes = hours ? stamp_sixtieth(hours, end) : stamp_digits(at + 1, end, 4, 4);
    return minutes ? minutes : hours;
}

/* Reads the zone of a time, or AM and PM. Behind a space, "+01" may be the value of a name. */
static const char *stamp_zone(const char *at, const char *end)
{
    static const char *const words[] = {"UTC", "GMT", "AM", "PM", "am", "pm", "Z"};
    const char *word = span_skip_spaces(at, end);
    const char *offset = stamp_offset(word, end);
    if (offset && (word == at || offset - word > 3))
        return offset;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(end - word) >= size && memcmp(word, words[i], size) == 0 &&
            (word + size == end || !isalnum((unsigned char)word[size])))
            return word + size;
    }
    return at;
}

/* Reads 10:00:00.123 with its zone. After a date, the time may have no seconds. */
static const char *stamp_time(const char *at, const char *end, bool has_date)
{
    const char *minutes = stamp_digits(at, end, 1, 2);
    minutes = minutes ? stamp_sixtieth(minutes, end) : NULL;
    const char *seconds = minutes ? stamp_sixtieth(minutes, end) : NULL;
    if (!seconds)
        return minutes && has_date ? stamp_zone(minutes, end) : NULL;
    const char *fraction = NULL;
    if (stamp_is(seconds, end, '.') || stamp_is(seconds, end, ','))
        fraction = stamp_digits(seconds + 1, end, 1, STAMP_FRACTION_MAX);
    return stamp_zone(fraction ? fraction : seconds, end);
}

/* Reads 2024-01-01, 2024/01/01, 20240101, 01.01.2024 or 01-01. `has_year` becomes true if four
 * digits are the year. */
static const char *stamp_date(const char *at, const char *end, bool *has_year)
{
    const char *first = stamp_digits(at, end, 8, 8);
    if (first)
        return *at == '2' ? first : NULL;
    first = stamp_digits(at, end, 1, 4);
    if (!first || first == end || !strchr("-/.", *first) || !*first)
        return NULL;
    const char *second = stamp_digits(first + 1, end, 1, 2);
    const char *third = stamp_is(second, end, *first) ? stamp_digits(second + 1, end, 1, 4) : NULL;
    *has_year = third && (first - at == 4) != (third - second == 5);
    if (*has_year)
        return third;
    return !third && second && *first != '.' && first - at == 2 && second - first == 3 ? second
                                                                                       : NULL;
}

/* Whether the three letters at `at` are one of those in `names`, as a word. */
static bool stamp_is_name(const char *at, const char *end, const char *names)
{
    for (; *names; names += 3)
        if (end - at > 3 && memcmp(at, names, 3) == 0)
            return at[3] == ' ';
    return false;
}

/* Whether the stamp can end at `at`. */
static bool stamp_ends(const char *at, const char *end)
{
    if (at == end || (*at && strchr(" \t|,;])}>", *at)))
        return true;
    return *at == ':' && (at + 1 == end || at[1] == ' ');
}

/* Reads "Jan  1 10:00:00" or "Mon Jan  1 10:00:00 2024". */
static const char *stamp_named(const char *at, const char *end)
{
    if (stamp_is_name(at, end, "MonTueWedThuFriSatSun"))
        at += 4;
    if (!stamp_is_name(at, end, "JanFebMarAprMayJunJulAugSepOctNovDec"))
        return NULL;
    at = stamp_digits(span_skip_spaces(at + 3, end), end, 1, 2);
    at = stamp_is(at, end, ' ') ? stamp_time(at + 1, end, true) : NULL;
    const char *year = stamp_is(at, end, ' ') ? stamp_digits(at + 1, end, 4, 4) : NULL;
    return year && stamp_ends(year, end) ? year : at;
}

const char *stamp_read(const char *at, const char *end)
{
    bool has_year = false;
    if (at == end || !isalnum((unsigned char)*at))
        return NULL;
    const char *date = NULL, *behind;
    if (isalpha((unsigned char)*at))
        behind = stamp_named(at, end);
    else if ((date = stamp_date(at, end, &has_year)) != NULL) {
        bool joins = date < end && *date && strchr("T _-", *date);
        behind = joins ? stamp_time(span_skip_spaces(date + 1, end), end, true) : NULL;
        behind = behind || !has_year ? behind : date;
    } else
        behind = stamp_time(at, end, false);
    return behind && stamp_ends(behind, end) ? behind : NULL;
}

/* Reads a name in a program: train, __main__, <module>, pkg.train. */
static const char *stamp_code(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && (isalnum((unsigned char)*at) || (*at && strchr("_.<>", *at))))
        at++;
    return at > begin ? at : NULL;
}

const char *stamp_read_place(const char *at, const char *end, struct span *ret_function)
{
    if (end - at > STAMP_PLACE_MAX)
        end = at + STAMP_PLACE_MAX;
    at = stamp_code(at, end);
    const char *function = stamp_is(at, end, ':') ? at + 1 : NULL;
    at = function ? stamp_code(function, end) : NULL;
    if (!at)
        return NULL;
    *ret_function = (struct span){.at = function, .size = (size_t)(at - function)};
    at = stamp_is(at, end, ':') ? stamp_digits(at + 1, end, 1, STAMP_LINE_MAX) : NULL;
    if (!at || at == end)
        return NULL;
    if (*at == ']' || *at == ')')
        return at;
    const char *sign = span_skip_spaces(at, end);
    bool ends = sign < end && (*sign == '|' || (sign > at && *sign == '-') || *at == ':');
    return ends && (*sign == '|' || (sign + 1 < end && sign[1] == ' ')) ? at : NULL;
}
