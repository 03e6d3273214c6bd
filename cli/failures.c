/* phasectl failures: lists the known failures with the user's own entries, and tries them on logs.
 * It reads the same files as the daemon, and needs no daemon. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/source.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "lib/error.h"
#include "lib/failures/catalogue.h"
#include "lib/failures/recognizer.h"
#include "lib/file.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { FAILURES_LOG_MAX = 256 * 1024 }; /* bytes of a log's end: a node keeps the same of a rank */

/* Prints what is wrong in the user's file. */
static int failures_print_problems(const struct spec_problems *problems)
{
    if (!problems->file && problems->count)
        (void)fputs("phasectl: ", stderr);
    problems_print_all(problems);
    return problems->error_count ? CLI_FAILED : CLI_OK;
}

static void failures_list(const struct cli *cli, const json_t *catalogue)
{
    static const struct table_column columns[] = {
        {"NAME", TABLE_LEFT, TABLE_WHOLE},  {"CAUSE", TABLE_LEFT, TABLE_WHOLE},
        {"BLAME", TABLE_LEFT, TABLE_WHOLE}, {"TELLS", TABLE_LEFT, TABLE_WHOLE},
        {"TITLE", TABLE_LEFT, TABLE_REST},
    };
    const json_t *entry;
    size_t i;
    struct table table;
    struct text text = {0};
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(catalogue, i, entry)
    {
        table_add(&table, field_text(entry, "name"));
        table_add(&table, field_text(entry, "cause"));
        table_add(&table, field_text(entry, "blame"));
        table_add(&table, field_text(entry, "tells"));
        table_add(&table, field_text(entry, "title"));
    }
    table_write(&table, &cli->out, 0, &text);
    cli_print(&text);
}

static void failures_print(const char *path, const struct finding *finding, struct text *text)
{
    const json_t *entry = finding->entry;
    text_addf(text, "%s: ", path);
    if (!entry) {
        text_add(text, "no known failure\n");
        return;
    }
    text_addf(text, "%s, cause %s, to blame: %s\n  %s: ", field_text(entry, "name"),
              field_text(entry, "cause"), field_text(entry, "blame"), field_text(entry, "title"));
    terminal_add_plain(text, finding->line);
    text_add(text, "\n");
    if (field_text(entry, "advice")[0])
        text_addf(text, "  advice: %s\n", field_text(entry, "advice"));
}

static json_t *failures_json(const char *path, const struct finding *finding)
{
    const json_t *entry = finding->entry;
    json_t *line = entry ? json_string(finding->line) : json_null();
    return json_pack("{s:s, s:O?, s:o}", "log", path, "failure", entry, "line",
                     line ? line : json_string("(not UTF-8)"));
}

static int failures_try(const struct cli *cli, const json_t *catalogue,
                        const struct option_arguments *logs)
{
    struct recognizer *recognizer = recognizer_new(catalogue);
    struct text text = {0};
    json_t *list = json_array();
    int exit_code = CLI_OK;
    for (size_t i = 0; i < logs->count; i++) {
        struct finding finding = {0};
        struct error err;
        char *data = NULL;
        size_t size = 0;
        if (file_read_end(logs->items[i], FAILURES_LOG_MAX, &data, &size, &err) < 0) {
            exit_code = cli_fail(&err);
            continue;
        }
        (void)recognizer_look(recognizer, data, size,
                              &finding); /* without an entry there is no finding */
        if (cli->as_json)
            (void)json_array_append_new(list, failures_json(logs->items[i], &finding));
        else
            failures_print(logs->items[i], &finding, &text);
        free(data);
    }
    if (cli->as_json)
        client_print_json(list);
    cli_print(&text);
    json_decref(list);
    recognizer_free(recognizer);
    return exit_code;
}

int failures_verb(struct cli *cli, char **words)
{
    const char *file = cli->home.failures;
    const struct option_rule rules[] = {
        {"file", 0, "FILE", "entries of your own (default: failures.yaml in the home)",
         .text = &file},
        {"json", 0, NULL, "print the list, or what the logs tell, as JSON", .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.max = OPTION_ARGUMENTS_MAX};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    struct spec_problems problems = {0};
    json_t *catalogue = catalogue_load(file, &problems);
    exit_code = failures_print_problems(&problems);
    int tried = CLI_OK;
    if (arguments.count)
        tried = failures_try(cli, catalogue, &arguments);
    else if (cli->as_json)
        client_print_json(catalogue);
    else
        failures_list(cli, catalogue);
    json_decref(catalogue);
    spec_problems_fini(&problems);
    return exit_code == CLI_OK ? tried : exit_code;
}
