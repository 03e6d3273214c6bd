/* Numbers: a fast exact way for numbers such as losses and learning rates, strtod() for others, and
 * the units that may follow. */
#include "lib/metrics/number.h"

#include "lib/metrics/letter.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NUMBER_SIZE_MAX = 64, /* bytes; longer runs of digits measure nothing */
    NUMBER_UNIT_MAX = 16,
};

static bool number_is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* Returns the size of the word at `at` if it is nan, inf or infinity. */
static size_t number_read_word(const char *at, const char *end, double *ret_value)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if ((size_t)(end - at) < size || strncasecmp(at, words[i].word, size) != 0)
            continue;
        if (at + size < end && (isalnum((unsigned char)at[size]) || at[size] == '_' ||
                                letter_read(at + size, end, NULL)))
            continue;
        *ret_value = words[i].value;
        return size;
    }
    return 0;
}

/* Whether exactly three digits follow the comma. */
static bool number_is_group(const char *comma, const char *end)
{
    return number_is_digit(comma + 1, end) && number_is_digit(comma + 2, end) &&
           number_is_digit(comma + 3, end) && !number_is_digit(comma + 4, end);
}

/* Returns `digits` times a power of ten, correctly rounded, because a double holds both factors
 * exactly. NaN: a double does not hold both. */
static double number_quick(uint64_t digits, int exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > (uint64_t)1 << 53 || exponent > 22 || exponent < -22)
        return NAN;
    return exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
}

/* Reads any number, from a copy without commas. */
static double number_careful(const char *at, size_t size)
{
    char copy[NUMBER_SIZE_MAX + 1];
    size_t copied = 0;
    for (size_t i = 0; i < size; i++)
        if (at[i] != ',')
            copy[copied++] = at[i];
    copy[copied] = '\0';
    return strtod(copy, NULL);
}

/* Reads the exponent at `at`. Returns its size, 0 if there is no exponent. */
static size_t number_read_exponent(const char *at, const char *end, int *ret_exponent)
{
    const char *digit = at;
    int exponent = 0;
    bool is_negative = false;
    if (digit == end || (*digit | 32) != 'e')
        return 0;
    digit++;
    if (digit < end && (*digit == '-' || *digit == '+'))
        is_negative = *digit++ == '-';
    if (!number_is_digit(digit, end))
        return 0;
    for (; number_is_digit(digit, end); digit++)
        exponent = exponent < 10000 ? 10 * exponent + *digit - '0' : exponent;
    *ret_exponent += is_negative ? -exponent : exponent;
    return (size_t)(digit - at);
}

/* Reads the digits at `*at`. `*digits` becomes UINT64_MAX if there are too many. */
static size_t number_take_digits(const char **at, const char *end, uint64_t *digits)
{
    const char *begin = *at;
    for (; number_is_digit(*at, end); (*at)++)
        *digits =
            *digits < UINT64_MAX / 10 - 9 ? 10 * *digits + (uint64_t)(**at - '0') : UINT64_MAX;
    return (size_t)(*at - begin);
}

size_t number_read(const char *begin, const char *end, enum number_commas commas, double *ret_value)
{
    const char *at = begin;
    uint64_t digits = 0;
    int exponent = 0;
    if (end - begin > NUMBER_SIZE_MAX)
        end = begin + NUMBER_SIZE_MAX;
    bool is_negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    size_t word = number_read_word(at, end, ret_value);
    if (word) {
        *ret_value = is_negative ? -*ret_value : *ret_value;
        return (size_t)(at - begin) + word;
    }
    const char *first = at;
    size_t whole = number_take_digits(&at, end, &digits), fraction = 0;
    if (commas == NUMBER_THOUSANDS && whole >= 1 && whole <= 3 && *first != '0')
        while (at < end && *at == ',' && number_is_group(at, end)) {
            at++;
            (void)number_take_digits(&at, end, &digits); /* three digits */
        }
    if (at < end && *at == '.' && (whole || number_is_digit(at + 1, end))) {
        at++;
        fraction = number_take_digits(&at, end, &digits);
    }
    if (!whole && !fraction)
        return 0;
    at += number_read_exponent(at, end, &exponent);
    size_t size = (size_t)(at - begin);
    double value = number_quick(digits, exponent - (int)fraction);
    *ret_value = isnan(value) ? number_careful(begin, size) : is_negative ? -value : value;
    return size;
}

/* Returns the factor of a unit; 0: the word is not a unit. */
static double number_unit(const char *at, size_t size)
{
    static const char *const units[] = {
        "%",       "ms",     "s",      "us",     "ns",   "m",     "h",      "sec",   "secs",
        "seconds", "min",    "mins",   "hr",     "hrs",  "hours", "d",      "x",     "GB",
        "GiB",     "MB",     "MiB",    "KB",     "KiB",  "TB",    "TiB",    "G",     "W",
        "kW",      "C",      "Hz",     "it",     "reqs", "tok",   "tokens", "px",    "TFLOPS",
        "TFLOPs",  "tflops", "GFLOPS", "PFLOPS", "MHz",  "GHz",   "MW",     "bytes", "samples",
    };
    static const struct {
        char letter;
        double factor;
    } factors[] = {{'k', 1e3}, {'K', 1e3}, {'M', 1e6}, {'B', 1e9}};
    for (size_t i = 0; size == 1 && i < sizeof factors / sizeof *factors; i++)
        if (factors[i].letter == *at)
            return factors[i].factor;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i][0] == *at && strncmp(units[i], at, size) == 0 && units[i][size] == '\0')
            return 1;
    /* A rate: tok/s, samples/sec, TFLOP/s/GPU, s/it. */
    const char *slash = memchr(at, '/', size);
    return slash && slash > at && slash + 1 < at + size && isalpha((unsigned char)slash[1]) ? 1 : 0;
}

/* Returns the size of the word at `at`, which may be a unit. */
static size_t number_unit_size(const char *at, const char *end)
{
    size_t size = 0;
    while (at + size < end && size <= NUMBER_UNIT_MAX &&
           (isalpha((unsigned char)at[size]) || at[size] == '/' || at[size] == '%'))
        size++;
    return size;
}

/* Whether a number goes on at `at`, so that what was read is only its beginning: 2,5 1'234 10². In
 * other languages, a comma, an apostrophe or a narrow space stands in a number. */
static bool number_goes_on(const char *at, const char *end)
{
    static const uint32_t signs[] = {',',   '\'',  0xa0 /* space */, 0xb7 /* · */, 0xd7 /* × */,
                                     0x66b, 0x66c, 0x2009,           0x2019,       0x202f,
                                     0x2044 /* ⁄ */};
    uint32_t code;
    size_t size = letter_decode(at, end, &code);
    if (code == 0xb2 || code == 0xb3 || code == 0xb9 || (code >= 0xbc && code <= 0xbe) ||
        (code >= 0x2070 && code <= 0x207f))
        return true; /* an exponent or a fraction */
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (code == signs[i])
            return number_is_digit(at + size, end);
    return false;
}

/* Whether a number or its unit can end at `at`. */
static bool number_ends(const char *at, const char *end)
{
    if (at == end || *at == ' ')
        return true;
    if (number_goes_on(at, end))
        return false;
    if (strchr("\t|,;)]}>'\"(", *at))
        return *at != '\0';
    /* a full stop, a colon or a slash may follow if the word ends there */
    if (*at == '.' || *at == ':' || *at == '/')
        return at + 1 == end || at[1] == ' ';
    return (unsigned char)*at >= 0x80;
}

size_t number_read_measure(const char *at, const char *end, double *ret_value,
                           size_t *ret_unit_size)
{
    double value, factor = 1;
    size_t size = number_read(at, end, NUMBER_THOUSANDS, &value);
    if (!size)
        return 0;
    size_t unit = number_unit_size(at + size, end);
    if (unit)
        factor = number_unit(at + size, unit);
    if (factor == 0 || !number_ends(at + size + unit, end))
        return 0;
    *ret_value = value * factor;
    if (ret_unit_size)
        *ret_unit_size = factor == 1 ? unit : 0;
    return size + unit;
}

/* --- Units set apart -------------------------------------------------------------------------- */

/* A letter after a number and a space can be a unit, or the first word of the next name, as in
 * "D loss 0.5 G loss 1.2". It is a unit if no name can follow, or if the name before it tells a
 * quantity that is measured in that unit. Seconds are a unit after other names, too. */

/* Parts of names, and the letters that are units of what they name. */
static const struct {
    const char *part, *letters;
    bool is_whole; /* the part is a whole word */
} number_quantities[] = {
    {"time", "smhd", false}, {"elapsed", "smhd", false}, {"dt", "smhd", true},
    {"eta", "smhd", true},   {"mem", "kKMG", false},     {"power", "W", false},
    {"temp", "C", false},    {"tok", "kKMB", false},     {"param", "kKMB", false},
};

/* Whether the word contains the part, in any case. */
static bool number_word_has(struct span word, const char *part, bool is_whole)
{
    size_t size = strlen(part);
    if (word.size < size || (is_whole && word.size != size))
        return false;
    for (size_t i = 0; i + size <= word.size; i++)
        if (strncasecmp(word.at + i, part, size) == 0)
            return true;
    return false;
}

static bool number_unit_fits(char letter, const struct span *words, size_t count)
{
    for (size_t i = 0; i < sizeof number_quantities / sizeof *number_quantities; i++)
        for (size_t j = 0; j < count && strchr(number_quantities[i].letters, letter); j++)
            if (number_word_has(words[j], number_quantities[i].part, number_quantities[i].is_whole))
                return true;
    return false;
}

/* Whether the letter and the next word are a name like the one before: "t loss 0.5 s loss 1.2". */
static bool number_begins_name(const struct span *words, size_t count, const char *at,
                               const char *end)
{
    struct span last = words[count - 1];
    bool is_same = (size_t)(end - at) >= last.size && strncasecmp(at, last.at, last.size) == 0;
    return is_same || (count > 1 && words[0].size == 1);
}

/* Whether the letter is a unit. `behind` is what follows it and its spaces. */
static bool number_is_unit_letter(char letter, const struct span *words, size_t count,
                                  const char *behind, const char *end)
{
    bool is_last = behind == end || (*behind && strchr("\t|,;()]}", *behind)) ||
                   (*behind == '-' && behind + 1 < end && behind[1] == ' ');
    if (number_unit_fits(letter, words, count) || (is_last && number_unit(&letter, 1) == 1))
        return true;
    return letter == 's' && count && !number_begins_name(words, count, behind, end);
}

size_t number_read_apart(const char *at, const char *end, const struct span *words, size_t count,
                         double *value)
{
    double next;
    if (at == end || *at != ' ' || at + 1 == end || !isalpha((unsigned char)at[1]))
        return 0;
    const char *unit = at + 1;
    size_t size = number_unit_size(unit, end);
    const char *behind = unit + size;
    double factor = number_unit(unit, size);
    if (factor == 0 || !number_ends(behind, end))
        return 0;
    behind = span_skip_spaces(behind, end);
    /* The word is the next name, and only looks like a unit: "5 s: 3", "lr 0.01 tok/s 1234". */
    if (behind < end &&
        (strchr(":=", *behind) || number_read(behind, end, NUMBER_PLAIN, &next) > 0))
        return 0;
    if (size == 1 && !number_is_unit_letter(*unit, words, count, behind, end))
        return 0;
    *value *= factor;
    return 1 + size;
}
