/* Checks by bash and the file system. */
#include "cli/probe.h"

#include "cli/problems.h"
#include "cli/source.h"
#include "lib/command.h"
#include "lib/memory.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    if (result.status > 0)
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
    struct stat status;
    (void)context;
    if (stat(path, &status) < 0)
        return errno == ENOENT || errno == ENOTDIR ? "does not exist" : NULL;
    if (is_folder != (S_ISDIR(status.st_mode) != 0))
        return is_folder ? "is not a folder" : "is a folder";
    return NULL;
}

struct spec_probe probe_begin(void)
{
    return (struct spec_probe){
        .script = probe_script_ask, .path = probe_path_ask, .context = json_object()};
}

void probe_end(struct spec_probe *probe)
{
    json_decref(probe->context);
    *probe = (struct spec_probe){0};
}

static bool probe_is_among(const struct spec_problem *problem, const struct spec_problems *others)
{
    for (size_t i = 0; i < others->count; i++) {
        const struct spec_problem *other = &others->items[i];
        if (problem->line == other->line && problem->column == other->column &&
            text_equal(problem->path, other->path) && text_equal(problem->message, other->message))
            return true;
    }
    return false;
}

bool probe_print(const struct source *source, const struct spec_overrides *overrides)
{
    struct spec_probe probe = probe_begin();
    struct spec_overrides asking = *overrides;
    struct spec_problems all = {0}, known = {0}, own = {0};
    json_t *json = NULL;
    asking.probe = &probe;
    if (spec_parse(source->name, source->text, source->size, overrides, &json, &known) == 0)
        json_decref(json);
    json = NULL;
    if (spec_parse(source->name, source->text, source->size, &asking, &json, &all) == 0)
        json_decref(json);
    own.file = xstrdup(source->name);
    for (size_t i = 0; i < all.count; i++) {
        const struct spec_problem *problem = &all.items[i];
        if (!probe_is_among(problem, &known))
            spec_problems_add(&own, problem->severity, problem->line, problem->column,
                              problem->path, "%s", problem->message);
    }
    source_place(source, &own);
    problems_print_all(&own);
    bool is_good = own.error_count == 0;
    spec_problems_fini(&own);
    spec_problems_fini(&known);
    spec_problems_fini(&all);
    probe_end(&probe);
    return is_good;
}
