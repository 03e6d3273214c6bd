/* Watching the budgets. */
#include "daemon/admission/admission.h"
#include "daemon/admission/admission_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/cost.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <stdio.h>

static void budget_check(struct admission *admission, const json_t *row)
{
    uint64_t id = (uint64_t)json_integer_value(json_object_get(row, "workflow"));
    struct workflow *workflow = core_workflow(loop_core(admission->loop), id);
    struct store_spending cost;
    struct error err;
    if (!workflow || store_spending(loop_store(admission->loop), id, &cost, &err) < 0)
        return;
    struct spending spent = spending_of(json_object_get(row, "budget"), &cost);
    bool is_told = json_is_true(json_object_get(row, "told"));
    if (spent.part >= 1 ? spending_hold(admission->loop, workflow, BUDGET_WORKFLOW, &spent)
                        : spent.part >= BUDGET_WARN_AT && !is_told)
        spending_warn(admission->loop, id, BUDGET_WORKFLOW, &spent);
}

/* --- Taking holds back ------------------------------------------------------------------------ */

struct budget_lift {
    uint64_t workflow;
    unsigned phase; /* the index of the phase */
};

static struct spending workflow_spent(struct admission *admission, const struct workflow *workflow)
{
    struct store *store = loop_store(admission->loop);
    struct spending spent = {0};
    struct store_spending cost;
    struct error err;
    json_t *budget;
    if (store_budget(store, workflow->id, &budget, &err) < 0)
        return spent; /* another part of the daemon reports that the record cannot be read */
    if (budget && store_spending(store, workflow->id, &cost, &err) == 0)
        spent = spending_of(budget, &cost);
    json_decref(budget);
    return spent;
}

/* Whether a run of the phase, or of a member of the phase, must still stop before it is held. */
static bool phase_is_being_held(const struct phase *phase)
{
    const struct matrix *matrix = phase->members;
    const struct run *run = phase->run;
    bool has_one = run && run->state != RUN_ENDED && run->wish == WISH_HOLD &&
                   phase->hold_budget == BUDGET_WORKFLOW;
    for (size_t i = 0; matrix && !has_one && i < matrix->count; i++)
        has_one = phase_is_being_held(matrix->members[i]);
    return has_one;
}

void admission_lift(struct loop *loop, uint64_t id)
{
    struct admission *admission = loop_room(loop, &admission_room);
    const struct workflow *workflow = core_workflow(loop_core(loop), id);
    size_t count = 0;
    for (size_t i = 0; i < admission->lift_count; i++) /* only the newest budget counts */
        if (admission->lifts[i].workflow != id)
            admission->lifts[count++] = admission->lifts[i];
    for (unsigned i = 0; workflow && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (phase->matrix || !phase_is_being_held(phase))
            continue;
        admission->lifts = xreallocarray(admission->lifts, count + 1, sizeof *admission->lifts);
        admission->lifts[count++] = (struct budget_lift){.workflow = id, .phase = i};
    }
    admission->lift_count = count;
}

/* Releases what the budget of the workflow holds: the phase, or the members of a matrix. A member
 * that a person has held stays held. */
static void phase_lift(struct loop *loop, struct phase *phase)
{
    const struct matrix *matrix = phase->members;
    struct core_event event = {.kind = EV_COMMAND,
                               .workflow = phase->workflow,
                               .phase = phase,
                               .command = COMMAND_RELEASE,
                               .message = "its new budget"};
    for (size_t i = 0; matrix && i < matrix->count; i++)
        phase_lift(loop, matrix->members[i]);
    if (phase->hold_budget == BUDGET_WORKFLOW &&
        core_command_check(phase, COMMAND_RELEASE, NULL) == 0)
        loop_post(loop, &event);
}

/* Returns false when the lift is done, or is not needed any more. */
static bool lift_is_under_way(struct admission *admission, const struct budget_lift *lift)
{
    struct workflow *workflow = core_workflow(loop_core(admission->loop), lift->workflow);
    if (!workflow || workflow_spent(admission, workflow).part >= 1)
        return false;
    struct phase *phase = &workflow->phases[lift->phase];
    if (phase_is_being_held(phase))
        return true;
    phase_lift(admission->loop, phase);
    return false;
}

static void budget_take_back(struct admission *admission)
{
    size_t count = 0;
    for (size_t i = 0; i < admission->lift_count; i++)
        if (lift_is_under_way(admission, &admission->lifts[i]))
            admission->lifts[count++] = admission->lifts[i];
    admission->lift_count = count;
}

/* --- Looking ---------------------------------------------------------------------------------- */

/* The cost of many runs in one allocation takes long to sum up. So the looks take at most a
 * twentieth of the loop's time. But a pause is never longer than a minute, because the looks hold
 * the phases whose budget is spent. */
enum { LOOK_PART = 20, LOOK_PAUSE_MAX_S = 60 };

static uint64_t next_look_ns(uint64_t begin_ns)
{
    const uint64_t end_ns = uv_hrtime(), longest_ns = (uint64_t)LOOK_PAUSE_MAX_S * 1000000000;
    uint64_t pause_ns = (LOOK_PART - 1) * (end_ns - begin_ns);
    return end_ns + (pause_ns < longest_ns ? pause_ns : longest_ns);
}

void budget_look(void *state)
{
    struct admission *admission = state;
    uint64_t begin_ns = uv_hrtime();
    json_t *rows, *row;
    size_t i;
    struct error err;
    if (begin_ns < admission->due_ns)
        return;
    if (store_budgets(loop_store(admission->loop), &rows, &err) < 0) {
        log_line("could not read the budgets: %s", err.message);
        return;
    }
    json_array_foreach(rows, i, row) budget_check(admission, row);
    json_decref(rows);
    month_check(admission);
    budget_take_back(admission);
    admission->due_ns = next_look_ns(begin_ns);
}

bool admission_can_pay(struct loop *loop, const struct workflow *workflow,
                       struct admission_spent *ret_spent)
{
    struct admission *admission = loop_room(loop, &admission_room);
    struct spending spent = workflow_spent(admission, workflow);
    bool is_own = spent.part >= 1;
    if (!is_own)
        spent = month_spent(admission);
    if (spent.part < 1)
        return true;
    ret_spent->budget = is_own ? BUDGET_WORKFLOW : BUDGET_MONTH;
    ret_spent->amount = spent.amount;
    (void)snprintf(ret_spent->reason, sizeof ret_spent->reason, "%s is spent: %s",
                   is_own ? "its budget" : "this month's budget (limits.yaml)", spent.text);
    return false;
}

bool admission_pays(struct loop *loop, const struct workflow *workflow,
                    struct admission_spent *ret_spent)
{
    bool pays = admission_can_pay(loop, workflow, ret_spent);
    if (!pays)
        loop_look(loop, &admission_room, 0);
    return pays;
}
