/* Reads and prints options by a table. */
#include "lib/option.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_RULES_MAX = 64, OPTION_COLUMN = 24, OPTION_LEFT_MAX = 64, OPTION_EXIT_USAGE = 2 };

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
    char *end;
    double number = strtod(value, &end), most = rule->most > 0 ? rule->most : UINT_MAX;
    /* strtod() also takes blanks, signs and hexadecimal numbers. */
    bool has_sign = value[0] == '+' || (value[0] == '-' && rule->least >= 0);
    bool is_plain = !has_sign && value[strspn(value, "0123456789.eE+-")] == '\0';
    if (end == value || *end || !is_plain || !(number >= rule->least && number <= most) ||
        (!rule->decimal && number != trunc(number)))
        return error_set(err, -EINVAL, "--%s wants a %snumber from %.15g to %.15g, not '%s'",
                         rule->name, rule->decimal ? "" : "whole ", rule->least, most, value);
    if (rule->number)
        *rule->number = (unsigned)number;
    else if (rule->large)
        *rule->large = (uint64_t)number;
    else if (rule->integer)
        *rule->integer = (int64_t)number;
    else
        *rule->decimal = number;
    return 0;
}

static int option_set(const struct option_rule *rule, const char *value, struct error *err)
{
    if (rule->text)
        *rule->text = value;
    if (rule->number || rule->large || rule->integer || rule->decimal)
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
    arguments->items = words;
    for (const struct option_rule *rule = rules; rule->name; rule++)
        if (rule->initial && option_set(rule, rule->initial, NULL) < 0)
            abort(); /* a default in the table is wrong */
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
            words[arguments->count++] = *at; /* a place that was read already */
        }
        if (status < 0)
            return status;
    }
    if (arguments->count < arguments->min)
        return error_set(err, -ENODATA, "arguments are missing");
    for (const struct option_rule *rule = rules; rule->name; rule++)
        if (rule->is_required && (!*rule->text || !**rule->text))
            return error_set(err, -EINVAL, "--%s is missing", rule->name);
    return 0;
}

/* Writes what stands left of the help. Returns its size. */
static int option_left(const struct option_rule *rule, char left[OPTION_LEFT_MAX])
{
    char letter[8] = "    ";
    if (rule->letter)
        (void)snprintf(letter, sizeof letter, "-%c, ", rule->letter);
    return snprintf(left, OPTION_LEFT_MAX, "%s--%s%s%s", letter, rule->name, rule->value ? " " : "",
                    rule->value ? rule->value : "");
}

void option_print(const struct option_rule *rules)
{
    char left[OPTION_LEFT_MAX];
    int column = OPTION_COLUMN;
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        int size = option_left(rule, left);
        column = size > column ? size : column;
    }
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        (void)option_left(rule, left);
        printf("  %-*s  %s", column, left, rule->help);
        if (rule->initial && *rule->initial)
            printf(" [%s]", rule->initial);
        printf("\n");
    }
    printf("  %-*s  %s\n", column, "-h, --help", "this help");
}

int option_refuse(const char *name, const struct error *err)
{
    (void)fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name, err->message, name);
    return OPTION_EXIT_USAGE;
}

int option_main(const char *name, const char *usage, char **words, const struct option_rule *rules,
                struct option_arguments *arguments)
{
    struct option_arguments no_arguments = {0};
    struct error err;
    arguments = arguments ? arguments : &no_arguments;
    arguments->last_wins = true;
    int status = option_read(words, rules, arguments, &err);
    if (status < 0)
        return option_refuse(name, &err);
    if (status != OPTION_HELP)
        return -1;
    printf("%s\n", usage);
    option_print(rules);
    return 0;
}
