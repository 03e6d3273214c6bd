/* Workflow files, sbatch scripts that become workflows, and what is wrong with either. */
#include "cli/source.h"

#include "cli/cli.h"
#include "cli/field.h"
#include "cli/options.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/sbatch/script.h"
#include "lib/spec/problems.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* --- Problems, in the form that editors jump to ----------------------------------------------- */

void problems_print(const char *file, const json_t *problems)
{
    const json_t *problem;
    size_t i;
    json_array_foreach(problems, i, problem)
    {
        const char *named = field_text(problem, "file"), *path = field_text(problem, "path");
        long long line = field_integer(problem, "line");
        struct text text = {0};
        text_add(&text, named[0] ? named : file);
        if (line)
            text_addf(&text, ":%lld:%lld", line, field_integer(problem, "column"));
        text_add(&text, ": ");
        if (text_equal(field_text(problem, "severity"), "warning"))
            text_add(&text, "warning: ");
        if (path[0])
            text_addf(&text, "%s: ", path);
        text_add(&text, json_is_string(problem) ? json_string_value(problem)
                                                : field_text(problem, "message"));
        (void)fprintf(stderr, "%s\n", text_string(&text));
        text_fini(&text);
    }
}

void problems_print_all(const struct spec_problems *problems)
{
    struct text text = {0};
    spec_problems_text(problems, &text);
    (void)fputs(text_string(&text), stderr);
    text_fini(&text);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* The words after `--` are the arguments of one script. */
static bool source_arguments(const struct cli *cli, const struct option_arguments *files,
                             struct source_words *words, int *ret_exit_code)
{
    struct sbatch_arguments *arguments = &words->arguments;
    *arguments = (struct sbatch_arguments){.items = (const char *const *)files->rest};
    for (char **word = files->rest; word && *word; word++)
        arguments->count++;
    if (files->count <= 1 || (!arguments->count && !words->split.options.count))
        return true;
    *ret_exit_code = cli_usage(
        cli,
        arguments->count ? "the words from '%s' on are arguments for one script, not for %zu"
                         : "options of sbatch such as '%s' are for one script, not for %zu",
        arguments->count ? arguments->items[0] : words->split.items[0], files->count);
    return false;
}

struct option_rule source_set_rule(struct source_words *words)
{
    return (struct option_rule){"set", 0, "PARAM=VALUE",
                                "set a param, or the param of one phase: validate.iterations=10",
                                .list = &words->sets};
}

struct option_rule source_with_rule(struct source_words *words)
{
    return (struct option_rule){"with", 0, "VARIANT",
                                "put this variant over the file; may be given several times",
                                .list = &words->variants};
}

bool source_words_read(const struct cli *cli, char **words, const struct option_rule *rules,
                       struct option_arguments *files, struct source_words *ret_words,
                       int *ret_exit_code)
{
    if (!script_words_split(cli, words, rules, ret_words->next, &ret_words->split, ret_exit_code) ||
        !options_parse(cli, ret_words->split.own, rules, files, ret_exit_code))
        return false;
    json_t *variants = json_array();
    for (size_t i = 0; i < ret_words->variants.count; i++) {
        json_t *text = json_string(ret_words->variants.items[i]);
        (void)json_array_append_new(variants, text ? text : json_string("(not UTF-8)"));
    }
    ret_words->overrides = (struct spec_overrides){
        .variants = variants, .texts = ret_words->sets.items, .count = ret_words->sets.count};
    return source_arguments(cli, files, ret_words, ret_exit_code);
}

void source_words_fini(struct source_words *words)
{
    json_decref(words->overrides.variants);
    words->overrides = (struct spec_overrides){0};
    script_words_fini(&words->split);
}

json_t *source_words_set(const struct cli *cli, const struct source_words *words)
{
    json_t *object = json_object();
    for (size_t i = 0; i < words->sets.count; i++) {
        const char *item = words->sets.items[i], *equals = strchr(item, '=');
        char *name = equals && equals != item ? xstrndup(item, (size_t)(equals - item)) : NULL;
        bool is_good = name && json_object_set_new(object, name, json_string(equals + 1)) == 0;
        free(name);
        if (!is_good) {
            (void)cli_usage(cli, "--set wants PARAM=VALUE, not '%s'", item);
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/* The line of `run:`. 0: the script is not below `run:` line by line. */
static unsigned source_run_line(const char *text)
{
    const char *run = strstr(text, "\n    run: |2\n");
    unsigned line = 2; /* `run` begins with the line end before it */
    for (const char *at = text; run && at < run; at++)
        line += *at == '\n';
    return run ? line : 0;
}

static int source_import(const char *file, const struct source_words *words, struct source *source,
                         struct error *err)
{
    struct sbatch_source script = {.file = file,
                                   .data = source->text,
                                   .size = source->size,
                                   .arguments = words ? &words->arguments : NULL,
                                   .options = words ? &words->split.options : NULL,
                                   .keeps_lines = true};
    struct spec_problems problems = {.file = xstrdup(file)};
    struct text text = {0};
    int status = sbatch_import(&script, 1, environ, &text, &problems);
    problems_print_all(&problems);
    if (status < 0) {
        error_set(err, status, "%s: this script cannot become a workflow", file);
        text_fini(&text);
    } else {
        free(source->text);
        source->size = text.size;
        source->text = text_steal(&text);
        free(source->name);
        source->name = text_format("%s, as a workflow", file);
        source->script = file;
        source->run_line = source_run_line(source->text);
    }
    spec_problems_fini(&problems);
    return status;
}

int source_read(const char *file, const struct source_words *words, struct source *ret_source,
                struct error *err)
{
    struct source source = {0};
    int status = file_read(file, SPEC_SIZE_MAX, &source.text, &source.size, err);
    if (status < 0)
        return status;
    source.name = xstrdup(file);
    if (sbatch_is_script(source.text, source.size))
        status = source_import(file, words, &source, err);
    else if (words && words->arguments.count)
        status = error_set(
            err, -EINVAL, "%s is a workflow and takes no arguments: --set PARAM=VALUE sets a param",
            file);
    else if (words && words->split.options.count)
        status =
            error_set(err, -EINVAL,
                      "%s is a workflow and takes no options of sbatch such as '%s': write them "
                      "into the file",
                      file, words->split.items[0]);
    if (status < 0)
        source_fini(&source);
    else
        *ret_source = source;
    return status;
}

/* Returns the line of the script for a line of the workflow. 0: the line is not of the script. */
static unsigned source_line(const struct source *source, unsigned line)
{
    return source->run_line && line > source->run_line ? line - source->run_line : 0;
}

void source_place(const struct source *source, struct spec_problems *problems)
{
    if (!source->script)
        return;
    free(problems->file);
    problems->file = xstrdup(source->script);
    for (size_t i = 0; i < problems->count; i++) {
        struct spec_problem *problem = &problems->items[i];
        problem->line = source_line(source, problem->line);
        problem->column = problem->line > 0;
    }
}

void source_place_json(const struct source *source, const json_t *problems)
{
    json_t *problem;
    size_t i;
    json_array_foreach(problems, i, problem)
    {
        if (!source->script || !text_equal(field_text(problem, "file"), source->name))
            continue;
        unsigned line = source_line(source, (unsigned)field_integer(problem, "line"));
        (void)json_object_set_new(problem, "file", json_string(source->script));
        (void)json_object_set_new(problem, "line", json_integer(line));
        (void)json_object_set_new(problem, "column", json_integer(line > 0));
    }
}

void source_fini(struct source *source)
{
    free(source->name);
    free(source->text);
    *source = (struct source){0};
}

/* --- Checks by bash and the file system ------------------------------------------------------- */

enum { PROBE_MAX_S = 30 };

/* Takes the message from "bash: line 3: syntax error near unexpected token `fi'". */
static char *probe_parse(const char *said, unsigned *ret_line)
{
    const char *line = strstr(said, "line ");
    char *end;
    if (!line)
        return NULL;
    unsigned long number = strtoul(line + strlen("line "), &end, 10);
    if (number == 0 || !text_starts(end, ": "))
        return NULL;
    *ret_line = number < 1u << 30 ? (unsigned)number : 1;
    return text_format("%.*s", (int)strcspn(end + 2, "\n"), end + 2);
}

/* Lets bash read the script without executing it. extglob is on, because a script may turn it on.
 * BASH_ENV must not be read. */
static char *probe_ask_bash(const char *script, unsigned *ret_line)
{
    static const char *const words[] = {
        "/usr/bin/env", "-i", "LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin", "/bin/bash", "-O",
        "extglob",      "-n", NULL};
    struct command_result result;
    char *message = NULL;
    if (command_run(words, script, PROBE_MAX_S, &result, NULL) < 0)
        return NULL;
    if (result.exit_code > 0)
        message = probe_parse(text_string(&result.err), ret_line);
    command_fini(&result);
    return message;
}

static char *probe_script_ask(void *context, const char *script, unsigned *ret_line)
{
    json_t *known = context, *before = json_object_get(known, script);
    if (!before) {
        char *message = probe_ask_bash(script, ret_line);
        before = message ? json_pack("{s:s, s:i}", "message", message, "line", (int)*ret_line)
                         : json_null();
        (void)json_object_set_new(known, script, before); /* fails if it is not UTF-8 */
        return message;
    }
    const char *message = json_string_value(json_object_get(before, "message"));
    *ret_line = (unsigned)json_integer_value(json_object_get(before, "line"));
    return xstrdup_or_null(message);
}

static const char *probe_path_ask(void *context, const char *path, bool is_folder)
{
    struct stat info;
    (void)context;
    if (stat(path, &info) < 0)
        return errno == ENOENT || errno == ENOTDIR ? "does not exist" : NULL;
    if (is_folder != (S_ISDIR(info.st_mode) != 0))
        return is_folder ? "is not a folder" : "is a folder";
    return NULL;
}

struct spec_probe probe_begin(void)
{
    return (struct spec_probe){.script = probe_script_ask,
                               .path = probe_path_ask,
                               .context = json_object(),
                               .now = time(NULL)};
}

void probe_end(struct spec_probe *probe)
{
    json_decref(probe->context);
    *probe = (struct spec_probe){0};
}

bool probe_print(const struct source *source, const struct spec_overrides *overrides,
                 json_t **ret_json)
{
    struct spec_probe probe = probe_begin();
    struct spec_overrides asking = *overrides;
    struct spec_problems all = {0}, own = {0};
    asking.probe = &probe;
    *ret_json = NULL;
    (void)spec_parse(source->name, source->text, source->size, &asking, ret_json, &all);
    own.file = xstrdup(source->name);
    for (size_t i = 0; i < all.count; i++) {
        const struct spec_problem *problem = &all.items[i];
        if (problem->is_probed)
            spec_problems_add(&own, problem->severity, problem->line, problem->column,
                              problem->path, "%s", problem->message);
    }
    source_place(source, &own);
    problems_print_all(&own);
    bool is_good = own.error_count == 0;
    spec_problems_fini(&own);
    spec_problems_fini(&all);
    probe_end(&probe);
    return is_good;
}
