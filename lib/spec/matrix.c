/* Expanding matrices, and reading how the best member is found. */
#include "lib/spec/matrix.h"

#include "lib/memory.h"
#include "lib/spec/checks.h"
#include "lib/spec/keys.h"
#include "lib/spec/phases.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/spec.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One map of params for each member of a matrix. */
struct matrix_cases {
    struct yaml_node **items;
    size_t count;
};

/* --- The cases -------------------------------------------------------------------------------- */

/* Makes a param as if it had been written in `params`. A problem with the param points at its place
 * in the matrix. */
static struct yaml_node *matrix_param(struct yaml_arena *arena, const struct yaml_node *value,
                                      const struct yaml_node *key)
{
    struct yaml_node *param = yaml_new(arena, YAML_SCALAR);
    *param = *value;
    param->key = key->key;
    param->key_line = key->key_line;
    param->key_column = key->key_column;
    param->parent = key->parent;
    return param;
}

static bool matrix_check_value(struct spec_problems *problems, const struct yaml_node *value)
{
    if (value->kind != YAML_SCALAR)
        yaml_problem(problems, value, "must be a number or a text");
    return value->kind == YAML_SCALAR;
}

/* How many members the axes make; 0 after a problem. */
static size_t matrix_count_axes(struct spec_problems *problems, const struct yaml_node *map)
{
    size_t count = 1;
    bool is_good = true;
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *axis = map->items[i];
        if (!scope_check_name(problems, axis)) {
            is_good = false;
        } else if (axis->kind != YAML_LIST || axis->count == 0) {
            yaml_problem(problems, axis, "must be a list of values");
            is_good = false;
        }
        for (size_t j = 0; axis->kind == YAML_LIST && j < axis->count; j++)
            is_good = matrix_check_value(problems, axis->items[j]) && is_good;
        if (is_good && count <= MATRIX_MEMBERS_MAX)
            count *= axis->count;
    }
    return is_good ? count : 0;
}

/* The last axis changes fastest, as in nested loops. */
static void matrix_multiply(struct yaml_arena *arena, const struct yaml_node *map,
                            struct matrix_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++) {
        struct yaml_node *params = yaml_new(arena, YAML_MAP);
        size_t rest = cases->count, at = i;
        for (size_t j = 0; j < map->count; j++) {
            const struct yaml_node *axis = map->items[j];
            rest /= axis->count;
            yaml_append(arena, params, matrix_param(arena, axis->items[at / rest], axis));
            at %= rest;
        }
        cases->items[i] = params;
    }
}

/* All cases need the same params, because any of them may be the best. */
static bool matrix_check_case(struct spec_problems *problems, const struct yaml_node *item,
                              const struct yaml_node *first)
{
    bool is_good = true;
    if (item->kind != YAML_MAP || item->count == 0) {
        yaml_problem(problems, item, "must be a map of params");
        return false;
    }
    for (size_t i = 0; i < item->count; i++) {
        is_good = scope_check_name(problems, item->items[i]) && is_good;
        is_good = matrix_check_value(problems, item->items[i]) && is_good;
    }
    for (size_t i = 0; is_good && first->kind == YAML_MAP && i < first->count; i++) {
        if (yaml_get_any(item, first->items[i]->key))
            continue;
        yaml_problem(problems, item, "has no %s, which the first case has", first->items[i]->key);
        is_good = false;
    }
    if (is_good && first->kind == YAML_MAP && item->count > first->count) {
        yaml_problem(problems, item, "has more params than the first case");
        is_good = false;
    }
    return is_good;
}

/* Leaves `cases` empty after a problem. */
static void matrix_read_cases(struct yaml_arena *arena, const struct yaml_node *matrix,
                              struct matrix_cases *cases, struct spec_problems *problems)
{
    size_t count = 0;
    bool is_good = true;
    if (matrix->kind == YAML_MAP && matrix->count > 0)
        count = matrix_count_axes(problems, matrix);
    else if (matrix->kind == YAML_LIST && matrix->count > 0)
        count = matrix->count;
    else
        yaml_problem(problems, matrix,
                     "must be a map of lists (such as {batch: [32, 64]}) or a list of maps");
    for (size_t i = 0; matrix->kind == YAML_LIST && i < matrix->count; i++)
        is_good = matrix_check_case(problems, matrix->items[i], matrix->items[0]) && is_good;
    if (count > MATRIX_MEMBERS_MAX)
        yaml_problem(problems, matrix, "more than %d members", MATRIX_MEMBERS_MAX);
    if (count == 0 || count > MATRIX_MEMBERS_MAX || !is_good)
        return;
    *cases = (struct matrix_cases){xcalloc(count, sizeof *cases->items), count};
    if (matrix->kind == YAML_MAP)
        matrix_multiply(arena, matrix, cases);
    for (size_t i = 0; matrix->kind == YAML_LIST && i < count; i++) {
        const struct yaml_node *item = matrix->items[i];
        cases->items[i] = yaml_new(arena, YAML_MAP);
        for (size_t j = 0; j < item->count; j++)
            yaml_append(arena, cases->items[i],
                        matrix_param(arena, item->items[j], item->items[j]));
    }
}

/* --- Members ---------------------------------------------------------------------------------- */

/* The param that rungs raise, a list of values; NULL: there are no rungs. */
static const struct yaml_node *matrix_rungs(const struct phases_entry *entry)
{
    const struct yaml_node *rungs = yaml_get(yaml_get(entry->node, "best"), "rungs");
    const struct yaml_node *list =
        rungs && rungs->kind == YAML_MAP && rungs->count == 1 ? rungs->items[0] : NULL;
    bool is_list = list && list->kind == YAML_LIST && list->count > 0;
    return is_list && list->items[0]->kind == YAML_SCALAR ? list : NULL;
}

void matrix_lay(struct yaml_arena *arena, struct phases_entry *entry)
{
    const struct yaml_node *written = yaml_get(entry->node, "params");
    if (!entry->axes || (written && written->kind != YAML_MAP))
        return;
    struct yaml_node *params = written ? yaml_copy_map(arena, written) : yaml_new(arena, YAML_MAP);
    params->key = "params";
    params->parent = entry->node;
    for (size_t i = 0; i < entry->axes->count; i++)
        yaml_replace(arena, params, entry->axes->items[i]);
    if (entry->rung)
        yaml_replace(arena, params, entry->rung);
    entry->node = yaml_copy_map(arena, entry->node);
    yaml_replace(arena, entry->node, params);
}

static bool matrix_is_parallel(const struct yaml_node *phase)
{
    const struct yaml_node *pack = yaml_get(phase, "pack");
    bool is_word = pack && pack->kind == YAML_SCALAR && text_equal(pack->text, "parallel");
    return is_word || yaml_get(pack, "parallel");
}

static struct yaml_node *matrix_no_preflight(struct yaml_arena *arena,
                                             const struct phases_entry *entry)
{
    struct yaml_node *node = yaml_new(arena, YAML_SCALAR);
    node->key = "preflight";
    node->parent = entry->written;
    node->text = "off";
    return node;
}

static void matrix_remove(struct yaml_node *phase, enum key_merge merge)
{
    for (const struct key *key = keys_next(KEYS_PHASE, NULL); key;
         key = keys_next(KEYS_PHASE, key)) {
        if (key->merge == merge)
            yaml_remove(phase, key->name);
    }
}

static struct phases_entry matrix_member(struct yaml_arena *arena, const struct phases_entry *entry,
                                         struct yaml_node *axes, unsigned number)
{
    char *name = text_format("%s.%u", entry->name, number);
    struct phases_entry member = {
        .name = yaml_text(arena, name, strlen(name)),
        .written = entry->written,
        .node = yaml_copy_map(arena, entry->node),
        .state = entry->state,
        .lacks_base = entry->lacks_base,
        .matrix = entry->name,
        .number = number,
        .rung = entry->rung,
        .axes = axes,
    };
    free(name);
    matrix_remove(member.node, KEY_OF_MATRIX);
    matrix_remove(member.node, KEY_DEFAULTED);
    matrix_lay(arena, &member);
    if (matrix_is_parallel(entry->node))
        yaml_replace(arena, member.node, matrix_no_preflight(arena, entry));
    return member;
}

static void matrix_expand_one(struct phases *phases, size_t index, struct yaml_arena *arena,
                              struct spec_problems *problems)
{
    struct phases_entry *entry = &phases->entries[index];
    const struct yaml_node *matrix = yaml_get(entry->node, "matrix");
    const struct yaml_node *params = yaml_get(entry->node, "params"), *rungs = matrix_rungs(entry);
    struct matrix_cases cases = {0};
    if (!matrix)
        return;
    matrix_read_cases(arena, matrix, &cases, problems);
    if (phases->count + cases.count > SPEC_PHASES_MAX) {
        yaml_problem(problems, matrix, "more than %d phases in the whole file", SPEC_PHASES_MAX);
        cases.count = 0;
    }
    if (cases.count > 0 && (!params || params->kind == YAML_MAP)) {
        phases->entries =
            xrealloc(phases->entries, (phases->count + cases.count + 1) * sizeof *phases->entries);
        entry = &phases->entries[index];
        entry->member_first = phases->count;
        entry->member_count = cases.count;
        entry->axes = cases.items[0];
        entry->rung = rungs ? matrix_param(arena, rungs->items[0], rungs) : NULL;
        for (size_t i = 0; i < cases.count; i++)
            phases->entries[phases->count++] =
                matrix_member(arena, entry, cases.items[i], (unsigned)i + 1);
        matrix_lay(arena, entry);
    }
    free(cases.items);
}

/* Turns a matrix into an ordinary phase with the params of its first member. */
static void matrix_take_first(struct phases_entry *entry, struct yaml_arena *arena,
                              struct spec_problems *problems)
{
    const struct yaml_node *matrix = yaml_get(entry->node, "matrix"), *rungs = matrix_rungs(entry);
    struct matrix_cases cases = {0};
    if (!matrix)
        return;
    bool is_parallel = matrix_is_parallel(entry->node);
    matrix_read_cases(arena, matrix, &cases, problems);
    if (cases.count > 0) {
        entry->axes = cases.items[0];
        entry->rung = rungs ? matrix_param(arena, rungs->items[0], rungs) : NULL;
        matrix_lay(arena, entry);
    }
    entry->axes = entry->rung = NULL; /* from now on they are ordinary params */
    entry->node = yaml_copy_map(arena, entry->node);
    matrix_remove(entry->node, KEY_OF_MATRIX);
    if (is_parallel)
        yaml_replace(arena, entry->node, matrix_no_preflight(arena, entry));
    free(cases.items);
}

void matrix_expand(struct phases *phases, struct yaml_arena *arena, bool is_rehearsal,
                   struct spec_problems *problems)
{
    size_t count = phases->count;
    for (size_t i = 0; i < count; i++) {
        static const char *const alone[] = {"pack", "best"};
        const struct phases_entry *entry = &phases->entries[i];
        for (size_t j = 0; j < 2 && !yaml_get(entry->node, "matrix"); j++) {
            const struct yaml_node *node = yaml_get(entry->node, alone[j]);
            if (node)
                yaml_key_problem(problems, node, "only with a matrix");
        }
        if (is_rehearsal)
            matrix_take_first(&phases->entries[i], arena, problems);
        else
            matrix_expand_one(phases, i, arena, problems);
    }
}

bool matrix_sets(const struct phases_entry *entry, const char *param)
{
    return yaml_get(entry->axes, param) || (entry->rung && text_equal(entry->rung->key, param));
}

/* --- Packing ---------------------------------------------------------------------------------- */

/* A preflight would report the programs of the other members, and phased cannot multiply a size of
 * memory that is written for Slurm. */
static void matrix_check_parallel(struct scope *scope, const struct yaml_node *phase)
{
    const struct yaml_node *gpus = yaml_get(yaml_get(phase, "resources"), "gpus");
    if (gpus && gpus->kind == YAML_SCALAR && strchr(gpus->text, '|'))
        yaml_problem(scope->problems, gpus,
                     "must name one type of GPU, because members run side by side (pack)");
    const struct yaml_node *preflight = yaml_get(phase, "preflight");
    const struct yaml_node *memory = yaml_get(yaml_get(phase, "slurm"), "mem");
    if (preflight && !(preflight->kind == YAML_SCALAR && text_equal(preflight->text, "off")))
        yaml_problem(scope->problems, preflight,
                     "must be off, because members run side by side (pack): each member would "
                     "report the programs of the others");
    if (memory)
        yaml_problem(scope->problems, memory,
                     "cannot be used, because members run side by side (pack): use resources.mem, "
                     "the memory of one member");
}

/* Returns JSON null if each member has a job of its own. */
static json_t *matrix_read_pack(struct scope *scope, const struct phases_entry *entry)
{
    static const char *const words[] = {"serial", "parallel", NULL};
    const struct yaml_node *node = yaml_get(entry->node, "pack");
    const char *kind = NULL;
    int64_t lanes = 0;
    if (!node)
        return json_null();
    if (node->kind == YAML_MAP) {
        keys_check(scope->problems, node, KEYS_PACK);
        for (size_t i = 0; words[i]; i++)
            kind = yaml_get(node, words[i]) ? words[i] : kind;
        if (!kind || node->count != 1)
            yaml_problem(scope->problems, node,
                         "must be {serial: how many jobs} or {parallel: how many at once}");
        else
            (void)scalar_key_whole(scope, node, KEYS_PACK, kind,
                                   &lanes); /* a problem is reported */
    } else {
        kind = scalar_choice(scope, node, words);
    }
    if (!kind)
        return json_null(); /* a problem is reported */
    bool is_parallel = text_equal(kind, "parallel");
    int64_t count = (int64_t)entry->member_count;
    if (is_parallel)
        matrix_check_parallel(scope, entry->node);
    if (lanes == 0)
        lanes = is_parallel ? count : 1;
    return json_pack("{s:s, s:I}", "kind", kind, "lanes",
                     (json_int_t)(lanes < count ? lanes : count));
}

/* --- The best --------------------------------------------------------------------------------- */

static json_t *matrix_expression(struct scope *scope, const struct yaml_node *node, const char *key)
{
    json_t *expression = node ? checks_read_alone(scope, node, key) : NULL;
    return expression ? expression : json_null();
}

/* Reads the share of members that do not go on to the next rung, such as 1/2 or 0.5. */
static json_t *matrix_read_cut(struct scope *scope, const struct yaml_node *best)
{
    const struct yaml_node *node = yaml_get(best, "cut");
    char *text = node ? scalar_string(scope, node) : NULL, *end = NULL;
    double cut = 0.5, parts;
    if (text) {
        cut = strtod(text, &end);
        if (end != text && *end == '/') {
            const char *divisor = end + 1;
            parts = strtod(divisor, &end);
            cut = end != divisor && parts > 0 ? cut / parts : -1;
        }
        if (end == text || *end || !(cut > 0 && cut < 1)) {
            yaml_problem(scope->problems, node, "must be a share between 0 and 1, such as 2/3");
            cut = 0.5;
        }
    }
    free(text);
    return json_real(cut);
}

static json_t *matrix_read_rungs(struct scope *scope, const struct yaml_node *best)
{
    const struct yaml_node *map = yaml_get(best, "rungs"), *cut = yaml_get(best, "cut");
    const struct yaml_node *list =
        map && map->kind == YAML_MAP && map->count == 1 ? map->items[0] : NULL;
    double last = 0, value;
    if (!map) {
        if (cut)
            yaml_key_problem(scope->problems, cut, "only with rungs");
        return json_null();
    }
    if (!list || list->kind != YAML_LIST || list->count < 2 || list->count > MATRIX_RUNGS_MAX) {
        yaml_problem(scope->problems, map,
                     "must be one param with two to %d values (such as {steps: [200, 600]})",
                     MATRIX_RUNGS_MAX);
        return json_null();
    }
    json_t *values = json_array();
    (void)scope_check_name(scope->problems, list); /* a problem is reported */
    for (size_t i = 0; i < list->count; i++) {
        if (!matrix_check_value(scope->problems, list->items[i]) ||
            !scalar_number(scope, list->items[i], &value))
            continue;
        if (value <= last)
            yaml_problem(scope->problems, list->items[i],
                         i ? "must be above the rung before it" : "must be above 0");
        last = value;
        json_t *json = scope_value(scope, list->items[i]);
        (void)json_array_append_new(values, json ? json : json_null());
    }
    return json_pack("{s:s, s:o, s:o}", "param", list->key, "values", values, "cut",
                     matrix_read_cut(scope, best));
}

/* Returns JSON null if the file wants no results of earlier workflows. Such results know nothing of
 * what the phases before the member have written in this workflow, so the matrix cannot have
 * `after`. */
static json_t *matrix_read_reuse(struct scope *scope, const struct yaml_node *phase)
{
    const struct yaml_node *best = yaml_get(phase, "best"), *node = yaml_get(best, "reuse");
    uint32_t seconds = 0;
    if (!node)
        return json_null();
    if (yaml_get(phase, "after"))
        yaml_key_problem(scope->problems, node,
                         "cannot be used in a phase with `after`: the files of the phases before "
                         "may differ each time");
    if (scalar_duration(scope, node, &seconds) && seconds == 0)
        yaml_problem(scope->problems, node, "must be above 0");
    return json_integer(seconds);
}

static json_t *matrix_read_best(struct scope *scope, const struct yaml_node *phase,
                                json_t **ret_rungs)
{
    const struct yaml_node *node = yaml_get(phase, "best");
    const struct yaml_node *max = yaml_get(node, "max"), *min = yaml_get(node, "min");
    const struct yaml_node *where = yaml_get(node, "where");
    *ret_rungs = json_null();
    if (!keys_read_map(scope->problems, node, KEYS_BEST,
                       "a map (such as {max: mean(tokens_per_s)})"))
        return json_null();
    if (!max == !min) {
        yaml_problem(scope->problems, node, "give either max or min, an expression");
        return json_null();
    }
    json_decref(*ret_rungs);
    *ret_rungs = matrix_read_rungs(scope, node);
    return json_pack("{s:s, s:o, s:o, s:o}", "goal", max ? "max" : "min", "value",
                     matrix_expression(scope, max ? max : min, "value"), "where",
                     matrix_expression(scope, where, "condition"), "reuse_s",
                     matrix_read_reuse(scope, phase));
}

/* --- The resolved phase ----------------------------------------------------------------------- */

static json_t *matrix_values(const struct yaml_node *axes, const json_t *params)
{
    json_t *values = json_object();
    for (size_t i = 0; i < axes->count; i++) {
        json_t *value = json_object_get(params, axes->items[i]->key);
        if (value)
            (void)json_object_set(values, axes->items[i]->key, value);
    }
    return values;
}

/* A remedy that sets a param of the matrix would turn the member into another member. */
static void matrix_check_remedies(struct scope *scope, const struct phases_entry *entry,
                                  const json_t *remedies)
{
    const struct yaml_node *node = yaml_get(entry->node, "remedies");
    const char *cause, *param;
    json_t *list, *remedy, *value;
    size_t i;
    json_object_foreach((json_t *)remedies, cause, list)
    {
        json_array_foreach(list, i, remedy)
        {
            json_object_foreach(json_object_get(remedy, "set"), param, value)
            {
                if (matrix_sets(entry, param))
                    yaml_key_problem(scope->problems, yaml_get(node, cause),
                                     "cannot set %s, because the matrix sets this param: a member "
                                     "that fails is out",
                                     param);
            }
        }
    }
}

/* Returns the expressions by which the matrix compares its members. With these, a run of the first
 * member warns of a metric that does not come. */
static json_t *matrix_wants(const struct phases *phases, const struct phases_entry *member)
{
    static const char *const keys[] = {"max", "min", "where"};
    json_t *wants = json_array();
    for (size_t i = 0; i < phases->written_count; i++) {
        const struct phases_entry *entry = &phases->entries[i];
        const struct yaml_node *best =
            text_equal(entry->name, member->matrix) ? yaml_get(entry->node, "best") : NULL;
        for (size_t j = 0; j < sizeof keys / sizeof keys[0]; j++) {
            const struct yaml_node *node = yaml_get(best, keys[j]);
            if (node && node->kind == YAML_SCALAR)
                (void)json_array_append_new(wants, json_string(node->text));
        }
    }
    return wants;
}

void matrix_read(struct scope *scope, const struct phases *phases, const struct phases_entry *entry,
                 json_t *json)
{
    if (entry->matrix) {
        (void)json_object_set_new(
            json, "member",
            json_pack("{s:s, s:i, s:o, s:o}", "of", entry->matrix, "number", (int)entry->number,
                      "params", matrix_values(entry->axes, json_object_get(json, "params")),
                      "wants", matrix_wants(phases, entry)));
        return;
    }
    if (entry->member_count == 0)
        return;
    json_t *members = json_array(), *rungs;
    matrix_check_remedies(scope, entry, json_object_get(json, "remedies"));
    for (size_t i = 0; i < entry->member_count; i++)
        (void)json_array_append_new(members,
                                    json_string(phases->entries[entry->member_first + i].name));
    json_t *best = matrix_read_best(scope, entry->node, &rungs);
    (void)json_object_set_new(json, "matrix",
                              json_pack("{s:o, s:o, s:o, s:o}", "members", members, "pack",
                                        matrix_read_pack(scope, entry), "best", best, "rungs",
                                        rungs));
}
