/* Reads and prints options by a table. */
#include "lib/option.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_RULES_MAX = 64, OPTION_COLUMN = 24, OPTION_EXIT_USAGE = 2 };

static const struct option_rule *option_find(const struct option_rule *rules, const char *name,
                                             size_t size)
{
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        if (strlen(rule->name) == size && strncmp(rule->name, name, size) == 0)
            return rule;
    }
    return NULL;
}

static const struct option_rule *option_find_letter(const struct option_rule *rules, char letter)
{
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        if (rule->letter == letter)
            return rule;
    }
    return NULL;
}

static int option_unknown(const struct option_rule *rules, const char *word, struct error *err)
{
    const char *names[OPTION_RULES_MAX];
    size_t count = 0;
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        assert(count < OPTION_RULES_MAX);
        names[count++] = rule->name;
    }
    const char *name = word + strspn(word, "-");
    char *bare = xstrndup(name, strcspn(name, "="));
    const char *nearest = text_nearest(bare, names, count);
    free(bare);
    if (nearest)
        return error_set(err, -EINVAL, "unknown option '%s'; did you mean --%s?", word, nearest);
    return error_set(err, -EINVAL, "unknown option '%s'", word);
}

static int option_set_number(const struct option_rule *rule, const char *value, struct error *err)
{
    char *end, most[32] = "";
    unsigned long least = rule->takes_zero ? 0 : 1, limit = rule->most ? rule->most : UINT_MAX;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (value[0] >= '0' && value[0] <= '9' && !*end && !errno && number >= least &&
        number <= limit) {
        *rule->number = (unsigned)number;
        return 0;
    }
    if (rule->most)
        (void)snprintf(most, sizeof most, " to %u", rule->most); /* fits */
    return error_set(err, -EINVAL, "--%s wants a whole number from %lu%s, not '%s'", rule->name,
                     least, most, value);
}

static int option_set(const struct option_rule *rule, const char *value, struct error *err)
{
    if (rule->text)
        *rule->text = value;
    if (rule->number)
        return option_set_number(rule, value, err);
    if (rule->list) {
        if (rule->list->count == OPTION_LIST_MAX)
            return error_set(err, -EINVAL, "more than %d times --%s", OPTION_LIST_MAX, rule->name);
        rule->list->items[rule->list->count++] = value;
    }
    return 0;
}

/* Reads the option at `*at` with its value, and leaves `*at` at the option's last word. `given` has
 * a bit for each rule that was already used. */
static int option_take(char ***at, const struct option_rule *rules, bool last_wins, uint64_t *given,
                       struct error *err)
{
    char *word = **at;
    const char *value = NULL;
    const struct option_rule *rule;
    if (word[1] == '-') {
        size_t size = strcspn(word + 2, "=");
        rule = option_find(rules, word + 2, size);
        if (word[2 + size] == '=')
            value = word + 2 + size + 1;
    } else {
        rule = option_find_letter(rules, word[1]);
        if (word[2])
            value = word + 2;
    }
    if (!rule)
        return option_unknown(rules, word, err);
    if (rule->flag) {
        if (value)
            return error_set(err, -EINVAL, "--%s takes no value", rule->name);
        *rule->flag = true;
        return 0;
    }
    if (!value && !(*at)[1])
        return error_set(err, -EINVAL, "--%s wants a value: %s", rule->name, rule->value);
    if (!value)
        value = *++*at;
    uint64_t bit = UINT64_C(1) << (rule - rules);
    if (*given & bit && !rule->list && !last_wins)
        return error_set(err, -EINVAL, "--%s is given twice", rule->name);
    *given |= bit;
    return option_set(rule, value, err);
}

int option_read(char **words, const struct option_rule *rules, struct option_arguments *arguments,
                struct error *err)
{
    bool only_arguments = false;
    uint64_t given = 0;
    for (char **at = words; *at; at++) {
        int status = 0;
        if (!only_arguments && text_equal(*at, "--")) {
            if (arguments->has_rest) {
                arguments->rest = at + 1;
                break;
            }
            only_arguments = true;
        } else if (!only_arguments && (text_equal(*at, "--help") || text_equal(*at, "-h"))) {
            return OPTION_HELP;
        } else if (!only_arguments && (*at)[0] == '-' && (*at)[1]) {
            status = option_take(&at, rules, arguments->last_wins, &given, err);
        } else if (arguments->count == arguments->max) {
            status = error_set(err, -EINVAL, "one argument too many: '%s'", *at);
        } else {
            arguments->items[arguments->count++] = *at;
        }
        if (status < 0)
            return status;
    }
    if (arguments->count < arguments->min)
        return error_set(err, -ENODATA, "arguments are missing");
    return 0;
}

void option_print(const struct option_rule *rules)
{
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        char left[64], letter[8] = "    ";
        if (rule->letter)
            (void)snprintf(letter, sizeof letter, "-%c, ", rule->letter);
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, rule->name, rule->value ? " " : "",
                       rule->value ? rule->value : "");
        printf("  %-*s  %s\n", OPTION_COLUMN, left, rule->help);
    }
    printf("  %-*s  %s\n", OPTION_COLUMN, "-h, --help", "this help");
}

int option_main(const char *name, const char *usage, char **words, const struct option_rule *rules)
{
    struct option_arguments arguments = {.last_wins = true};
    struct error err;
    int status = option_read(words, rules, &arguments, &err);
    if (status < 0) {
        (void)fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name, err.message, name);
        return OPTION_EXIT_USAGE;
    }
    if (status != OPTION_HELP)
        return -1;
    printf("%s\n", usage);
    option_print(rules);
    return 0;
}
