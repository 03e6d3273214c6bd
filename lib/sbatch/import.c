/* Writing a workflow from sbatch scripts. */
#include "lib/sbatch/import.h"

#include "lib/error.h"
#include "lib/sbatch/script.h"
#include "lib/sbatch/shape.h"
#include "lib/sbatch/write.h"
#include "lib/spec/problems.h"
#include "lib/spec/scope.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NAME_MAX_SIZE = 48, TIME_DEFAULT_MIN = 24 * 60 };

/* One script on its way into a phase. */
struct import {
    struct sbatch_script script;
    struct sbatch_shape shape;
    char *name;         /* of the phase */
    const char *before; /* the phase before, or NULL */
    struct text env;    /* lines of `env:` */
    struct text slurm;  /* lines of `slurm:` */
};

static const char *value_of(const struct import *import, const char *option)
{
    return sbatch_given(&import->script, option)->value;
}

/* --- Names -------------------------------------------------------------------------------------*/

/* What a script is called: its --job-name, or its file without folders and ending. */
static char *title_of(const struct sbatch_script *script)
{
    const char *job = sbatch_given(script, "job-name")->value;
    const char *slash = strrchr(script->file, '/');
    const char *base = slash ? slash + 1 : script->file;
    if (job && *job)
        return text_format("%s", job);
    const char *dot = strrchr(base, '.');
    return text_format("%.*s", (int)(dot && dot > base ? (size_t)(dot - base) : strlen(base)),
                       base);
}

/* As names of phases may be: letters, digits and `_`. Frees the title. */
static char *name_from(char *title)
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
    if (!text.size)
        text_add(&text, "job");
    free(title);
    return text_steal(&text);
}

static char *name_among(const struct import *imports, size_t count, char *name)
{
    char *unique = text_format("%s", name);
    for (size_t i = 0, number = 2; i < count; i++)
        if (text_equal(imports[i].name, unique)) {
            free(unique);
            unique = text_format("%s_%zu", name, number++);
            i = (size_t)-1; /* once more from the first */
        }
    free(name);
    return unique;
}

/* --- Options -----------------------------------------------------------------------------------*/

static void keep_slurm(struct import *import, const char *option, const char *value)
{
    struct error err;
    char *name = text_format("%s", option);
    for (char *at = name; *at; at++)
        *at = *at == '-' ? '_' : *at;
    int found = slurm_option_find(name, &err);
    if (found < 0 ||
        slurm_option_read((enum slurm_option)found, value, time(NULL), NULL, &err) < 0) {
        sbatch_refuse(&import->script, option, "%s", err.message);
    } else {
        text_addf(&import->slurm, "      %s: ", name);
        write_scalar(&import->slurm, value);
        text_add(&import->slurm, "\n");
    }
    free(name);
}

static void keep_env(struct import *import, const char *name, const char *value)
{
    text_addf(&import->env, "      %s: ", name);
    write_scalar(&import->env, value);
    text_add(&import->env, "\n");
}

static void take_dependency(struct import *import)
{
    const char *value = value_of(import, "dependency");
    bool has_number = strpbrk(value, "0123456789") != NULL;
    bool is_singleton = text_equal(value, "singleton");
    if (import->before && !has_number && !is_singleton)
        return; /* that is the phase before */
    if (import->before)
        sbatch_warn(&import->script, "dependency",
                    "begins when %s has succeeded; '%s' is kept beside that", import->before,
                    value);
    if (has_number || is_singleton)
        keep_slurm(import, "dependency", value);
    else
        sbatch_refuse(&import->script, "dependency", "'%s' names no job", value);
}

/* "ALL,A=1,B": the whole environment is taken anyway, so only what has a value matters. */
static void take_export(struct import *import)
{
    const char *value = value_of(import, "export");
    bool has_all = !*value;
    for (const char *at = value; *at;) {
        size_t size = strcspn(at, ",");
        char *item = text_format("%.*s", (int)size, at), *equals = strchr(item, '=');
        has_all = has_all || text_equal(item, "ALL");
        if (equals) {
            *equals = '\0';
            if (!scope_is_name(item) || text_starts(item, "PHASED_"))
                sbatch_refuse(&import->script, "export", "'%s' cannot be set", item);
            keep_env(import, item, equals + 1);
        }
        free(item);
        at += size + (at[size] == ',');
    }
    if (!has_all)
        sbatch_warn(&import->script, "export",
                    "the program gets the whole environment of the shell where it is submitted");
}

static void take_exclusive(struct import *import)
{
    const char *value = value_of(import, "exclusive");
    if (*value)
        sbatch_refuse(&import->script, "exclusive", "'%s': only whole nodes are known here", value);
    else
        keep_slurm(import, "exclusive", "true");
}

static void take_nice(struct import *import)
{
    const char *value = value_of(import, "nice");
    keep_slurm(import, "nice", *value ? value : "100");
}

static void take_signal(struct import *import)
{
    sbatch_warn(&import->script, "signal",
                "'%s': say under `checkpoint:` what the program saves, and it is told in time",
                value_of(import, "signal"));
}

static void take_share(struct import *import)
{
    keep_slurm(import, "oversubscribe", "true");
}

/* Those that stay what they are: flags are true. */
static void take_slurm(struct import *import, const struct sbatch_option *option)
{
    const char *value = value_of(import, option->name);
    keep_slurm(import, option->name, option->value == SBATCH_NONE ? "true" : value);
}

/* Of the options that have a place of their own in a phase, those with a function; the others are
 * read where they are written. */
static const struct {
    const char *name;
    void (*take)(struct import *import);
} own_options[] = {
    {"dependency", take_dependency}, {"exclusive", take_exclusive},
    {"export", take_export},         {"nice", take_nice},
    {"share", take_share},           {"signal", take_signal},
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
        case SBATCH_SHAPE:   /* sbatch_shape_read() */
        case SBATCH_DROPPED: /* nothing is lost */
            break;
        }
    }
    if (import->shape.gres.size)
        keep_slurm(import, "gres", text_string(&import->shape.gres));
}

static int64_t minutes_of(const struct import *import)
{
    const char *value = value_of(import, "time");
    int64_t minutes = TIME_DEFAULT_MIN;
    struct error err;
    if (!value)
        spec_problems_add(import->script.problems, SPEC_WARNING, 1, 1, "time",
                          "not given: 24h, or less where the partition allows no more");
    else if (slurm_option_read(SLURM_OPTION_TIME_MIN, value, 0, &minutes, &err) < 0)
        sbatch_refuse(&import->script, "time", "%s", err.message);
    return minutes;
}

/* --- The phase ---------------------------------------------------------------------------------*/

static void add_duration(struct text *spec, int64_t minutes)
{
    if (minutes % 60)
        text_addf(spec, "%" PRId64 "m", minutes);
    else
        text_addf(spec, "%" PRId64 "h", minutes / 60);
}

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
    text_add(spec, ", time: ");
    add_duration(spec, minutes_of(import));
    text_add(spec, "}\n");
}

static void add_logs(const struct import *import, struct text *spec)
{
    const char *output = value_of(import, "output"), *error = value_of(import, "error");
    if (!output && !error)
        return;
    text_add(spec, "    # What it prints is shown by `phasectl logs`; it went to ");
    write_comment(spec, output ? output : error);
    if (output && error) {
        text_add(spec, " and ");
        write_comment(spec, error);
    }
    text_add(spec, ".\n");
}

/* Only the user knows what the program saves. */
static void add_checkpoint(const struct import *import, struct text *spec)
{
    const char *given = value_of(import, "signal");
    if (!given)
        return;
    const char *signal = strchr(given, ':') ? strchr(given, ':') + 1 : given;
    const char *at = strchr(signal, '@');
    if (text_starts(signal, "SIG"))
        signal += strlen("SIG");
    char *name = text_format("%.*s", (int)strcspn(signal, "@"), signal);
    text_add(spec, "    # checkpoint: {path: \"$PHASED_OUT/*_{step}*\", stop_signal: ");
    write_comment(spec, name);
    text_add(spec, ", save_time: ");
    write_comment(spec, at ? at + 1 : "60");
    text_add(spec, "s}\n");
    free(name);
}

static void add_run(const struct import *import, struct text *spec)
{
    struct text run = {0};
    write_run(&run, &import->script, &import->shape);
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
    if (import->before)
        text_addf(spec, "    after: %s\n", import->before);
    add_resources(import, spec);
    take_options(import);
    if (import->slurm.size)
        text_addf(spec, "    slurm:\n%s", text_string(&import->slurm));
    if (import->env.size)
        text_addf(spec, "    env:\n%s", text_string(&import->env));
    if (folder && folder[0] == '/' && !write_changes_folder(&import->script)) {
        text_add(spec, "    workdir: ");
        write_scalar(spec, folder);
        text_add(spec, "\n");
    }
    add_logs(import, spec);
    add_checkpoint(import, spec);
    add_run(import, spec);
}

/* What a script does to go on by itself, and phased does for it. */
static void warn_of_body(const struct import *import)
{
    const char *body = text_string(&import->script.body);
    static const struct {
        const char *word, *message;
    } words[] = {
        {"scontrol requeue", "phased runs a phase again by itself: take `scontrol requeue` out"},
        {"sbatch ", "submits jobs that phased knows nothing of: make them phases"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(body, words[i].word))
            spec_problems_add(import->script.problems, SPEC_WARNING, 0, 0, "", "%s",
                              words[i].message);
}

static void import_fini(struct import *import)
{
    sbatch_script_fini(&import->script);
    sbatch_shape_fini(&import->shape);
    text_fini(&import->env);
    text_fini(&import->slurm);
    free(import->name);
}

/* The workflow's name may have `-` and `.` too, but what is a phase's name will do. */
static void add_head(const struct import *first, size_t count, struct text *spec)
{
    text_addf(spec, "# Written by `phasectl import` from %s.\n",
              count == 1 ? "an sbatch script" : "sbatch scripts");
    text_addf(spec, "name: %s\nphases:\n", first->name);
}

int sbatch_import(const struct sbatch_source *sources, size_t count, struct text *spec,
                  struct spec_problems *problems)
{
    struct import *imports = calloc(count, sizeof *imports);
    int result = 0;
    if (!imports)
        abort();
    for (size_t i = 0; i < count; i++) {
        struct import *import = &imports[i];
        sbatch_script_read(&import->script, sources[i].file, sources[i].data, sources[i].size,
                           &problems[i]);
        if (!import->script.interpreter) { /* no script at all */
            result = -EINVAL;
            continue;
        }
        sbatch_shape_read(&import->script, &import->shape);
        import->name = name_among(imports, i, name_from(title_of(&import->script)));
        import->before = i ? imports[i - 1].name : NULL; /* NULL where that was no script */
        if (i == 0)
            add_head(import, count, spec);
        add_phase(import, spec);
        warn_of_body(import);
        spec_problems_sort(&problems[i]);
        if (problems[i].error_count)
            result = -EINVAL;
    }
    for (size_t i = 0; i < count; i++)
        import_fini(&imports[i]);
    free(imports);
    return result;
}
