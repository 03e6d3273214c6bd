/* People's commands: promote, hold, release, resume, cancel, retry. A command applies to one phase,
 * or to all phases of a workflow that it fits. */
#include "daemon/api/api_private.h"

#include "daemon/admission/admission.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/store/answers.h"
#include "lib/amount.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/text.h"

#include <stdlib.h>

/* A command and the request that gives it, until the commit. */
struct control_item {
    struct loop_item item;
    struct request *request;
    const struct workflow *workflow;
    bool *chosen; /* by the index of a phase: whether the command is for the phase */
    /* Names of phases: those that the command changes, those whose run must stop first, and those
     * that are judged again. */
    json_t *phases, *stopping, *judging;
};

static void add_phase(json_t *phases, const struct phase *phase)
{
    (void)json_array_append_new(
        phases, json_sprintf("%llu/%s", (unsigned long long)phase->workflow->id, phase->name));
}

/* Finds the chosen phases that were skipped instead: the command has ended a phase before them, or
 * such a phase is lost and was not run again. */
static json_t *skipped_phases(const struct control_item *item)
{
    json_t *skipped = json_array();
    for (size_t i = 0; i < item->workflow->phase_count; i++)
        if (item->chosen[i] && item->workflow->phases[i].state == PHASE_SKIPPED)
            add_phase(skipped, &item->workflow->phases[i]);
    return skipped;
}

static void control_done(struct loop_item *base, const struct error *failure)
{
    struct control_item *item = (struct control_item *)base;
    if (failure)
        call_fail_later(item->request, failure);
    else
        request_reply_json(item->request, 200,
                           json_pack("{s:O, s:O, s:O, s:o}", "phases", item->phases, "stopping",
                                     item->stopping, "judging", item->judging, "skipped",
                                     skipped_phases(item)));
}

static void control_free(void *context)
{
    struct control_item *item = context;
    json_decref(item->phases);
    json_decref(item->stopping);
    json_decref(item->judging);
    free(item->chosen);
    free(item);
}

/* Whether the command is left to the matrix of the phase. If the command is for the whole workflow
 * and the matrix takes it, the matrix passes the command on to its members. A member is promoted
 * only by name. */
static bool is_left_to_matrix(const struct call *call, const struct phase *phase)
{
    return phase->matrix && (call->command == COMMAND_PROMOTE ||
                             core_command_check(phase->matrix->phase, call->command, NULL) == 0);
}

/* Sets `ret_chosen` for each phase that the command would change. Returns their number. */
static size_t choose(struct call *call, struct workflow *workflow, bool *ret_chosen,
                     struct error *err)
{
    size_t count = 0;
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        bool is_named = text_equal(phase->name, call->address.phase);
        bool is_meant = is_named || (!call->address.phase[0] && !is_left_to_matrix(call, phase));
        ret_chosen[i] = is_meant && core_command_check(phase, call->command, err) == 0;
        count += ret_chosen[i];
    }
    return count;
}

/* `from` is the checkpoint to retry from, as resume_find() gives it; NULL: no checkpoint was named.
 */
static void carry_out(struct call *call, struct workflow *workflow, const bool *chosen,
                      const char *who, const json_t *from)
{
    struct told_checkpoint told = told_checkpoint_read(from);
    struct control_item *item = xcalloc(1, sizeof *item);
    *item = (struct control_item){
        .item = {.done = control_done, .free = control_free},
        .request = call->request,
        .workflow = workflow,
        .chosen = xcalloc(workflow->phase_count, sizeof *chosen),
        .phases = json_array(),
        .stopping = json_array(),
        .judging = json_array(),
    };
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        item->chosen[i] = chosen[i];
        if (chosen[i])
            add_phase(item->phases, phase);
        if (chosen[i] && core_command_stops(phase, call->command))
            add_phase(item->stopping, phase);
        if (chosen[i] && core_command_judges(phase, call->command))
            add_phase(item->judging, phase);
    }
    loop_post_item(call->api->config.loop, &item->item, NULL);
    for (size_t i = 0; i < workflow->phase_count; i++) {
        struct core_event event = {.kind = EV_COMMAND,
                                   .workflow = workflow,
                                   .phase = &workflow->phases[i],
                                   .command = call->command,
                                   .path = told.path,
                                   .step = told.step,
                                   .message = who};
        if (chosen[i])
            loop_post(call->api->config.loop, &event);
    }
}

/* Finds the checkpoint that the body names for a retry, if it names one. False: the request was
 * answered with an error. */
static bool find_from(struct call *call, struct workflow *workflow, const json_t *body,
                      json_t **ret_from)
{
    const json_t *from = json_object_get(body, "from");
    const char *name = json_string_value(from);
    struct error err;
    if (!from)
        return true;
    if (call->command != COMMAND_RETRY || !name) {
        request_reply_error(call->request, API_BAD_REQUEST, "from",
                            "from: must be a step, a path or start, and is for retry only");
        return false;
    }
    if (!call->address.phase[0] && workflow->phase_count > 1) {
        request_reply_error(call->request, API_BAD_REQUEST, call->text,
                            "a checkpoint belongs to one phase: name the phase, such as %s/%s",
                            call->text, workflow->phases[0].name);
        return false;
    }
    const struct phase *phase =
        call->address.phase[0] ? workflow_phase(workflow, call->address.phase) : workflow->phases;
    int status = resume_find(loop_store(call->api->config.loop), phase, name, ret_from, &err);
    if (status < 0)
        call_fail(call->request, call->text, &err);
    return status == 0;
}

/* Whether a chosen phase would run again. A matrix that is judged again runs nothing. */
static bool would_run(const struct call *call, const struct workflow *workflow, const bool *chosen)
{
    bool runs = call->command == COMMAND_RETRY || call->command == COMMAND_RESUME ||
                call->command == COMMAND_RELEASE;
    for (size_t i = 0; runs && i < workflow->phase_count; i++)
        if (chosen[i] && !core_command_judges(&workflow->phases[i], call->command))
            return true;
    return false;
}

/* Whether the budgets allow the command: a phase that begins while a budget is spent would be held
 * again at once. False: the request was answered with an error. */
static bool can_pay(struct call *call, struct workflow *workflow)
{
    struct admission_spent spent;
    if (admission_pays(call->api->config.loop, workflow, &spent))
        return true;
    char *advice = spent.budget == BUDGET_WORKFLOW
                       ? text_format("phasectl budget %llu %s N", (unsigned long long)workflow->id,
                                     amount_option(spent.amount))
                       : xstrdup("raise `month` in limits.yaml");
    request_reply_error(call->request, API_CONFLICT, call->text, "cannot %s %s: %s; first %s",
                        phase_command_name(call->command), call->text, spent.reason, advice);
    free(advice);
    return false;
}

/* Whether the phases can run again: they may need secrets that were removed. False: the request was
 * answered with an error. */
static bool can_run(struct call *call, struct workflow *workflow, const bool *chosen)
{
    struct error err;
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (!chosen[i] || launch_secrets_check(call->api->config.loop, phase, &err) == 0)
            continue;
        request_reply_error(call->request, API_CONFLICT, call->text, "cannot %s %s: %s",
                            phase_command_name(call->command), call->text, err.message);
        return false;
    }
    return true;
}

/* No phase of the workflow takes the command. */
static void refuse(struct call *call, const struct workflow *workflow)
{
    enum workflow_state state = workflow_state(workflow);
    const char *name = workflow_state_name(state), *verb = phase_command_name(call->command);
    if (state == WORKFLOW_RUNNING) /* people see the states of its phases */
        request_reply_error(
            call->request, API_CONFLICT, call->text,
            "cannot %s any phase of workflow %s now; phasectl status %s shows their "
            "states",
            verb, call->text, call->text);
    else if (state == WORKFLOW_SUCCEEDED)
        request_reply_error(call->request, API_CONFLICT, call->text,
                            "cannot %s any phase of workflow %s, which has succeeded", verb,
                            call->text);
    else
        request_reply_error(call->request, API_CONFLICT, call->text,
                            "cannot %s any phase of workflow %s, which %s %s; phasectl why %s says "
                            "what can be done",
                            verb, call->text, state_verb(name), name, call->text);
}

void control_post(struct call *call)
{
    struct workflow *workflow;
    struct error err = {0};
    bool *chosen = NULL;
    json_t *from = NULL;
    if (!call_can_record(call))
        return;
    json_t *body = call_body(call);
    if (!body)
        return;
    if (loop_workflow(call->api->config.loop, call->address.workflow, &workflow, &err) < 0) {
        call_fail(call->request, call->text, &err);
        goto out;
    }
    if (call->address.phase[0] && !workflow_phase(workflow, call->address.phase)) {
        (void)answer_no_phase(loop_store(call->api->config.loop), call->address.workflow,
                              call->address.phase, &err);
        call_fail(call->request, call->text, &err);
        goto out;
    }
    if (!find_from(call, workflow, body, &from))
        goto out;
    chosen = xcalloc(workflow->phase_count, sizeof *chosen);
    size_t count = choose(call, workflow, chosen, &err);
    if (would_run(call, workflow, chosen) &&
        (!can_pay(call, workflow) || !can_run(call, workflow, chosen)))
        goto out;
    if (count > 0)
        carry_out(call, workflow, chosen, json_string_value(json_object_get(body, "who")), from);
    else if (call->address.phase[0] || workflow->phase_count == 1)
        request_reply_error(call->request, API_CONFLICT, call->text, "%s", err.message);
    else
        refuse(call, workflow);
out:
    json_decref(from);
    free(chosen);
    json_decref(body);
}
