/* Writes the parts of a phase that come from a script. */
#include "lib/sbatch/write.h"

#include "lib/error.h"
#include "lib/sbatch/array.h"
#include "lib/sbatch/import.h"
#include "lib/sbatch/output.h"
#include "lib/sbatch/script.h"
#include "lib/sbatch/shape.h"
#include "lib/sbatch/signal.h"
#include "lib/spec/scope.h"
#include "lib/spec/script.h"
#include "lib/spec/slurm_options.h"
#include "lib/spec/yaml.h"
#include "lib/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

/* --- YAML ------------------------------------------------------------------------------------- */

static bool is_plain(const char *value)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "~"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0)
            return text_equal(value, "true");
    return (isalnum((unsigned char)value[0]) || value[0] == '/') &&
           !value[text_name_size(value, "_-./+@")];
}

/* Whether YAML takes the string unchanged: it has no control characters, no other line ends of
 * Unicode (U+0085, U+2028, U+2029), no byte order mark, and not too many empty lines in a row. */
static bool is_text(const char *string)
{
    unsigned blank_lines = 0;
    for (const char *at = string; *at; at++) {
        if (((unsigned char)*at < ' ' && *at != '\t' && *at != '\n') || *at == 0x7f)
            return false;
        if (!isspace((unsigned char)*at))
            blank_lines = 0;
        else if (*at == '\n' && ++blank_lines == YAML_BLANK_LINES_MAX)
            return false;
    }
    static const char *const others[] = {"\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9",
                                         "\xef\xbb\xbf"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(string, others[i]))
            return false;
    return true;
}

/* A JSON string is also a YAML string, if YAML allows all of its characters. */
static void write_quoted(struct text *text, const char *value)
{
    size_t flags = JSON_ENCODE_ANY | (is_text(value) ? 0 : JSON_ENSURE_ASCII);
    json_t *string = json_string(value);
    char *dump = string ? json_dumps(string, flags) : NULL;
    for (const char *at = dump ? dump : "\"\""; *at; at++)
        if (*at == 0x7f)
            text_add(text, "\\u007f");
        else
            text_add_bytes(text, at, 1);
    free(dump);
    json_decref(string);
}

static void write_scalar(struct text *text, const char *value)
{
    if (is_plain(value))
        text_add(text, value);
    else
        write_quoted(text, value);
}

void write_unexpanded(struct text *text, const char *value)
{
    struct text doubled = {0};
    scope_add_plain(&doubled, value);
    write_scalar(text, text_string(&doubled));
    text_fini(&doubled);
}

void write_comment(struct text *text, const char *words)
{
    for (const char *at = words; *at; at++)
        if ((unsigned char)*at >= ' ' && *at != 0x7f)
            text_add_bytes(text, at, 1);
}

void write_block(struct text *text, const struct text *lines)
{
    if (!is_text(text_string(lines))) {
        write_quoted(text, text_string(lines));
        text_add(text, "\n");
        return;
    }
    text_add(text, "|2\n"); /* indented by two more than the key, whatever the first line begins
                             * with */
    for (const char *at = text_string(lines); *at;) {
        size_t size = strcspn(at, "\n");
        if (size)
            text_addf(text, "      %.*s", (int)size, at);
        text_add(text, "\n");
        at += size + (at[size] == '\n');
    }
}

/* --- run -------------------------------------------------------------------------------------- */

/* Whether the interpreter is bash without options, which also starts `run`. */
static bool is_bash(const char *interpreter)
{
    static const char *const names[] = {"/bin/bash", "/usr/bin/bash", "/usr/bin/env bash",
                                        "/bin/env bash", "/usr/local/bin/bash"};
    const char *begin = interpreter + strspn(interpreter, " \t");
    size_t size = strlen(begin);
    while (size && strchr(" \t", begin[size - 1]))
        size--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && strncmp(begin, names[i], size) == 0)
            return true;
    return false;
}

bool write_changes_folder(const struct sbatch_script *script)
{
    const char *folder = sbatch_given(script, "chdir")->value;
    return folder &&
           (folder[0] != '/' || script_uses(text_string(&script->body), "SLURM_SUBMIT_DIR"));
}

/* Writes Slurm's distribution of tasks over nodes, such as "2(x3),1". */
static void write_tasks_per_node(struct text *run, const struct sbatch_shape *shape, bool is_full)
{
    uint32_t least = is_full ? shape->tasks % shape->tasks_per_node : shape->tasks / shape->nodes;
    uint32_t more = is_full ? shape->tasks_per_node : least + 1;
    uint32_t large = is_full ? shape->tasks / more : shape->tasks % shape->nodes;
    uint32_t small = is_full ? least > 0 : shape->nodes - large;
    text_add(run, " SLURM_TASKS_PER_NODE=\"");
    if (large)
        text_addf(run, large > 1 ? "%u(x%u)" : "%u", more, large);
    if (small)
        text_addf(run, small > 1 ? "%s%u(x%u)" : "%s%u", large ? "," : "", least, small);
    text_add(run, "\"");
}

/* Writes one word for bash, without a line break. */
static void write_word(struct text *run, const char *word)
{
    if (!strchr(word, '\n')) {
        text_add_quoted(run, word);
        return;
    }
    text_add(run, "$'");
    for (const char *at = word; *at; at++)
        if (*at == '\n')
            text_add(run, "\\n");
        else
            text_addf(run, "%s%c", strchr("'\\", *at) ? "\\" : "", *at);
    text_add(run, "'");
}

static void write_variable(struct text *run, const char *name, const char *value)
{
    text_addf(run, " %s=", name);
    if (is_plain(value))
        text_add(run, value);
    else
        write_word(run, value);
}

/* Writes the options that srun inside the script reads from variables. */
static void write_wishes(struct text *run, const struct sbatch_script *script,
                         const struct sbatch_shape *shape)
{
    static const struct {
        const char *option, *variable;
    } wishes[] = {
        {"cpus-per-gpu", "SLURM_CPUS_PER_GPU"},
        {"cpus-per-task", "SLURM_CPUS_PER_TASK"},
        {"gpu-freq", "SLURM_GPU_FREQ"},
        {"gpus-per-node", "SLURM_GPUS_PER_NODE"},
        {"gpus-per-task", "SLURM_GPUS_PER_TASK"},
        {"ntasks-per-gpu", "SLURM_NTASKS_PER_GPU"},
        {"ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
        {"threads-per-core", "SLURM_THREADS_PER_CORE"},
    };
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        const char *value = sbatch_given(script, wishes[i].option)->value;
        if (value)
            write_variable(run, wishes[i].variable, value);
    }
    const char *gpus = sbatch_given(script, "gpus")->value;
    if (gpus && shape->nodes == 1)
        write_variable(run, "SLURM_GPUS", gpus);
    const char *memory = sbatch_given(script, "mem-per-gpu")->value;
    int64_t megabytes;
    struct error err;
    if (memory && slurm_option_read(SLURM_OPTION_MEM_PER_GPU, memory, 0, &megabytes, &err) == 0)
        text_addf(run, " SLURM_MEM_PER_GPU=%" PRId64, megabytes);
}

/* Without a number of tasks sbatch sets SLURM_TASKS_PER_NODE to as many as fit, and leaves the
 * number to srun. */
static void write_tasks(struct text *run, const struct sbatch_script *script,
                        const struct sbatch_shape *shape)
{
    bool is_full = sbatch_given(script, "ntasks-per-node")->value;
    if (shape->tasks) {
        text_addf(run, " SLURM_NTASKS=%u SLURM_NPROCS=%u", shape->tasks, shape->tasks);
        write_tasks_per_node(run, shape, is_full);
        return;
    }
    if (shape->cpus_per_task > 1)
        text_addf(run, " SLURM_TASKS_PER_NODE=\"$((SLURM_CPUS_ON_NODE / %u))",
                  shape->cpus_per_task);
    else
        text_add(run, " SLURM_TASKS_PER_NODE=\"$SLURM_CPUS_ON_NODE");
    if (shape->nodes > 1)
        text_addf(run, "(x%u)", shape->nodes);
    text_add(run, "\"");
}

/* Adds a comment for a person who edits the workflow. */
static void write_remark(struct text *run, const struct sbatch_script *script, const char *words)
{
    if (!script->keeps_lines)
        text_addf(run, " # %s", words);
}

/* phased asks for GPUs by node. With a total in its environment, srun would take one GPU of the
 * first node and the rest from the other nodes. The total is therefore a variable of the script
 * only. */
static void write_all_gpus(struct text *run, const struct sbatch_script *script,
                           const struct sbatch_shape *shape)
{
    const char *gpus = sbatch_given(script, "gpus")->value;
    if (!gpus || shape->nodes == 1)
        return;
    text_add(run, "declare +x");
    write_variable(run, "SLURM_GPUS", gpus);
    write_remark(run, script, "srun knows how many GPUs each node has");
    text_add(run, "\n");
}

/* Writes the variables that sbatch would set, for the script and for srun inside it. They replace
 * the variables of phased's own step. */
static void write_environment(struct text *run, const struct sbatch_script *script,
                              const struct sbatch_shape *shape)
{
    const char *name = sbatch_given(script, "job-name")->value;
    const char *slash = strrchr(script->file, '/');
    text_add(run, "unset WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK NNODES MASTER_ADDR MASTER_PORT\n"
                  "unset ${!PET_*} ${!SLURM_CPU_BIND*} ${!SLURM_STEP*} ${!SLURM_NTASKS*} "
                  "SLURM_NPROCS\n"
                  "export SLURM_RESTART_COUNT=$((${PHASED_ADDRESS##*#} - 1))\n"
                  "((SLURM_RESTART_COUNT)) || unset SLURM_RESTART_COUNT\n"
                  /* with one thread per core, the job step counts all threads */
                  "export SLURM_CPUS_ON_NODE=${SLURM_JOB_CPUS_PER_NODE%%[(,]*}\n"
                  "export SLURM_OVERLAP=1"); /* srun may run beside phased's own job step */
    write_variable(run, "SLURM_JOB_NAME", name && *name ? name : slash ? slash + 1 : script->file);
    write_tasks(run, script, shape);
    write_wishes(run, script, shape);
    if (script_uses(text_string(&script->body), "SLURM_SUBMIT_DIR"))
        text_add(run, " SLURM_SUBMIT_DIR=\"$PWD\"");
    text_add(run, "\n");
    write_all_gpus(run, script, shape);
}

/* Returns a word that no line of the script equals. */
static char *end_word(const char *body)
{
    char *word = text_format("END_OF_SCRIPT");
    for (unsigned i = 2; strstr(body, word); i++) {
        free(word);
        word = text_format("END_OF_SCRIPT_%u", i);
    }
    return word;
}

static void write_arguments(struct text *run, const struct sbatch_arguments *arguments)
{
    for (size_t i = 0; arguments && i < arguments->count; i++) {
        text_add(run, " ");
        write_word(run, arguments->items[i]);
    }
}

static void write_with_interpreter(struct text *run, const struct sbatch_script *script,
                                   const struct sbatch_arguments *arguments)
{
    const char *body = text_string(&script->body);
    char *word = end_word(body);
    text_addf(run, "cat >\"$PHASED_RUN_DIR/script\" <<'%s'\n#!%s\n%s%s\n", word,
              script->interpreter, body, word);
    text_addf(run, "exec %s \"$PHASED_RUN_DIR/script\"", script->interpreter);
    write_arguments(run, arguments);
    text_add(run, "\n");
    free(word);
}

/* Writes the part before the script. */
static void write_preamble(struct text *run, const struct write_parts *parts)
{
    const struct sbatch_script *script = parts->script;
    const struct sbatch_shape *shape = parts->shape;
    const char *folder = sbatch_given(script, "chdir")->value;
    const char *input = sbatch_given(script, "input")->value;
    if (shape->nodes > 1) {
        text_add(run, "[ \"$NODE_RANK\" = 0 ] || exit 0");
        write_remark(run, script, "a batch script runs on the first node");
        text_add(run, "\n");
    }
    write_environment(run, script, shape);
    sbatch_array_write_run(parts->array, parts->phase, run);
    if (write_changes_folder(script)) {
        text_add(run, "cd -- ");
        write_word(run, folder);
        text_add(run, "\n");
    }
    sbatch_signal_write_run(parts->signal, run);
    sbatch_output_write_run(script, parts->array->count > 0, run);
    if (input && *input) {
        text_add(run, "exec <");
        sbatch_output_add_name(run, input, parts->array->count > 0);
        text_add(run, "\n");
    }
}

void write_run(struct text *run, const struct write_parts *parts)
{
    const struct sbatch_script *script = parts->script;
    const struct sbatch_arguments *arguments = parts->arguments;
    write_preamble(run, parts);
    bool is_shell = script->interpreter && is_bash(script->interpreter);
    if (is_shell && arguments && arguments->count) {
        text_add(run, "set --");
        write_arguments(run, arguments);
        text_add(run, "\n");
    }
    if (is_shell) {
        text_add(run, "set +eu +o pipefail");
        write_remark(run, script, "as sbatch starts bash");
        text_add(run, "\n");
    }
    for (size_t i = 0; script->keeps_lines && i + 1 < run->size; i++)
        run->data[i] = run->data[i] == '\n' ? ';' : run->data[i];
    if (is_shell)
        text_add_bytes(run, text_string(&script->body), script->body.size);
    else if (script->interpreter)
        write_with_interpreter(run, script, arguments);
}
