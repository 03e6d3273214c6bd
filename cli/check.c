/* phasectl check: the parser that the daemon uses, without the daemon. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/oldlog.h"
#include "cli/options.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "lib/error.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdio.h>

/* Prints the problems, and their number if there are several. */
static void check_print_problems(const char *file, const struct spec_problems *problems)
{
    problems_print_all(problems);
    if (problems->error_count && problems->count > 1)
        (void)fprintf(stderr, "phasectl: %s has %zu problem%s\n", file, problems->error_count,
                      problems->error_count == 1 ? "" : "s");
}

/* Prints "a.yaml is good: 2 phases, one with 4 members". */
static void check_print_good(const char *file, const json_t *phases)
{
    size_t i, matrices = 0, members = 0;
    const json_t *phase;
    json_array_foreach(phases, i, phase)
    {
        matrices += json_is_object(json_object_get(phase, "matrix"));
        members += json_is_object(json_object_get(phase, "member"));
    }
    size_t count = json_array_size(phases) - members;
    printf("%s is good: %zu phase%s", file, count, count == 1 ? "" : "s");
    if (matrices == 1)
        printf(", one with %zu member%s", members, members == 1 ? "" : "s");
    else if (matrices > 1)
        printf(", %zu of them with %zu members", matrices, members);
    printf("\n");
}

/* Shows a good file: as JSON, judged on old logs, or in one line. */
static int check_show(struct cli *cli, const char *file, const json_t *json, bool print,
                      const struct option_list *logs)
{
    struct text text = {0};
    struct error err;
    if (print) {
        client_print_json(json);
        return CLI_OK;
    }
    if (oldlog_write(json, logs->items, logs->count, &cli->out, &text, &err) < 0) {
        text_fini(&text);
        return cli_fail(&err);
    }
    check_print_good(file, json_object_get(json, "phases"));
    cli_print(&text);
    return CLI_OK;
}

/* Prints what is known of a file: `json` is the resolved workflow, or NULL. */
static int check_print_json(const char *file, const json_t *json,
                            const struct spec_problems *problems)
{
    json_t *list = json_array();
    spec_problems_json(problems, list);
    json_t *answer = json_pack("{s:s, s:b, s:o, s:O?}", "file", file, "good", json != NULL,
                               "problems", list, "workflow", json);
    client_print_json(answer);
    json_decref(answer);
    return json ? CLI_OK : CLI_FAILED;
}

static int check_file(struct cli *cli, const char *file, const struct source_words *given,
                      bool print, const struct option_list *logs)
{
    struct spec_overrides overrides = given->overrides;
    struct spec_problems problems = {0};
    struct source source;
    struct error err;
    json_t *json = NULL;
    if (source_read(file, given, &source, &err) < 0)
        return cli_fail(&err);
    struct spec_probe probe = probe_begin();
    overrides.probe = &probe;
    overrides.try_variants = true;
    int status = spec_parse(source.name, source.text, source.size, &overrides, &json, &problems);
    probe_end(&probe);
    source_place(&source, &problems);
    json = status < 0 ? NULL : json;
    if (!cli->as_json)
        check_print_problems(source.name, &problems);
    int exit_code = cli->as_json ? check_print_json(source.name, json, &problems)
                    : json       ? check_show(cli, file, json, print, logs)
                                 : CLI_FAILED;
    json_decref(json);
    source_fini(&source);
    spec_problems_fini(&problems);
    return exit_code;
}

/* Checks every file, also after a file with a mistake. Returns the first exit code that is not
 * CLI_OK. */
static int check_files(struct cli *cli, const struct option_arguments *files,
                       const struct source_words *given, bool print, const struct option_list *logs)
{
    int exit_code = CLI_OK;
    for (size_t i = 0; i < files->count; i++) {
        int checked = check_file(cli, files->items[i], given, print, logs);
        exit_code = exit_code == CLI_OK ? checked : exit_code;
        (void)fflush(stdout); /* keeps the order: problems go to standard error */
    }
    return exit_code;
}

int check_verb(struct cli *cli, char **words)
{
    struct option_list logs = {0};
    struct source_words given = {0};
    bool print = false;
    const struct option_rule rules[] = {
        source_set_rule(&given),
        source_with_rule(&given),
        {"log", 0, "PHASE=FILE", "try metrics, guards and gate on an earlier log", .list = &logs},
        {"print", 0, NULL, "print the resolved workflow as JSON", .flag = &print},
        {"json", 0, NULL, "print the problems and the resolved workflow as JSON",
         .flag = &cli->as_json},
        {0},
    };
    struct option_arguments files = {.min = 1, .max = OPTION_ARGUMENTS_MAX, .has_rest = true};
    int exit_code;
    bool is_good = source_words_read(cli, words, rules, &files, &given, &exit_code);
    if (is_good && cli->as_json && (print || logs.count))
        exit_code = cli_usage(cli, "--json cannot be used with --print or --log");
    else if (is_good && files.count > 1 && logs.count)
        exit_code = cli_usage(cli, "--log is for one file, not for %zu", files.count);
    else if (is_good)
        exit_code = check_files(cli, &files, &given, print, &logs);
    source_words_fini(&given);
    return exit_code;
}
