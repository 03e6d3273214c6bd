/* Reading the words of a verb, and its help. */
#include "cli/options.h"

#include "cli/cli.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"
#include "lib/units.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void options_help(const struct verb *verb, const struct option_rule *rules)
{
    printf("usage: phasectl %s%s%s\n\n%c%s.\n", verb->name, verb->synopsis[0] ? " " : "",
           verb->synopsis, verb->help[0] + 'A' - 'a', verb->help + 1);
    if (verb->details)
        printf("%s", verb->details);
    printf("\n");
    option_print(rules);
}

bool options_parse(const struct cli *cli, char **words, const struct option_rule *rules,
                   struct option_arguments *arguments, int *ret_exit_code)
{
    struct error err;
    int status = option_read(words, rules, arguments, &err);
    *ret_exit_code = CLI_OK;
    if (status == OPTION_HELP)
        options_help(cli->verb, rules);
    else if (status == -ENODATA)
        *ret_exit_code =
            cli_usage(cli, "%s: phasectl %s %s", err.message, cli->verb->name, cli->verb->synopsis);
    else if (status < 0)
        *ret_exit_code = cli_usage(cli, "%s", err.message);
    return status == 0;
}

int options_each_address(struct cli *cli, const struct option_arguments *arguments,
                         options_one *one, const void *context)
{
    struct address addresses[OPTION_ARGUMENTS_MAX];
    struct error err;
    int exit_code = CLI_OK;
    for (size_t i = 0; i < arguments->count; i++)
        if (address_parse(arguments->items[i], &addresses[i], &err) < 0)
            return cli_usage(cli, "%s", err.message);
    if (arguments->count == 0)
        return one(cli, &(struct address){0}, context);
    cli->has_several = arguments->count > 1;
    for (size_t i = 0; i < arguments->count; i++) {
        int done = one(cli, &addresses[i], context);
        exit_code = exit_code == CLI_OK ? done : exit_code;
    }
    return exit_code;
}

int options_addresses(struct cli *cli, char **words, const struct option_rule *rules, size_t min,
                      options_one *one, const void *context)
{
    const struct option_rule only_json[] = {
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = min, .max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules ? rules : only_json, &arguments, &exit_code))
        return exit_code;
    return options_each_address(cli, &arguments, one, context);
}

/* --- The option --since ----------------------------------------------------------------------- */

/* Reads a time as logs write it. Drops the fraction of the second. */
static bool options_read_utc(const char *text, time_t *ret_time)
{
    struct tm tm = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (end && *end == '.')
        end += 1 + strspn(end + 1, "0123456789");
    if (!end || !text_equal(end, "Z"))
        return false;
    *ret_time = timegm(&tm);
    return true;
}

int options_read_since(const char *text, time_t now, time_t *ret_since, struct error *err)
{
    uint32_t seconds;
    if (units_parse_duration(text, &seconds, NULL) == 0)
        *ret_since = now - (time_t)seconds;
    else if (!options_read_utc(text, ret_since) && units_parse_time(text, now, ret_since) < 0)
        return error_set(err, -EINVAL,
                         "--since wants a duration such as 10m, or a time such as 14:05 or "
                         "'2026-11-01 14:05', not '%s'",
                         text);
    return 0;
}
