/* Workflow files, and sbatch scripts that become workflows. */
#include "cli/source.h"

#include "cli/cli.h"
#include "cli/options.h"
#include "cli/problems.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/sbatch/script.h"
#include "lib/spec/problems.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool source_arguments(const struct cli *cli, const struct option_arguments *files,
                      struct sbatch_arguments *ret_arguments, int *ret_status)
{
    *ret_arguments = (struct sbatch_arguments){.items = (const char *const *)files->rest};
    for (char **word = files->rest; word && *word; word++)
        ret_arguments->count++;
    if (!ret_arguments->count || files->count == 1)
        return true;
    *ret_status = cli_usage(cli, "the words after `--` are arguments for one script, not for %zu",
                            files->count);
    return false;
}

/* The line of `run:`; 0: the script does not stand below it line by line. */
static unsigned source_run_line(const char *text)
{
    const char *run = strstr(text, "\n    run: |2\n");
    unsigned line = 2; /* `run` begins with the line end before it */
    for (const char *at = text; run && at < run; at++)
        line += *at == '\n';
    return run ? line : 0;
}

static int source_import(const char *file, const struct sbatch_arguments *arguments,
                         struct source *source, struct error *err)
{
    struct sbatch_source script = {.file = file,
                                   .data = source->text,
                                   .size = source->size,
                                   .arguments = arguments,
                                   .keeps_lines = true};
    struct spec_problems problems = {.file = xstrdup(file)};
    struct text text = {0};
    int code = sbatch_import(&script, 1, environ, &text, &problems);
    problems_print_all(&problems);
    if (code < 0) {
        error_set(err, code, "%s: this script cannot become a workflow", file);
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
    return code;
}

int source_read(const char *file, const struct sbatch_arguments *arguments,
                struct source *ret_source, struct error *err)
{
    struct source source = {0};
    int code = file_read(file, SPEC_SIZE_MAX, &source.text, &source.size, err);
    if (code < 0)
        return code;
    source.name = xstrdup(file);
    if (sbatch_is_script(source.text, source.size))
        code = source_import(file, arguments, &source, err);
    else if (arguments && arguments->count)
        code = error_set(err, -EINVAL,
                         "%s is a workflow and takes no arguments: --set PARAM=VALUE sets a param",
                         file);
    if (code < 0)
        source_fini(&source);
    else
        *ret_source = source;
    return code;
}

void source_place(const struct source *source, struct spec_problems *problems)
{
    if (!source->script)
        return;
    free(problems->file);
    problems->file = xstrdup(source->script);
    for (size_t i = 0; i < problems->count; i++) {
        struct spec_problem *problem = &problems->items[i];
        bool is_within = source->run_line && problem->line > source->run_line;
        problem->line = is_within ? problem->line - source->run_line : 0;
        problem->column = is_within;
    }
}

void source_fini(struct source *source)
{
    free(source->name);
    free(source->text);
    *source = (struct source){0};
}
