/* Writes each effect of the core: as a row of its object, or as a row of the outbox. */
#include "daemon/core/core.h"
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Runs an UPDATE, which must find its row. */
static int apply_update(struct store *store, struct stmt *stmt, const char *kind, uint64_t id,
                        struct error *err)
{
    int status = stmt_run(stmt, err);
    if (status == 0 && sqlite3_changes(store->db) != 1) {
        status = error_set(&store->spoiled, -ENOENT, "the record has no %s %" PRIu64, kind, id);
        if (err)
            *err = store->spoiled;
    }
    return status;
}

static int apply_workflow(struct store *store, const struct workflow *workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_SAVE);
    stmt_bind_id(stmt, ":id", workflow->id);
    stmt_bind_time(stmt, ":ended", workflow->ended_ms);
    return apply_update(store, stmt, "workflow", workflow->id, err);
}

static int apply_phase(struct store *store, const struct phase *phase, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_SAVE);
    rows_bind_phase(stmt, phase);
    int status = apply_update(store, stmt, "phase", phase->id, err);
    return status < 0 ? status : rows_save_matrix(store, phase, err);
}

static int apply_run(struct store *store, const struct run *run, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_SAVE);
    stmt_bind_id(stmt, ":id", run->id);
    stmt_bind_id(stmt, ":phase", run->phase->id);
    stmt_bind_int(stmt, ":attempt", run->attempt);
    stmt_bind_int(stmt, ":rung", run->rung);
    stmt_bind_text(stmt, ":state", run_state_name(run->state));
    stmt_bind_text(stmt, ":outcome", run->outcome ? run_outcome_name(run->outcome) : NULL);
    stmt_bind_text(stmt, ":stop_reason",
                   run->stop_reason < STOP_REASON_COUNT ? stop_reason_name(run->stop_reason)
                                                        : NULL);
    stmt_bind_text(stmt, ":cause", run->cause ? run_cause_name(run->cause) : NULL);
    stmt_bind_words(stmt, ":message", run->message);
    stmt_bind_id(stmt, ":seat", run->seat->id);
    stmt_bind_id(stmt, ":job", run->seat->allocation->id);
    stmt_bind_int(stmt, ":in_place", run->in_place);
    stmt_bind_int(stmt, ":begun", run->has_begun);
    stmt_bind_text(stmt, ":wish", run->wish ? run_wish_name(run->wish) : NULL);
    stmt_bind_text(stmt, ":resume_path", run->resume_path);
    stmt_bind_int(stmt, ":resume_step", run->resume_step);
    stmt_bind_int(stmt, ":begin_step", run->begin_step);
    stmt_bind_int(stmt, ":last_step", run->last_step);
    stmt_bind_int(stmt, ":exit_code", run->exit_code);
    stmt_bind_int(stmt, ":signal", run->signal);
    stmt_bind_time(stmt, ":submitted", run->submitted_ms);
    stmt_bind_time(stmt, ":started", run->started_ms);
    stmt_bind_time(stmt, ":ended", run->ended_ms);
    stmt_bind_time(stmt, ":silent_since", run->silent_since_ms);
    stmt_bind_time(stmt, ":told", run->told_ms);
    stmt_bind_time(stmt, ":job_started", run->job_started_ms);
    return stmt_run(stmt, err);
}

static int apply_seat(struct store *store, const struct run *run, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SEAT_SAVE);
    stmt_bind_id(stmt, ":id", run->seat->id);
    stmt_bind_id(stmt, ":workflow", run->phase->workflow->id);
    stmt_bind_text(stmt, ":token", run->seat->token);
    stmt_bind_int(stmt, ":slot", run->seat->slot);
    return stmt_run(stmt, err);
}

static int apply_job(struct store *store, const struct core_effect *effect, struct error *err)
{
    const struct allocation *allocation = effect->allocation;
    struct stmt *stmt = store_stmt(store, Q_JOB_SAVE);
    stmt_bind_id(stmt, ":id", allocation->id);
    stmt_bind_id(stmt, ":workflow", effect->workflow->id);
    stmt_bind_text(stmt, ":token", allocation->token);
    stmt_bind_id(stmt, ":seat", allocation->seat->id);
    stmt_bind_words(stmt, ":gpu_type", allocation->gpu_type);
    stmt_bind_id(stmt, ":slurm_id", allocation->slurm_id);
    stmt_bind_text(stmt, ":state",
                   allocation->state ? cluster_job_state_name(allocation->state) : NULL);
    stmt_bind_words(stmt, ":reason", allocation->reason);
    stmt_bind_words(stmt, ":nodes", allocation->nodes);
    stmt_bind_int(stmt, ":node_count", allocation->node_count);
    stmt_bind_int(stmt, ":gpus_per_node", allocation->gpus_per_node);
    stmt_bind_int(stmt, ":time_s", allocation->time_s);
    stmt_bind_int(stmt, ":over", allocation->ended);
    stmt_bind_int(stmt, ":restarts", allocation->restarts);
    stmt_bind_time(stmt, ":submitted", allocation->submitted_ms);
    stmt_bind_time(stmt, ":started", allocation->started_ms);
    stmt_bind_time(stmt, ":ended", allocation->ended_ms);
    stmt_bind_time(stmt, ":absent_since", allocation->absent_since_ms);
    return stmt_run(stmt, err);
}

int store_event_add(struct store *store, const struct store_event *event, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_EVENT_INSERT);
    stmt_bind_int(stmt, ":time", event->time_ms);
    stmt_bind_id(stmt, ":workflow", event->workflow);
    stmt_bind_id(stmt, ":phase", event->phase);
    stmt_bind_id(stmt, ":run", event->run);
    stmt_bind_text(stmt, ":type", event_type_name(event->type));
    stmt_bind_text(stmt, ":from_state", event->from);
    stmt_bind_text(stmt, ":to_state", event->to);
    stmt_bind_text(stmt, ":result",
                   event->type == EVENT_GATE ? gate_result_name(event->result) : NULL);
    stmt_bind_known(stmt, ":step", event->type == EVENT_CHECKPOINT ? event->step : -1);
    stmt_bind_words(stmt, ":message", event->message);
    return stmt_run(stmt, err);
}

/* An event about the phase, or about the run of the phase; `run` may be NULL. */
static struct store_event event_about(enum event_type type, const struct phase *phase,
                                      const struct run *run, int64_t now_ms, const char *message)
{
    return (struct store_event){
        .type = type,
        .time_ms = now_ms,
        .workflow = phase->workflow->id,
        .phase = phase->id,
        .run = run ? run->id : 0,
        .message = message,
    };
}

static int apply_history(struct store *store, const struct core_effect *effect, int64_t now_ms,
                         struct error *err)
{
    const struct run *run = effect->run;
    struct store_event event =
        event_about(run ? EVENT_RUN : EVENT_PHASE, run ? run->phase : effect->phase, run, now_ms,
                    effect->message);
    event.from = effect->from;
    event.to = effect->to;
    return store_event_add(store, &event, err);
}

static int apply_promotion(struct store *store, const struct core_effect *effect, int64_t now_ms,
                           struct error *err)
{
    const struct phase *phase = effect->phase;
    const struct run *begun = effect->run;
    bool by_person = effect->message[0] != '\0';
    const char *why = phase->members       ? "by its choice"
                      : effect->is_ungated ? "without a gate"
                                           : "by its gate";
    struct stmt *stmt = store_stmt(store, Q_PROMOTION_INSERT);
    stmt_bind_id(stmt, ":phase", phase->id);
    stmt_bind_id(stmt, ":next", begun->phase->id);
    stmt_bind_id(stmt, ":run", phase->run ? phase->run->id : 0);
    stmt_bind_text(stmt, ":decided_by", by_person ? "user" : "gate");
    stmt_bind_words(stmt, ":who", effect->message);
    stmt_bind_text(stmt, ":way", begun->in_place ? "in_place" : "submitted");
    stmt_bind_int(stmt, ":time", now_ms);
    int status = stmt_run(stmt, err);
    const char *where = begun->in_place               ? "place"
                        : seat_is_joined(begun->seat) ? "a job that it shares"
                                                      : "a new job";
    char *message = text_format("%s%s: %s goes on in %s", by_person ? "by " : "",
                                by_person ? effect->message : why, begun->phase->name, where);
    struct store_event event = event_about(EVENT_PROMOTION, phase, phase->run, now_ms, message);
    if (status == 0)
        status = store_event_add(store, &event, err);
    free(message);
    return status;
}

static int apply_warning(struct store *store, const struct run *run, const char *message,
                         int64_t now_ms, struct error *err)
{
    struct store_event event = event_about(EVENT_WARNING, run->phase, run, now_ms, message);
    return store_event_add(store, &event, err);
}

static int apply_blame(struct store *store, const struct core_effect *effect, int64_t now_ms,
                       struct error *err)
{
    const struct run *run = effect->run;
    struct store_node_failure failure = {
        .node = effect->message,
        .cause = run_cause_name(run->cause),
        .run = run->id,
        .began_ms = run->started_ms ? run->started_ms : run->submitted_ms,
        .message = run->message,
    };
    int64_t until_ms;
    int status = store_node_failed(store, &failure, now_ms, &until_ms, err);
    if (status < 0)
        return status;
    char *message = until_ms ? text_format("%s is left out for %" PRId64 " minutes", failure.node,
                                           (until_ms - now_ms + 59999) / 60000)
                             : text_format("%s is left out until 'phasectl nodes clear %s'",
                                           failure.node, failure.node);
    status = apply_warning(store, run, message, now_ms, err);
    free(message);
    return status;
}

static int apply_outbox(struct store *store, const struct core_effect *effect, struct error *err)
{
    struct stmt *stmt = store_stmt(store, effect->is_done ? Q_OUTBOX_DELETE : Q_OUTBOX_PUT);
    stmt_bind_text(stmt, ":kind", core_effect_rows[effect->kind].name);
    stmt_bind_id(stmt, ":target", core_effect_target(effect));
    if (!effect->is_done) {
        stmt_bind_id(stmt, ":workflow", effect->workflow->id);
        stmt_bind_id(stmt, ":phase", effect->phase ? effect->phase->id : 0);
        stmt_bind_id(stmt, ":run", effect->run ? effect->run->id : 0);
        stmt_bind_id(stmt, ":job", effect->allocation ? effect->allocation->id : 0);
        stmt_bind_time(stmt, ":due", effect->due_ms);
    }
    return stmt_run(stmt, err);
}

int store_apply(struct store *store, const struct core_effect *effect, int64_t now_ms,
                struct error *err)
{
    switch (effect->kind) {
    case FX_SAVE_WORKFLOW:
        return apply_workflow(store, effect->workflow, err);
    case FX_SAVE_PHASE:
        return apply_phase(store, effect->phase, err);
    case FX_SAVE_RUN:
        return apply_run(store, effect->run, err);
    case FX_SAVE_SEAT:
        return apply_seat(store, effect->run, err);
    case FX_SAVE_JOB:
        return apply_job(store, effect, err);
    case FX_HISTORY:
        return apply_history(store, effect, now_ms, err);
    case FX_PROMOTION:
        return apply_promotion(store, effect, now_ms, err);
    case FX_BLAME_NODE:
        return apply_blame(store, effect, now_ms, err);
    case FX_WARNING:
        return apply_warning(store, effect->run, effect->message, now_ms, err);
    default:
        assert(core_effect_rows[effect->kind].is_kept);
        return apply_outbox(store, effect, err);
    }
}
