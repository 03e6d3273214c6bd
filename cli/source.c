/* Reading workflow files and sbatch scripts alike. */
#include "cli/source.h"

#include "cli/problems.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/sbatch/import.h"
#include "lib/sbatch/script.h"
#include "lib/spec/problems.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int source_import(const char *file, struct source *source, struct error *err)
{
    struct sbatch_source script = {.file = file, .data = source->text, .size = source->size};
    struct spec_problems problems = {.file = text_format("%s", file)};
    struct text text = {0};
    int code = sbatch_import(&script, 1, environ, &text, &problems);
    problems_print_all(&problems);
    if (code < 0) {
        error_set(err, code, "%s: this script cannot be made a workflow", file);
        text_fini(&text);
    } else {
        free(source->text);
        source->size = text.size;
        source->text = text_steal(&text);
        free(source->name);
        source->name = text_format("%s, as a workflow", file);
    }
    spec_problems_fini(&problems);
    return code;
}

int source_read(const char *file, struct source *ret_source, struct error *err)
{
    struct source source = {0};
    int code = file_read(file, SPEC_SIZE_MAX, &source.text, &source.size, err);
    if (code < 0)
        return code;
    source.name = text_format("%s", file);
    if (sbatch_is_script(source.text, source.size))
        code = source_import(file, &source, err);
    if (code < 0)
        source_fini(&source);
    else
        *ret_source = source;
    return code;
}

void source_fini(struct source *source)
{
    free(source->name);
    free(source->text);
    *source = (struct source){0};
}
