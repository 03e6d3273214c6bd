/* Judges members: `where` and the value of each member are evaluated on its own metrics. Members
 * are judged one after another, because the metrics of many members would not fit into memory
 * together. */
#include "daemon/judge/judge_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What was found, until it is recorded. */
struct selection {
    struct loop_item item;
    struct phase *matrix;
    unsigned rung; /* the rung that was judged */
    json_t *spec, *resolved;
    const json_t *best, *rungs; /* parts of the spec, or JSON's null */
    struct workflow *revision;
    struct core_score *scores; /* of all members */
    char **reasons;            /* by member: why it is out; NULL: it is not out */
    size_t count;
    struct phase **chosen;
    struct core_choice choice;
    bool *is_by_where;     /* by member: it is out, and only because of `where` */
    bool is_without_where; /* `where` left no member, and a person has promoted the matrix */
    bool may_promote;      /* nothing is chosen, and a promotion would help */
    char *lack;            /* which entries of a member's journals are missing; NULL: no entries */
    json_t *changes;       /* {"ladder": [{"param", "from", "to"}]} */
    bool *follows;         /* by phase: it has not run yet, and takes params over */
    char message[REASON_MAX];
};

static void selection_free(void *context)
{
    struct selection *selection = context;
    for (size_t i = 0; i < selection->count; i++)
        free(selection->reasons[i]);
    free(selection->reasons);
    free(selection->is_by_where);
    free(selection->scores);
    free(selection->chosen);
    free(selection->follows);
    json_decref(selection->spec);
    json_decref(selection->resolved);
    json_decref(selection->changes);
    free(selection->lack);
    workflow_free(selection->revision);
    free(selection);
}

/* --- Recording -------------------------------------------------------------------------------- */

static const char *standing(const struct selection *selection, const struct core_score *score)
{
    if (!score->is_left)
        return selection->reasons[score->number] ? "out" : NULL; /* it was cut before */
    if (score->member == selection->choice.best)
        return "best";
    for (size_t i = 0; selection->choice.goes_on && i < selection->choice.count; i++)
        if (selection->chosen[i] == score->member)
            return "left";
    return selection->choice.goes_on ? "cut" : "left";
}

static int write_members(const struct selection *selection, struct store *store, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < selection->count; i++) {
        const struct core_score *score = &selection->scores[i];
        const struct store_member member = {
            .phase = score->member->id,
            .value = score->value,
            .standing = standing(selection, score),
            .reason = selection->reasons[score->number],
        };
        if (member.standing)
            status = store_member_set(store, &member, err);
    }
    return status;
}

static int write_revision(const struct selection *selection, struct store *store, struct error *err)
{
    const struct workflow *workflow = selection->matrix->workflow;
    int64_t now_ms = loop_now_ms();
    int status = 0;
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        const json_t *changes = json_object_get(selection->changes, phase->name);
        if (json_array_size(changes) > 0)
            status = store_choice_add(store, phase->id, changes, now_ms, err);
        if (status == 0 && (changes || selection->follows[i]))
            status = store_phase_revise(store, phase, selection->resolved, err);
    }
    return status;
}

/* Writes the selection. The core has decided before, in the same turn. If a person has cancelled
 * the matrix while it was judged, the core has decided nothing. Then nothing is written. A matrix
 * whose results at the next rung are all known decides again in the same turn. */
static int selection_write(struct loop_item *item, struct store *store, struct error *err)
{
    const struct selection *selection = (struct selection *)item;
    const struct phase *matrix = selection->matrix;
    bool has_climbed = matrix->rung > selection->rung;
    if (!has_climbed && (matrix->state == PHASE_DECIDING || matrix->state == PHASE_CANCELLED))
        return 0;
    int status = write_members(selection, store, err);
    if (status == 0 && selection->revision)
        status = write_revision(selection, store, err);
    return status;
}

/* --- Judging ---------------------------------------------------------------------------------- */

static void judge_where(const struct expr_scope *scope, const char *where, char **ret_reason)
{
    json_t *json = json_pack("{s:s}", "condition", where);
    struct check check;
    struct error err;
    struct verdict verdict;
    if (check_from_json("where", json, &check, &err) < 0) { /* it was checked when the spec came */
        *ret_reason = xstrdup(err.message);
    } else {
        check_evaluate(&check, CHECK_GATE, scope, &verdict);
        check_fini(&check);
        if (verdict.outcome != CHECK_PASSED)
            *ret_reason = xstrdup(verdict.reason);
        verdict_fini(&verdict);
    }
    json_decref(json);
}

static void judge_value(const struct expr_scope *scope, const char *expression, double *ret_value,
                        char **ret_reason)
{
    struct expr_result result;
    struct error err;
    if (expr_evaluate(expression, scope, &result, &err) < 0) {
        *ret_reason = text_format("without a value: %s", err.message);
        return;
    }
    if (result.type != EXPR_NUMBER || isnan(result.number))
        *ret_reason = text_format("%s is not a number", expression);
    else
        *ret_value = result.number;
    expr_result_fini(&result);
}

/* Also works out the value of a member that is out by `where`: a person may want the member. */
static int judge_member(struct selection *selection, struct store *store, struct core_score *score,
                        char **ret_reason, struct error *err)
{
    const char *where = json_string_value(json_object_get(selection->best, "where"));
    const char *value = json_string_value(json_object_get(selection->best, "value"));
    struct values values = {0};
    json_t *wanted = json_object();
    values_add_names(wanted, where, "");
    values_add_names(wanted, value, "");
    int status = values_load(store, score->member, wanted, &values, err);
    json_decref(wanted);
    if (status == 0) {
        const struct expr_scope scope = {.own = values_names(&values, NULL)};
        char *lack = NULL;
        if (value)
            judge_value(&scope, value, &score->value, &lack);
        if (where)
            judge_where(&scope, where, ret_reason);
        if (*ret_reason) {
            selection->is_by_where[score->number] = !lack;
            free(lack);
        } else {
            *ret_reason = lack;
        }
        score->is_left = !*ret_reason;
        if (values.lack && !selection->lack && !score->member->is_overridden)
            selection->lack = text_format("%s: %s", score->member->name, values.lack);
    }
    values_fini(&values);
    return status;
}

static int judge_members(struct selection *selection, struct store *store, struct error *err)
{
    const struct matrix *matrix = selection->matrix->members;
    int status = 0;
    selection->scores = xcalloc(matrix->count + 1, sizeof *selection->scores);
    selection->reasons = xcalloc(matrix->count + 1, sizeof *selection->reasons);
    selection->is_by_where = xcalloc(matrix->count + 1, sizeof *selection->is_by_where);
    selection->chosen = xcalloc(matrix->count + 1, sizeof *selection->chosen);
    for (size_t i = 0; status == 0 && i < matrix->count; i++) {
        struct phase *member = matrix->members[i];
        size_t at = selection->count++;
        selection->scores[at] = (struct core_score){.member = member, .number = at, .value = NAN};
        if (member->state != PHASE_SUCCEEDED)
            selection->reasons[at] =
                xstrdup(*member->reason ? member->reason : phase_state_name(member->state));
        else if (member->rung == matrix->phase->rung)
            status = judge_member(selection, store, &selection->scores[at], &selection->reasons[at],
                                  err);
    }
    return status;
}

/* --- Concluding ------------------------------------------------------------------------------- */

/* "BATCH_SIZE=192, lr=0.1" */
static void add_params(struct text *text, const json_t *params)
{
    const char *name, *comma = "";
    json_t *value;
    json_object_foreach((json_t *)params, name, value)
    {
        text_addf(text, "%s%s=", comma, name);
        phase_value_text(value, text);
        comma = ", ";
    }
}

static void add_change(json_t *list, const char *param, json_t *from, json_t *to)
{
    (void)json_array_append_new(
        list, json_pack("{s:s, s:O?, s:O}", "param", param, "from", from, "to", to));
}

/* The members that go on get the value of the next rung. */
static void conclude_rung(struct selection *selection)
{
    const struct phase *matrix = selection->matrix;
    const char *param = json_string_value(json_object_get(selection->rungs, "param"));
    const json_t *values = json_object_get(selection->rungs, "values");
    json_t *from = json_array_get(values, matrix->rung),
           *to = json_array_get(values, matrix->rung + 1);
    for (size_t i = 0; i < selection->choice.count; i++) {
        json_t *changes = json_array();
        add_change(changes, param, from, to);
        (void)json_object_set_new(selection->changes, selection->chosen[i]->name, changes);
    }
    struct text value = {0};
    phase_value_text(to, &value);
    (void)snprintf(selection->message, REASON_MAX, "%zu member%s on to %.64s=%.64s",
                   selection->choice.count, selection->choice.count == 1 ? " goes" : "s go", param,
                   text_string(&value));
    text_fini(&value);
}

/* The matrix takes over all params in which the best member differs, also params that remedies have
 * changed. It takes over nothing of `by_gpu`: later phases cannot use a param that depends on the
 * GPU. */
static int conclude_best(struct selection *selection, struct store *store, struct error *err)
{
    const struct core_score *score = &selection->scores[0];
    const char *expression = json_string_value(json_object_get(selection->best, "value")), *name;
    const json_t *params = json_object_get(selection->spec, "params");
    json_t *spec = NULL, *changes, *value;
    const struct phase *member = score->member;
    int status = store_phase_spec_plain(store, member->id, &spec, err);
    if (status < 0)
        return status;
    changes = json_array();
    json_object_foreach(json_object_get(spec, "params"), name, value)
    {
        json_t *from = json_object_get(params, name);
        if (!json_equal(from, value))
            add_change(changes, name, from, value);
    }
    (void)json_object_set_new(selection->changes, selection->matrix->name, changes);
    struct text text = {0};
    bool is_wanted = selection->matrix->is_overridden && selection->matrix->members->best;
    text_addf(&text, "%.80s is the best%s%s%s: ", score->member->name,
              is_wanted ? ", as a person says" : "",
              selection->is_without_where && !is_wanted ? " without `where`" : "",
              selection->lack && !is_wanted ? " despite insufficient data" : "");
    add_params(&text, json_object_get(json_object_get(spec, "member"), "params"));
    if (!isnan(score->value))
        text_addf(&text, "; %s %s", expression, expr_number_text(score->value).data);
    (void)snprintf(selection->message, REASON_MAX, "%s", text_string(&text));
    text_fini(&text);
    json_decref(spec);
    selection->choice.best = score->member;
    for (size_t i = selection->matrix->index; i < selection->matrix->workflow->phase_count; i++)
        selection->follows[i] = !selection->matrix->workflow->phases[i].run;
    return 0;
}

static void conclude_none(struct selection *selection)
{
    if (selection->lack) {
        (void)snprintf(selection->message, REASON_MAX, "insufficient data: %s", selection->lack);
        return;
    }
    const char *reason = NULL;
    for (size_t i = 0; i < selection->count && !reason; i++)
        reason =
            selection->scores[i].member->state == PHASE_SUCCEEDED ? selection->reasons[i] : NULL;
    (void)snprintf(selection->message, REASON_MAX, "no member is left: %.180s",
                   reason ? reason : "");
}

/* If `where` leaves no member, a promotion lets the matrix choose without `where`. */
static void conclude_where(struct selection *selection)
{
    for (size_t i = 0; i < selection->count; i++)
        if (selection->scores[i].is_left)
            return;
    for (size_t i = 0; i < selection->count; i++) {
        selection->may_promote = selection->may_promote || selection->is_by_where[i];
        if (!selection->is_by_where[i] || !selection->matrix->is_overridden)
            continue;
        selection->is_without_where = selection->scores[i].is_left = true;
        free(selection->reasons[i]);
        selection->reasons[i] = NULL;
    }
}

/* Puts the member that a person has named as the best first, however it was measured. */
static void conclude_wanted(struct selection *selection)
{
    struct core_score *scores = selection->scores, wanted = {0};
    size_t at = 0;
    while (at < selection->count && scores[at].member != selection->matrix->members->best)
        at++;
    if (at == selection->count)
        return;
    wanted = scores[at];
    memmove(scores + 1, scores, at * sizeof *scores);
    wanted.is_left = true;
    free(selection->reasons[wanted.number]);
    selection->reasons[wanted.number] = NULL;
    scores[0] = wanted;
}

/* Sets which members are chosen, and what follows for params. */
static int conclude(struct selection *selection, struct store *store, struct error *err)
{
    const struct phase *matrix = selection->matrix;
    const char *goal = json_string_value(json_object_get(selection->best, "goal"));
    double cut = json_real_value(json_object_get(selection->rungs, "cut"));
    bool is_min = goal && text_equal(goal, "min");
    bool is_last = matrix->rung + 1 >= matrix->members->rung_count;
    bool is_wanted =
        matrix->is_overridden && matrix->members->best && json_is_object(selection->best);
    conclude_where(selection);
    size_t left = core_choose(selection->scores, selection->count, is_min, 0);
    size_t kept = is_last ? 1 : core_choose(selection->scores, selection->count, is_min, cut);
    if (is_wanted) {
        conclude_wanted(selection);
        left = kept = 1;
    } else if (selection->lack && !matrix->is_overridden && json_is_object(selection->best)) {
        left = kept = 0; /* the member may be the best: a person decides */
        selection->may_promote = true;
    }
    selection->choice.goes_on = left > 0 && kept > 1;
    selection->choice.count = selection->choice.goes_on ? kept : left;
    selection->choice.members = selection->chosen;
    for (size_t i = 0; i < selection->choice.count; i++)
        selection->chosen[i] = selection->scores[i].member;
    if (left == 0) {
        conclude_none(selection);
        return 0;
    }
    if (!json_is_object(selection->best)) {
        (void)snprintf(selection->message, REASON_MAX, "%zu of %zu members have succeeded", left,
                       selection->count);
        return 0;
    }
    if (!selection->choice.goes_on)
        return conclude_best(selection, store, err);
    conclude_rung(selection);
    return 0;
}

/* -EINVAL: the choice does not fit the rest of the workflow. */
static int work_out_revision(struct selection *selection, struct store *store, struct error *err)
{
    struct workflow *workflow = selection->matrix->workflow;
    struct store_source source = {0};
    const char *phase;
    json_t *changes;
    int status = store_source_load(store, workflow->id, &source, err);
    if (status < 0)
        return status;
    json_object_foreach(selection->changes, phase, changes)
        store_source_add_changes(&source, phase, changes);
    status = revision_resolve(&source, workflow, &selection->resolved, &selection->revision, err);
    store_source_fini(&source);
    if (status == 0)
        return 0;
    char best[REASON_MAX];
    (void)snprintf(best, sizeof best, "%s", selection->message);
    (void)snprintf(selection->message, REASON_MAX, "%.120s; with it: %.120s", best, err->message);
    selection->choice = (struct core_choice){0};
    selection->may_promote = false;
    return 0;
}

int matrix_judge(struct loop *loop, struct phase *matrix, struct error *err)
{
    struct store *store = loop_store(loop);
    struct selection *selection = xcalloc(1, sizeof *selection);
    selection->item = (struct loop_item){.write = selection_write, .free = selection_free};
    selection->matrix = matrix;
    selection->rung = matrix->rung;
    selection->changes = json_object();
    selection->follows = xcalloc(matrix->workflow->phase_count, sizeof *selection->follows);
    int status = store_phase_spec(store, matrix->id, &selection->spec, err);
    const json_t *json = json_object_get(selection->spec, "matrix");
    selection->best = json_object_get(json, "best");
    selection->rungs = json_object_get(json, "rungs");
    if (status == 0)
        status = judge_members(selection, store, err);
    if (status == 0)
        status = conclude(selection, store, err);
    if (status == 0 && json_object_size(selection->changes) > 0)
        status = work_out_revision(selection, store, err);
    if (status < 0) {
        selection_free(selection);
        return status;
    }
    struct core_event event = {
        .kind = EV_JUDGED,
        .workflow = matrix->workflow,
        .phase = matrix,
        .gate = selection->choice.count > 0 ? GATE_PASSED
                : selection->may_promote    ? GATE_FAILED
                                            : GATE_INSUFFICIENT,
        .revision = selection->revision,
        .choice = selection->choice.count > 0 ? &selection->choice : NULL,
        .message = selection->message,
    };
    loop_post_item(loop, &selection->item, &event);
    return 0;
}

/* --- While members run ------------------------------------------------------------------------ */

/* Adds the value of a member, if its metrics give a value yet. */
static int add_value_so_far(struct store *store, const struct phase *member, const char *expression,
                            json_t *so_far, struct error *err)
{
    struct values values = {0};
    json_t *wanted = json_object();
    values_add_names(wanted, expression, "");
    int status = values_load(store, member, wanted, &values, err);
    json_decref(wanted);
    if (status == 0) {
        const struct expr_scope scope = {.own = values_names(&values, NULL)};
        double value = NAN;
        char *reason = NULL;
        judge_value(&scope, expression, &value, &reason);
        if (!isnan(value))
            (void)json_object_set_new(so_far, member->name, json_double(value));
        free(reason);
    }
    values_fini(&values);
    return status;
}

int matrix_so_far(struct loop *loop, const struct phase *matrix, json_t **ret_json,
                  struct error *err)
{
    struct store *store = loop_store(loop);
    json_t *spec = NULL, *values = json_object();
    int status = store_phase_spec(store, matrix->id, &spec, err);
    json_t *best = json_object_get(json_object_get(spec, "matrix"), "best");
    json_t *expression = json_object_get(best, "value");
    for (size_t i = 0; status == 0 && expression && i < matrix->members->count; i++) {
        const struct phase *member = matrix->members->members[i];
        if ((member->run || member->reused) && member->rung == matrix->rung)
            status = add_value_so_far(store, member, json_string_value(expression), values, err);
    }
    *ret_json = NULL;
    if (status == 0 && expression)
        *ret_json = json_pack("{s:O, s:O, s:O}", "value", expression, "goal",
                              json_object_get(best, "goal"), "values", values);
    json_decref(values);
    json_decref(spec);
    return status;
}
