/* Reading the words of a verb, and its help. */
#include "cli/options.h"

#include "cli/cli.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_RULES_MAX = 16, OPTIONS_HELP_COLUMN = 24 };

static void options_help(const struct verb *verb, const struct option_rule *rules)
{
    printf("usage: phasectl %s %s\n\n%c%s.\n", verb->name, verb->synopsis,
           verb->help[0] + 'A' - 'a', verb->help + 1);
    if (verb->details)
        printf("%s", verb->details);
    printf("\n");
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        char left[64], letter[8] = "    ";
        if (rule->letter)
            (void)snprintf(letter, sizeof letter, "-%c, ", rule->letter);
        (void)snprintf(left, sizeof left, "%s--%s%s%s", letter, rule->name, rule->value ? " " : "",
                       rule->value ? rule->value : "");
        printf("  %-*s  %s\n", OPTIONS_HELP_COLUMN, left, rule->help);
    }
    printf("  %-*s  %s\n", OPTIONS_HELP_COLUMN, "-h, --help", "this help");
}

static const struct option_rule *options_find(const struct option_rule *rules, const char *name,
                                              size_t size)
{
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        if (strlen(rule->name) == size && strncmp(rule->name, name, size) == 0)
            return rule;
    }
    return NULL;
}

static const struct option_rule *options_find_letter(const struct option_rule *rules, char letter)
{
    for (const struct option_rule *rule = rules; rule->name; rule++) {
        if (rule->letter == letter)
            return rule;
    }
    return NULL;
}

static int options_unknown(const struct cli *cli, const struct option_rule *rules, const char *word)
{
    const char *names[OPTIONS_RULES_MAX];
    size_t count = 0;
    for (const struct option_rule *rule = rules; rule->name && count < OPTIONS_RULES_MAX; rule++)
        names[count++] = rule->name;
    const char *name = word + strspn(word, "-");
    char *bare = xstrndup(name, strcspn(name, "="));
    const char *nearest = text_nearest(bare, names, count);
    int status = nearest ? cli_usage(cli, "unknown option '%s'; did you mean --%s?", word, nearest)
                         : cli_usage(cli, "unknown option '%s'", word);
    free(bare);
    return status;
}

static int options_number(const struct cli *cli, const struct option_rule *rule, const char *value)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end || errno || number < 1 || number > UINT_MAX)
        return cli_usage(cli, "--%s wants a whole number from 1, not '%s'", rule->name, value);
    *rule->number = (unsigned)number;
    return CLI_OK;
}

static int options_set(const struct cli *cli, const struct option_rule *rule, const char *value)
{
    if (rule->text)
        *rule->text = value;
    if (rule->number)
        return options_number(cli, rule, value);
    if (rule->list) {
        if (rule->list->count == OPTIONS_LIST_MAX)
            return cli_usage(cli, "more than %d times --%s", OPTIONS_LIST_MAX, rule->name);
        rule->list->items[rule->list->count++] = value;
    }
    return CLI_OK;
}

/* Reads the option at `*at` with its value, and leaves `*at` at its last word. `given` has a bit
 * for each rule whose value was given: a second one must not replace it without a word. */
static int options_read(const struct cli *cli, char ***at, const struct option_rule *rules,
                        uint64_t *given)
{
    char *word = **at;
    const char *value = NULL;
    const struct option_rule *rule;
    if (word[1] == '-') {
        size_t size = strcspn(word + 2, "=");
        rule = options_find(rules, word + 2, size);
        if (word[2 + size] == '=')
            value = word + 2 + size + 1;
    } else {
        rule = options_find_letter(rules, word[1]);
        if (word[2])
            value = word + 2;
    }
    if (!rule)
        return options_unknown(cli, rules, word);
    if (rule->flag) {
        if (value)
            return cli_usage(cli, "--%s takes no value", rule->name);
        *rule->flag = true;
        return CLI_OK;
    }
    if (!value)
        value = *++*at;
    if (!value) {
        --*at;
        return cli_usage(cli, "--%s wants a value: %s", rule->name, rule->value);
    }
    uint64_t bit = UINT64_C(1) << (rule - rules);
    if (*given & bit && !rule->list)
        return cli_usage(cli, "--%s is given twice", rule->name);
    *given |= bit;
    return options_set(cli, rule, value);
}

static int options_check_count(const struct cli *cli, const struct arguments *arguments)
{
    if (arguments->count < arguments->min)
        return cli_usage(cli, "words are missing: phasectl %s %s", cli->verb->name,
                         cli->verb->synopsis);
    return CLI_OK;
}

bool options_parse(const struct cli *cli, char **words, const struct option_rule *rules,
                   struct arguments *arguments, int *ret_status)
{
    bool only_arguments = false;
    uint64_t given = 0;
    for (char **at = words; *at; at++) {
        int status = CLI_OK;
        if (!only_arguments && strcmp(*at, "--") == 0) {
            if (arguments->has_rest) {
                arguments->rest = at + 1;
                break;
            }
            only_arguments = true;
        } else if (!only_arguments && (text_equal(*at, "--help") || text_equal(*at, "-h"))) {
            options_help(cli->verb, rules);
            *ret_status = CLI_OK;
            return false;
        } else if (!only_arguments && (*at)[0] == '-' && (*at)[1]) {
            status = options_read(cli, &at, rules, &given);
        } else if (arguments->count == arguments->max) {
            status = cli_usage(cli, "one word too many: '%s'", *at);
        } else {
            arguments->items[arguments->count++] = *at;
        }
        if (status != CLI_OK) {
            *ret_status = status;
            return false;
        }
    }
    *ret_status = options_check_count(cli, arguments);
    return *ret_status == CLI_OK;
}

int options_each_address(struct cli *cli, const struct arguments *arguments,
                         int (*one)(struct cli *cli, const struct address *address,
                                    const void *context),
                         const void *context)
{
    struct address addresses[OPTIONS_ARGUMENTS_MAX];
    struct error err;
    int status = CLI_OK;
    for (size_t i = 0; i < arguments->count; i++)
        if (address_parse(arguments->items[i], &addresses[i], &err) < 0)
            return cli_usage(cli, "%s", err.message);
    for (size_t i = 0; i < arguments->count; i++) {
        int result = one(cli, &addresses[i], context);
        status = status == CLI_OK ? result : status;
    }
    return status;
}

struct option_rule options_set_rule(struct option_list *sets)
{
    return (struct option_rule){.name = "set",
                                .value = "PARAM=VALUE",
                                .list = sets,
                                .help = "set a param; of one phase: validate.iterations=10"};
}

struct option_rule options_with_rule(struct option_list *variants)
{
    return (struct option_rule){.name = "with",
                                .value = "VARIANT",
                                .list = variants,
                                .help =
                                    "put this variant over the file; may be given several times"};
}

json_t *options_texts(const struct option_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->count; i++) {
        json_t *text = json_string(list->items[i]);
        (void)json_array_append_new(array, text ? text : json_string("(not UTF-8)"));
    }
    return array;
}

json_t *options_overrides(const struct option_list *list, const char **ret_wrong)
{
    json_t *object = json_object();
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->items[i], *equals = strchr(item, '=');
        char *name = equals && equals != item ? xstrndup(item, (size_t)(equals - item)) : NULL;
        if (!name || json_object_set_new(object, name, json_string(equals + 1)) < 0) {
            *ret_wrong = item;
            free(name);
            json_decref(object);
            return NULL;
        }
        free(name);
    }
    return object;
}
