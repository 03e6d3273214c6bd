/* phasectl show: what a workflow was submitted with. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/field.h"
#include "cli/filter.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Options that print one text only, for other programs. */
struct show_parts {
    bool spec, diff, environment;
};

/* Sums up a diff: "+12 -3 in 2 files". */
static void show_changes(const char *diff, struct text *text)
{
    unsigned files = 0, added = 0, removed = 0;
    for (const char *line = diff; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        bool is_name = text_starts(line, "+++ ") || text_starts(line, "--- ");
        files += text_starts(line, "diff --git ");
        added += line[0] == '+' && !is_name;
        removed += line[0] == '-' && !is_name;
    }
    text_addf(text, "+%u -%u in %u file%s", added, removed, files, files == 1 ? "" : "s");
}

static void show_code(const json_t *source, struct table *table)
{
    struct text text = {0};
    const char *commit = field_text(source, "commit"), *diff = field_text(source, "diff");
    const char *branch = field_text(source, "branch"), *note = field_text(source, "diff_note");
    unsigned untracked = text_count_lines(field_text(source, "untracked"));
    unsigned packages = text_count_lines(field_text(source, "packages"));
    if (!commit[0]) {
        table_add_named(table, "code", note[0] ? note : "not a git repository");
    } else {
        text_addf(&text, "%s%s%s of %s", commit, branch[0] ? " on " : "", branch,
                  field_text(source, "root"));
        table_add_named(table, "code", text_string(&text));
        text_clear(&text);
        if (diff[0])
            show_changes(diff, &text);
        text_addf(&text, "%s%s", note[0] ? "not kept: " : "", note);
        if (untracked)
            text_addf(&text, "%s%u new file%s", text.size ? ", " : "", untracked,
                      untracked == 1 ? "" : "s");
        table_add_named(table, "changed", text.size ? text_string(&text) : "nothing");
    }
    table_add_named(table, "copy", field_text(source, "snapshot"));
    text_clear(&text);
    if (packages)
        text_addf(&text, "%u Python packages", packages);
    table_add_named(table, "packages", text_string(&text));
    text_fini(&text);
}

/* When the workflow may begin, as its options say. */
static void show_turn(const json_t *source, struct text *text)
{
    long long priority = field_integer(source, "priority"), after = field_integer(source, "after");
    const char *window = field_text(source, "window");
    if (priority)
        text_addf(text, "%s--priority %lld", text->size ? " " : "", priority);
    if (after)
        text_addf(text, "%s--after %lld", text->size ? " " : "", after);
    if (window[0])
        text_addf(text, "%s--window %s", text->size ? " " : "", window);
}

/* The options: "--with stand_in --set validate.iterations=10 --after 44". */
static void show_choices(const json_t *source, struct table *table)
{
    struct text text = {0};
    const json_t *variant;
    json_t *value;
    const char *name;
    size_t i;
    json_array_foreach(json_object_get(source, "variants"), i, variant)
        text_addf(&text, "%s--with %s", text.size ? " " : "", json_string_value(variant));
    json_object_foreach(json_object_get(source, "set"), name, value)
        text_addf(&text, "%s--set %s=%s", text.size ? " " : "", name, json_string_value(value));
    show_turn(source, &text);
    table_add_named(table, "options", text_string(&text));
    text_fini(&text);
}

static void show_write(const struct cli *cli, const json_t *source, struct text *text)
{
    static const struct table_column columns[] = {{"", TABLE_LEFT, TABLE_WHOLE},
                                                  {"", TABLE_LEFT, TABLE_WHOLE}};
    struct table table;
    char buffer[FORMAT_SIZE];
    text_addf(text, "workflow %lld  %s  submitted %s\n", field_integer(source, "workflow"),
              field_text(source, "name"),
              format_time(field_number(source, "submitted"), time(NULL), buffer));
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    table_add_named(&table, "file", field_text(source, "file"));
    show_choices(source, &table);
    table_add_named(&table, "folder", field_text(source, "workdir"));
    table_add_named(&table, "machine", field_text(source, "host"));
    show_code(source, &table);
    table_write(&table, &cli->out, 2, text);
}

static void show_environment(const json_t *source, struct text *text)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(source, "environment"), name, value)
        text_addf(text, "%s=%s\n", name, json_string_value(value));
}

static void show_part(const struct cli *cli, const json_t *source, const struct show_parts *parts,
                      struct text *text)
{
    if (parts->spec)
        text_add(text, field_text(source, "spec"));
    else if (parts->diff)
        text_add(text, field_text(source, "diff"));
    else if (parts->environment)
        show_environment(source, text);
    else
        show_write(cli, source, text);
}

/* `context` is the parts to show. */
static int show_one(struct cli *cli, const struct address *address, const void *context)
{
    const struct show_parts *parts = context;
    struct error err;
    struct text text = {0};
    json_t *source;
    if (client_check_address(cli, address, &err) < 0 ||
        client_get(cli, &source, &err, "/v1/workflows/%" PRIu64 "/source", address->workflow) < 0)
        return cli_fail(&err);
    const char *note = field_text(source, "diff_note");
    if (parts->spec || parts->diff || parts->environment)
        filter_pass(); /* as they were submitted */
    if (cli->as_json)
        client_print_json(source);
    else if (parts->diff && note[0])
        (void)fprintf(stderr, "phasectl: the changes were not kept: %s\n", note);
    else
        show_part(cli, source, parts, &text);
    cli_print(&text);
    int exit_code = parts->diff && note[0] ? CLI_FAILED : CLI_OK;
    json_decref(source);
    return exit_code;
}

int show_verb(struct cli *cli, char **words)
{
    struct show_parts parts = {0};
    const struct option_rule rules[] = {
        {"spec", 0, NULL, "print only the text of the file", .flag = &parts.spec},
        {"diff", 0, NULL, "print the changes since the commit, for git apply", .flag = &parts.diff},
        {"environment", 0, NULL, "print only the environment", .flag = &parts.environment},
        {"json", 0, NULL, "print the daemon's answer", .flag = &cli->as_json},
        {0},
    };
    return options_addresses(cli, words, rules, 1, show_one, &parts);
}
