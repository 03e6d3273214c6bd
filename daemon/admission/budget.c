/* Watching the budgets. */
#include "daemon/admission/admission.h"
#include "daemon/admission/inside.h"
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
    struct store_spending spent;
    struct error err;
    char text[BUDGET_TEXT_SIZE];
    if (!workflow || store_spending(loop_store(admission->loop), id, &spent, &err) < 0)
        return;
    double part = spending_part(json_object_get(row, "budget"), &spent, text);
    bool is_told = json_is_true(json_object_get(row, "told"));
    if (part >= 1 ? spending_hold(admission->loop, workflow, BUDGET_OF_WORKFLOW, text)
                  : part >= BUDGET_WARN_AT && !is_told)
        spending_warn(admission->loop, id, BUDGET_OF_WORKFLOW, part, text);
}

/* --- Taking holds back ------------------------------------------------------------------------ */

struct budget_lift {
    uint64_t workflow;
    unsigned phase; /* the index of the phase */
};

static bool is_spent(struct admission *admission, const struct workflow *workflow,
                     char text[BUDGET_TEXT_SIZE])
{
    struct store *store = loop_store(admission->loop);
    struct store_spending spent;
    struct error err;
    json_t *rows;
    bool is_spent = false;
    if (store_budgets(store, workflow->id, &rows, &err) < 0)
        return false; /* another part of the daemon reports that the record cannot be read */
    const json_t *budget = json_object_get(json_array_get(rows, 0), "budget");
    if (budget && store_spending(store, workflow->id, &spent, &err) == 0)
        is_spent = spending_part(budget, &spent, text) >= 1;
    json_decref(rows);
    return is_spent;
}

/* Whether a run of the phase, or of a member of the phase, must still stop before it is held. */
static bool phase_is_being_held(const struct phase *phase)
{
    const struct matrix *matrix = phase->members;
    const struct run *run = phase->run;
    bool has_one = run && run->state != RUN_ENDED && run->wish == WISH_HOLD &&
                   text_starts(phase->reason, "held by its budget");
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

/* Returns false when the lift is done, or is not needed any more. */
static bool lift_is_under_way(struct admission *admission, const struct budget_lift *lift)
{
    char text[BUDGET_TEXT_SIZE];
    struct workflow *workflow = core_workflow(loop_core(admission->loop), lift->workflow);
    if (!workflow || is_spent(admission, workflow, text))
        return false;
    struct phase *phase = &workflow->phases[lift->phase];
    if (phase_is_being_held(phase))
        return true;
    struct core_event event = {.kind = EV_COMMAND,
                               .workflow = workflow,
                               .phase = phase,
                               .command = COMMAND_RELEASE,
                               .message = "its new budget"};
    if (core_command_check(phase, COMMAND_RELEASE, NULL) == 0)
        loop_post(admission->loop, &event);
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

void budget_look(void *state)
{
    struct admission *admission = state;
    json_t *rows, *row;
    size_t i;
    struct error err;
    if (store_budgets(loop_store(admission->loop), 0, &rows, &err) < 0) {
        log_line("could not read the budgets: %s", err.message);
        return;
    }
    json_array_foreach(rows, i, row) budget_check(admission, row);
    json_decref(rows);
    month_check(admission);
    budget_take_back(admission);
}

bool admission_pays(struct loop *loop, const struct workflow *workflow, char ret_reason[REASON_MAX])
{
    struct admission *admission = loop_room(loop, &admission_room);
    char text[BUDGET_TEXT_SIZE];
    if (is_spent(admission, workflow, text))
        (void)snprintf(ret_reason, REASON_MAX, "its budget is spent: %s", text);
    else if (month_part(admission, text) >= 1)
        (void)snprintf(ret_reason, REASON_MAX, "this month's budget (limits.yaml) is spent: %s",
                       text);
    else
        return true;
    loop_look(loop, &admission_room, 0);
    return false;
}
