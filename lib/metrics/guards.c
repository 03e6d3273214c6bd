/* Watches the metrics of a run. */
#include "lib/metrics/guards.h"

#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/expr/metrics.h"
#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct guard {
    struct check check;
    enum check_outcome last; /* at the last judgement; before that CHECK_PASSED */
    int64_t fine_step;       /* the newest step at which the guard did not fail */
    unsigned rest;           /* looks that are left out until the next judgement */
    uint64_t due;            /* the look of the next judgement */
};

/* A metric that must be finite. Infinities before its first finite value are placeholders, such as
 * best_val_loss=inf: they count as if the metric had not come. */
struct loss {
    char *name;
    int64_t fine_step; /* the newest step at which the metric was finite */
};

/* A metric that a check uses. */
struct wanted {
    char *name;
    bool is_kept; /* a guard or `until` uses it; otherwise only the gate or the matrix does */
    bool has_come;
};

enum {
    GUARDS_SEEN_MAX = 16, /* names that a message can list */
    /* The most judgements between two calls of guards_judge(), and the most work of these
     * judgements: 5 million rows take some 25 ms. */
    GUARDS_TRIES_MAX = 64,
    GUARDS_WORK_MAX = 5000000,
    GUARDS_REST_MAX = 255, /* looks, some 50 s in a run */
};

struct guards {
    struct guard *list;
    size_t count;
    struct guard until;
    bool has_until;
    bool is_rehearsal; /* phased has set until, and not the file */
    bool has_clock;    /* until uses the time, which changes without rows */
    struct loss *losses;
    size_t loss_count;
    struct wanted *wanted;
    size_t wanted_count;
    char *seen[GUARDS_SEEN_MAX]; /* the first names that the program has printed */
    size_t seen_count;           /* counts one more if there are other names */
    struct metrics *metrics;
    const json_t *params;
    int64_t begin_step, step;
    unsigned tries; /* since the last call of guards_judge(), like `work` */
    uint64_t work;
    uint64_t looks; /* calls of guards_judge() */
    bool nan_ok, has_news;
    char *nan; /* a message about a metric that is not finite, or NULL */
    int64_t nan_since;
};

static struct wanted *guards_find(const struct guards *guards, const char *name)
{
    for (size_t i = 0; i < guards->wanted_count; i++)
        if (text_equal(guards->wanted[i].name, name))
            return &guards->wanted[i];
    return NULL;
}

static void guards_want(struct guards *guards, const char *name, bool is_kept)
{
    bool is_fact = text_equal(name, "elapsed") || text_equal(name, "step");
    struct wanted *wanted = guards_find(guards, name);
    if (is_fact || json_object_get(guards->params, name))
        return;
    if (!wanted) {
        guards->wanted =
            xrealloc(guards->wanted, (guards->wanted_count + 1) * sizeof *guards->wanted);
        wanted = &guards->wanted[guards->wanted_count++];
        *wanted = (struct wanted){.name = xstrdup(name)};
    }
    wanted->is_kept |= is_kept;
}

static int guards_note_names(struct guards *guards, const char *expression, bool is_kept,
                             struct error *err)
{
    struct expr_name *names;
    int count = expression ? expr_list_names(expression, &names, err) : 0;
    if (count <= 0)
        return count;
    for (int i = 0; i < count; i++)
        if (!names[i].phase[0])
            guards_want(guards, names[i].name, is_kept);
    free(names);
    return 0;
}

static int guards_note_check(struct guards *guards, const char *condition, const char *value,
                             bool is_kept, struct error *err)
{
    int status = guards_note_names(guards, condition, is_kept, err);
    return status < 0 ? status : guards_note_names(guards, value, is_kept, err);
}

static int guards_read(struct guards *guards, const json_t *list, struct error *err)
{
    const char *name;
    json_t *json;
    guards->list = xcalloc(json_object_size(list) + 1, sizeof *guards->list);
    json_object_foreach((json_t *)list, name, json)
    {
        struct check *check = &guards->list[guards->count].check;
        int status = check_from_json(name, json, check, err);
        if (status < 0)
            return status;
        guards->list[guards->count].fine_step = guards->begin_step;
        guards->count++;
        status = guards_note_check(guards, check->condition, check->value, true, err);
        if (status < 0)
            return status;
    }
    return 0;
}

static bool guards_names_clock(const char *expression)
{
    struct expr_name *names = NULL;
    int count = expression ? expr_list_names(expression, &names, NULL) : 0;
    bool is_named = false;
    for (int i = 0; i < count; i++)
        is_named = is_named || text_equal(names[i].name, "elapsed");
    if (count > 0)
        free(names);
    return is_named;
}

/* Returns a new object. In a rehearsal, a run that resumes from a checkpoint has an `until` of its
 * own. */
static json_t *guards_until(const json_t *spec, int64_t begin_step)
{
    const json_t *resumed = json_object_get(spec, "until_resumed");
    const json_t *steps = json_object_get(resumed, "steps");
    struct text condition = {0};
    if (!resumed || begin_step <= 0)
        return json_incref(json_object_get(spec, "until"));
    if (steps)
        text_addf(&condition, "step >= %lld or ",
                  (long long)(begin_step + json_integer_value(steps)));
    text_addf(&condition, "elapsed >= %lld",
              (long long)json_integer_value(json_object_get(resumed, "elapsed")));
    json_t *until = json_pack("{s:s}", "condition", text_string(&condition));
    text_fini(&condition);
    return until;
}

static int guards_read_until(struct guards *guards, const json_t *json, struct error *err)
{
    struct check *check = &guards->until.check;
    if (!json_is_object(json))
        return 0;
    int status = check_from_json("until", json, check, err);
    guards->has_until = status == 0;
    guards->has_clock =
        status == 0 && (guards_names_clock(check->condition) || guards_names_clock(check->value));
    return status < 0 ? status
                      : guards_note_check(guards, check->condition, check->value, true, err);
}

/* Takes the names of metrics from the gate. The daemon judges the gate; here only the names matter,
 * because the run should have these metrics. */
static int guards_read_gate(struct guards *guards, const json_t *gate, struct error *err)
{
    const char *name;
    json_t *json;
    json_object_foreach((json_t *)gate, name, json)
    {
        const char *condition = json_string_value(json_object_get(json, "condition"));
        const char *value = json_string_value(json_object_get(json, "value"));
        int status = guards_note_check(guards, condition, value, false, err);
        if (status < 0)
            return status;
    }
    return 0;
}

/* Takes the names of metrics by which a matrix compares its members when all of them have ended. */
static int guards_read_wants(struct guards *guards, const json_t *member, struct error *err)
{
    size_t i;
    json_t *json;
    json_array_foreach(json_object_get(member, "wants"), i, json)
    {
        int status = guards_note_names(guards, json_string_value(json), false, err);
        if (status < 0)
            return status;
    }
    return 0;
}

int guards_new(const json_t *spec, int64_t begin_step, struct guards **ret_guards,
               struct error *err)
{
    struct guards *guards = xcalloc(1, sizeof *guards);
    guards->metrics = metrics_new();
    guards->params = json_object_get(spec, "params");
    guards->nan_ok = json_is_true(json_object_get(spec, "nan_ok"));
    guards->begin_step = guards->step = begin_step;
    guards->is_rehearsal = json_is_true(json_object_get(spec, "rehearsal"));
    json_t *until = guards_until(spec, begin_step);
    int status = guards_read(guards, json_object_get(spec, "guards"), err);
    if (status == 0)
        status = guards_read_until(guards, until, err);
    if (status == 0)
        status = guards_read_gate(guards, json_object_get(spec, "gate"), err);
    if (status == 0)
        status = guards_read_wants(guards, json_object_get(spec, "member"), err);
    json_decref(until);
    if (status < 0) {
        error_prefix(err, "guards");
        guards_free(guards);
        return status;
    }
    *ret_guards = guards;
    return 0;
}

void guards_free(struct guards *guards)
{
    if (!guards)
        return;
    for (size_t i = 0; i < guards->count; i++)
        check_fini(&guards->list[i].check);
    if (guards->has_until)
        check_fini(&guards->until.check);
    for (size_t i = 0; i < guards->wanted_count; i++)
        free(guards->wanted[i].name);
    for (size_t i = 0; i < guards->seen_count && i < GUARDS_SEEN_MAX; i++)
        free(guards->seen[i]);
    for (size_t i = 0; i < guards->loss_count; i++)
        free(guards->losses[i].name);
    free(guards->list);
    free(guards->losses);
    free(guards->wanted);
    metrics_free(guards->metrics);
    free(guards->nan);
    free(guards);
}

void guards_want_of(const struct guards *guards, struct extract *extract)
{
    for (size_t i = 0; i < guards->wanted_count; i++)
        extract_want(extract, guards->wanted[i].name);
}

/* Remembers a name. If there are too many names, remembers only that there are others. */
static void guards_see(struct guards *guards, const char *name)
{
    if (guards->seen_count > GUARDS_SEEN_MAX)
        return;
    for (size_t i = 0; i < guards->seen_count; i++)
        if (i < GUARDS_SEEN_MAX && text_equal(guards->seen[i], name))
            return;
    if (guards->seen_count < GUARDS_SEEN_MAX)
        guards->seen[guards->seen_count] = xstrdup(name);
    guards->seen_count++;
}

static struct expr_scope guards_scope(const struct guards *guards, json_t *facts)
{
    return (struct expr_scope){
        .own = {.params = guards->params, .facts = facts, .metrics = guards->metrics},
        .begin_step = guards->begin_step,
        .full_windows = true,
    };
}

static json_t *guards_facts(const struct guards *guards, double elapsed_s)
{
    return json_pack("{s:f, s:I}", "elapsed", elapsed_s, "step", (json_int_t)guards->step);
}

/* Judges a step that has all of its rows. If several steps come between two calls of
 * guards_judge(), this finds the step that broke a guard. */
static void guards_try(struct guards *guards, double elapsed_s)
{
    if (guards->count == 0 || !guards->has_news || guards->tries >= GUARDS_TRIES_MAX ||
        guards->work >= GUARDS_WORK_MAX)
        return;
    guards->tries++;
    json_t *facts = guards_facts(guards, elapsed_s);
    struct expr_scope scope = guards_scope(guards, facts);
    for (size_t i = 0; i < guards->count; i++) {
        struct guard *guard = &guards->list[i];
        struct verdict verdict;
        if (guard->rest) {
            guard->fine_step = guards->step;
            continue;
        }
        check_evaluate(&guard->check, CHECK_GUARD, &scope, &verdict);
        if (verdict.outcome != CHECK_FAILED)
            guard->fine_step = guards->step;
        guards->work += verdict.work;
        verdict_fini(&verdict);
    }
    json_decref(facts);
}

/* Returns NULL if no value of the metric has counted yet. */
static struct loss *guards_find_loss(const struct guards *guards, const char *name)
{
    for (size_t i = 0; i < guards->loss_count; i++)
        if (text_equal(guards->losses[i].name, name))
            return &guards->losses[i];
    return NULL;
}

static struct loss *guards_add_loss(struct guards *guards, const char *name)
{
    guards->losses = xrealloc(guards->losses, (guards->loss_count + 1) * sizeof *guards->losses);
    struct loss *loss = &guards->losses[guards->loss_count++];
    *loss = (struct loss){.name = xstrdup(name), .fine_step = guards->begin_step};
    return loss;
}

/* A check that fails at `step` may have failed since the step after the last fine step. */
static int64_t guards_since(int64_t fine_step, int64_t step)
{
    return fine_step < step ? fine_step + 1 : step;
}

static void guards_look_for_nan(struct guards *guards, int64_t step,
                                const struct extract_value *value)
{
    if (guards->nan_ok || guards->nan || !strstr(value->name, "loss"))
        return;
    struct loss *loss = guards_find_loss(guards, value->name);
    if (!loss && isinf(value->value))
        return;
    loss = loss ? loss : guards_add_loss(guards, value->name);
    if (!isfinite(value->value)) {
        guards->nan = text_format("%s is %s at step %lld", value->name,
                                  isnan(value->value) ? "nan" : "infinite", (long long)step);
        guards->nan_since = guards_since(loss->fine_step, step);
    } else if (step > loss->fine_step) {
        loss->fine_step = step;
    }
}

void guards_add(struct guards *guards, int64_t step, double time_s,
                const struct extract_value *value)
{
    if (step > guards->step) {
        guards_try(guards, time_s);
        guards->step = step;
    }
    guards_look_for_nan(guards, step, value);
    guards->has_news = true;
    guards_see(guards, value->name);
    struct wanted *wanted = guards_find(guards, value->name);
    if (wanted)
        wanted->has_come = true;
    if (wanted && wanted->is_kept)
        metrics_add(guards->metrics, value->name, step, time_s, value->value);
}

void guards_sample(struct guards *guards, double time_s, const struct extract_value *value)
{
    struct wanted *wanted = guards_find(guards, value->name);
    if (!wanted)
        return;
    wanted->has_come = true;
    if (!wanted->is_kept)
        return;
    guards->has_news = true;
    metrics_add_sample(guards->metrics, value->name, guards->step, time_s, value->value);
}

/* An expression that takes too long costs up to half a second each time. The pauses between its
 * judgements grow, and do not end: the expression may read fewer rows later. */
static void guard_note(struct guard *guard, const struct guards *guards,
                       const struct verdict *verdict)
{
    bool is_costly = verdict->outcome == CHECK_ERROR && verdict->work > GUARDS_WORK_MAX;
    guard->last = verdict->outcome;
    if (!is_costly)
        guard->rest = 0;
    else if (guard->rest < GUARDS_REST_MAX)
        guard->rest = 2 * guard->rest + 1;
    guard->due = guards->looks + guard->rest + 1;
}

/* Evaluates one guard. Returns true if the guard stops the run. Insufficient data does not stop it,
 * because the run has just begun. An error does not stop it either: an expression may have become
 * too much work, which says nothing about the training. */
static bool guard_judge(struct guard *guard, const struct guards *guards,
                        const struct expr_scope *scope, guards_verdict *told, void *context,
                        struct guards_reason *ret_reason)
{
    struct verdict verdict;
    if (guards->looks < guard->due) {
        guard->fine_step = guards->step;
        return false;
    }
    check_evaluate(&guard->check, CHECK_GUARD, scope, &verdict);
    bool fails = verdict.outcome == CHECK_FAILED, is_new = verdict.outcome != guard->last;
    bool stops = fails && is_new && !verdict.warn;
    if (!fails)
        guard->fine_step = guards->step;
    guard_note(guard, guards, &verdict);
    if (is_new && (fails || verdict.outcome == CHECK_ERROR)) {
        json_t *json = verdict_to_json(&verdict);
        told(context, json);
        if (stops)
            *ret_reason = (struct guards_reason){
                .verdict = json_incref(json),
                .message = text_format("guard failed: %s", verdict.reason),
                .since = guards_since(guard->fine_step, guards->step),
            };
        json_decref(json);
    }
    verdict_fini(&verdict);
    return stops;
}

/* Returns true if `until` is reached. If `until` cannot be evaluated, its verdict is told like that
 * of a guard. */
static bool until_judge(struct guards *guards, const struct expr_scope *scope, guards_verdict *told,
                        void *context, char **ret_message)
{
    struct guard *until = &guards->until;
    struct verdict verdict;
    if (guards->looks < until->due)
        return false;
    check_evaluate(&until->check, CHECK_GUARD, scope, &verdict);
    bool is_reached = verdict.outcome == CHECK_PASSED;
    if (is_reached && guards->is_rehearsal) {
        free(verdict.reason);
        verdict.reason = guards->step > guards->begin_step
                             ? text_format("the rehearsal has seen enough, at step %lld",
                                           (long long)guards->step)
                             : xstrdup("the rehearsal has waited long enough for a step");
    }
    bool is_wrong = verdict.outcome == CHECK_ERROR;
    if (is_reached || (is_wrong && until->last != CHECK_ERROR)) {
        json_t *json = verdict_to_json(&verdict);
        told(context, json);
        json_decref(json);
    }
    guard_note(until, guards, &verdict);
    if (is_reached)
        *ret_message = xstrdup(verdict.reason);
    verdict_fini(&verdict);
    return is_reached;
}

enum guards_judgement guards_judge(struct guards *guards, double elapsed_s, guards_verdict *told,
                                   void *context, struct guards_reason *ret_reason)
{
    bool stops = false;
    guards->looks++;
    if (!guards->has_news && !guards->has_clock)
        return GUARDS_FINE;
    guards->has_news = false;
    guards->tries = 0;
    guards->work = 0;
    if (guards->nan) {
        *ret_reason = (struct guards_reason){.message = guards->nan, .since = guards->nan_since};
        guards->nan = NULL;
        guards->nan_ok = true; /* it has been told */
        return GUARDS_NAN;
    }
    json_t *facts = guards_facts(guards, elapsed_s);
    struct expr_scope scope = guards_scope(guards, facts);
    for (size_t i = 0; i < guards->count && !stops; i++)
        stops = guard_judge(&guards->list[i], guards, &scope, told, context, ret_reason);
    bool is_reached = !stops && guards->has_until &&
                      until_judge(guards, &scope, told, context, &ret_reason->message);
    json_decref(facts);
    if (stops)
        return GUARDS_FAILED;
    return is_reached ? GUARDS_REACHED : GUARDS_FINE;
}

int64_t guards_vouched(const struct guards *guards)
{
    int64_t vouched = INT64_MAX;
    for (size_t i = 0; i < guards->count; i++)
        if (!guards->list[i].check.warn && guards->list[i].fine_step < vouched)
            vouched = guards->list[i].fine_step;
    /* A guard may still fail at its last fine step, because more rows of that step may come. */
    for (size_t i = 0; i < guards->loss_count; i++)
        if (guards->losses[i].fine_step + 1 < vouched)
            vouched = guards->losses[i].fine_step + 1;
    return vouched;
}

char *guards_missing(const struct guards *guards)
{
    struct text text = {0};
    for (size_t i = 0; i < guards->wanted_count; i++)
        if (!guards->wanted[i].has_come)
            text_addf(&text, "%s%s", text.size ? ", " : "", guards->wanted[i].name);
    return text_steal(&text);
}

char *guards_seen(const struct guards *guards)
{
    struct text text = {0};
    for (size_t i = 0; i < guards->seen_count; i++)
        text_addf(&text, "%s%s", text.size ? ", " : "",
                  i < GUARDS_SEEN_MAX ? guards->seen[i] : "...");
    return text_steal(&text);
}
