/* Units set apart: "mem 1.2 GB", "time 0.5 s".
 *
 * A letter behind a number can be a unit, or the first word of the next name:
 * "D loss 0.5 G loss 1.2". It is a unit if no name can follow, or if the name before it tells a
 * quantity that is measured in that unit. Seconds are a unit behind other names, too. */
#include "lib/metrics/unit.h"

#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Parts of names, and the letters that are units of what they name. */
static const struct {
    const char *part, *letters;
    bool is_whole; /* the part is a whole word */
} unit_quantities[] = {
    {"time", "smhd", false}, {"elapsed", "smhd", false}, {"dt", "smhd", true},
    {"eta", "smhd", true},   {"mem", "kKMG", false},     {"power", "W", false},
    {"temp", "C", false},    {"tok", "kKMB", false},     {"param", "kKMB", false},
};

/* Whether the word contains the part, in any case. */
static bool unit_word_has(struct span word, const char *part, bool is_whole)
{
    size_t size = strlen(part);
    if (word.size < size || (is_whole && word.size != size))
        return false;
    for (size_t i = 0; i + size <= word.size; i++)
        if (strncasecmp(word.at + i, part, size) == 0)
            return true;
    return false;
}

static bool unit_fits(char letter, const struct span *words, size_t count)
{
    for (size_t i = 0; i < sizeof unit_quantities / sizeof *unit_quantities; i++)
        for (size_t j = 0; j < count && strchr(unit_quantities[i].letters, letter); j++)
            if (unit_word_has(words[j], unit_quantities[i].part, unit_quantities[i].is_whole))
                return true;
    return false;
}

/* Whether the letter and the next word are a name like the one before: "t loss 0.5 s loss 1.2". */
static bool unit_begins_name(const struct span *words, size_t count, const char *at,
                             const char *end)
{
    struct span last = words[count - 1];
    bool is_same = (size_t)(end - at) >= last.size && strncasecmp(at, last.at, last.size) == 0;
    return is_same || (count > 1 && words[0].size == 1);
}

/* Whether the letter is a unit. `behind` is what follows it and its spaces. */
static bool unit_is_letter(char letter, const struct span *words, size_t count, const char *behind,
                           const char *end)
{
    bool is_last = behind == end || (*behind && strchr("\t|,;()]}", *behind)) ||
                   (*behind == '-' && behind + 1 < end && behind[1] == ' ');
    if (unit_fits(letter, words, count) || (is_last && number_unit(&letter, 1) == 1))
        return true;
    return letter == 's' && count && !unit_begins_name(words, count, behind, end);
}

size_t unit_read_apart(const char *at, const char *end, const struct span *words, size_t count,
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
    while (behind < end && *behind == ' ')
        behind++;
    /* The word is the next name, and only looks like a unit: "5 s: 3", "lr 0.01 tok/s 1234". */
    if (behind < end &&
        (strchr(":=", *behind) || number_read(behind, end, NUMBER_PLAIN, &next) > 0))
        return 0;
    if (size == 1 && !unit_is_letter(*unit, words, count, behind, end))
        return 0;
    *value *= factor;
    return 1 + size;
}
