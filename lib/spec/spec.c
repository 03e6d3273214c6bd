/* From the text of a workflow to its resolved document: calls the readers in their order. */
#include "lib/spec/spec.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/by_gpu.h"
#include "lib/spec/colocate.h"
#include "lib/spec/hide.h"
#include "lib/spec/keys.h"
#include "lib/spec/matrix.h"
#include "lib/spec/names.h"
#include "lib/spec/notify.h"
#include "lib/spec/options.h"
#include "lib/spec/overrides.h"
#include "lib/spec/phases.h"
#include "lib/spec/rehearsal.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/sections.h"
#include "lib/spec/slurm_options.h"
#include "lib/spec/trial.h"
#include "lib/spec/variants.h"
#include "lib/spec/yaml.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPEC_NAME_MAX = 64,
    SPEC_MEMBERS_TRIED_MAX = 8, /* remedies of this many members of a matrix are tried */
};

/* The state of one parse. */
struct spec_reader {
    struct spec_problems *problems;
    struct yaml_arena arena;
    size_t expanded;                  /* see scope_init() */
    struct yaml_node *root;           /* the root, with the variants that are wanted */
    const struct yaml_node *variants; /* or NULL */
    size_t variants_errors; /* errors in the variants themselves, which do not hide other errors */
    struct phases phases;
    struct scope outside; /* the scope of the file as a whole, where there are no params */
    const struct spec_overrides *given; /* or NULL */
    const json_t *price;                /* or NULL */
    bool counts_dollars;                /* there is a budget in dollars */
    const struct spec_probe *probe;     /* or NULL */
    struct overrides overrides;
    const struct yaml_node **params; /* the params of each phase, with --set */
    json_t **resolved;               /* each phase, or NULL */
    json_t **varying; /* for each phase, the names of its params that depend on the GPU */
    size_t tried;     /* see struct trial */
};

static bool spec_is_workflow_name(const char *name)
{
    size_t size = strlen(name);
    return size <= SPEC_NAME_MAX && isalnum((unsigned char)name[0]) &&
           text_name_size(name, "_-.") == size;
}

/* --- Keys of the workflow --------------------------------------------------------------------- */

static void spec_set(json_t *workflow, const char *key, json_t *value)
{
    if (value)
        (void)json_object_set_new(workflow, key, value);
}

static void spec_read_name(struct spec_reader *reader, const struct yaml_node *node,
                           json_t *workflow)
{
    if (!node && !keys_is_misspelt(reader->root, KEYS_WORKFLOW, "name"))
        yaml_missing(reader->problems, reader->root, "name", "missing: the name of the workflow");
    else if (node && (node->kind != YAML_SCALAR || !spec_is_workflow_name(node->text)))
        yaml_problem(reader->problems, node,
                     "must be a name of at most %d letters (a-z, A-Z), digits, _, - and .",
                     SPEC_NAME_MAX);
    else if (node)
        spec_set(workflow, "name", json_string(node->text));
}

static void spec_read_price(struct spec_reader *reader, const struct yaml_node *node,
                            json_t *workflow)
{
    spec_set(workflow, "price", options_read_price(&reader->outside, node));
}

static void spec_read_notify(struct spec_reader *reader, const struct yaml_node *node,
                             json_t *workflow)
{
    spec_set(workflow, "notify", notify_read(&reader->outside, node, false));
}

static void spec_read_expect(struct spec_reader *reader, const struct yaml_node *node,
                             json_t *workflow)
{
    const json_t *price = json_object_get(workflow, "price");
    spec_set(workflow, "expect", options_read_expect(&reader->outside, node, price));
}

static void spec_read_budget(struct spec_reader *reader, const struct yaml_node *node,
                             json_t *workflow)
{
    const json_t *price = json_object_get(workflow, "price");
    json_t *budget = options_read_budget(&reader->outside, node, price);
    if (json_object_size(budget))
        spec_set(workflow, "budget", json_incref(budget));
    json_decref(budget);
}

/* The variants have been put over the file; the document keeps their names. */
static void spec_read_variants(struct spec_reader *reader, const struct yaml_node *node,
                               json_t *workflow)
{
    json_t *variants = reader->given ? reader->given->variants : NULL;
    (void)node;
    if (json_array_size(variants))
        spec_set(workflow, "variants", json_incref(variants));
}

static void spec_read_code(struct spec_reader *reader, const struct yaml_node *node,
                           json_t *workflow)
{
    const struct key *key = keys_find(KEYS_WORKFLOW, "code");
    const char *word = node ? scalar_choice(&reader->outside, node, key->type.words) : NULL;
    if (word && !text_equal(word, key->type.words[0]))
        spec_set(workflow, "code", json_string(word));
}

static void spec_read_secrets(struct spec_reader *reader, const struct yaml_node *node,
                              json_t *workflow)
{
    json_t *names = json_array();
    if (node && node->kind != YAML_LIST)
        yaml_problem(reader->problems, node, "must be a list of variables");
    for (size_t i = 0; node && node->kind == YAML_LIST && i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        if (item->kind != YAML_SCALAR || !scope_is_name(item->text) ||
            text_equal(item->text, "PATH") || text_equal(item->text, "HOME"))
            yaml_problem(reader->problems, item,
                         "must be the name of a variable that can be secret");
        else
            (void)json_array_append_new(names, json_string(item->text));
    }
    if (json_array_size(names))
        spec_set(workflow, "secrets", json_incref(names));
    json_decref(names);
}

static const struct {
    const char *name;
    void (*read)(struct spec_reader *reader, const struct yaml_node *node, json_t *workflow);
} spec_readers[] = {
#define WORKFLOW_KEY(name, type, merge, reader, help) {name, reader},
#include "lib/spec/keys.def"
};

/* --- What the machine knows ------------------------------------------------------------------- */

/* Returns the offset of the first character of line `number` that is not a space. */
static size_t spec_line_offset(const char *text, unsigned number)
{
    const char *at = text;
    for (unsigned line = 1; line < number; line++) {
        const char *end = strchr(at, '\n');
        if (!end || !end[1])
            break; /* bash counts the end as a line */
        at = end + 1;
    }
    return (size_t)(at - text) + strspn(at, " \t");
}

static void spec_probe_script(const struct spec_probe *probe, struct spec_problems *problems,
                              const struct yaml_node *node)
{
    unsigned line = 1;
    if (!node || node->kind != YAML_SCALAR || node->is_cut)
        return;
    char *message = probe->script(probe->context, node->text, &line);
    if (message && (node->is_block || node->is_exact))
        yaml_problem_at(problems, node, spec_line_offset(node->text, line), "bash: %.300s",
                        message);
    else if (message)
        yaml_problem(problems, node, "bash, in line %u of the script: %.300s", line, message);
    free(message);
}

static void spec_probe_path(const struct spec_probe *probe, struct spec_problems *problems,
                            const struct yaml_node *node, const json_t *json, bool is_folder)
{
    const char *path = json_string_value(json);
    const char *reason =
        node && path && path[0] == '/' ? probe->path(probe->context, path, is_folder) : NULL;
    if (reason && !strchr(path, '$'))
        yaml_warning_at(problems, node, 0, "%s: %s on this machine", path, reason);
}

static void spec_probe_deadline(const struct spec_probe *probe, struct spec_problems *problems,
                                const struct yaml_node *node, const json_t *json)
{
    const char *text = json_string_value(json);
    int64_t deadline;
    struct error err;
    if (node && text &&
        slurm_option_read(SLURM_OPTION_DEADLINE, text, probe->now, &deadline, &err) == 0 &&
        deadline < probe->now)
        yaml_problem(problems, node, "is in the past, so Slurm would refuse the job");
}

static void spec_probe_phase(const struct spec_probe *probe, struct spec_problems *problems,
                             const struct yaml_node *phase, const json_t *json)
{
    if (!probe)
        return;
    problems->is_probing = true;
    spec_probe_script(probe, problems, yaml_get(phase, "run"));
    spec_probe_script(probe, problems, yaml_get(phase, "join"));
    spec_probe_path(probe, problems, yaml_get(phase, "workdir"), json_object_get(json, "workdir"),
                    true);
    spec_probe_path(probe, problems, yaml_get(yaml_get(phase, "shard"), "input"),
                    json_object_get(json_object_get(json, "shard"), "input"), false);
    spec_probe_deadline(probe, problems, yaml_get(yaml_get(phase, "slurm"), "deadline"),
                        json_object_get(json_object_get(json, "slurm"), "deadline"));
    problems->is_probing = false;
}

/* --- Phases ----------------------------------------------------------------------------------- */

/* Lists the phases before the phase `index`. The caller frees the array. */
static struct scope_before *spec_list_before(const struct spec_reader *reader, size_t index,
                                             size_t *ret_count)
{
    const struct phases_entry *entry = &reader->phases.entries[index];
    struct scope_before *before = xcalloc(reader->phases.count + 1, sizeof *before);
    size_t count = 0;
    for (size_t i = 0; i < reader->phases.count; i++) {
        if (!entry->is_before[i] || !reader->resolved[i])
            continue;
        before[count++] = (struct scope_before){
            .phase = reader->phases.entries[i].name,
            .params_node = reader->params[i],
            .params = json_object_get(reader->resolved[i], "params"),
            .varying = reader->varying[i],
            .lacks_checkpoint = json_is_null(json_object_get(reader->resolved[i], "checkpoint")),
            .lacks_best = reader->phases.entries[i].member_count > 0 &&
                          !yaml_get(reader->phases.entries[i].node, "best"),
        };
    }
    *ret_count = count;
    return before;
}

static void spec_read_phase(struct spec_reader *reader, size_t index)
{
    const struct phases_entry *entry = &reader->phases.entries[index];
    const struct yaml_node *params =
        yaml_map(reader->problems, overrides_apply(&reader->overrides, &reader->arena, entry),
                 "a map of params");
    const struct yaml_node *written_params = yaml_get(entry->node, "params");
    size_t before_count, error_count = reader->problems->error_count;
    struct scope_before *before = spec_list_before(reader, index, &before_count);
    struct scope scope, written;
    struct spec_problems ignored = {0}; /* problems of params that --set replaces */
    scope_init(&scope, reader->problems, &reader->expanded, params, before, before_count);
    scope_init(&written, &ignored, &reader->expanded, params ? written_params : NULL, before,
               before_count);
    scope.lacks_before = entry->lacks_before;
    scope.env = yaml_get(entry->node, "env");
    json_t *after = json_array(), *json = json_object();
    for (size_t i = 0; i < entry->after_count; i++)
        (void)json_array_append_new(after,
                                    json_string(reader->phases.entries[entry->after[i]].name));
    (void)json_object_set_new(json, "name", json_string(entry->name));
    (void)json_object_set_new(json, "after", after);
    (void)json_object_set_new(json, "params", scope_params(&scope));
    json_t *beside =
        entry->beside ? reader->resolved[entry->beside - reader->phases.entries] : NULL;
    struct sections sections = {
        .scope = &scope,
        .written = params == written_params ? NULL : &written,
        .phase = entry->node,
        .lacks_base = entry->lacks_base,
    };
    colocate_take_over(entry, beside, &sections);
    sections_read(&sections, json);
    options_check_price(reader->problems, yaml_get(entry->node, "resources"),
                        json_object_get(json, "resources"), reader->price, reader->counts_dollars);
    json_t *expect = options_read_expect(&scope, yaml_get(entry->node, "expect"), reader->price);
    if (expect)
        (void)json_object_set_new(json, "expect", expect);
    colocate_settle(entry, json, beside, reader->problems);
    matrix_read(&scope, &reader->phases, entry, json);
    if (!entry->matrix) { /* a member has the checks of its matrix */
        names_check(reader->problems, entry->node, json);
        spec_probe_phase(reader->probe, reader->problems, entry->node, json);
    }
    reader->params[index] = params;
    reader->resolved[index] = json;
    scope_fini(&scope);
    scope_fini(&written);
    spec_problems_fini(&ignored);
    const struct trial trial = {.arena = &reader->arena,
                                .problems = reader->problems,
                                .expanded = &reader->expanded,
                                .nodes = &reader->tried,
                                .entry = entry,
                                .beside = beside,
                                .params = params,
                                .written = written_params,
                                .before = before,
                                .before_count = before_count};
    bool is_tried = entry->member_count == 0 && entry->number <= SPEC_MEMBERS_TRIED_MAX;
    json_t *by_gpu = NULL;
    if (params && is_tried && reader->problems->error_count == error_count)
        trial_remedies(&trial, yaml_get(entry->node, "remedies"), json);
    if (reader->problems->error_count == error_count)
        by_gpu = by_gpu_read(&trial, &reader->overrides, json);
    (void)json_object_set_new(json, "by_gpu", by_gpu ? by_gpu : json_array());
    reader->varying[index] = by_gpu_varying_params(json);
    free(before);
}

/* Whether a variant replaces `run`, for example by a test program. Then the params of the file may
 * be unused. */
static bool spec_is_replaced(const struct phases_entry *entry, const struct yaml_node *param)
{
    const struct yaml_node *run = yaml_get(entry->node, "run");
    const char *variant = run ? variants_name(run) : NULL;
    const char *own = variants_name(param);
    return variant && !(own && text_equal(own, variant));
}

/* Params are shared between phases by extends and defaults, so this waits until all are read. */
static void spec_warn_of_unused(struct spec_reader *reader)
{
    for (size_t i = 0; i < reader->phases.written_count; i++) {
        const struct yaml_node *params = reader->params[i];
        for (size_t j = 0; params && j < params->count; j++) {
            const struct yaml_node *node = params->items[j];
            if (node->kind == YAML_SCALAR && !node->is_used && node->line &&
                !reader->phases.entries[i].lacks_base &&
                !spec_is_replaced(&reader->phases.entries[i], node))
                yaml_key_warning(reader->problems, node, "nothing uses it: run has no $%s",
                                 node->key);
        }
    }
}

static void spec_read_phases(struct spec_reader *reader, const struct spec_overrides *overrides)
{
    size_t count = reader->phases.count;
    overrides_init(&reader->overrides, &reader->arena, overrides, &reader->phases,
                   reader->problems);
    reader->params = xcalloc(count + 1, sizeof *reader->params);
    reader->resolved = xcalloc(count + 1, sizeof *reader->resolved);
    reader->varying = xcalloc(count + 1, sizeof *reader->varying);
    for (size_t i = 0; i < count; i++)
        spec_read_phase(reader, reader->phases.order[i]);
    spec_warn_of_unused(reader);
}

static void spec_reader_fini(struct spec_reader *reader)
{
    for (size_t i = 0; reader->varying && i < reader->phases.count; i++) {
        json_decref(reader->resolved[i]);
        json_decref(reader->varying[i]);
    }
    free(reader->resolved);
    free(reader->varying);
    free(reader->params);
    overrides_fini(&reader->overrides);
    phases_fini(&reader->phases);
    yaml_arena_fini(&reader->arena);
}

/* Returns the document, which is complete only if there are no errors. */
static json_t *spec_read(struct spec_reader *reader)
{
    const struct spec_overrides *overrides = reader->given;
    if (reader->root->kind != YAML_MAP) {
        spec_problems_add(reader->problems, SPEC_ERROR, reader->root->line, reader->root->column,
                          "",
                          "must be a map: a workflow has a name and phases (a batch script begins "
                          "with #!)");
        return NULL;
    }
    keys_check(reader->problems, reader->root, KEYS_WORKFLOW);
    hide_check(reader->root, reader->problems);
    reader->variants = yaml_get(reader->root, "variants");
    size_t error_count = reader->problems->error_count;
    reader->root = variants_apply(&reader->arena, reader->root,
                                  overrides ? overrides->variants : NULL, reader->problems);
    reader->variants_errors = reader->problems->error_count - error_count;
    json_t *workflow = json_object(), *phases = json_array();
    scope_init(&reader->outside, reader->problems, &reader->expanded, NULL, NULL, 0);
    for (size_t i = 0; i < sizeof spec_readers / sizeof spec_readers[0]; i++) {
        if (spec_readers[i].read)
            spec_readers[i].read(reader, yaml_get(reader->root, spec_readers[i].name), workflow);
    }
    scope_fini(&reader->outside);
    (void)json_object_set_new(workflow, "phases", phases);
    reader->price = json_object_get(workflow, "price");
    reader->counts_dollars = json_object_get(json_object_get(workflow, "budget"), "usd") != NULL;
    if (phases_init(&reader->phases, &reader->arena, reader->root,
                    overrides && overrides->rehearsal_steps, reader->problems) < 0)
        return workflow;
    spec_read_phases(reader, overrides);
    for (size_t i = 0; i < reader->phases.count; i++)
        (void)json_array_append(phases, reader->resolved[reader->phases.order[i]]);
    return workflow;
}

/* Resolves the file with each variant; their errors are added to the problems. */
static void spec_try_variants(const struct spec_reader *reader, const char *data, size_t size)
{
    const struct yaml_node *variants = reader->variants;
    struct spec_problems *problems = reader->problems;
    for (size_t i = 0; variants && i < variants->count; i++) {
        const char *name = variants->items[i]->key;
        const struct spec_overrides overrides = {.variants = json_pack("[s]", name),
                                                 .probe = reader->probe};
        struct spec_problems tried = {0};
        json_t *json = NULL;
        if (spec_parse(problems->file, data, size, &overrides, &json, &tried) == 0)
            json_decref(json);
        for (size_t j = 0; j < tried.count; j++) {
            const struct spec_problem *problem = &tried.items[j];
            if (problem->severity == SPEC_ERROR)
                spec_problems_add(problems, SPEC_ERROR, problem->line, problem->column,
                                  problem->path, "%s (with variant %s)", problem->message, name);
        }
        spec_problems_fini(&tried);
        json_decref(overrides.variants);
    }
}

/* A workflow that is rehearsed must be correct as a whole, so errors in matrices and remedies are
 * reported too. Warnings come from the second parse, so that each is reported once. */
static int spec_check_rehearsed(const char *file, const char *data, size_t size,
                                const struct spec_overrides *overrides,
                                struct spec_problems *problems)
{
    struct spec_overrides real = *overrides;
    json_t *json = NULL;
    real.rehearsal_steps = 0;
    int status = spec_parse(file, data, size, &real, &json, problems);
    json_decref(json);
    if (status < 0)
        return status;
    spec_problems_fini(problems);
    *problems = (struct spec_problems){0};
    return 0;
}

int spec_parse(const char *file, const char *data, size_t size,
               const struct spec_overrides *overrides, json_t **ret_json,
               struct spec_problems *problems)
{
    unsigned rehearsal_steps = overrides ? overrides->rehearsal_steps : 0;
    if (rehearsal_steps && spec_check_rehearsed(file, data, size, overrides, problems) < 0)
        return -EINVAL;
    struct spec_reader reader = {
        .problems = problems, .given = overrides, .probe = overrides ? overrides->probe : NULL};
    json_t *workflow = NULL;
    free(problems->file);
    problems->file = xstrdup(file);
    if (size > SPEC_SIZE_MAX)
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "larger than %d bytes", SPEC_SIZE_MAX);
    else if (yaml_read(&reader.arena, data, size, problems, &reader.root) == 0)
        workflow = spec_read(&reader);
    if (workflow && problems->error_count == reader.variants_errors && overrides &&
        overrides->try_variants)
        spec_try_variants(&reader, data, size);
    if (workflow && !problems->error_count && rehearsal_steps)
        rehearsal_apply(workflow, rehearsal_steps, problems);
    spec_reader_fini(&reader);
    spec_problems_sort(problems);
    if (problems->error_count || !workflow) {
        json_decref(workflow);
        return -EINVAL;
    }
    *ret_json = workflow;
    return 0;
}
