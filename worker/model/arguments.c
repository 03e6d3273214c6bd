/* Reads and prints options by a table. */
#include "worker/model/arguments.h"

#include "lib/error.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int read_value(const struct argument *argument, const char *value, void *values,
                      struct error *err)
{
    void *member = (char *)values + argument->offset;
    if (argument->kind == ARGUMENT_TEXT) {
        *(const char **)member = value;
        return 0;
    }
    char *end;
    errno = 0;
    double number = strtod(value, &end);
    bool whole = argument->kind == ARGUMENT_WHOLE;
    if (end == value || *end || errno || !isfinite(number) || (whole && number != floor(number)))
        return error_set(err, -ERANGE, "--%s %s: not a%s number", argument->name, value,
                         whole ? " whole" : "");
    if (number < argument->lowest || number > argument->highest)
        return error_set(err, -ERANGE, "--%s %s: not from %.15g to %.15g", argument->name, value,
                         argument->lowest, argument->highest);
    if (whole)
        *(uint64_t *)member = (uint64_t)number;
    else
        *(double *)member = number;
    return 0;
}

/* Keeps a word that is no option. Returns false if the command takes no such words. */
static bool keep_word(const struct argument *table, void *values, char **words, char *word)
{
    for (; table->name; table++) {
        if (table->kind != ARGUMENT_WORDS)
            continue;
        struct argument_words *kept = (struct argument_words *)((char *)values + table->offset);
        kept->words = words;
        kept->words[kept->count++] = word; /* a place that was read already */
        return true;
    }
    return false;
}

/* `name` is not NUL-terminated: "=value" may follow. */
static const struct argument *find_argument(const struct argument *table, const char *name,
                                            size_t size)
{
    for (; table->name; table++) {
        if (strlen(table->name) == size && memcmp(table->name, name, size) == 0)
            return table;
    }
    return NULL;
}

static int fail_unknown(const struct argument *table, const char *word, struct error *err)
{
    const char *names[ARGUMENTS_MAX];
    size_t count = 0;
    for (; table[count].name; count++)
        names[count] = table[count].name;
    bool dashes = text_starts(word, "--");
    if (!dashes)
        return error_set(err, -EINVAL, "%s: options begin with --", word);
    const char *nearest = text_nearest(word + 2, names, count);
    if (nearest)
        return error_set(err, -EINVAL, "%s: no such option; did you mean --%s?", word, nearest);
    return error_set(err, -EINVAL, "%s: no such option", word);
}

int arguments_read(const struct argument *table, void *values, int count, char **words,
                   struct error *err)
{
    for (const struct argument *argument = table; argument->name; argument++) {
        if (argument->initial && read_value(argument, argument->initial, values, NULL) < 0)
            abort(); /* a default in the table is wrong */
    }
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        if (text_equal(word, "--help") || text_equal(word, "-h"))
            return ARGUMENTS_HELP;
        if (!text_starts(word, "--") && keep_word(table, values, words, words[i]))
            continue;
        const char *equals = strchr(word, '=');
        size_t size = equals ? (size_t)(equals - word) : strlen(word);
        const struct argument *argument =
            text_starts(word, "--") ? find_argument(table, word + 2, size - 2) : NULL;
        if (!argument || argument->kind == ARGUMENT_WORDS)
            return fail_unknown(table, word, err);
        if (!equals && i + 1 == count)
            return error_set(err, -EINVAL, "%s: its %s is missing", word, argument->value_name);
        int status = read_value(argument, equals ? equals + 1 : words[++i], values, err);
        if (status < 0)
            return status;
    }
    return 0;
}

void arguments_print(const struct argument *table, FILE *stream)
{
    for (; table->name; table++) {
        char left[64];
        if (table->kind == ARGUMENT_WORDS)
            (void)snprintf(left, sizeof left, "%s", table->value_name);
        else
            (void)snprintf(left, sizeof left, "--%s %s", table->name, table->value_name);
        fprintf(stream, "  %-30s %s", left, table->help);
        if (table->initial && *table->initial)
            fprintf(stream, " [%s]", table->initial);
        fputc('\n', stream);
    }
}
