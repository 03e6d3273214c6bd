/* Writes a workflow from sbatch scripts. */
#include "lib/sbatch/import.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/sbatch/array.h"
#include "lib/sbatch/commands.h"
#include "lib/sbatch/dependency.h"
#include "lib/sbatch/script.h"
#include "lib/sbatch/shape.h"
#include "lib/sbatch/signal.h"
#include "lib/sbatch/write.h"
#include "lib/spec/problems.h"
#include "lib/spec/scope.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"
#include "lib/units.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { NAME_MAX_SIZE = 48, TIME_DEFAULT_MIN = 24 * 60 };

/* One script that becomes a phase. */
struct import {
    struct sbatch_script script;
    struct sbatch_shape shape;
    struct sbatch_array array;
    struct sbatch_signal signal;
    struct sbatch_dependency dependency;
    char *title;        /* the name of the script for people */
    char *name;         /* the name of the phase */
    const char *before; /* the phase before, or NULL */
    const struct sbatch_arguments *arguments;
    struct text env;   /* lines of `env:` */
    struct text slurm; /* lines of `slurm:` */
};

static const char *value_of(const struct import *import, const char *option)
{
    return sbatch_given(&import->script, option)->value;
}

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns the name of the file without folders and extension. */
static char *title_of_file(const struct sbatch_script *script)
{
    const char *slash = strrchr(script->file, '/');
    const char *base = slash ? slash + 1 : script->file;
    const char *dot = strrchr(base, '.');
    return text_format("%.*s", (int)(dot && dot > base ? (size_t)(dot - base) : strlen(base)),
                       base);
}

/* Returns the script's --job-name, or else the name of its file. */
static char *title_of(const struct sbatch_script *script)
{
    const char *job = sbatch_given(script, "job-name")->value;
    return job && *job ? xstrdup(job) : title_of_file(script);
}

/* Makes a phase name: letters, digits and `_`. Empty if the title has no such characters. */
static char *name_from(const char *title)
{
    struct text text = {0};
    for (const char *at = title; *at && text.size < NAME_MAX_SIZE; at++) {
        bool is_good = isalnum((unsigned char)*at);
        if (is_good && !text.size && isdigit((unsigned char)*at))
            text_add(&text, "job_");
        if (is_good)
            text_add_bytes(&text, at, 1);
        else if (text.size && text.data[text.size - 1] != '_')
            text_add(&text, "_");
    }
    while (text.size && text.data[text.size - 1] == '_')
        text.data[--text.size] = '\0';
    return text_steal(&text);
}

/* If --job-name has no characters for a phase name, the name of the file is used. */
static char *name_of(const struct import *import)
{
    char *name = name_from(import->title);
    if (*name)
        return name;
    free(name);
    char *title = title_of_file(&import->script);
    name = name_from(title);
    free(title);
    if (*name)
        return name;
    free(name);
    return text_format("job");
}

static char *name_among(const struct import *imports, size_t count, char *name)
{
    char *unique = xstrdup(name);
    for (size_t i = 0, number = 2; i < count; i++)
        if (imports[i].name && text_equal(imports[i].name, unique)) {
            free(unique);
            unique = text_format("%s_%zu", name, number++);
            i = (size_t)-1; /* start again with the first */
        }
    free(name);
    return unique;
}

/* --- Options ---------------------------------------------------------------------------------- */

static void keep_slurm(struct import *import, const char *option, const char *value)
{
    struct error err;
    int found = slurm_option_find(option, &err);
    if (found < 0 ||
        slurm_option_read((enum slurm_option)found, value, time(NULL), NULL, &err) < 0) {
        sbatch_refuse(&import->script, option, "%s", err.message);
    } else {
        text_addf(&import->slurm, "      %s: ", slurm_option_name((enum slurm_option)found));
        write_unexpanded(&import->slurm, value);
        text_add(&import->slurm, "\n");
    }
}

static void keep_env(struct import *import, const char *name, const char *value)
{
    text_addf(&import->env, "      %s: ", name);
    write_unexpanded(&import->env, value);
    text_add(&import->env, "\n");
}

/* The part that names phases becomes `after:`. */
static void take_dependency(struct import *import)
{
    const struct sbatch_dependency *dependency = &import->dependency;
    if (!dependency->kept.size)
        return;
    if (import->before && !dependency->after.size)
        sbatch_warn(&import->script, "dependency",
                    "begins when %s has succeeded; '%s' is kept, too", import->before,
                    text_string(&dependency->kept));
    if (strstr(text_string(&dependency->kept), "singleton"))
        sbatch_warn(
            &import->script, "dependency",
            "singleton: waits for jobs with the name that this job will have, WORKFLOW.PHASE");
    keep_slurm(import, "dependency", text_string(&dependency->kept));
}

/* Takes the first item of --export as sbatch does: a comma between quotes belongs to the item, and
 * quotes around a whole item do not. NULL: no item is left. */
static char *take_exported(const char **list, bool *ret_is_open)
{
    const char *begin = *list, *end = begin;
    bool is_single = false, is_double = false;
    for (; *end && (*end != ',' || is_single || is_double); end++) {
        is_single = is_single != (*end == '\'');
        is_double = is_double != (*end == '"');
    }
    *ret_is_open = is_single || is_double;
    *list = *end ? end + 1 : end;
    bool is_quoted = !*ret_is_open && end > begin && strchr("'\"", *begin) && end[-1] == *begin;
    if (is_quoted)
        return xstrndup(begin + 1, (size_t)(end - begin) - 2);
    return *begin ? xstrndup(begin, (size_t)(end - begin)) : NULL;
}

/* "ALL,A=1,B": phased always takes the whole environment, so only items with a value matter. */
static void take_export(struct import *import)
{
    const char *value = value_of(import, "export");
    bool has_all = !*value, is_open;
    for (char *item; (item = take_exported(&value, &is_open)); free(item)) {
        char *equals = strchr(item, '=');
        has_all = has_all || strcasecmp(item, "ALL") == 0;
        if (is_open)
            sbatch_warn(&import->script, "export",
                        "a quote is not closed, so '%s' is one item, as for sbatch", item);
        if (equals) {
            *equals = '\0';
            if (!scope_is_name(item) || text_starts(item, "PHASED_"))
                sbatch_refuse(&import->script, "export", "'%s' cannot be set", item);
            keep_env(import, item, equals + 1);
        }
    }
    if (!has_all)
        sbatch_warn(&import->script, "export",
                    "the program gets the whole environment of the submitting shell");
}

static void take_exclusive(struct import *import)
{
    const char *value = value_of(import, "exclusive");
    if (!import->shape.gpus)
        sbatch_warn(&import->script, "exclusive",
                    "phased neither checks nor counts GPUs: if the script uses GPUs, add "
                    "--gpus-per-node");
    if (*value)
        sbatch_refuse(&import->script, "exclusive",
                      "'%s': phased knows only the exclusive use of whole nodes", value);
    else
        keep_slurm(import, "exclusive", "true");
}

static void take_hint(struct import *import)
{
    keep_env(import, "SLURM_HINT", value_of(import, "hint"));
}

static void take_nice(struct import *import)
{
    const char *value = value_of(import, "nice");
    keep_slurm(import, "nice", *value ? value : "100");
}

/* Keeps an option of Slurm as it is. The value of a flag is true. */
static void take_slurm(struct import *import, const struct sbatch_option *option)
{
    const char *value = value_of(import, option->name);
    keep_slurm(import, option->name, option->value == SBATCH_NONE ? "true" : value);
}

/* The functions for options with a key of their own in a phase. Other such options are read in the
 * place where they are written. */
static const struct {
    const char *name;
    void (*take)(struct import *import);
} own_options[] = {
    {"dependency", take_dependency},
    {"exclusive", take_exclusive},
    {"export", take_export},
    {"hint", take_hint},
    {"nice", take_nice},
};

static void take_own(struct import *import, const char *name)
{
    for (size_t i = 0; i < sizeof own_options / sizeof *own_options; i++)
        if (text_equal(own_options[i].name, name))
            own_options[i].take(import);
}

static void take_options(struct import *import)
{
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_option *option = &sbatch_options[i];
        const char *value = import->script.given[i].value;
        if (!value)
            continue;
        switch (option->fate) {
        case SBATCH_OWN:
            take_own(import, option->name);
            break;
        case SBATCH_SLURM:
            take_slurm(import, option);
            break;
        case SBATCH_STEP:
            keep_env(import, option->detail, *value ? value : "1");
            break;
        case SBATCH_WARNED:
            sbatch_warn(&import->script, option->name, "left out: %s", option->detail);
            break;
        case SBATCH_REFUSED:
            sbatch_refuse(&import->script, option->name, "%s", option->detail);
            break;
        case SBATCH_SHAPE:   /* read by sbatch_shape_read() */
        case SBATCH_DROPPED: /* needs no warning */
            break;
        }
    }
    if (import->shape.gres.size)
        keep_slurm(import, "gres", text_string(&import->shape.gres));
}

/* sbatch has several words for "no limit". */
static bool is_endless(const char *time)
{
    return strcasecmp(time, "UNLIMITED") == 0 || strcasecmp(time, "INFINITE") == 0 ||
           text_equal(time, "-1") || (*time && strspn(time, "0:-") == strlen(time));
}

/* Reads a time of sbatch, and also one with a unit, as the times of a workflow: 4h. */
static bool read_minutes(const char *value, int64_t *ret_minutes)
{
    struct error err;
    uint32_t seconds;
    if (slurm_option_read(SLURM_OPTION_TIME_MIN, value, 0, ret_minutes, &err) == 0)
        return true;
    if (units_parse_duration(value, &seconds, &err) < 0 || !seconds)
        return false;
    *ret_minutes = ((int64_t)seconds + 59) / 60;
    return true;
}

static int64_t minutes_of(const struct import *import)
{
    const char *value = value_of(import, "time");
    int64_t minutes = TIME_DEFAULT_MIN;
    if (!value)
        spec_problems_add(import->script.problems, SPEC_WARNING, 1, 1, "time",
                          "not given: 24h, or the limit of the partition if that is less");
    else if (is_endless(value))
        sbatch_refuse(&import->script, "time",
                      "'%s' is not a limit: phased stops a phase in time to save, and says what it "
                      "can cost, so it needs a limit, such as --time=7-00:00:00",
                      value);
    else if (!read_minutes(value, &minutes))
        sbatch_refuse(&import->script, "time",
                      "'%s' is not a time, such as 90 (minutes), 1:30:00, 2-12:00:00 or 4h", value);
    return minutes;
}

/* --- The phase -------------------------------------------------------------------------------- */

static void add_resources(const struct import *import, struct text *spec)
{
    const struct sbatch_shape *shape = &import->shape;
    text_addf(spec, "    resources: {nodes: %u", shape->nodes);
    if (shape->gpus)
        text_addf(spec, ", gpus: %s%s%u", shape->gpu_type, shape->gpu_type[0] ? ":" : "",
                  shape->gpus);
    if (shape->cpus)
        text_addf(spec, ", cpus: %u", shape->cpus);
    if (shape->cpus_per_gpu)
        text_addf(spec, ", cpus_per_gpu: %u", shape->cpus_per_gpu);
    int64_t minutes = minutes_of(import);
    bool is_hours = minutes % 60 == 0;
    text_addf(spec, ", time: %" PRId64 "%s}\n", is_hours ? minutes / 60 : minutes,
              is_hours ? "h" : "m");
}

/* Only the user knows what the program saves. */
static void add_checkpoint(const struct import *import, struct text *spec)
{
    static const char *const known[] = {"TERM", "USR1", "USR2", "INT"};
    const struct sbatch_signal *signal = &import->signal;
    for (size_t i = 0; signal->name && i < sizeof known / sizeof *known; i++)
        if (text_equal(signal->name, known[i]))
            text_addf(spec,
                      "    # checkpoint: {path: \"$PHASED_OUT/*_{step}*\", stop_signal: %s, "
                      "save_time: %us}\n",
                      signal->name, signal->seconds);
}

static void add_run(const struct import *import, struct text *spec)
{
    struct text run = {0};
    const struct write_parts parts = {.script = &import->script,
                                      .shape = &import->shape,
                                      .array = &import->array,
                                      .signal = &import->signal,
                                      .arguments = import->arguments,
                                      .phase = import->name};
    write_run(&run, &parts);
    text_add(spec, "    run: ");
    write_block(spec, &run);
    text_fini(&run);
}

static void add_phase(struct import *import, struct text *spec)
{
    const char *folder = value_of(import, "chdir");
    text_addf(spec, "  %s: # ", import->name);
    write_comment(spec, import->script.file);
    text_add(spec, "\n");
    if (import->dependency.after.size)
        text_addf(spec, "    after: [%s]\n", text_string(&import->dependency.after));
    else if (import->before)
        text_addf(spec, "    after: %s\n", import->before);
    add_resources(import, spec);
    sbatch_array_write_keys(&import->array, spec);
    take_options(import);
    if (import->slurm.size)
        text_addf(spec, "    slurm:\n%s", text_string(&import->slurm));
    if (import->env.size)
        text_addf(spec, "    env:\n%s", text_string(&import->env));
    if (folder && folder[0] == '/' && !write_changes_folder(&import->script)) {
        text_add(spec, "    workdir: ");
        write_unexpanded(spec, folder);
        text_add(spec, "\n");
    }
    add_checkpoint(import, spec);
    add_run(import, spec);
}

/* Warns about commands by which a script restarts itself: phased does that. */
static void warn_of_body(const struct import *import)
{
    const struct {
        const char *command, *message;
    } commands[] = {
        {"scontrol[ \\t]+requeue",
         import->array.count
             ? "phased itself runs a phase again: remove `scontrol requeue`. The tasks are "
               "no array of Slurm, so `scontrol requeue` of a task fails; with $SLURM_JOB_ID it "
               "works"
             : "phased itself runs a phase again: remove `scontrol requeue`"},
        {"sbatch", "seems to submit jobs that phased does not know: make them phases"},
    };
    const char *body = text_string(&import->script.body);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *found = commands_find(body, commands[i].command), *line = body;
        unsigned number = import->script.lines_left_out + 1;
        if (!found)
            continue;
        for (const char *at = body; at < found; at++)
            if (*at == '\n') {
                number++;
                line = at + 1;
            }
        spec_problems_add(import->script.problems, SPEC_WARNING, number,
                          (unsigned)(found - line) + 1, "", "%s", commands[i].message);
    }
}

static void import_fini(struct import *import)
{
    sbatch_script_fini(&import->script);
    sbatch_shape_fini(&import->shape);
    sbatch_array_fini(&import->array);
    sbatch_dependency_fini(&import->dependency);
    text_fini(&import->env);
    text_fini(&import->slurm);
    free(import->title);
    free(import->name);
}

/* Notes values that came from the environment or the command line, so that a reader of the file
 * knows their source. Variables of --export stand under `env:`, where secrets are hidden. */
static void add_variables(const struct import *import, struct text *spec)
{
    for (size_t i = 0; i < sbatch_option_count; i++) {
        const struct sbatch_given *given = &import->script.given[i];
        if (!given->variable)
            continue;
        text_addf(spec, "# %s was ", given->variable);
        bool is_told = *given->value && !text_equal(sbatch_options[i].name, "export");
        write_comment(spec, is_told ? given->value : "set");
        text_add(spec, " when this was imported.\n");
    }
}

/* The name of a workflow may also have `-` and `.`, but the name of a phase is good enough. */
static void add_head(const struct import *first, size_t count, struct text *spec)
{
    text_addf(spec, "# Written by `phasectl import` from %s.\n",
              count == 1 ? "an sbatch script" : "sbatch scripts");
    add_variables(first, spec);
    text_addf(spec, "name: %s\nphases:\n", first->name);
}

static bool is_of_shell(const struct sbatch_given *given)
{
    return given->value && given->variable && !text_starts(given->variable, "--");
}

/* sbatch takes one amount of memory. An amount in a line or word makes it ignore the variables of
 * the shell, also where these give another option. */
static void settle_memory(struct sbatch_script *script)
{
    static const char *const names[] = {"mem", "mem-per-cpu", "mem-per-gpu"};
    enum { NAMES = sizeof names / sizeof *names };
    const char *first = NULL;
    bool is_written = false;
    for (size_t i = 0; i < NAMES; i++) {
        const struct sbatch_given *given = sbatch_given(script, names[i]);
        is_written |= given->value && !is_of_shell(given);
    }
    for (size_t i = 0; i < sbatch_option_count; i++) {
        struct sbatch_given *given = &script->given[i];
        const char *name = sbatch_options[i].name;
        if (!given->value || !text_is_one_of(name, names, NAMES))
            continue;
        if (is_written && is_of_shell(given)) {
            free(given->value);
            free(given->variable);
            *given = (struct sbatch_given){0};
        } else if (first) {
            sbatch_refuse(script, name, "%s is given too: give one of the two", first);
        } else {
            first = name;
        }
    }
}

/* sbatch also makes most hints an option of the job: one thread of each core. */
static void settle_hint(struct sbatch_script *script)
{
    static const char *const words[] = {"compute_bound", "memory_bound", "nomultithread"};
    const char *value = sbatch_given(script, "hint")->value;
    bool has_one_thread = false;
    for (char *word; value && (word = text_take_item(&value)); free(word))
        has_one_thread |= text_is_one_of(word, words, sizeof words / sizeof *words);
    for (size_t i = 0; has_one_thread && i < sbatch_option_count; i++)
        if (text_equal(sbatch_options[i].name, "threads-per-core") && !script->given[i].value)
            script->given[i].value = xstrdup("1");
}

static void read_dependency(struct import *imports, size_t index)
{
    struct sbatch_earlier *earlier = xcalloc(index + 1, sizeof *earlier);
    size_t count = 0;
    for (size_t i = 0; i < index; i++)
        if (imports[i].name) /* NULL: the file was not a script */
            earlier[count++] = (struct sbatch_earlier){imports[i].title, imports[i].name};
    sbatch_dependency_read(&imports[index].script, earlier, count, &imports[index].dependency);
    free(earlier);
}

/* False: the file is not a script. */
static bool import_read(struct import *imports, size_t index, const struct sbatch_source *source,
                        char *const *environment, struct spec_problems *problems)
{
    struct import *import = &imports[index];
    import->arguments = source->arguments;
    import->script.keeps_lines = source->keeps_lines;
    sbatch_script_read(&import->script, source->file, source->data, source->size, problems);
    if (!import->script.interpreter)
        return false;
    if (environment)
        sbatch_variables_read(&import->script, environment);
    if (source->options)
        sbatch_words_read(&import->script, source->options);
    settle_memory(&import->script);
    settle_hint(&import->script);
    sbatch_shape_read(&import->script, &import->shape);
    sbatch_array_read(&import->script, &import->array);
    sbatch_signal_read(&import->script, &import->signal);
    import->title = title_of(&import->script);
    import->name = name_among(imports, index, name_of(import));
    import->before = index ? imports[index - 1].name : NULL; /* NULL: that file was not a script */
    read_dependency(imports, index);
    return true;
}

int sbatch_import(const struct sbatch_source *sources, size_t count, char *const *environment,
                  struct text *spec, struct spec_problems *problems)
{
    struct import *imports = xcalloc(count, sizeof *imports);
    int status = 0;
    for (size_t i = 0; i < count; i++) {
        if (!import_read(imports, i, &sources[i], environment, &problems[i])) {
            status = -EINVAL;
            continue;
        }
        if (i == 0)
            add_head(&imports[i], count, spec);
        if (imports[i].array.count && i + 1 < count)
            sbatch_refuse(&imports[i].script, "array",
                          "only for the last script: the next script would begin when one task has "
                          "succeeded");
        add_phase(&imports[i], spec);
        warn_of_body(&imports[i]);
        spec_problems_sort(&problems[i]);
        if (problems[i].error_count)
            status = -EINVAL;
    }
    for (size_t i = 0; i < count; i++)
        import_fini(&imports[i]);
    free(imports);
    return status;
}
