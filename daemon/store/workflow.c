/* A submitted workflow: its texts, its phases, and the parts of their spec that have columns. */
#include "daemon/store/cost.h"
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"
#include "lib/fingerprint.h"
#include "lib/json.h"
#include "lib/protocol/words.h"
#include "lib/spec/overlay.h"
#include "lib/spec/phase.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *workflow_failures(const struct phase *phase)
{
    json_t *failures = json_object();
    for (int cause = 0; cause < CAUSE_COUNT; cause++)
        if (phase->failures[cause])
            json_object_set_new(failures, run_cause_name((enum run_cause)cause),
                                json_integer(phase->failures[cause]));
    return failures;
}

/* Q_PHASE_INSERT and Q_PHASE_SAVE. */
void rows_bind_phase(struct stmt *stmt, const struct phase *phase)
{
    json_t *failures = workflow_failures(phase);
    stmt_bind_id(stmt, ":id", phase->id);
    stmt_bind_text(stmt, ":state", phase_state_name(phase->state));
    stmt_bind_text(stmt, ":hold", phase->hold ? phase_hold_name(phase->hold) : NULL);
    stmt_bind_words(stmt, ":reason", phase->reason);
    stmt_bind_text(stmt, ":hold_budget",
                   phase->hold_budget ? budget_name(phase->hold_budget) : NULL);
    stmt_bind_text(stmt, ":hold_amount",
                   phase->hold_budget ? amount_key(phase->hold_amount) : NULL);
    stmt_bind_int(stmt, ":overridden", phase->is_overridden);
    stmt_bind_text(stmt, ":checkpoint_path", phase->checkpoint_path);
    stmt_bind_int(stmt, ":checkpoint_step", phase->checkpoint_step);
    stmt_bind_int(stmt, ":chosen", phase->is_chosen);
    stmt_bind_int(stmt, ":anew", phase->is_anew);
    stmt_bind_int(stmt, ":attempts", phase->attempts);
    stmt_bind_json(stmt, ":failures", failures);
    stmt_bind_int(stmt, ":losses", phase->losses);
    stmt_bind_int(stmt, ":stalls", phase->stalls);
    stmt_bind_int(stmt, ":rung", phase->rung);
    json_t *remedies = rows_remedies(phase);
    stmt_bind_json(stmt, ":remedies", remedies);
    stmt_bind_known(stmt, ":remedy", phase->remedy ? phase->remedy - phase->remedies : -1);
    json_decref(remedies);
    json_decref(failures);
}

/* Q_PHASE_INSERT and Q_PHASE_REVISE: what the spec says of a phase and params may change.
 * `resolved` is the document it comes from. -EINVAL: the phase is not in there, and nothing is
 * bound. */
static int workflow_bind_spec(struct stmt *stmt, const struct phase *phase, const json_t *resolved,
                              struct error *err)
{
    const json_t *spec = phase_spec_find(resolved, phase->name);
    if (!spec)
        return error_set(err, -EINVAL, "the resolved workflow has no phase %s", phase->name);
    struct store_price price = store_price_of(resolved, phase);
    const json_t *progress = json_object_get(spec, "progress");
    stmt_bind_text(stmt, ":promote", phase->promote_manual ? "manual" : "auto");
    stmt_bind_text(stmt, ":on_fail", phase->fail_finally ? "fail" : "hold");
    stmt_bind_int(stmt, ":has_checkpoint", phase->has_checkpoint);
    stmt_bind_int(stmt, ":nodes", phase->nodes);
    stmt_bind_int(stmt, ":gpus_per_node", phase->gpus_per_node);
    stmt_bind_int(stmt, ":cpus_per_node", phase->cpus_per_node);
    stmt_bind_text(stmt, ":gpu_type", phase->gpu_type);
    stmt_bind_text(stmt, ":alternatives", phase->alternatives);
    stmt_bind_int(stmt, ":time_s", phase->time_s);
    stmt_bind_int(stmt, ":stop_s", phase->stop_s);
    stmt_bind_int(stmt, ":linger_s", phase->linger_s);
    stmt_bind_text(stmt, ":slurm_options", phase->slurm_options);
    stmt_bind_real(stmt, ":total", json_number(json_object_get(progress, "total")));
    stmt_bind_real(stmt, ":usd_per_node_hour", price.usd_per_node_hour);
    stmt_bind_real(stmt, ":usd_per_gpu_hour", price.usd_per_gpu_hour);
    stmt_bind_json(stmt, ":spec", spec);
    return 0;
}

int store_phase_revise(struct store *store, const struct phase *phase, const json_t *resolved,
                       struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_REVISE);
    int status = workflow_bind_spec(stmt, phase, resolved, err);
    if (status < 0)
        return status;
    stmt_bind_id(stmt, ":id", phase->id);
    return stmt_run(stmt, err);
}

static int workflow_insert_phase(struct store *store, const struct phase *phase,
                                 const json_t *resolved, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_INSERT);
    int status = workflow_bind_spec(stmt, phase, resolved, err);
    if (status < 0)
        return status;
    rows_bind_phase(stmt, phase);
    stmt_bind_id(stmt, ":workflow", phase->workflow->id);
    stmt_bind_int(stmt, ":position", phase->index);
    stmt_bind_text(stmt, ":name", phase->name);
    /* The matrix says whether its members are side by side. */
    stmt_bind_id(stmt, ":beside", phase->beside && !phase->matrix ? phase->beside->id : 0);
    return stmt_run(stmt, err);
}

static int workflow_insert_edges(struct store *store, const struct phase *phase, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < phase->after_count; i++) {
        struct stmt *stmt = store_stmt(store, Q_EDGE_INSERT);
        stmt_bind_id(stmt, ":phase", phase->id);
        stmt_bind_int(stmt, ":position", (int64_t)i);
        stmt_bind_id(stmt, ":after", phase->workflow->phases[phase->after[i]].id);
        status = stmt_run(stmt, err);
    }
    return status;
}

static int workflow_insert_row(struct store *store, const struct workflow *workflow,
                               const struct store_submission *submission, struct error *err)
{
    /* The part of each phase is stored with the phase. */
    json_t *rest = json_copy((json_t *)submission->resolved); /* a shallow copy */
    (void)json_object_del(rest, "phases"); /* a document without phases is refused */
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_INSERT);
    stmt_bind_id(stmt, ":id", workflow->id);
    stmt_bind_text(stmt, ":name", workflow->name);
    stmt_bind_int(stmt, ":submitted", workflow->submitted_ms);
    stmt_bind_time(stmt, ":ended", workflow->ended_ms);
    stmt_bind_text(stmt, ":key", submission->key);
    stmt_bind_text(stmt, ":file", submission->file);
    stmt_bind_text(stmt, ":workdir", submission->workdir);
    stmt_bind_words(stmt, ":host", submission->host);
    stmt_bind_int(stmt, ":umask", submission->umask);
    stmt_bind_json(stmt, ":limits", submission->limits);
    stmt_bind_json(stmt, ":overrides", submission->set);
    stmt_bind_json(stmt, ":resolved", rest);
    stmt_bind_json(stmt, ":environment", submission->environment);
    stmt_bind_text(stmt, ":spec", submission->spec);
    stmt_bind_int(stmt, ":priority", workflow->priority);
    stmt_bind_id(stmt, ":after", workflow->after);
    stmt_bind_int(stmt, ":window_from", workflow->window_from);
    stmt_bind_int(stmt, ":window_to", workflow->window_to);
    int status = stmt_run(stmt, err);
    json_decref(rest);
    return status;
}

static int workflow_insert_provenance(struct store *store, uint64_t workflow,
                                      const json_t *provenance, struct error *err)
{
    static const char *const names[][2] = {
        {":root", "root"},         {":commit_id", "commit"},    {":branch", "branch"},
        {":diff", "diff"},         {":diff_note", "diff_note"}, {":untracked", "untracked"},
        {":packages", "packages"}, {":snapshot", "snapshot"},
    };
    if (json_object_size(provenance) == 0)
        return 0;
    struct stmt *stmt = store_stmt(store, Q_PROVENANCE_INSERT);
    stmt_bind_id(stmt, ":workflow", workflow);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        stmt_bind_text(stmt, names[i][0],
                       json_string_value(json_object_get(provenance, names[i][1])));
    return stmt_run(stmt, err);
}

int store_workflow_insert(struct store *store, const struct workflow *workflow,
                          const struct store_submission *submission, struct error *err)
{
    int status = workflow_insert_row(store, workflow, submission, err);
    if (status == 0)
        status = workflow_insert_provenance(store, workflow->id, submission->provenance, err);
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++)
        status = workflow_insert_phase(store, &workflow->phases[i], submission->resolved, err);
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++)
        status = workflow_insert_edges(store, &workflow->phases[i], err);
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++)
        status = rows_insert_matrix(store, &workflow->phases[i],
                                    phase_spec_find(submission->resolved, workflow->phases[i].name),
                                    err);
    return status;
}

/* Reads the workflow that the bound statement finds: Q_WORKFLOW_FIND_KEY, Q_JOB_FIND_TOKEN or
 * Q_RUN_FIND_WORKFLOW. */
static int find_workflow(struct stmt *stmt, const char *what, uint64_t *ret_workflow,
                         struct error *err)
{
    int status = stmt_read_id(stmt, "workflow", ret_workflow, err);
    if (status == 0 && !*ret_workflow)
        return error_set(err, -ENOENT, "no workflow has %s", what);
    return status;
}

int store_find_key(struct store *store, const char *key, uint64_t *ret_workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_FIND_KEY);
    stmt_bind_text(stmt, ":key", key);
    return find_workflow(stmt, "this key", ret_workflow, err);
}

int store_find_token(struct store *store, const char *token, uint64_t *ret_workflow,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_JOB_FIND_TOKEN);
    stmt_bind_text(stmt, ":token", token);
    return find_workflow(stmt, "a job with this token", ret_workflow, err);
}

int store_find_run(struct store *store, uint64_t run, uint64_t *ret_workflow, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_FIND_WORKFLOW);
    stmt_bind_id(stmt, ":run", run);
    return find_workflow(stmt, "this run", ret_workflow, err);
}

static int phase_spec(struct store *store, uint64_t phase, bool is_plain, json_t **ret_spec,
                      struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_SPEC);
    stmt_bind_id(stmt, ":phase", phase);
    int status = stmt_find(stmt, "phase", phase, err);
    if (status < 0)
        return status;
    json_t *spec = stmt_json(stmt, "spec");
    if (spec)
        *ret_spec = overlay_apply(spec, is_plain ? NULL : stmt_text(stmt, "by_gpu"));
    json_decref(spec);
    stmt_reset(stmt);
    return spec ? 0 : error_set(err, -EUCLEAN, "the spec of phase %" PRIu64 " is not JSON", phase);
}

int store_phase_spec(struct store *store, uint64_t phase, json_t **ret_spec, struct error *err)
{
    return phase_spec(store, phase, false, ret_spec, err);
}

int store_phase_spec_plain(struct store *store, uint64_t phase, json_t **ret_spec,
                           struct error *err)
{
    return phase_spec(store, phase, true, ret_spec, err);
}

int store_launch_load(struct store *store, uint64_t phase, struct store_launch *ret_launch,
                      struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_LAUNCH_LOAD);
    stmt_bind_id(stmt, ":phase", phase);
    int status = stmt_find(stmt, "phase", phase, err);
    if (status < 0)
        return status;
    struct store_launch launch = {
        .spec = stmt_json(stmt, "spec"),
        .environment = stmt_json(stmt, "environment"),
        .limits = stmt_json(stmt, "limits"),
        .workdir = stmt_copy(stmt, "workdir"),
        .umask = stmt_unsigned(stmt, "umask"),
        .changed = stmt_json(stmt, "changed"),
    };
    json_t *identity = stmt_json(stmt, "identity");
    char fingerprint[FINGERPRINT_SIZE];
    fingerprint_json(identity, fingerprint);
    json_decref(identity);
    (void)snprintf(launch.phase_id, sizeof launch.phase_id, "%.*s", STORE_PHASE_ID_SIZE - 1,
                   fingerprint);
    stmt_reset(stmt);
    if (!launch.spec || !launch.environment || !launch.limits || !launch.workdir ||
        !launch.changed) {
        store_launch_fini(&launch);
        return error_set(err, -EUCLEAN, "the texts of phase %" PRIu64 " are not JSON", phase);
    }
    *ret_launch = launch;
    return 0;
}

void store_launch_fini(struct store_launch *launch)
{
    json_decref(launch->spec);
    json_decref(launch->environment);
    json_decref(launch->limits);
    json_decref(launch->changed);
    free(launch->workdir);
    *launch = (struct store_launch){0};
}

int store_workflow_state(struct store *store, uint64_t workflow, enum workflow_state *ret_state,
                         int64_t *ret_ended_ms, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_STATE);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_find(stmt, "workflow", workflow, err);
    if (status < 0)
        return status;
    int state = workflow_state_parse(stmt_text(stmt, "state"));
    assert(state >= 0); /* v_workflow makes it */
    *ret_state = (enum workflow_state)state;
    if (ret_ended_ms)
        *ret_ended_ms = stmt_int(stmt, "ended");
    stmt_reset(stmt);
    return 0;
}
