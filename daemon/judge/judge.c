/* Evaluates gates. The values that a gate names are loaded first. The values of earlier phases are
 * loaded only if a check names these phases. */
#include "daemon/judge/judge.h"

#include "daemon/judge/judge_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>
#include <stdlib.h>

struct judgement {
    struct loop_item item;
    struct values own, *before;
    struct expr_names *before_names;
    size_t before_count;
    uint64_t workflow, phase, run;
    enum check_kind kind; /* CHECK_GUARD while the run goes on: windows may fill yet */
    json_t *verdicts;
    struct text lack;                         /* which entries of journals are missing */
    struct text failed, insufficient, broken; /* the names of the checks */
    enum gate_result result;
    char message[REASON_MAX]; /* for people; empty: there is no gate */
};

/* `phase` NULL: the phase itself. */
static void add_lack(struct judgement *judgement, const struct values *values, const char *phase)
{
    if (values->lack)
        text_addf(&judgement->lack, "%s%s%s%s", judgement->lack.size ? "; " : "",
                  phase ? phase : "", phase ? ": " : "", values->lack);
}

/* The run told more than the record has, so nobody knows what the check would find. */
static void withdraw_verdict(struct verdict *verdict, const char *lack)
{
    if (verdict->outcome != CHECK_PASSED && verdict->outcome != CHECK_FAILED)
        return;
    verdict->outcome = CHECK_INSUFFICIENT;
    free(verdict->reason);
    verdict->reason = xstrdup(lack);
}

static int gather_before(struct judgement *judgement, struct store *store,
                         const struct phase *before, const json_t *wanted, struct error *err)
{
    size_t at = judgement->before_count++;
    int status = values_load(store, phase_result(before), wanted, &judgement->before[at], err);
    if (status < 0)
        return status;
    judgement->before_names[at] = values_names(&judgement->before[at], before->name);
    add_lack(judgement, &judgement->before[at], before->name);
    return 0;
}

static int gather(struct judgement *judgement, struct store *store, const struct phase *phase,
                  struct error *err)
{
    int status = values_load(store, phase, NULL, &judgement->own, err);
    if (status < 0)
        return status;
    const json_t *gate = json_object_get(judgement->own.spec, "gate");
    if (json_object_size(gate) > 0)
        add_lack(judgement, &judgement->own, NULL);
    judgement->before = xcalloc(phase->index + 1, sizeof *judgement->before);
    judgement->before_names = xcalloc(phase->index + 1, sizeof *judgement->before_names);
    /* Phases stand in topological order. */
    for (unsigned i = 0; status == 0 && i < phase->index; i++) {
        const struct phase *before = &phase->workflow->phases[i];
        json_t *wanted = values_gate_names(gate, before->name);
        if (json_object_size(wanted) > 0)
            status = gather_before(judgement, store, before, wanted, err);
        json_decref(wanted);
    }
    return status;
}

static void judge_check(struct judgement *judgement, const char *name, const json_t *json)
{
    struct check check;
    struct error err;
    struct verdict verdict;
    if (check_from_json(name, json, &check, &err) == 0) {
        struct expr_scope scope = {
            .own = values_names(&judgement->own, NULL),
            .before = judgement->before_names,
            .before_count = judgement->before_count,
        };
        check_evaluate(&check, judgement->kind, &scope, &verdict);
        check_fini(&check);
    } else { /* it was checked when it came: a newer phased may have taken it */
        verdict = (struct verdict){.name = xstrdup(name),
                                   .outcome = CHECK_ERROR,
                                   .bounds = xstrdup(""),
                                   .reason = xstrdup(err.message)};
    }
    if (judgement->lack.size)
        withdraw_verdict(&verdict, text_string(&judgement->lack));
    if (json_array_append_new(judgement->verdicts, verdict_to_json(&verdict)) < 0)
        abort();
    if (verdict_is_failure(&verdict)) {
        struct text *names = verdict.outcome == CHECK_FAILED         ? &judgement->failed
                             : verdict.outcome == CHECK_INSUFFICIENT ? &judgement->insufficient
                                                                     : &judgement->broken;
        text_addf(names, "%s%s", names->size ? ", " : "", name);
    }
    verdict_fini(&verdict);
}

static enum gate_result conclude(struct judgement *judgement)
{
    const struct {
        const char *what, *names;
    } parts[] = {
        {": ", text_string(&judgement->failed)},
        {"cannot be judged: ", text_string(&judgement->broken)},
        {"without data: ", text_string(&judgement->insufficient)},
    };
    size_t count = json_array_size(judgement->verdicts);
    char *message = judgement->message;
    struct text reason = {0};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (*parts[i].names)
            text_addf(&reason, "%s%s%.100s",
                      reason.size ? "; "
                      : i         ? ", "
                                  : "",
                      parts[i].what, parts[i].names);
    }
    bool is_failed = reason.size > 0;
    if (is_failed)
        (void)snprintf(message, REASON_MAX, "gate failed%s", text_string(&reason));
    text_fini(&reason);
    if (is_failed && judgement->lack.size) {
        (void)snprintf(message, REASON_MAX, "insufficient data: %s", text_string(&judgement->lack));
        return GATE_INCOMPLETE;
    }
    if (is_failed)
        return *parts[0].names || *parts[1].names ? GATE_FAILED : GATE_INSUFFICIENT;
    if (count > 0)
        (void)snprintf(message, REASON_MAX, "gate passed: %zu check%s", count,
                       count == 1 ? "" : "s");
    return GATE_PASSED;
}

static int judgement_write(struct loop_item *item, struct store *store, struct error *err)
{
    struct judgement *judgement = (struct judgement *)item;
    int64_t now_ms = loop_now_ms();
    int status = store_verdicts_set(store, judgement->run, judgement->verdicts, now_ms, err);
    if (status < 0 || !judgement->message[0])
        return status;
    struct store_event event = {.type = EVENT_GATE,
                                .time_ms = now_ms,
                                .workflow = judgement->workflow,
                                .phase = judgement->phase,
                                .run = judgement->run,
                                .result = judgement->result,
                                .message = judgement->message};
    return store_event_add(store, &event, err);
}

static void judgement_free(void *context)
{
    struct judgement *judgement = context;
    values_fini(&judgement->own);
    for (size_t i = 0; i < judgement->before_count; i++)
        values_fini(&judgement->before[i]);
    free(judgement->before);
    free(judgement->before_names);
    json_decref(judgement->verdicts);
    text_fini(&judgement->lack);
    text_fini(&judgement->failed);
    text_fini(&judgement->insufficient);
    text_fini(&judgement->broken);
    free(judgement);
}

/* Evaluates all checks of the gate against the record of the newest run. Fails if the record cannot
 * be read. */
static int judge_checks(struct loop *loop, const struct phase *phase, enum check_kind kind,
                        struct judgement **ret_judgement, struct error *err)
{
    struct judgement *judgement = xcalloc(1, sizeof *judgement);
    judgement->item =
        (struct loop_item){.write = judgement_write, .free = judgement_free, .adds_history = true};
    judgement->workflow = phase->workflow->id;
    judgement->phase = phase->id;
    judgement->run = phase->run->id;
    judgement->kind = kind;
    judgement->verdicts = json_array();
    int status = gather(judgement, loop_store(loop), phase, err);
    if (status < 0) {
        judgement_free(judgement);
        return status;
    }
    const char *name;
    json_t *check;
    json_object_foreach(json_object_get(judgement->own.spec, "gate"), name, check)
        judge_check(judgement, name, check);
    *ret_judgement = judgement;
    return 0;
}

/* Posts the verdicts and EV_JUDGED. Fails if the record cannot be read. Nothing is posted then. */
static int judge_gate(struct loop *loop, struct phase *phase, struct error *err)
{
    struct judgement *judgement;
    int status = judge_checks(loop, phase, CHECK_GATE, &judgement, err);
    if (status < 0)
        return status;
    judgement->result = conclude(judgement);
    struct core_event event = {.kind = EV_JUDGED,
                               .workflow = phase->workflow,
                               .phase = phase,
                               .gate = judgement->result,
                               .is_ungated = json_array_size(judgement->verdicts) == 0,
                               .checks = text_string(&judgement->failed),
                               .message = judgement->message};
    loop_post_item(loop, &judgement->item, &event);
    return 0;
}

/* --- While the run goes on -------------------------------------------------------------------- */

/* A long run has many metrics, so its gate takes some of the loop's time. */
enum {
    SO_FAR_PART = 20, /* at most a twentieth of the time goes into one run, or into one matrix */
    SO_FAR_RUNS = 100 /* the most answers that are kept */
};

struct judge {
    struct loop *loop;
    bool has_revised; /* in this turn: the record may not have the changed params yet */
    json_t *answers;  /* by run or by matrix: {"until": uv_hrtime(), "answer"}, or NULL */
};

/* The kept answer, if it may be given again; NULL: the answer has to be worked out. */
static json_t *answer_kept(const struct judge *judge, const char *key)
{
    const json_t *kept = json_object_get(judge->answers, key);
    json_int_t until = json_integer_value(json_object_get(kept, "until"));
    return (json_int_t)uv_hrtime() < until ? json_incref(json_object_get(kept, "answer")) : NULL;
}

/* Without an answer nothing is kept. */
static void answer_keep(struct judge *judge, const char *key, uint64_t begin, json_t *answer)
{
    if (!answer)
        return;
    uint64_t end = uv_hrtime(), until = end + (SO_FAR_PART - 1) * (end - begin);
    if (!judge->answers)
        judge->answers = json_object();
    if (json_object_size(judge->answers) >= SO_FAR_RUNS)
        (void)json_object_clear(judge->answers);
    (void)json_object_set_new(
        judge->answers, key, json_pack("{s:I, s:O}", "until", (json_int_t)until, "answer", answer));
}

/* The verdicts that the gate of an active phase would give now. */
static int gate_so_far(struct loop *loop, const struct phase *phase, json_t **ret_verdicts,
                       struct error *err)
{
    struct judgement *judgement;
    int status = judge_checks(loop, phase, CHECK_GUARD, &judgement, err);
    if (status < 0)
        return status;
    *ret_verdicts = json_incref(judgement->verdicts);
    judgement_free(judgement);
    return 0;
}

int judge_so_far(struct loop *loop, uint64_t workflow, const char *phase_name, bool is_matrix,
                 json_t **ret_json, struct error *err)
{
    struct judge *judge = loop_room(loop, &judge_room);
    const struct phase *phase =
        workflow_phase(core_workflow(loop_core(loop), workflow), phase_name);
    uint64_t begin = uv_hrtime();
    char key[32];
    *ret_json = NULL;
    if (!phase || phase->state != (is_matrix ? PHASE_BLOCKED : PHASE_ACTIVE) ||
        is_matrix != (phase->members != NULL))
        return 0;
    (void)snprintf(key, sizeof key, "%s%llu", is_matrix ? "matrix " : "",
                   (unsigned long long)(is_matrix ? phase->id : phase->run->id)); /* fits */
    *ret_json = answer_kept(judge, key);
    if (*ret_json)
        return 0;
    int status = (is_matrix ? matrix_so_far : gate_so_far)(loop, phase, ret_json, err);
    if (status == 0)
        answer_keep(judge, key, begin, *ret_json);
    return status;
}

/* --- The room --------------------------------------------------------------------------------- */

enum { RECORD_RETRY_MS = 1000, NEXT_TURN_MS = 1 };

/* A matrix or a remedy resolves the workflow's text again with all changes of params that are in
 * the record. So the next matrix or remedy waits until the changes of this one are there. */
static int carry_judge(void *state, const struct core_effect *effect)
{
    struct judge *judge = state;
    struct phase *phase = effect->phase;
    struct error err;
    if (phase->members && judge->has_revised)
        return CARRIED_LATER_MS + NEXT_TURN_MS;
    if ((phase->members ? matrix_judge : judge_gate)(judge->loop, phase, &err) == 0) {
        judge->has_revised = judge->has_revised || phase->members;
        return CARRIED_OUT;
    }
    log_line("could not judge phase %s: %s", phase->name, err.message);
    return CARRIED_LATER_MS + RECORD_RETRY_MS;
}

static int carry_remedy(void *state, const struct core_effect *effect)
{
    struct judge *judge = state;
    struct phase *phase = effect->phase;
    struct error err;
    if (judge->has_revised)
        return CARRIED_LATER_MS + NEXT_TURN_MS;
    if (remedy_work_out(judge->loop, phase, &err) == 0) {
        judge->has_revised = true;
        return CARRIED_OUT;
    }
    log_line("could not work out a remedy for phase %s: %s", phase->name, err.message);
    return CARRIED_LATER_MS + RECORD_RETRY_MS;
}

/* What was posted is in the record now. If the commit has failed, nothing is carried out before the
 * commit succeeds. */
static void judge_turned(void *state)
{
    ((struct judge *)state)->has_revised = false;
}

static void judge_fini(void *state)
{
    struct judge *judge = state;
    json_decref(judge->answers);
}

const struct room judge_room = {
    .state_size = sizeof(struct judge),
    .turned = judge_turned,
    .fini = judge_fini,
    .carry = {[FX_JUDGE] = carry_judge, [FX_REMEDY] = carry_remedy},
};
