/* phasectl metrics: the rows of a run, newest last. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/reader/reader.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

enum { METRICS_LAST_DEFAULT = 20, METRICS_COLUMNS_MAX = TABLE_COLUMNS_MAX - 1 };

/* Whether the worker could have given a metric this name. Other letters would break the path. */
static bool metrics_is_name(const char *name)
{
    return name[0] && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

static void metrics_write(const struct cli *cli, const json_t *reply, struct text *text)
{
    struct table_column columns[TABLE_COLUMNS_MAX] = {{"STEP", TABLE_RIGHT, TABLE_WHOLE}};
    const json_t *series[METRICS_COLUMNS_MAX];
    const json_t *steps = json_object_get(reply, "steps");
    size_t count = 0, all = json_object_size(json_object_get(reply, "series"));
    const char *name;
    json_t *values;
    struct table table;
    json_object_foreach(json_object_get(reply, "series"), name, values)
    {
        if (count == METRICS_COLUMNS_MAX)
            break;
        series[count++] = values;
        columns[count] = (struct table_column){name, TABLE_RIGHT, TABLE_WHOLE};
    }
    table_init(&table, columns, count + 1);
    for (size_t row = 0; row < json_array_size(steps); row++) {
        table_addf(&table, COLOUR_PLAIN, "%.0f", json_number_value(json_array_get(steps, row)));
        for (size_t i = 0; i < count; i++) {
            const json_t *value = json_array_get(series[i], row);
            char number[FORMAT_SIZE] = "";
            if (value && !json_is_null(value))
                format_number(field_as_number(value), number);
            table_add(&table, COLOUR_PLAIN, number);
        }
    }
    table_write(&table, &cli->out, 0, text);
    table_fini(&table);
    if (count < all)
        text_addf(text, "%zu more metrics; choose with --name\n", all - count);
}

struct metrics_options {
    struct option_list names;
    unsigned last;
    bool as_json;
    bool has_title; /* the run is one of several */
};

/* `context` is the options. */
static int metrics_one(struct cli *cli, const struct address *address, const void *context)
{
    const struct metrics_options *options = context;
    struct address run = *address;
    struct error err;
    struct text text = {0};
    json_t *reply;
    char buffer[ADDRESS_TEXT_SIZE];
    if (reader_find_run(cli, &run, &err) < 0 ||
        reader_get_metrics(cli, &run, &options->names, options->last, &reply, &err) < 0)
        return cli_fail(&err);
    if (options->has_title && !options->as_json)
        text_addf(&text, "%s\n", address_text(&run, buffer));
    if (options->as_json)
        client_print_json(reply);
    else if (json_array_size(json_object_get(reply, "steps")) == 0)
        text_add(&text, "no metrics yet\n");
    else
        metrics_write(cli, reply, &text);
    if (options->has_title && !options->as_json)
        text_add(&text, "\n");
    cli_print(&text);
    json_decref(reply);
    return CLI_OK;
}

int metrics_verb(struct cli *cli, char **words)
{
    struct metrics_options options = {.last = METRICS_LAST_DEFAULT};
    const struct option_rule rules[] = {
        {"name", 'n', "NAME", "print only this metric; may be repeated", .list = &options.names},
        {"last", 0, "N", "print the newest N steps (20)", .number = &options.last},
        {"json", 0, NULL, "print the daemon's answer", .flag = &options.as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = OPTION_ARGUMENTS_MAX};
    int status;
    if (!options_parse(cli, words, rules, &arguments, &status))
        return status;
    for (size_t i = 0; i < options.names.count; i++) {
        if (!metrics_is_name(options.names.items[i]))
            return cli_usage(cli, "'%s' is not the name of a metric; names have a-z, 0-9 and _",
                             options.names.items[i]);
    }
    options.has_title = arguments.count > 1;
    return options_each_address(cli, &arguments, metrics_one, &options);
}
