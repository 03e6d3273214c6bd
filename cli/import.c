/* phasectl import: sbatch scripts as one workflow. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/filter.h"
#include "cli/options.h"
#include "cli/source.h"
#include "cli/verbs.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tells the problems now, or adds them to `list` if it is not NULL. */
static void import_tell(const struct spec_problems *problems, json_t *list)
{
    if (list)
        spec_problems_json(problems, list);
    else
        problems_print_all(problems);
}

/* Checks the result: a workflow that the daemon refuses helps nobody. */
static int import_check(const struct text *spec, json_t *list)
{
    struct spec_problems problems = {0};
    json_t *json = NULL;
    int status = spec_parse("the workflow", text_string(spec), spec->size, NULL, &json, &problems);
    import_tell(&problems, list);
    spec_problems_fini(&problems);
    json_decref(json);
    return status < 0 ? CLI_FAILED : CLI_OK;
}

/* Never replaces a file: the user may have edited it. With --json, standard output does not get the
 * text. */
static int import_write(const struct cli *cli, const struct text *spec, const char *path,
                        struct error *err)
{
    if (!path && cli->as_json)
        return 0;
    filter_pass();
    if (!path)
        return fputs(text_string(spec), stdout) < 0 || fflush(stdout) != 0
                   ? error_set(err, -errno, "could not print: %s", strerror(errno))
                   : 0;
    if (access(path, F_OK) == 0)
        return error_set(err, -EEXIST, "%s exists already", path);
    return file_replace(path, text_string(spec), spec->size, 0666, err);
}

static int import_sources(const struct option_arguments *files, struct sbatch_source *sources,
                          struct spec_problems *problems, struct text *spec, json_t *list)
{
    int exit_code = CLI_OK;
    for (size_t i = 0; i < files->count; i++) {
        struct error err;
        char *data;
        sources[i].file = files->items[i];
        if (file_read(files->items[i], SPEC_SIZE_MAX, &data, &sources[i].size, &err) < 0)
            exit_code = cli_fail(&err);
        else
            sources[i].data = data;
        problems[i].file = xstrdup(files->items[i]);
    }
    if (exit_code == CLI_OK && sbatch_import(sources, files->count, environ, spec, problems) < 0)
        exit_code = CLI_FAILED;
    for (size_t i = 0; i < files->count; i++)
        import_tell(&problems[i], list);
    return exit_code;
}

static void import_print_json(const struct text *spec, const json_t *problems)
{
    json_t *json =
        json_pack("{s:s?, s:O}", "spec", spec ? text_string(spec) : NULL, "problems", problems);
    client_print_json(json);
    json_decref(json);
}

int import_verb(struct cli *cli, char **words)
{
    const char *output = NULL;
    const struct option_rule rules[] = {
        {"output", 'o', "FILE", "write the workflow to this new file", .text = &output},
        {"json", 0, NULL, "print the text of the workflow and the problems as JSON",
         .flag = &cli->as_json},
        {0},
    };
    struct option_arguments files = {.min = 1, .max = OPTION_ARGUMENTS_MAX, .has_rest = true};
    struct source_words given = {.next = SCRIPT_WORDS_FILE};
    struct sbatch_source sources[OPTION_ARGUMENTS_MAX] = {0};
    struct spec_problems problems[OPTION_ARGUMENTS_MAX] = {0};
    struct text spec = {0};
    struct error err;
    int exit_code;
    if (!source_words_read(cli, words, rules, &files, &given, &exit_code)) {
        source_words_fini(&given);
        return exit_code;
    }
    if (files.count == 1) {
        sources[0].arguments = &given.arguments;
        sources[0].options = &given.split.options;
    }
    json_t *list = cli->as_json ? json_array() : NULL;
    exit_code = import_sources(&files, sources, problems, &spec, list);
    if (exit_code == CLI_OK)
        exit_code = import_check(&spec, list);
    if (cli->as_json)
        import_print_json(exit_code == CLI_OK ? &spec : NULL, list);
    if (exit_code == CLI_OK && import_write(cli, &spec, output, &err) < 0)
        exit_code = cli_fail(&err);
    json_decref(list);
    for (size_t i = 0; i < files.count; i++) {
        spec_problems_fini(&problems[i]);
        free((void *)(uintptr_t)sources[i].data);
    }
    source_words_fini(&given);
    text_fini(&spec);
    return exit_code;
}
