/* What a person may do with a phase now. */
#include "daemon/api/can.h"

#include "daemon/admission/admission.h"
#include "daemon/core/core.h"
#include "lib/amount.h"
#include "lib/text.h"

struct can {
    struct loop *loop;
    const struct workflow *workflow;
    size_t at;     /* where the next search begins */
    bool is_asked; /* the budgets were looked at */
    bool pays;
    struct admission_spent spent;
};

/* `*at` is where the search begins: phases come in the order of the workflow, mostly. */
static const struct phase *can_find(const struct workflow *workflow, const char *name, size_t *at)
{
    for (size_t i = 0; name && i < workflow->phase_count; i++, ++*at) {
        const struct phase *phase = &workflow->phases[*at % workflow->phase_count];
        if (text_equal(phase->name, name))
            return phase;
    }
    return NULL;
}

static json_t *can_verbs(const struct phase *phase)
{
    json_t *verbs = json_array();
    for (enum phase_command i = 0; i < COMMAND_COUNT; i++)
        if (core_command_check(phase, i, NULL) == 0)
            (void)json_array_append_new(verbs, json_string(phase_command_name(i)));
    return verbs;
}

static json_t *can_sums(const struct matrix *matrix)
{
    json_t *sums = json_object();
    for (enum phase_command i = 0; i < COMMAND_COUNT; i++) {
        json_int_t count = 0;
        for (size_t member = 0; member < matrix->count; member++)
            count += core_command_check(matrix->members[member], i, NULL) == 0;
        if (count > 0)
            (void)json_object_set_new(sums, phase_command_name(i), json_integer(count));
    }
    return sums;
}

/* The record has the budget that was spent when the phase was held. */
static void can_judge_budget(struct can *can, const struct phase *phase, json_t *json)
{
    if (phase->state != PHASE_HELD || phase->hold_budget == BUDGET_NONE ||
        !json_object_get(json, "hold_budget"))
        return;
    if (!can->is_asked)
        can->pays = admission_can_pay(can->loop, can->workflow, &can->spent);
    can->is_asked = true;
    (void)json_object_set_new(
        json, "hold_budget", can->pays ? json_null() : json_string(budget_name(can->spent.budget)));
    (void)json_object_set_new(json, "hold_amount",
                              can->pays ? json_null() : json_string(amount_key(can->spent.amount)));
}

static void can_add_to_phase(struct can *can, json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "phase"));
    const struct phase *phase = can_find(can->workflow, name, &can->at);
    json_t *sums = json_object_get(json, "of_members");
    if (!phase)
        return; /* `json` is a workflow */
    (void)json_object_set_new(json, "can", can_verbs(phase));
    can_judge_budget(can, phase, json);
    if (phase->members && sums)
        (void)json_object_set_new(sums, "can", can_sums(phase->members));
}

void can_add(struct loop *loop, const struct workflow *workflow, json_t *json)
{
    static const char *const lists[] = {"phases", "members"};
    json_t *item;
    size_t i;
    struct can can = {.loop = loop, .workflow = workflow};
    can_add_to_phase(&can, json);
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
        json_array_foreach(json_object_get(json, lists[list]), i, item)
            can_add_to_phase(&can, item);
}
