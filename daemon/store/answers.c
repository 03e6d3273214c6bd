/* The shapes of doc/api.md. The queries ..._answer give the objects; this file puts the objects
 * into one another. */
#include "daemon/store/answers.h"

#include "daemon/core/state.h"
#include "daemon/store/cost.h"
#include "daemon/store/row_json.h"
#include "daemon/store/store_private.h"
#include "lib/json.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>

/* Ends an answer: gives `json` to the caller, or drops it after a failure. */
static int answer_end(int status, json_t *json, json_t **ret_json)
{
    if (status < 0)
        json_decref(json);
    else
        *ret_json = json;
    return status;
}

/* Steps a statement that gives one row, and ends it. -ENOENT: there is no row. */
static int answer_one(struct stmt *stmt, enum answer_detail detail, json_t **ret_json,
                      struct error *err)
{
    int status = stmt_step(stmt, err);
    if (status == 0)
        return error_set(err, -ENOENT, "the record has no such entry");
    if (status < 0)
        return status;
    *ret_json =
        row_json(stmt, detail == ANSWER_BRIEF ? ROW_JSON_WITHOUT_NULLS : ROW_JSON_WITH_NULLS);
    stmt_reset(stmt);
    return 0;
}

static int answer_run_by_id(struct store *store, uint64_t run, enum answer_detail detail,
                            json_t **ret_json, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_ANSWER);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":runs", store->runs);
    return answer_one(stmt, detail, ret_json, err);
}

/* Collects the answers on the runs whose ids `list` gives: Q_RUNS_ALL, Q_RUNS_OF_WORKFLOW or
 * Q_RUNS_OF_PHASE. */
static int answer_run_list(struct store *store, struct stmt *list, json_t **ret_runs,
                           struct error *err)
{
    int status;
    json_t *runs = json_array(), *run = NULL;
    while ((status = stmt_step(list, err)) > 0) {
        status = answer_run_by_id(store, stmt_id(list, "id"), ANSWER_FULL, &run, err);
        if (status < 0)
            break;
        json_array_append_new(runs, run);
    }
    if (status < 0)
        stmt_reset(list);
    return answer_end(status, runs, ret_runs);
}

static int answer_newest_metrics(struct store *store, uint64_t run, json_t **ret_metrics,
                                 struct error *err)
{
    int status = 0;
    json_t *metrics = json_object();
    struct stmt *stmt = store_stmt(store, Q_METRICS_NEWEST);
    stmt_bind_id(stmt, ":run", run);
    while ((status = stmt_step(stmt, err)) > 0) {
        const char *name = stmt_text(stmt, "name");
        json_object_set_new(metrics, name, json_double(stmt_real(stmt, "value")));
    }
    return answer_end(status, metrics, ret_metrics);
}

/* The newest values of the newest run that has metrics. A run that waits has no metrics. */
static int answer_phase_metrics(struct store *store, uint64_t phase, json_t **ret_metrics,
                                struct error *err)
{
    uint64_t run;
    struct stmt *stmt = store_stmt(store, Q_METRIC_RUN);
    stmt_bind_id(stmt, ":phase", phase);
    int status = stmt_read_id(stmt, "id", &run, err);
    return status < 0 ? status : answer_newest_metrics(store, run, ret_metrics, err);
}

/* A phase, its newest run and its workflow. */
struct answer_phase_ids {
    uint64_t phase, run, workflow; /* run 0: no run yet */
};

static int answer_phase_by_ids(struct store *store, const struct answer_phase_ids *ids,
                               enum answer_detail detail, json_t **ret_json, struct error *err)
{
    json_t *phase = NULL, *run = NULL, *metrics = NULL;
    struct stmt *stmt = store_stmt(store, Q_PHASE_ANSWER);
    stmt_bind_id(stmt, ":phase", ids->phase);
    stmt_bind_id(stmt, ":run", ids->run);
    stmt_bind_id(stmt, ":workflow", ids->workflow);
    stmt_bind_text(stmt, ":runs", store->runs);
    int status = answer_one(stmt, detail, &phase, err);
    if (status < 0)
        return status;
    if (ids->run)
        status = answer_run_by_id(store, ids->run, detail, &run, err);
    if (status == 0 && ids->run && detail == ANSWER_FULL)
        status = answer_phase_metrics(store, ids->phase, &metrics, err);
    json_object_set_new(phase, "run", run ? run : json_null());
    if (detail == ANSWER_FULL)
        json_object_set_new(phase, "metrics", metrics ? metrics : json_object());
    projection_add(phase);
    return answer_end(status, phase, ret_json);
}

int answer_no_phase(struct store *store, uint64_t workflow, const char *name, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_NAMES);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_step(stmt, err);
    if (status < 0)
        return status;
    const char *names = status > 0 ? stmt_text(stmt, "names") : NULL;
    if (names)
        (void)error_set(err, -ENOENT, "no phase %" PRIu64 "/%s; workflow %" PRIu64 " has %.200s",
                        workflow, name, workflow, names);
    else
        (void)error_set(err, -ENOENT, "no workflow %" PRIu64, workflow);
    stmt_reset(stmt);
    return -ENOENT;
}

static int answer_find_phase(struct store *store, uint64_t workflow, const char *name,
                             struct answer_phase_ids *ret_ids, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_PHASE_FIND);
    stmt_bind_id(stmt, ":workflow", workflow);
    stmt_bind_text(stmt, ":name", name);
    int status = stmt_step(stmt, err);
    if (status == 0)
        return answer_no_phase(store, workflow, name, err);
    if (status < 0)
        return status;
    ret_ids->phase = stmt_id(stmt, "phase");
    ret_ids->run = stmt_id(stmt, "run");
    ret_ids->workflow = workflow;
    stmt_reset(stmt);
    return 0;
}

/* Adds `of_members` to a matrix: the sums of its members, which are all among `phases`. */
static void answer_sum_members(const json_t *phases, json_t *matrix)
{
    const char *name = json_string_value(json_object_get(matrix, "phase"));
    json_int_t ended = 0, begun = 0, attempts = 0;
    json_t *states = json_object();
    double gpu_seconds = 0, cost_usd = 0;
    bool has_cost = false;
    const json_t *member;
    size_t i;
    if (!json_is_integer(json_object_get(matrix, "members"))) {
        json_decref(states);
        return;
    }
    json_array_foreach(phases, i, member)
    {
        const char *state = json_string_value(json_object_get(member, "state"));
        const json_t *cost = json_object_get(member, "cost_usd");
        json_int_t runs = json_integer_value(json_object_get(member, "attempts"));
        const char *of = json_string_value(json_object_get(member, "matrix"));
        if (!of || !text_equal(of, name))
            continue;
        ended += phase_state_is_final((enum phase_state)phase_state_parse(state));
        json_int_t count = json_integer_value(json_object_get(states, state));
        json_object_set_new(states, state, json_integer(count + 1));
        begun += runs > 0;
        attempts += runs;
        gpu_seconds += json_number_value(json_object_get(member, "gpu_seconds"));
        has_cost |= json_is_number(cost);
        cost_usd += json_number_value(cost);
    }
    json_object_set_new(matrix, "of_members",
                        json_pack("{s:I, s:I, s:o, s:I, s:f, s:o}", "begun", begun, "ended", ended,
                                  "states", states, "attempts", attempts, "gpu_seconds",
                                  gpu_seconds, "cost_usd",
                                  has_cost ? json_real(cost_usd) : json_null()));
}

/* Adds each phase of `list` with its newest run. `list` is Q_PHASES_OF_WORKFLOW or Q_MEMBERS_LIST.
 */
static int answer_phase_list(struct store *store, struct stmt *list, enum answer_detail detail,
                             json_t *phases, struct error *err)
{
    int status;
    json_t *phase = NULL;
    while ((status = stmt_step(list, err)) > 0) {
        struct answer_phase_ids ids = {.phase = stmt_id(list, "phase"),
                                       .run = stmt_id(list, "run"),
                                       .workflow = stmt_id(list, "workflow")};
        status = answer_phase_by_ids(store, &ids, detail, &phase, err);
        if (status < 0)
            break;
        json_array_append_new(phases, phase);
    }
    if (status < 0)
        stmt_reset(list);
    return status;
}

/* Adds `phases` and their sums to a workflow. */
static int answer_add_phases(struct store *store, uint64_t id, enum answer_detail detail,
                             json_t *workflow, struct error *err)
{
    double gpu_seconds = 0, cost_usd = 0;
    bool has_cost = false;
    json_t *phases = json_array(), *phase;
    size_t i;
    struct stmt *list = store_stmt(store, Q_PHASES_OF_WORKFLOW);
    stmt_bind_id(list, ":workflow", id);
    int status = answer_phase_list(store, list, detail, phases, err);
    if (status < 0) {
        json_decref(phases);
        return status;
    }
    json_array_foreach(phases, i, phase)
    {
        const json_t *cost = json_object_get(phase, "cost_usd");
        has_cost |= json_is_number(cost);
        cost_usd += json_number_value(cost);
        gpu_seconds += json_number_value(json_object_get(phase, "gpu_seconds"));
        answer_sum_members(phases, phase);
    }
    json_object_set_new(workflow, "gpu_seconds", json_real(gpu_seconds));
    json_object_set_new(workflow, "cost_usd", has_cost ? json_real(cost_usd) : json_null());
    projection_sum(phases, workflow);
    json_object_set_new(workflow, "phases", phases);
    return 0;
}

int answer_workflow(struct store *store, uint64_t workflow, enum answer_detail detail,
                    json_t **ret_json, struct error *err)
{
    json_t *json = NULL;
    struct stmt *stmt = store_stmt(store, Q_WORKFLOW_ANSWER);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = answer_one(stmt, detail, &json, err);
    if (status == -ENOENT)
        return error_set(err, status, "no workflow %" PRIu64, workflow);
    if (status < 0)
        return status;
    status = answer_add_phases(store, workflow, detail, json, err);
    return answer_end(status, json, ret_json);
}

int answer_source(struct store *store, uint64_t workflow, json_t **ret_json, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SOURCE_ANSWER);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = answer_one(stmt, ANSWER_FULL, ret_json, err);
    if (status == -ENOENT)
        return error_set(err, status, "no workflow %" PRIu64, workflow);
    return status;
}

/* Gives a matrix its members in place of their number. */
static int answer_add_members(struct store *store, uint64_t matrix, json_t *json, struct error *err)
{
    json_t *members = json_array();
    if (!json_is_integer(json_object_get(json, "members"))) {
        json_decref(members);
        return 0;
    }
    struct stmt *list = store_stmt(store, Q_MEMBERS_LIST);
    stmt_bind_id(list, ":matrix", matrix);
    int status = answer_phase_list(store, list, ANSWER_FULL, members, err);
    if (status == 0) {
        answer_sum_members(members, json);
        json_object_set(json, "members", members);
    }
    json_decref(members);
    return status;
}

int answer_phase(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                 struct error *err)
{
    struct answer_phase_ids ids;
    json_t *json = NULL, *runs = NULL;
    int status = answer_find_phase(store, workflow, phase, &ids, err);
    if (status == 0)
        status = answer_phase_by_ids(store, &ids, ANSWER_FULL, &json, err);
    if (status < 0)
        return status;
    struct stmt *list = store_stmt(store, Q_RUNS_OF_PHASE);
    stmt_bind_id(list, ":phase", ids.phase);
    status = answer_run_list(store, list, &runs, err);
    if (status == 0) {
        json_object_set_new(json, "runs", runs);
        status = answer_add_members(store, ids.phase, json, err);
    }
    return answer_end(status, json, ret_json);
}

int answer_runs(struct store *store, uint64_t workflow, unsigned limit, json_t **ret_json,
                struct error *err)
{
    json_t *runs = NULL;
    struct stmt *list = store_stmt(store, workflow ? Q_RUNS_OF_WORKFLOW : Q_RUNS_ALL);
    if (workflow)
        stmt_bind_id(list, ":workflow", workflow);
    stmt_bind_int(list, ":limit", limit);
    int status = answer_run_list(store, list, &runs, err);
    return answer_end(status, json_pack("{s:o*}", "runs", runs), ret_json);
}

int answer_runs_at_work(struct store *store, json_t **ret_json, struct error *err)
{
    json_t *runs = NULL;
    int status = answer_run_list(store, store_stmt(store, Q_RUNS_AT_WORK), &runs, err);
    return answer_end(status, json_pack("{s:o*}", "runs", runs), ret_json);
}

/* Adds what a run does and what it told last. Takes over `run`, which has its address. */
static int answer_one_at_work(struct store *store, uint64_t id, json_t *run, json_t *runs,
                              struct error *err)
{
    json_t *gpus, *metrics;
    int status = answer_gpus(store, id, &gpus, err);
    json_array_append_new(runs, run);
    if (status < 0)
        return status;
    json_object_update(run, gpus);
    json_decref(gpus);
    status = answer_newest_metrics(store, id, &metrics, err);
    if (status == 0)
        json_object_set_new(run, "metrics", metrics);
    return status;
}

int answer_at_work(struct store *store, json_t **ret_json, struct error *err)
{
    int status;
    json_t *runs = json_array(), *json = json_pack("{s:o}", "runs", runs);
    struct stmt *list = store_stmt(store, Q_RUNS_AT_WORK);
    while ((status = stmt_step(list, err)) > 0) {
        uint64_t id = stmt_id(list, "id");
        json_t *run = json_pack("{s:s}", "address", stmt_text(list, "address"));
        status = answer_one_at_work(store, id, run, runs, err);
        if (status < 0)
            break;
    }
    if (status < 0)
        stmt_reset(list);
    return answer_end(status, json, ret_json);
}

int answer_run_id(struct store *store, uint64_t workflow, const char *phase, unsigned attempt,
                  uint64_t *ret_run, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_FIND);
    stmt_bind_id(stmt, ":workflow", workflow);
    stmt_bind_text(stmt, ":name", phase);
    stmt_bind_int(stmt, ":attempt", attempt);
    int status = stmt_read_id(stmt, "id", ret_run, err);
    if (status == 0 && !*ret_run)
        return error_set(err, -ENOENT, "no run %" PRIu64 "/%s#%u", workflow, phase, attempt);
    return status;
}

/* The verdicts on a run: Q_GATE_CHECKS or Q_GUARD_CHECKS. */
static int answer_checks(struct store *store, enum query query, uint64_t run, json_t **ret_checks,
                         struct error *err)
{
    int status;
    json_t *checks = json_array();
    struct stmt *stmt = store_stmt(store, query);
    stmt_bind_id(stmt, ":run", run);
    while ((status = stmt_step(stmt, err)) > 0)
        json_array_append_new(checks, stmt_json(stmt, "verdict"));
    return answer_end(status, checks, ret_checks);
}

static int answer_evidence(struct store *store, uint64_t run, json_t **ret_evidence,
                           struct error *err)
{
    int status;
    json_t *list = json_array();
    struct stmt *stmt = store_stmt(store, Q_EVIDENCE_ANSWER);
    stmt_bind_id(stmt, ":run", run);
    while ((status = stmt_step(stmt, err)) > 0) {
        json_t *evidence = stmt_json(stmt, "evidence");
        if (!evidence)
            evidence = json_object();
        json_object_set_new(evidence, "node", json_string(stmt_text(stmt, "node")));
        json_object_set_new(evidence, "time", json_real(stmt_real(stmt, "time")));
        json_array_append_new(list, evidence);
    }
    return answer_end(status, list, ret_evidence);
}

/* JSON's null if nothing was recognised. */
static int answer_failure(struct store *store, uint64_t run, json_t **ret_failure,
                          struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_FAILURE_ANSWER);
    stmt_bind_id(stmt, ":run", run);
    int status = answer_one(stmt, ANSWER_FULL, ret_failure, err);
    if (status == -ENOENT)
        *ret_failure = json_null();
    return status == -ENOENT ? 0 : status;
}

static int answer_warnings(struct store *store, uint64_t run, json_t **ret_warnings,
                           struct error *err)
{
    int status;
    json_t *list = json_array();
    struct stmt *stmt = store_stmt(store, Q_RUN_WARNINGS);
    stmt_bind_id(stmt, ":run", run);
    while ((status = stmt_step(stmt, err)) > 0)
        json_array_insert_new(list, 0, row_json(stmt, ROW_JSON_WITH_NULLS)); /* oldest first */
    return answer_end(status, list, ret_warnings);
}

static int answer_guards(struct store *store, uint64_t run, json_t **ret_guards, struct error *err)
{
    return answer_checks(store, Q_GUARD_CHECKS, run, ret_guards, err);
}

int answer_run(struct store *store, uint64_t workflow, const char *phase, unsigned attempt,
               json_t **ret_json, struct error *err)
{
    static const struct {
        const char *name;
        int (*answer)(struct store *store, uint64_t run, json_t **ret_json, struct error *err);
    } parts[] = {
        {"guards", answer_guards},     {"evidence", answer_evidence},
        {"warnings", answer_warnings}, {"preflight", answer_preflight},
        {"failure", answer_failure},
    };
    uint64_t id;
    json_t *run = NULL, *part;
    int status = answer_run_id(store, workflow, phase, attempt, &id, err);
    if (status == 0)
        status = answer_run_by_id(store, id, ANSWER_FULL, &run, err);
    for (size_t i = 0; status == 0 && i < sizeof parts / sizeof *parts; i++) {
        status = parts[i].answer(store, id, &part, err);
        if (status == 0)
            json_object_set_new(run, parts[i].name, part);
    }
    return answer_end(status, run, ret_json);
}

/* The run that the newest verdicts of a phase are about; 0: the phase was not judged yet. */
static int answer_judged_run(struct store *store, uint64_t phase, uint64_t *ret_run,
                             struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_GATE_RUN);
    stmt_bind_id(stmt, ":phase", phase);
    return stmt_read_id(stmt, "run", ret_run, err);
}

int answer_gate(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                struct error *err)
{
    struct answer_phase_ids ids = {0};
    json_t *gate = NULL, *checks = NULL, *guards = NULL;
    int status = answer_find_phase(store, workflow, phase, &ids, err);
    uint64_t newest = ids.run;
    if (status == 0)
        status = answer_judged_run(store, ids.phase, &ids.run, err);
    if (status < 0)
        return status;
    struct stmt *stmt = store_stmt(store, Q_GATE_ANSWER);
    stmt_bind_id(stmt, ":phase", ids.phase);
    stmt_bind_id(stmt, ":run", ids.run);
    status = answer_one(stmt, ANSWER_FULL, &gate, err);
    if (status < 0)
        return status;
    status = answer_checks(store, Q_GATE_CHECKS, ids.run, &checks, err);
    if (status == 0)
        status = answer_checks(store, Q_GUARD_CHECKS, newest, &guards, err);
    (void)json_object_set_new(gate, "checks", checks); /* does nothing without checks */
    (void)json_object_set_new(gate, "guards", guards);
    return answer_end(status, gate, ret_json);
}

int answer_last_event(struct store *store, uint64_t *ret_last, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_EVENT_LAST);
    return stmt_read_id(stmt, "last", ret_last, err);
}

int answer_events(struct store *store, uint64_t after, uint64_t workflow, unsigned limit,
                  json_t **ret_json, struct error *err)
{
    int status;
    json_t *events = json_array();
    struct stmt *stmt = store_stmt(store, workflow ? Q_EVENTS_OF_WORKFLOW : Q_EVENTS_AFTER);
    stmt_bind_int(stmt, ":after", (int64_t)after);
    stmt_bind_int(stmt, ":limit", limit);
    if (workflow)
        stmt_bind_id(stmt, ":workflow", workflow);
    json_int_t last = (json_int_t)after;
    while ((status = stmt_step(stmt, err)) > 0) {
        json_t *event = row_json(stmt, ROW_JSON_WITH_NULLS);
        last = json_integer_value(json_object_get(event, "event"));
        json_array_append_new(events, event);
    }
    return answer_end(status, json_pack("{s:o, s:I}", "events", events, "last", last), ret_json);
}

int answer_nodes(struct store *store, int64_t now_ms, json_t **ret_json, struct error *err)
{
    json_t *nodes = NULL;
    struct stmt *stmt = store_stmt(store, Q_NODE_ANSWER);
    stmt_bind_int(stmt, ":now", now_ms);
    int status = row_json_list(stmt, &nodes, err);
    return answer_end(status, json_pack("{s:o*}", "nodes", nodes), ret_json);
}
