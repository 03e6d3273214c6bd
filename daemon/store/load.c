/* From the record back into the model of daemon/core. */
#include "daemon/core/core.h"
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>

/* The value of a stored name; NULL is 0. An unknown name sets `damaged`: the CHECKs of the schema
 * allow no unknown name. */
static unsigned load_name(const char *name, int (*parse)(const char *), bool *damaged)
{
    int value = name ? parse(name) : 0;
    *damaged |= value < 0;
    return value < 0 ? 0 : (unsigned)value;
}

static void load_failures(json_t *failures, struct phase *phase)
{
    const char *name;
    json_t *count;
    json_object_foreach(failures, name, count)
    {
        int cause = run_cause_parse(name);
        if (cause >= 0)
            phase->failures[cause] = (unsigned)json_integer_value(count);
    }
    json_decref(failures);
}

/* A row of Q_PHASE_LOAD. */
static bool load_phase(struct stmt *stmt, struct phase *phase)
{
    bool damaged = false;
    phase->id = stmt_id(stmt, "id");
    phase->name = stmt_copy(stmt, "name");
    phase->state = load_name(stmt_text(stmt, "state"), phase_state_parse, &damaged);
    phase->hold = load_name(stmt_text(stmt, "hold"), phase_hold_parse, &damaged);
    stmt_words(stmt, "reason", phase->reason, sizeof phase->reason);
    phase->hold_budget = load_name(stmt_text(stmt, "hold_budget"), budget_parse, &damaged);
    phase->hold_amount = load_name(stmt_text(stmt, "hold_amount"), amount_parse, &damaged);
    phase->is_overridden = stmt_bool(stmt, "overridden");
    phase->checkpoint_path = stmt_copy(stmt, "checkpoint_path");
    phase->checkpoint_step = stmt_int(stmt, "checkpoint_step");
    phase->attempts = stmt_unsigned(stmt, "attempts");
    load_failures(stmt_json(stmt, "failures"), phase);
    phase->losses = stmt_unsigned(stmt, "losses");
    phase->stalls = stmt_unsigned(stmt, "stalls");
    phase->promote_manual = text_equal(stmt_text(stmt, "promote"), "manual");
    phase->fail_finally = text_equal(stmt_text(stmt, "on_fail"), "fail");
    phase->has_checkpoint = stmt_bool(stmt, "has_checkpoint");
    phase->nodes = stmt_unsigned(stmt, "nodes");
    phase->gpus_per_node = stmt_unsigned(stmt, "gpus_per_node");
    phase->cpus_per_node = stmt_unsigned(stmt, "cpus_per_node");
    phase->gpu_type = stmt_copy(stmt, "gpu_type");
    phase->alternatives = stmt_copy(stmt, "alternatives");
    phase->time_s = stmt_unsigned(stmt, "time_s");
    phase->stop_s = stmt_unsigned(stmt, "stop_s");
    phase->linger_s = stmt_unsigned(stmt, "linger_s");
    phase->slurm_options = stmt_copy(stmt, "slurm_options");
    phase->must_resume = stmt_bool(stmt, "must_resume");
    phase->rung = stmt_unsigned(stmt, "rung");
    phase->is_chosen = stmt_bool(stmt, "chosen");
    phase->is_anew = stmt_bool(stmt, "anew");
    json_t *remedies = stmt_json(stmt, "remedies");
    damaged |= !rows_load_remedies(remedies, phase);
    json_decref(remedies);
    if (stmt_is_null(stmt, "remedy"))
        return !damaged;
    unsigned remedy = stmt_unsigned(stmt, "remedy");
    damaged |= remedy >= phase->remedy_count;
    if (!damaged)
        phase->remedy = &phase->remedies[remedy];
    return !damaged;
}

static bool load_next_phase(struct stmt *stmt, struct workflow *workflow)
{
    workflow->phases =
        xreallocarray(workflow->phases, workflow->phase_count + 1, sizeof *workflow->phases);
    struct phase *phase = &workflow->phases[workflow->phase_count];
    *phase = (struct phase){.workflow = workflow, .index = (unsigned)workflow->phase_count++};
    return load_phase(stmt, phase);
}

/* A row of Q_EDGE_LOAD. */
static bool load_edge(struct stmt *stmt, struct workflow *workflow)
{
    unsigned position = stmt_unsigned(stmt, "position"), before = stmt_unsigned(stmt, "after");
    if (position >= workflow->phase_count || before >= position)
        return false;
    struct phase *phase = &workflow->phases[position];
    phase->after = xreallocarray(phase->after, phase->after_count + 1, sizeof *phase->after);
    phase->after[phase->after_count++] = before;
    return true;
}

/* A row of Q_BESIDE_LOAD. */
static bool load_beside(struct stmt *stmt, struct workflow *workflow)
{
    unsigned position = stmt_unsigned(stmt, "position"), other = stmt_unsigned(stmt, "beside");
    if (position >= workflow->phase_count || other >= position)
        return false;
    workflow->phases[position].beside = &workflow->phases[other];
    return true;
}

/* A row of Q_MATRIX_LOAD. */
static bool load_matrix(struct stmt *stmt, struct workflow *workflow)
{
    unsigned position = stmt_unsigned(stmt, "position");
    bool has_best = !stmt_is_null(stmt, "best");
    unsigned best = stmt_unsigned(stmt, "best");
    if (position >= workflow->phase_count || (has_best && best >= position))
        return false;
    struct matrix *matrix = phase_add_matrix(&workflow->phases[position]);
    matrix->lanes = stmt_unsigned(stmt, "lanes");
    matrix->is_parallel = stmt_bool(stmt, "parallel");
    matrix->rung_count = stmt_unsigned(stmt, "rungs");
    matrix->best = has_best ? &workflow->phases[best] : NULL;
    return true;
}

/* A row of Q_MEMBER_LOAD. */
static bool load_member(struct stmt *stmt, struct workflow *workflow)
{
    unsigned position = stmt_unsigned(stmt, "position"), matrix = stmt_unsigned(stmt, "matrix");
    if (matrix >= workflow->phase_count || position >= matrix || !workflow->phases[matrix].members)
        return false;
    struct phase *member = &workflow->phases[position];
    matrix_add_member(workflow->phases[matrix].members, member);
    member->reused = stmt_id(stmt, "reused");
    member->reused_rung = stmt_unsigned(stmt, "reused_rung");
    member->reused_from = stmt_copy(stmt, "reused_from");
    return true;
}

static struct seat *load_find_seat(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->seat_count; i-- > 0;)
        if (workflow->seats[i]->id == id)
            return workflow->seats[i];
    return NULL;
}

/* A row of Q_SEAT_LOAD. */
static bool load_seat(struct stmt *stmt, struct workflow *workflow)
{
    struct seat *seat = workflow_add_seat(workflow);
    seat->id = stmt_id(stmt, "id");
    stmt_words(stmt, "token", seat->token, sizeof seat->token);
    seat->slot = stmt_unsigned(stmt, "slot");
    return true;
}

static struct allocation *load_find_job(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->allocation_count; i-- > 0;)
        if (workflow->allocations[i]->id == id)
            return workflow->allocations[i];
    return NULL;
}

/* A row of Q_JOB_LOAD. */
static bool load_job(struct stmt *stmt, struct workflow *workflow)
{
    bool damaged = false;
    struct allocation *allocation = workflow_add_allocation(workflow);
    allocation->id = stmt_id(stmt, "id");
    stmt_words(stmt, "token", allocation->token, sizeof allocation->token);
    allocation->seat = load_find_seat(workflow, stmt_id(stmt, "seat"));
    stmt_words(stmt, "gpu_type", allocation->gpu_type, sizeof allocation->gpu_type);
    allocation->slurm_id = stmt_unsigned(stmt, "slurm_id");
    allocation->state = load_name(stmt_text(stmt, "state"), cluster_job_state_parse, &damaged);
    stmt_words(stmt, "reason", allocation->reason, sizeof allocation->reason);
    stmt_words(stmt, "nodes", allocation->nodes, sizeof allocation->nodes);
    allocation->node_count = stmt_unsigned(stmt, "node_count");
    allocation->gpus_per_node = stmt_unsigned(stmt, "gpus_per_node");
    allocation->time_s = stmt_unsigned(stmt, "time_s");
    allocation->ended = stmt_bool(stmt, "over");
    allocation->restarts = stmt_unsigned(stmt, "restarts");
    allocation->submitted_ms = stmt_int(stmt, "submitted");
    allocation->started_ms = stmt_int(stmt, "started");
    allocation->ended_ms = stmt_int(stmt, "ended");
    allocation->absent_since_ms = stmt_int(stmt, "absent_since");
    bool is_cancelled = stmt_bool(stmt, "cancelled");
    allocation->is_closed = is_cancelled && !allocation->ended;
    allocation->is_back = is_cancelled && allocation->ended;
    return allocation->seat && !damaged;
}

static struct run *load_find_run(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->run_count; i-- > 0;)
        if (workflow->runs[i]->id == id)
            return workflow->runs[i];
    return NULL;
}

/* A row of Q_RUN_LOAD. */
static bool load_run(struct stmt *stmt, struct workflow *workflow)
{
    bool damaged = false;
    unsigned position = stmt_unsigned(stmt, "position");
    struct seat *seat = load_find_seat(workflow, stmt_id(stmt, "seat"));
    struct allocation *allocation = load_find_job(workflow, stmt_id(stmt, "job"));
    if (!seat || !allocation || position >= workflow->phase_count)
        return false;
    struct run *run = workflow_add_run(workflow, &workflow->phases[position]);
    run->seat = seat;
    seat->allocation = allocation;
    run->id = stmt_id(stmt, "id");
    run->attempt = stmt_unsigned(stmt, "attempt");
    run->rung = stmt_unsigned(stmt, "rung");
    run->state = load_name(stmt_text(stmt, "state"), run_state_parse, &damaged);
    run->outcome = load_name(stmt_text(stmt, "outcome"), run_outcome_parse, &damaged);
    run->cause = load_name(stmt_text(stmt, "cause"), run_cause_parse, &damaged);
    if (stmt_text(stmt, "stop_reason"))
        run->stop_reason = load_name(stmt_text(stmt, "stop_reason"), stop_reason_parse, &damaged);
    stmt_words(stmt, "message", run->message, sizeof run->message);
    run->in_place = stmt_bool(stmt, "in_place");
    run->has_begun = stmt_bool(stmt, "begun");
    run->wish = load_name(stmt_text(stmt, "wish"), run_wish_parse, &damaged);
    run->resume_path = stmt_copy(stmt, "resume_path");
    run->resume_step = stmt_int(stmt, "resume_step");
    run->begin_step = stmt_int(stmt, "begin_step");
    run->last_step = stmt_int(stmt, "last_step");
    run->exit_code = (int)stmt_int(stmt, "exit_code");
    run->signal = (int)stmt_int(stmt, "signal");
    run->submitted_ms = stmt_int(stmt, "submitted");
    run->started_ms = stmt_int(stmt, "started");
    run->ended_ms = stmt_int(stmt, "ended");
    run->silent_since_ms = stmt_int(stmt, "silent_since");
    run->told_ms = stmt_int(stmt, "told");
    run->job_started_ms = stmt_int(stmt, "job_started");
    run->suspect_step = stmt_int(stmt, "suspect_step");
    run->suspected_ms = stmt_int(stmt, "suspected");
    run->has_saved = stmt_bool(stmt, "has_saved");
    run->is_remedied = stmt_bool(stmt, "remedied");
    run->is_let_go = stmt_bool(stmt, "let_go");
    return !damaged;
}

static int load_row(struct store *store, struct workflow *workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_LOAD);
    stmt_bind_id(stmt, ":id", workflow->id);
    int status = stmt_find(stmt, "workflow", workflow->id, err);
    if (status < 0)
        return status;
    workflow->name = stmt_copy(stmt, "name");
    workflow->submitted_ms = stmt_int(stmt, "submitted");
    workflow->ended_ms = stmt_int(stmt, "ended");
    workflow->priority = (int)stmt_int(stmt, "priority");
    workflow->after = stmt_id(stmt, "after");
    workflow->window_from = stmt_unsigned(stmt, "window_from");
    workflow->window_to = stmt_unsigned(stmt, "window_to");
    stmt_reset(stmt);
    return 0;
}

/* The order matters: the rows of a part refer to the parts before it, and the addresses of phases
 * change until all phases are read. */
static int load_parts(struct store *store, struct workflow *workflow, struct error *err)
{
    static const struct {
        enum query query;
        bool (*load)(struct stmt *stmt, struct workflow *workflow); /* false: the row is damaged */
    } parts[] = {
        {Q_PHASE_LOAD, load_next_phase}, {Q_EDGE_LOAD, load_edge},     {Q_BESIDE_LOAD, load_beside},
        {Q_MATRIX_LOAD, load_matrix},    {Q_MEMBER_LOAD, load_member}, {Q_SEAT_LOAD, load_seat},
        {Q_JOB_LOAD, load_job},          {Q_RUN_LOAD, load_run},
    };
    int status = 0;
    for (size_t i = 0; status == 0 && i < sizeof parts / sizeof *parts; i++) {
        struct stmt *stmt = store_stmt(store, parts[i].query);
        stmt_bind_id(stmt, ":workflow", workflow->id);
        while ((status = stmt_step(stmt, err)) > 0) {
            if (parts[i].load(stmt, workflow))
                continue;
            stmt_reset(stmt);
            return error_set_at(err, -EUCLEAN, store->path, 0, 0,
                                "the record is damaged: workflow %" PRIu64 " does not fit together",
                                workflow->id);
        }
    }
    return status;
}

int store_load_workflow(struct store *store, uint64_t id, struct workflow **ret_workflow,
                        struct error *err)
{
    struct workflow *workflow = xcalloc(1, sizeof *workflow);
    workflow->id = id;
    int status = load_row(store, workflow, err);
    if (status == 0)
        status = load_parts(store, workflow, err);
    if (status == 0)
        *ret_workflow = workflow;
    else
        workflow_free(workflow);
    return status;
}

int store_load(struct store *store, struct core *core, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_LIVE);
    while ((status = stmt_step(stmt, err)) > 0) {
        struct workflow *workflow;
        status = store_load_workflow(store, stmt_id(stmt, "workflow"), &workflow, err);
        if (status < 0) {
            stmt_reset(stmt);
            return status;
        }
        core_add(core, workflow);
    }
    return status;
}

int store_last_ids(struct store *store, struct core_config *config, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_LAST_IDS);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    config->last_workflow = stmt_id(stmt, "workflow");
    config->last_phase = stmt_id(stmt, "phase");
    config->last_run = stmt_id(stmt, "run");
    config->last_seat = stmt_id(stmt, "seat");
    config->last_job = stmt_id(stmt, "job");
    stmt_reset(stmt);
    return 0;
}

/* A row of Q_OUTBOX_LIST as an effect; false: its objects are not in the model. */
static bool load_effect(struct stmt *stmt, const struct core *core, struct core_effect *effect)
{
    int kind = core_effect_parse(stmt_text(stmt, "kind"));
    struct workflow *workflow = core_workflow(core, stmt_id(stmt, "workflow"));
    uint64_t phase = stmt_id(stmt, "phase"), run = stmt_id(stmt, "run"), job = stmt_id(stmt, "job");
    if (kind < 0 || !workflow)
        return false;
    *effect = (struct core_effect){
        .kind = (enum core_effect_kind)kind,
        .workflow = workflow,
        .run = load_find_run(workflow, run),
        .allocation = load_find_job(workflow, job),
        .due_ms = stmt_int(stmt, "due"),
    };
    if (effect->allocation && (effect->kind == FX_SUBMIT || effect->kind == FX_LOOKUP))
        effect->allocation->is_asked = true; /* this effect asks */
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].id == phase)
            effect->phase = &workflow->phases[i];
    return !phase == !effect->phase && !run == !effect->run && !job == !effect->allocation;
}

int store_outbox(struct store *store, const struct core *core,
                 int (*each)(void *context, const struct core_effect *effect), void *context,
                 struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_OUTBOX_LIST);
    while ((status = stmt_step(stmt, err)) > 0) {
        struct core_effect effect;
        status = load_effect(stmt, core, &effect)
                     ? each(context, &effect)
                     : error_set_at(err, -EUCLEAN, store->path, 0, 0,
                                    "the record is damaged: its outbox names an unknown object");
        if (status != 0) {
            stmt_reset(stmt);
            break;
        }
    }
    return status;
}
