/* From the record back into the model of daemon/core. */
#include "daemon/core/core.h"
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The value of a stored name; NULL is 0. An unknown one, which the CHECKs allow no one to write, is
 * noted in `damaged`. */
static unsigned load_name(const char *name, int (*parse)(const char *), bool *damaged)
{
    int value = name ? parse(name) : 0;
    *damaged |= value < 0;
    return value < 0 ? 0 : (unsigned)value;
}

static int load_parse_wish(const char *name)
{
#define X(wish, stored)                                                                            \
    if (text_equal(name, stored))                                                                  \
        return (int)wish;
    RUN_WISHES(X)
#undef X
    return -1;
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

static bool load_phase(struct stmt *stmt, struct phase *phase)
{
    bool damaged = false;
    phase->id = (uint64_t)stmt_next_int(stmt);
    phase->name = stmt_next_copy(stmt);
    phase->state = load_name(stmt_next_text(stmt), phase_state_parse, &damaged);
    phase->hold = load_name(stmt_next_text(stmt), phase_hold_parse, &damaged);
    stmt_next_words(stmt, phase->reason, sizeof phase->reason);
    phase->is_overridden = stmt_next_bool(stmt);
    phase->checkpoint_path = stmt_next_copy(stmt);
    phase->checkpoint_step = stmt_next_int(stmt);
    phase->attempts = stmt_next_unsigned(stmt);
    load_failures(stmt_next_json(stmt), phase);
    phase->losses = stmt_next_unsigned(stmt);
    phase->stalls = stmt_next_unsigned(stmt);
    phase->promote_manual = text_equal(stmt_next_text(stmt), "manual");
    phase->fail_finally = text_equal(stmt_next_text(stmt), "fail");
    phase->has_checkpoint = stmt_next_bool(stmt);
    phase->nodes = stmt_next_unsigned(stmt);
    phase->gpus_per_node = stmt_next_unsigned(stmt);
    phase->cpus_per_node = stmt_next_unsigned(stmt);
    phase->gpu_type = stmt_next_copy(stmt);
    phase->alternatives = stmt_next_copy(stmt);
    phase->time_s = stmt_next_unsigned(stmt);
    phase->stop_s = stmt_next_unsigned(stmt);
    phase->linger_s = stmt_next_unsigned(stmt);
    phase->slurm_options = stmt_next_copy(stmt);
    phase->rung = stmt_next_unsigned(stmt);
    phase->is_anew = stmt_next_bool(stmt);
    json_t *remedies = stmt_next_json(stmt);
    damaged |= !rows_load_remedies(remedies, phase);
    json_decref(remedies);
    if (stmt_next_is_null(stmt))
        return !damaged;
    unsigned remedy = stmt_next_unsigned(stmt);
    damaged |= remedy >= phase->remedy_count;
    if (!damaged)
        phase->remedy = &phase->remedies[remedy];
    return !damaged;
}

static int load_damaged(struct store *store, const struct workflow *workflow, struct error *err)
{
    return error_set_at(err, -EUCLEAN, store->path, 0, 0,
                        "the record is damaged: workflow %" PRIu64 " does not fit together",
                        workflow->id);
}

static int load_phases(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    size_t capacity = 0;
    struct stmt *stmt = store_stmt(store, Q_PHASE_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        if (workflow->phase_count == capacity) {
            capacity = capacity ? 2 * capacity : 4;
            workflow->phases = xrealloc(workflow->phases, capacity * sizeof *workflow->phases);
        }
        struct phase *phase = &workflow->phases[workflow->phase_count];
        *phase = (struct phase){.index = (unsigned)workflow->phase_count++};
        if (!load_phase(stmt, phase)) {
            stmt_reset(stmt);
            return load_damaged(store, workflow, err);
        }
    }
    for (size_t i = 0; i < workflow->phase_count; i++) /* they stay where they are from now on */
        workflow->phases[i].workflow = workflow;
    return result;
}

static int load_edges(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_EDGE_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        unsigned position = stmt_next_unsigned(stmt), before = stmt_next_unsigned(stmt);
        if (position >= workflow->phase_count || before >= position) {
            stmt_reset(stmt);
            return load_damaged(store, workflow, err);
        }
        struct phase *phase = &workflow->phases[position];
        unsigned *after = xrealloc(phase->after, (phase->after_count + 1) * sizeof *after);
        after[phase->after_count++] = before;
        phase->after = after;
    }
    return result;
}

static int load_besides(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_BESIDE_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        unsigned position = stmt_next_unsigned(stmt), other = stmt_next_unsigned(stmt);
        if (position >= workflow->phase_count || other >= position) {
            stmt_reset(stmt);
            return load_damaged(store, workflow, err);
        }
        workflow->phases[position].beside = &workflow->phases[other];
    }
    return result;
}

static struct seat *load_find_seat(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->seat_count; i-- > 0;)
        if (workflow->seats[i]->id == id)
            return workflow->seats[i];
    return NULL;
}

static int load_seats(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_SEAT_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        struct seat *seat = workflow_add_seat(workflow);
        seat->id = (uint64_t)stmt_next_int(stmt);
        stmt_next_words(stmt, seat->token, sizeof seat->token);
        seat->slot = stmt_next_unsigned(stmt);
    }
    return result;
}

static struct allocation *load_find_job(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->allocation_count; i-- > 0;)
        if (workflow->allocations[i]->id == id)
            return workflow->allocations[i];
    return NULL;
}

static int load_jobs(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_JOB_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        struct allocation *job = workflow_add_allocation(workflow);
        job->id = (uint64_t)stmt_next_int(stmt);
        stmt_next_words(stmt, job->token, sizeof job->token);
        job->seat = load_find_seat(workflow, (uint64_t)stmt_next_int(stmt));
        if (!job->seat) {
            stmt_reset(stmt);
            return load_damaged(store, workflow, err);
        }
        stmt_next_words(stmt, job->gpu_type, sizeof job->gpu_type);
        job->slurm_id = stmt_next_unsigned(stmt);
        stmt_next_words(stmt, job->state, sizeof job->state);
        stmt_next_words(stmt, job->reason, sizeof job->reason);
        stmt_next_words(stmt, job->nodes, sizeof job->nodes);
        job->node_count = stmt_next_unsigned(stmt);
        job->gpus_per_node = stmt_next_unsigned(stmt);
        job->time_s = stmt_next_unsigned(stmt);
        job->ended = stmt_next_bool(stmt);
        job->restarts = stmt_next_unsigned(stmt);
        job->submitted_ms = stmt_next_int(stmt);
        job->started_ms = stmt_next_int(stmt);
        job->ended_ms = stmt_next_int(stmt);
        job->absent_since_ms = stmt_next_int(stmt);
        job->is_closed = stmt_next_bool(stmt);
    }
    return result;
}

static struct run *load_find_run(const struct workflow *workflow, uint64_t id)
{
    for (size_t i = workflow->run_count; i-- > 0;)
        if (workflow->runs[i]->id == id)
            return workflow->runs[i];
    return NULL;
}

/* The rest of a row of run_load. */
static bool load_run(struct stmt *stmt, struct run *run)
{
    bool damaged = false;
    run->id = (uint64_t)stmt_next_int(stmt);
    run->attempt = stmt_next_unsigned(stmt);
    run->rung = stmt_next_unsigned(stmt);
    run->state = load_name(stmt_next_text(stmt), run_state_parse, &damaged);
    run->outcome = load_name(stmt_next_text(stmt), run_outcome_parse, &damaged);
    run->cause = load_name(stmt_next_text(stmt), run_cause_parse, &damaged);
    stmt_next_words(stmt, run->message, sizeof run->message);
    run->in_place = stmt_next_bool(stmt);
    run->has_begun = stmt_next_bool(stmt);
    run->wish = load_name(stmt_next_text(stmt), load_parse_wish, &damaged);
    run->resume_path = stmt_next_copy(stmt);
    run->resume_step = stmt_next_int(stmt);
    run->begin_step = stmt_next_int(stmt);
    run->last_step = stmt_next_int(stmt);
    run->exit_code = (int)stmt_next_int(stmt);
    run->signal = (int)stmt_next_int(stmt);
    run->submitted_ms = stmt_next_int(stmt);
    run->started_ms = stmt_next_int(stmt);
    run->ended_ms = stmt_next_int(stmt);
    run->silent_since_ms = stmt_next_int(stmt);
    run->told_ms = stmt_next_int(stmt);
    run->suspect_step = stmt_next_int(stmt);
    run->is_remedied = stmt_next_bool(stmt);
    run->is_let_go = stmt_next_bool(stmt);
    return !damaged;
}

static int load_runs(struct store *store, struct workflow *workflow, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_RUN_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow->id);
    while ((result = stmt_step(stmt, err)) > 0) {
        unsigned position = stmt_next_unsigned(stmt);
        struct seat *seat = load_find_seat(workflow, (uint64_t)stmt_next_int(stmt));
        struct allocation *job = load_find_job(workflow, (uint64_t)stmt_next_int(stmt));
        struct run *run = NULL;
        if (seat && job && position < workflow->phase_count)
            run = workflow_add_run(workflow, &workflow->phases[position]);
        if (!run || !load_run(stmt, run)) {
            stmt_reset(stmt);
            return load_damaged(store, workflow, err);
        }
        run->seat = seat;
        seat->allocation = job;
    }
    return result;
}

static int load_row(struct store *store, struct workflow *workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_LOAD);
    stmt_bind_id(stmt, ":id", workflow->id);
    int result = stmt_find(stmt, "workflow", workflow->id, err);
    if (result < 0)
        return result;
    workflow->name = stmt_next_copy(stmt);
    workflow->submitted_ms = stmt_next_int(stmt);
    workflow->ended_ms = stmt_next_int(stmt);
    workflow->priority = (int)stmt_next_int(stmt);
    workflow->after = (uint64_t)stmt_next_int(stmt);
    workflow->window_from = (unsigned)stmt_next_int(stmt);
    workflow->window_to = (unsigned)stmt_next_int(stmt);
    stmt_reset(stmt);
    return 0;
}

int store_load_workflow(struct store *store, uint64_t id, struct workflow **ret_workflow,
                        struct error *err)
{
    struct workflow *workflow = xcalloc(1, sizeof *workflow);
    workflow->id = id;
    int result = load_row(store, workflow, err);
    if (result == 0)
        result = load_phases(store, workflow, err);
    if (result == 0)
        result = load_edges(store, workflow, err);
    if (result == 0)
        result = load_besides(store, workflow, err);
    if (result == 0)
        result = rows_load_matrices(store, workflow, err);
    if (result == 0)
        result = load_seats(store, workflow, err);
    if (result == 0)
        result = load_jobs(store, workflow, err);
    if (result == 0)
        result = load_runs(store, workflow, err);
    if (result == 0)
        *ret_workflow = workflow;
    else
        workflow_free(workflow);
    return result;
}

int store_load(struct store *store, struct core *core, struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_LIVE);
    while ((result = stmt_step(stmt, err)) > 0) {
        struct workflow *workflow;
        result = store_load_workflow(store, (uint64_t)stmt_next_int(stmt), &workflow, err);
        if (result < 0) {
            stmt_reset(stmt);
            return result;
        }
        core_add(core, workflow);
    }
    return result;
}

int store_last_ids(struct store *store, struct core_config *config, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_LAST_IDS);
    int result = stmt_step(stmt, err);
    if (result < 0)
        return result;
    config->last_workflow = (uint64_t)stmt_next_int(stmt);
    config->last_phase = (uint64_t)stmt_next_int(stmt);
    config->last_run = (uint64_t)stmt_next_int(stmt);
    config->last_seat = (uint64_t)stmt_next_int(stmt);
    config->last_job = (uint64_t)stmt_next_int(stmt);
    stmt_reset(stmt);
    return 0;
}

/* One row of outbox_list as an effect; false when its objects are not in the model. */
static bool load_effect(struct stmt *stmt, const struct core *core, struct core_effect *effect)
{
    int kind = core_effect_parse(stmt_next_text(stmt));
    struct workflow *workflow = core_workflow(core, (uint64_t)stmt_next_int(stmt));
    uint64_t phase = (uint64_t)stmt_next_int(stmt), run = (uint64_t)stmt_next_int(stmt),
             job = (uint64_t)stmt_next_int(stmt);
    if (kind < 0 || !workflow)
        return false;
    *effect = (struct core_effect){
        .kind = (enum core_effect_kind)kind,
        .workflow = workflow,
        .run = load_find_run(workflow, run),
        .allocation = load_find_job(workflow, job),
        .due_ms = stmt_next_int(stmt),
    };
    if (effect->allocation && (effect->kind == FX_SUBMIT || effect->kind == FX_LOOKUP))
        effect->allocation->is_asked = true; /* by this */
    for (size_t i = 0; i < workflow->phase_count; i++)
        if (workflow->phases[i].id == phase)
            effect->phase = &workflow->phases[i];
    return !phase == !effect->phase && !run == !effect->run && !job == !effect->allocation;
}

int store_outbox(struct store *store, const struct core *core,
                 int (*each)(void *arg, const struct core_effect *effect), void *arg,
                 struct error *err)
{
    int result;
    struct stmt *stmt = store_stmt(store, Q_OUTBOX_LIST);
    while ((result = stmt_step(stmt, err)) > 0) {
        struct core_effect effect;
        result = load_effect(stmt, core, &effect)
                     ? each(arg, &effect)
                     : error_set_at(err, -EUCLEAN, store->path, 0, 0,
                                    "the record is damaged: its outbox names what is not there");
        if (result != 0) {
            stmt_reset(stmt);
            break;
        }
    }
    return result;
}
