/* Params, references and names. */
#include "lib/spec/scope.h"

#include "lib/error.h"
#include "lib/expr/expr.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/spec/script.h"
#include "lib/spec/spec.h"
#include "lib/spec/variables.h"
#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCOPE_NAME_MAX = 64,
    /* How much of a script is searched for warnings: far more than anybody writes by hand. */
    SCOPE_SCRIPT_MAX = 64 << 10, /* bytes */
    SCOPE_REFERENCES_MAX = 200,  /* names */
};

enum scope_state { SCOPE_NEW, SCOPE_COMPUTING, SCOPE_DONE, SCOPE_FAILED };

struct scope_param {
    struct yaml_node *node;
    enum scope_state state;
    struct scope_param *asked_by; /* the param that needs this one */
    json_t *value;
};

/* The worker or Slurm sets these variables for `run`, or bash needs them to find any program. */
static const char *const scope_taken_names[] = {
    "RANK",    "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE", "NODE_RANK",
    "NNODES",  "MASTER_ADDR", "MASTER_PORT", "TP_RANK",          "PP_RANK",
    "DP_RANK", "TP_SIZE",     "PP_SIZE",     "DP_SIZE",          "PATH",
    "HOME",    "SHELL",       "IFS",         "GROUP_RANK",       "CUDA_VISIBLE_DEVICES",
};

enum { SCOPE_TAKEN_NAMES = sizeof scope_taken_names / sizeof scope_taken_names[0] };

bool scope_is_name(const char *name)
{
    size_t size = strlen(name);
    if (size == 0 || size > SCOPE_NAME_MAX || isdigit((unsigned char)name[0]) ||
        text_starts(name, "__"))
        return false;
    return text_name_size(name, "_") == size;
}

bool scope_check_name(struct spec_problems *problems, const struct yaml_node *node)
{
    bool is_name = scope_is_name(node->key);
    if (!is_name)
        yaml_key_problem(problems, node, "must be a name of letters (a-z, A-Z), digits and _");
    return is_name;
}

static bool scope_is_taken(const char *name)
{
    return text_is_one_of(name, scope_taken_names, SCOPE_TAKEN_NAMES) ||
           text_starts(name, "PHASED_") || text_starts(name, "SLURM_");
}

void scope_init(struct scope *scope, struct spec_problems *problems, size_t *expanded,
                const struct yaml_node *params_node, const struct scope_before *before,
                size_t before_count)
{
    *scope = (struct scope){
        .problems = problems, .expanded = expanded, .before = before, .before_count = before_count};
    size_t count = params_node ? params_node->count : 0;
    scope->params = xcalloc(count + 1, sizeof *scope->params);
    scope->expr_before = xcalloc(before_count + 1, sizeof *scope->expr_before);
    scope->values = json_object();
    if (!scope->values)
        abort();
    for (size_t i = 0; i < before_count; i++)
        scope->expr_before[i] =
            (struct expr_names){.phase = before[i].phase, .params = before[i].params};
    for (size_t i = 0; i < count; i++) {
        struct yaml_node *node = params_node->items[i];
        if (node->kind == YAML_NULL)
            continue;
        if (scope_check_name(problems, node) && scope_is_taken(node->key))
            yaml_key_problem(problems, node, "phased or Slurm sets this variable for every run");
        yaml_warn_of_zeros(problems, node);
        scope->params[scope->param_count++].node = node;
    }
}

void scope_fini(struct scope *scope)
{
    for (size_t i = 0; i < scope->param_count; i++)
        json_decref(scope->params[i].value);
    free(scope->params);
    free(scope->expr_before);
    json_decref(scope->values);
    *scope = (struct scope){0};
}

static struct scope_param *scope_find(const struct scope *scope, const char *name)
{
    for (size_t i = 0; i < scope->param_count; i++) {
        if (text_equal(scope->params[i].node->key, name))
            return &scope->params[i];
    }
    return NULL;
}

static const struct scope_before *scope_find_before(const struct scope *scope, const char *phase)
{
    for (size_t i = 0; i < scope->before_count; i++) {
        if (text_equal(scope->before[i].phase, phase))
            return &scope->before[i];
    }
    return NULL;
}

bool scope_has_before(const struct scope *scope, const char *phase, const char *name)
{
    const struct scope_before *before = scope_find_before(scope, phase);
    return before && json_object_get(before->params, name);
}

/* The names of the params, for suggestions. The caller frees the array. */
static const char **scope_names(const struct scope *scope)
{
    const char **names = xcalloc(scope->param_count + 1, sizeof *names);
    for (size_t i = 0; i < scope->param_count; i++)
        names[i] = scope->params[i].node->key;
    return names;
}

static void scope_unknown(struct scope *scope, const struct yaml_node *node, const char *sign,
                          const char *name)
{
    const char **names = scope_names(scope);
    const char *nearest = spec_problems_nearest(scope->problems, name, names, scope->param_count);
    if (nearest)
        yaml_problem(scope->problems, node, "nothing defines %s%s (did you mean %s%s?)", sign, name,
                     sign, nearest);
    else
        yaml_problem(scope->problems, node, "nothing defines %s%s", sign, name);
    free(names);
}

/* Returns the phase before this one to which `node` refers; NULL after a problem. */
static const struct scope_before *scope_ask_before(struct scope *scope,
                                                   const struct yaml_node *node, const char *phase)
{
    const struct scope_before *before = scope_find_before(scope, phase);
    if (!before && !scope->lacks_before)
        yaml_problem(scope->problems, node, "no phase before this one is called %s", phase);
    if (!before || !before->lacks_best)
        return before;
    yaml_problem(scope->problems, node,
                 "%s is a matrix without `best`, so there is no best member to use", phase);
    return NULL;
}

/* --- References in strings -------------------------------------------------------------------- */

/* Whether the worker will set the variable PHASED_...; if not, reports it. */
static bool scope_check_variable(struct scope *scope, const struct yaml_node *node,
                                 const char *name)
{
    const char *phase = variables_phase(name);
    if (variables_has(VARIABLES_OF_TEXTS, name))
        return true;
    if (phase && scope_find_before(scope, phase))
        return scope_ask_before(scope, node, phase) != NULL;
    if (phase && scope->lacks_before)
        return true;
    if (phase) {
        yaml_problem(scope->problems, node, "nothing defines $%s: no phase before this one is %s",
                     name, phase);
        return false;
    }
    const char *nearest = variables_nearest(name, scope->problems);
    if (nearest)
        yaml_problem(scope->problems, node, "nothing defines $%s (did you mean $%s?)", name,
                     nearest);
    else
        yaml_problem(scope->problems, node, "nothing defines $%s", name);
    return false;
}

/* Reads `$name` or `${name}` at `text`; returns its size; 0: it is not a reference. */
static size_t scope_reference_size(const char *text, char ret_name[SCOPE_NAME_MAX + 1])
{
    bool has_brace = text[0] == '$' && text[1] == '{';
    size_t begin = has_brace ? 2 : 1;
    if (text[0] != '$' || isdigit((unsigned char)text[begin]))
        return 0;
    size_t size = text_name_size(text + begin, "_");
    if (size == 0 || size > SCOPE_NAME_MAX || (has_brace && text[begin + size] != '}'))
        return 0;
    memcpy(ret_name, text + begin, size);
    ret_name[size] = '\0';
    return begin + size + has_brace;
}

static bool scope_compute(struct scope *scope, struct scope_param *param,
                          struct scope_param *asked_by);

/* Returns the value of the param `name`, borrowed; NULL after a problem. */
static const json_t *scope_refer(struct scope *scope, const struct yaml_node *node,
                                 const char *sign, const char *name, struct scope_param *asked_by)
{
    struct scope_param *param = scope_find(scope, name);
    if (!param) {
        scope_unknown(scope, node, sign, name);
        return NULL;
    }
    param->node->is_used = true;
    return scope_compute(scope, param, asked_by) ? param->value : NULL;
}

/* Counts the bytes that a reference has added. Texts that refer to each other twice would double at
 * each step. */
static bool scope_count(struct scope *scope, const struct yaml_node *node, size_t size,
                        size_t added)
{
    *scope->expanded += added;
    if (size <= SCOPE_TEXT_MAX && *scope->expanded <= SPEC_RESOLVED_SIZE_MAX)
        return true;
    yaml_problem(scope->problems, node,
                 "too long after its references are replaced: more than %d KiB, or %d "
                 "MiB in the whole file",
                 SCOPE_TEXT_MAX >> 10, SPEC_RESOLVED_SIZE_MAX >> 20);
    return false;
}

static bool scope_expand(struct scope *scope, const struct yaml_node *node,
                         struct scope_param *asked_by, struct text *ret_text)
{
    char name[SCOPE_NAME_MAX + 1];
    bool is_good = true;
    for (const char *at = node->text; *at;) {
        size_t plain = strcspn(at, "$");
        text_add_bytes(ret_text, at, plain);
        at += plain;
        if (!*at)
            break;
        size_t size = scope_reference_size(at, name);
        if (at[1] == '$') {
            text_add(ret_text, "$");
            at += 2;
        } else if (size == 0 && at[1] == '{') {
            yaml_problem(scope->problems, node, "a reference is $name or ${name}, and $$ is a $");
            return false;
        } else if (size == 0) {
            text_add(ret_text, "$");
            at++;
        } else if (text_starts(name, "PHASED_")) {
            is_good = scope_check_variable(scope, node, name) && is_good;
            text_add_bytes(ret_text, at, size);
            at += size;
        } else {
            const json_t *value = scope_refer(scope, node, "$", name, asked_by);
            size_t before = ret_text->size;
            if (value)
                phase_value_text(value, ret_text);
            if (!scope_count(scope, node, ret_text->size, ret_text->size - before))
                return false;
            is_good = value && is_good;
            at += size;
        }
    }
    return is_good;
}

/* Returns the value of a scalar that is not a derived param. */
static json_t *scope_scalar(struct scope *scope, const struct yaml_node *node,
                            struct scope_param *asked_by)
{
    char name[SCOPE_NAME_MAX + 1];
    if (!strchr(node->text, '$'))
        return yaml_value(node);
    size_t size = scope_reference_size(node->text, name);
    if (size && !node->text[size] && !text_starts(name, "PHASED_")) {
        const json_t *value = scope_refer(scope, node, "$", name, asked_by);
        size_t length = json_string_length(value);
        return value && scope_count(scope, node, length, length) ? json_deep_copy(value) : NULL;
    }
    struct text text = {0};
    json_t *value = NULL;
    if (scope_expand(scope, node, asked_by, &text))
        value = json_string(text_string(&text));
    text_fini(&text);
    return value;
}

bool scope_text_plain(const char *text, struct text *ret_text)
{
    char name[SCOPE_NAME_MAX + 1];
    for (const char *at = text; *at; at++) {
        bool is_dollar = at[0] == '$' && at[1] == '$';
        if (!is_dollar && scope_reference_size(at, name))
            return false;
        text_add_bytes(ret_text, at, 1);
        at += is_dollar;
    }
    return true;
}

void scope_add_plain(struct text *text, const char *value)
{
    for (const char *at = value; *at; at++)
        text_add_bytes(text, *at == '$' ? "$$" : at, *at == '$' ? 2 : 1);
}

bool scope_text(struct scope *scope, const struct yaml_node *node, struct text *ret_text)
{
    return scope_expand(scope, node, NULL, ret_text);
}

json_t *scope_value(struct scope *scope, const struct yaml_node *node)
{
    return scope_scalar(scope, node, NULL);
}

/* --- Derived params --------------------------------------------------------------------------- */

static void scope_report_cycle(struct scope *scope, const struct scope_param *param,
                               const struct scope_param *asked_by)
{
    /* The walk begins at the end of the chain, so names are added in front. */
    struct text chain = {0};
    text_add(&chain, param->node->key);
    for (const struct scope_param *at = asked_by; at; at = at == param ? NULL : at->asked_by) {
        char *rest = text_steal(&chain);
        text_addf(&chain, "%s -> %s", at->node->key, rest);
        free(rest);
    }
    yaml_problem(scope->problems, param->node, "needs itself: %.400s", text_string(&chain));
    text_fini(&chain);
}

/* Returns the value of `name` in the expression of a derived param; NULL: no param has the name. */
static const json_t *scope_name_value(struct scope *scope, struct scope_param *param,
                                      const struct expr_name *name)
{
    if (!name->phase[0])
        return scope_refer(scope, param->node, "", name->name, param);
    const struct scope_before *before = scope_ask_before(scope, param->node, name->phase);
    if (!before)
        return NULL;
    const json_t *value = json_object_get(before->params, name->name);
    struct yaml_node *node = yaml_get(before->params_node, name->name);
    if (json_object_get(before->varying, name->name)) {
        yaml_problem(scope->problems, param->node,
                     "%s.%s depends on the GPU that %s gets (by_gpu), which is not known yet",
                     name->phase, name->name, name->phase);
        value = NULL;
    }
    if (node)
        node->is_used = true;
    else
        yaml_problem(scope->problems, param->node, "phase %s has no param %s", name->phase,
                     name->name);
    return value;
}

struct expr_scope scope_expr(const struct scope *scope)
{
    return (struct expr_scope){.own = {.params = scope->values},
                               .before = scope->expr_before,
                               .before_count = scope->before_count};
}

/* Evaluates the expression with the params that are computed by now. A whole result of whole params
 * is whole. If a real param takes part, the result is real: a learning rate of 1.0 must not become
 * the integer 1. */
static json_t *scope_evaluate(struct scope *scope, const struct yaml_node *node,
                              const char *expression, bool has_real)
{
    struct error err;
    json_t *value = NULL;
    const struct expr_scope names = scope_expr(scope);
    if (expr_compute(expression, &names, &value, &err) < 0) {
        yaml_problem(scope->problems, node, "%s", err.message);
        value = NULL;
    } else if (has_real && json_is_integer(value)) {
        json_t *real = json_real((double)json_integer_value(value));
        json_decref(value);
        value = real;
    }
    return value;
}

static json_t *scope_derive(struct scope *scope, struct scope_param *param)
{
    const char *expression = param->node->text + 1;
    struct expr_name *names = NULL;
    struct error err;
    bool is_good = true, has_real = false;
    int count = expr_list_names(expression, &names, &err);
    if (count < 0) {
        yaml_problem_at(scope->problems, param->node, err.column, "%s", err.message);
        return NULL;
    }
    for (int i = 0; i < count; i++) {
        const json_t *value = scope_name_value(scope, param, &names[i]);
        is_good = is_good && value;
        has_real = has_real || json_is_real(value);
    }
    free(names);
    return is_good ? scope_evaluate(scope, param->node, expression, has_real) : NULL;
}

/* Computes the param if that was not tried yet. Returns whether the param has a value. */
static bool scope_compute(struct scope *scope, struct scope_param *param,
                          struct scope_param *asked_by)
{
    if (param->state == SCOPE_COMPUTING)
        scope_report_cycle(scope, param, asked_by);
    if (param->state != SCOPE_NEW)
        return param->state == SCOPE_DONE;
    param->state = SCOPE_COMPUTING;
    param->asked_by = asked_by;
    if (param->node->kind != YAML_SCALAR)
        yaml_problem(scope->problems, param->node, "must be a number, a text, true or false");
    else if (param->node->is_cut)
        param->value = NULL; /* lib/spec/yaml.c has reported it */
    else if (param->node->text[0] == '=')
        param->value = scope_derive(scope, param);
    else
        param->value = scope_scalar(scope, param->node, param);
    param->state = param->value ? SCOPE_DONE : SCOPE_FAILED;
    if (param->value)
        (void)json_object_set(scope->values, param->node->key, param->value);
    return param->value != NULL;
}

json_t *scope_params(struct scope *scope)
{
    json_t *params = json_object();
    for (size_t i = 0; i < scope->param_count; i++) {
        struct scope_param *param = &scope->params[i];
        if (scope_compute(scope, param, NULL))
            (void)json_object_set(params, param->node->key, param->value);
    }
    return params;
}

/* --- Expressions and scripts ------------------------------------------------------------------ */

/* Lists the names in an expression. Returns their number; -1 after a problem. */
static int scope_list_names(struct scope *scope, const struct yaml_node *node,
                            struct expr_name **ret_names)
{
    struct error err;
    int count = expr_list_names(node->text, ret_names, &err);
    if (count < 0)
        yaml_problem_at(scope->problems, node, err.column ? err.column - 1 : 0, "%s", err.message);
    return count;
}

bool scope_check_expression(struct scope *scope, const struct yaml_node *node)
{
    struct expr_name *names = NULL;
    if (node->is_cut)
        return false; /* lib/spec/yaml.c has reported it */
    int count = scope_list_names(scope, node, &names);
    if (count < 0)
        return false;
    bool is_good = true;
    for (int i = 0; i < count; i++) {
        struct scope_param *param = names[i].phase[0] ? NULL : scope_find(scope, names[i].name);
        if (param)
            param->node->is_used = true;
        if (!names[i].phase[0])
            continue;
        const struct scope_before *before = scope_ask_before(scope, node, names[i].phase);
        struct yaml_node *other = before ? yaml_get(before->params_node, names[i].name) : NULL;
        if (other)
            other->is_used = true;
        is_good = is_good && before;
    }
    free(names);
    return is_good;
}

bool scope_check_params(struct scope *scope, const struct yaml_node *node)
{
    struct expr_name *names = NULL;
    int count = scope_list_names(scope, node, &names);
    if (count < 0)
        return false;
    bool is_good = true;
    for (int i = 0; i < count; i++) {
        const char *name = names[i].name;
        struct scope_param *param = names[i].phase[0] ? NULL : scope_find(scope, name);
        if (names[i].phase[0])
            yaml_problem(scope->problems, node, "%s.%s: only params of this phase can stand here",
                         names[i].phase, name);
        else if (!param)
            scope_unknown(scope, node, "", name);
        else
            param->node->is_used = true;
        is_good = is_good && param;
    }
    free(names);
    return is_good;
}

bool scope_has_param(const struct scope *scope, const char *name)
{
    return scope_find(scope, name) != NULL;
}

void scope_report_param(struct scope *scope, const struct yaml_node *node)
{
    const char **names = scope_names(scope);
    const char *nearest =
        spec_problems_nearest(scope->problems, node->key, names, scope->param_count);
    yaml_key_problem(scope->problems, node, "no such param%s%s%s", nearest ? " (did you mean " : "",
                     nearest ? nearest : "", nearest ? "?)" : "");
    free(names);
}

/* Only the worker, or the script itself, sets variables whose names begin with PHASED_. A variable
 * with a default (`${NAME:-...}`) may be missing, because several phases may share a script. */
static void scope_check_run_variable(struct scope *scope, const struct yaml_node *run,
                                     const char *name, const char *rest)
{
    const char *phase = variables_phase(name), *nearest;
    bool has_other = rest[0] && (strchr("-+", rest[0]) || text_starts(rest, ":-") ||
                                 text_starts(rest, ":+") || text_starts(rest, ":="));
    size_t offset = (size_t)(rest - run->text) - strlen(name);
    if (!text_starts(name, "PHASED_") || has_other || script_assigns(run->text, name) ||
        variables_has(VARIABLES_OF_SCRIPTS, name))
        return;
    const struct scope_before *before = phase ? scope_find_before(scope, phase) : NULL;
    if (before && before->lacks_checkpoint && variables_is_checkpoint(name))
        yaml_warning_at(scope->problems, run, offset, "nothing defines $%s: %s has no checkpoint",
                        name, phase);
    else if (phase && !before && !scope->lacks_before)
        yaml_warning_at(scope->problems, run, offset,
                        "nothing defines $%s: no phase before this one is %s", name, phase);
    if (phase)
        return;
    nearest = variables_next_to(name);
    if (nearest)
        yaml_problem_at(scope->problems, run, offset, "nothing defines $%s (did you mean $%s?)",
                        name, nearest);
    else
        yaml_warning_at(scope->problems, run, offset, "phased sets no variable $%s", name);
}

/* Warns of `$names` that are nearly the name of a param. Names of one or two letters are near to
 * everything. */
static void scope_check_references(struct scope *scope, const struct yaml_node *run)
{
    char name[SCRIPT_NAME_MAX + 1];
    const char **names = scope_names(scope), *at = run->text;
    for (int i = 0; i < SCOPE_REFERENCES_MAX && script_next_reference(&at, name); i++) {
        scope_check_run_variable(scope, run, name, at);
        if (strlen(name) <= 2 || scope_find(scope, name) || scope_is_taken(name) ||
            yaml_get(scope->env, name))
            continue;
        const char *nearest =
            spec_problems_nearest(scope->problems, name, names, scope->param_count);
        if (nearest && !script_assigns(run->text, name))
            yaml_key_warning(scope->problems, run, "nothing here defines $%s (did you mean $%s?)",
                             name, nearest);
        else if (!nearest && script_needs(run->text, name, at))
            yaml_key_warning(scope->problems, run, "nothing here defines $%s", name);
    }
    free(names);
}

void scope_check_script(struct scope *scope, const struct yaml_node *script)
{
    if (script->kind != YAML_SCALAR)
        yaml_problem(scope->problems, script, "must be a text: a bash script (%s: |)", script->key);
    else if (!script->text[strspn(script->text, " \t\r\n")])
        yaml_problem(scope->problems, script, "empty");
    bool is_short = strlen(script->text) <= SCOPE_SCRIPT_MAX;
    for (size_t i = 0; i < scope->param_count; i++) {
        struct yaml_node *node = scope->params[i].node;
        node->is_used = node->is_used || !is_short || script_uses(script->text, node->key);
    }
    if (is_short)
        scope_check_references(scope, script);
}
