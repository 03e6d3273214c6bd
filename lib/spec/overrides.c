/* Reading and applying `--set`, and what remedies change. */
#include "lib/spec/overrides.h"

#include "lib/memory.h"
#include "lib/spec/matrix.h"
#include "lib/spec/phase.h"
#include "lib/spec/phases.h"
#include "lib/spec/scope.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct overrides_item {
    const char *phase; /* NULL: all phases */
    struct yaml_node *param;
    bool is_exact; /* not for the members of the matrix `phase` */
};

static struct yaml_node *overrides_params(const struct phases_entry *phase)
{
    return yaml_get(phase->node, "params");
}

static bool overrides_concerns(const struct overrides_item *item, const struct phases_entry *phase)
{
    return !item->phase || text_equal(item->phase, phase->name) ||
           (!item->is_exact && phase->matrix && text_equal(item->phase, phase->matrix));
}

static void overrides_add_names(const struct yaml_node *params, const char **names, size_t *count)
{
    for (size_t i = 0; params && params->kind == YAML_MAP && i < params->count; i++)
        names[(*count)++] = params->items[i]->key;
}

static bool overrides_has_phase(const struct overrides_item *item, const struct phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        if (overrides_concerns(item, &phases->entries[i]))
            return true;
    }
    return false;
}

/* Reports that no phase has the param, and suggests the nearest one. */
static void overrides_report(const struct overrides_item *item, const struct phases *phases,
                             struct spec_problems *problems)
{
    size_t count = 0, capacity = 1;
    for (size_t i = 0; i < phases->count; i++)
        capacity += overrides_params(&phases->entries[i])
                        ? overrides_params(&phases->entries[i])->count
                        : 0;
    const char **names = xcalloc(capacity, sizeof *names);
    for (size_t i = 0; i < phases->count; i++) {
        if (overrides_concerns(item, &phases->entries[i]))
            overrides_add_names(overrides_params(&phases->entries[i]), names, &count);
    }
    const char *nearest = spec_problems_nearest(problems, item->param->key, names, count);
    const char *phase = item->phase ? item->phase : "";
    if (!overrides_has_phase(item, phases))
        yaml_problem(problems, item->param, "no phase is called %s", phase);
    else
        yaml_problem(problems, item->param, "%s%s has no such param%s%s%s",
                     item->phase ? "phase " : "the workflow", phase,
                     nearest ? " (did you mean " : "", nearest ? nearest : "", nearest ? "?)" : "");
    free(names);
}

static bool overrides_is_wanted(const struct overrides_item *item, const struct phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        if (overrides_concerns(item, &phases->entries[i]) &&
            yaml_get(overrides_params(&phases->entries[i]), item->param->key))
            return true;
    }
    return false;
}

struct yaml_node *overrides_param(struct yaml_arena *arena, const char *name, const json_t *value)
{
    struct yaml_node *param = yaml_new(arena, YAML_SCALAR);
    struct text text = {0};
    phase_value_text(value, &text);
    param->is_plain = !json_is_string(value);
    param->key = yaml_text(arena, name, strlen(name));
    if (json_is_string(value)) { /* a $ in the value is not a reference */
        char *plain = text_steal(&text);
        scope_add_plain(&text, plain);
        free(plain);
    }
    param->text = yaml_text(arena, text_string(&text), text.size);
    text_fini(&text);
    return param;
}

/* Reports a param that is one of a matrix, because all members would then be alike. Returns whether
 * it is one. */
static bool overrides_is_axis(const struct overrides_item *item, const struct phases *phases,
                              struct spec_problems *problems)
{
    for (size_t i = 0; i < phases->written_count; i++) {
        const struct phases_entry *phase = &phases->entries[i];
        if (!overrides_concerns(item, phase) || !matrix_sets(phase, item->param->key))
            continue;
        yaml_problem(problems, item->param, "the matrix of %s sets this param%s", phase->name,
                     item->phase ? "" : ": say for which phase, as in PHASE.PARAM=VALUE");
        return true;
    }
    return false;
}

/* Adds the param if a phase has it. `origin_name` says where the param was given. */
static void overrides_add(struct overrides *overrides, struct yaml_arena *arena,
                          const char *origin_name, const char *phase, bool is_exact,
                          struct yaml_node *param, const struct phases *phases,
                          struct spec_problems *problems)
{
    struct yaml_node *root = yaml_new(arena, YAML_MAP), *origin = yaml_new(arena, YAML_MAP);
    origin->key = origin_name;
    root->key = phase;
    root->parent = origin;
    param->parent = root;
    struct overrides_item *item = &overrides->items[overrides->count];
    *item = (struct overrides_item){.phase = phase, .param = param, .is_exact = is_exact};
    if (!is_exact && overrides_is_axis(item, phases, problems))
        return;
    if (overrides_is_wanted(item, phases))
        overrides->count++;
    else
        overrides_report(item, phases, problems);
}

/* Warns if a text takes the place of a number, which is often a slip: `lr=le-4`. */
static void overrides_check_kind(struct yaml_node *param, const char *phase,
                                 const struct phases *phases, struct spec_problems *problems)
{
    const struct overrides_item item = {.phase = phase, .param = param};
    json_t *value = yaml_value(param);
    bool is_text = json_is_string(value) && param->text[0] != '=' && !strchr(param->text, '$');
    json_decref(value);
    for (size_t i = 0; is_text && i < phases->count; i++) {
        const struct phases_entry *entry = &phases->entries[i];
        const struct yaml_node *before =
            overrides_concerns(&item, entry) ? yaml_get(overrides_params(entry), param->key) : NULL;
        if (!before || before->kind != YAML_SCALAR)
            continue;
        json_t *number = yaml_value(before);
        bool is_number = json_is_number(number);
        json_decref(number);
        if (!is_number)
            continue;
        yaml_warning_at(problems, param, 0,
                        "the file has the number %.40s here, and %.40s is a text", before->text,
                        param->text);
        return;
    }
}

/* Adds a value that `--set` gave to `name`, of this many bytes: a param, or PHASE.PARAM. */
static void overrides_add_set(struct overrides *overrides, struct yaml_arena *arena,
                              const char *name, size_t size, const char *value,
                              const struct phases *phases, struct spec_problems *problems)
{
    const char *key = yaml_text(arena, name, size), *dot = strchr(key, '.');
    struct yaml_node *param = yaml_new(arena, YAML_SCALAR);
    param->key = dot ? dot + 1 : key;
    param->text = value;
    param->is_plain = true;
    overrides_add(overrides, arena, "--set",
                  dot ? yaml_text(arena, key, (size_t)(dot - key)) : NULL, false, param, phases,
                  problems);
    overrides_check_kind(param, param->parent->key, phases, problems);
}

void overrides_init(struct overrides *overrides, struct yaml_arena *arena,
                    const struct spec_overrides *given, const struct phases *phases,
                    struct spec_problems *problems)
{
    size_t count = given ? given->count : 0,
           change_count = given ? json_array_size(given->changes) : 0;
    json_t *set = given ? (json_t *)given->set : NULL, *value;
    const char *name;
    *overrides =
        (struct overrides){.items = xcalloc(count + json_object_size(set) + change_count + 1,
                                            sizeof *overrides->items)};
    for (size_t i = 0; i < count; i++) {
        const char *text = given->texts[i], *equals = strchr(text, '=');
        if (!equals || equals == text) {
            spec_problems_add(problems, SPEC_ERROR, 0, 0, "--set",
                              "must be param=value or phase.param=value: %.100s", text);
            continue;
        }
        overrides_add_set(overrides, arena, text, (size_t)(equals - text), equals + 1, phases,
                          problems);
    }
    json_object_foreach(set, name, value)
    {
        overrides_add_set(overrides, arena, name, strlen(name), json_string_value(value), phases,
                          problems);
    }
    for (size_t i = 0; i < change_count; i++) {
        const json_t *change = json_array_get(given->changes, i);
        const char *phase = json_string_value(json_object_get(change, "phase"));
        const char *param = json_string_value(json_object_get(change, "param"));
        overrides_add(overrides, arena, "remedies", phase, true,
                      overrides_param(arena, param, json_object_get(change, "value")), phases,
                      problems);
    }
}

void overrides_fini(struct overrides *overrides)
{
    free(overrides->items);
    *overrides = (struct overrides){0};
}

const struct yaml_node *overrides_apply(const struct overrides *overrides, struct yaml_arena *arena,
                                        const struct phases_entry *phase)
{
    const struct yaml_node *params = overrides_params(phase);
    struct yaml_node *changed = NULL;
    for (size_t i = 0; i < overrides->count; i++) {
        const struct overrides_item *item = &overrides->items[i];
        if (!overrides_concerns(item, phase) || !yaml_get(params, item->param->key))
            continue;
        if (!changed)
            changed = yaml_copy_map(arena, params);
        yaml_replace(arena, changed, item->param);
    }
    return changed ? changed : params;
}
