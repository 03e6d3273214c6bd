/* phasectl why: what happened to the runs of a phase and what comes next, on one screen. The daemon
 * answers from the record. The last lines of a log are read from the file of the run. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/evidence.h"
#include "cli/field.h"
#include "cli/format.h"
#include "cli/held.h"
#include "cli/options.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/expr/check.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { WHY_RUNS_MAX = 10 }; /* the others are counted: one screen */

struct why {
    struct cli *cli;
    json_t *phase;
    json_t *run;    /* the run to explain, with all members; NULL: no run failed */
    json_t *newest; /* a newer run that has not failed, with all members; or NULL */
    json_t *logs, *gate;
};

/* --- Asking ----------------------------------------------------------------------------------- */

static bool why_is_failure(const json_t *run)
{
    int outcome = field_run_outcome(run);
    return outcome == OUTCOME_FAILED || outcome == OUTCOME_LOST || outcome == OUTCOME_CANCELLED;
}

/* How much a phase needs an explanation. Members that are out are normal. The matrix is shown in
 * place of members that run. */
enum why_rank {
    WHY_NOT_BEGUN,
    WHY_MEMBER_OUT,
    WHY_BEGUN,
    WHY_FAILED,
    WHY_HELD,
};

static enum why_rank why_rank(const json_t *phase)
{
    int state = field_phase_state(phase);
    if (state == PHASE_HELD)
        return WHY_HELD;
    if (state == PHASE_FAILED)
        return members_has(phase) ? WHY_MEMBER_OUT : WHY_FAILED;
    if (members_has(phase))
        return WHY_NOT_BEGUN;
    bool has_begun = members_is_matrix(phase) ? field_integer(members_total(phase), "begun") > 0
                                              : json_is_object(json_object_get(phase, "run"));
    return has_begun ? WHY_BEGUN : WHY_NOT_BEGUN;
}

/* Replaces the address of a workflow by the address of the phase that needs an explanation most:
 * the first held or failed phase, otherwise the last phase with a run. */
static int why_find_phase(struct cli *cli, struct address *address, struct error *err)
{
    json_t *workflow;
    const json_t *phase, *found = NULL;
    enum why_rank rank = WHY_NOT_BEGUN;
    int status = client_get_address(cli, address, &workflow, err);
    size_t i;
    if (status < 0)
        return status;
    json_array_foreach(json_object_get(workflow, "phases"), i, phase)
    {
        enum why_rank other = why_rank(phase);
        if (other > rank || (other == rank && other <= WHY_BEGUN))
            found = phase;
        rank = other > rank ? other : rank;
    }
    (void)snprintf(address->phase, sizeof address->phase, "%s", field_text(found, "phase"));
    json_decref(workflow);
    return 0;
}

/* The attempt to explain: the newest failed run. 0: no run failed. */
static uint32_t why_find_attempt(const json_t *phase)
{
    const json_t *run;
    size_t i;
    json_array_foreach(json_object_get(phase, "runs"), i, run)
    {
        if (why_is_failure(run))
            return (uint32_t)field_integer(run, "attempt");
    }
    return 0;
}

static int why_ask(struct why *why, struct address *address, struct error *err)
{
    struct address phase = *address;
    int status = 0;
    if (address_kind(address) == ADDRESS_WORKFLOW)
        status = why_find_phase(why->cli, &phase, err);
    phase.attempt = 0;
    if (status == 0)
        status = client_get_part(why->cli, &phase, "", &why->phase, err);
    if (status == 0)
        status = client_get_part(why->cli, &phase, "/gate", &why->gate, err);
    struct address run = phase;
    run.attempt = (uint32_t)field_integer(json_object_get(why->phase, "run"), "attempt");
    if (status == 0 && run.attempt && !why_is_failure(json_object_get(why->phase, "run")) &&
        run.attempt != address->attempt)
        status = client_get_part(why->cli, &run, "", &why->newest, err);
    run.attempt = address->attempt ? address->attempt : why_find_attempt(why->phase);
    if (status < 0 || !run.attempt)
        return status;
    status = client_get_part(why->cli, &run, "", &why->run, err);
    if (status == 0)
        status = client_get_part(why->cli, &run, "/logs", &why->logs, err);
    return status;
}

/* --- The runs --------------------------------------------------------------------------------- */

/* The exit code or signal of the first failed rank. */
static void why_add_code(struct table *table, const json_t *run)
{
    long long code = field_integer(run, "exit_code"), number = field_integer(run, "signal");
    if (number)
        table_addf(table, "signal %lld", number);
    else if (code)
        table_addf(table, "code %lld", code);
    else
        table_add(table, "");
}

/* Adds what Slurm says about the job, or that the job went on with a later run. */
static void why_add_slurm(struct table *table, const json_t *runs, size_t at)
{
    const json_t *run = json_array_get(runs, at);
    const char *state = field_text(run, "job_state"), *reason = field_text(run, "job_reason");
    long long job = field_integer(run, "job_id");
    bool goes_on = at > 0 && field_integer(json_array_get(runs, at - 1), "job_id") == job;
    /* Slurm shows the job as failed if any run in it failed, or was held or cancelled. The table
     * shows that only at runs that failed. */
    int outcome = field_run_outcome(run), job_state = field_job_state(run);
    bool failed_by_other_run =
        job_state == CLUSTER_JOB_FAILED && outcome != OUTCOME_FAILED && outcome != OUTCOME_LOST;
    bool is_kept =
        json_is_object(json_object_get(run, "remedy")) || field_integer(run, "restarts") == 0;
    if (job && goes_on) /* in the same allocation, or in a new one after a requeue */
        table_addf(table, "%lld %s", job, is_kept ? "kept" : "requeued");
    else if (job && failed_by_other_run)
        table_addf(table, "%lld", job);
    else if (job && job_state == CLUSTER_JOB_PENDING && field_run_state(run) == RUN_RUNNING &&
             isnan(field_number(run, "ended")))
        table_addf(table, "%lld", job); /* since the job began, Slurm was not asked */
    else if (job)
        table_addf(table, "%lld %s%s%s", job, state, reason[0] ? ", " : "", reason);
    else
        table_add(table, "");
}

static void why_add_nodes(struct table *table, const json_t *run)
{
    const json_t *nodes = json_object_get(run, "nodes");
    const char *first = json_string_value(json_array_get(nodes, 0));
    size_t count = json_array_size(nodes);
    if (count > 1)
        table_addf(table, "%s and %zu more", first ? first : "?", count - 1);
    else
        table_add(table, first ? first : "");
}

static void why_add_steps(struct table *table, const json_t *run)
{
    double first = field_number(run, "first_step"), last = field_number(run, "last_step");
    bool resumes = field_text(run, "resume")[0] != '\0';
    if (resumes)
        table_addf(table, "%.0f", first);
    else
        table_add(table, "start");
    if (isnan(last))
        table_add(table, "none");
    else
        table_addf(table, "%.0f", last > first ? last - first : 0);
}

static void why_write_runs(const struct why *why, struct text *text)
{
    static const struct table_column columns[] = {
        {"RUN", TABLE_LEFT, TABLE_WHOLE},    {"OUTCOME", TABLE_LEFT, TABLE_WHOLE},
        {"EXIT", TABLE_LEFT, TABLE_WHOLE},   {"JOB", TABLE_LEFT, TABLE_WHOLE},
        {"NODE", TABLE_LEFT, TABLE_WHOLE},   {"FROM", TABLE_RIGHT, TABLE_WHOLE},
        {"STEPS", TABLE_RIGHT, TABLE_WHOLE}, {"MESSAGE", TABLE_LEFT, TABLE_REST},
    };
    const json_t *runs = json_object_get(why->phase, "runs"), *run;
    size_t count = json_array_size(runs), i;
    struct table table;
    if (count == 0)
        return;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(runs, i, run)
    {
        const char *outcome = field_text(run, "outcome"), *cause = field_text(run, "cause");
        if (i == WHY_RUNS_MAX)
            break;
        table_add(&table, field_text(run, "address"));
        table_addf_in(&table, view_colour(outcome[0] ? outcome : field_text(run, "state")),
                      "%s%s%s", outcome[0] ? outcome : field_text(run, "state"),
                      cause[0] ? ": " : "", cause);
        why_add_code(&table, run);
        why_add_slurm(&table, runs, i);
        why_add_nodes(&table, run);
        why_add_steps(&table, run);
        table_add(&table, field_text(run, "message"));
    }
    text_add(text, "\n");
    table_write(&table, &why->cli->out, 0, text);
    if (count > WHY_RUNS_MAX)
        text_addf(text, "... and %zu before: phasectl runs %s\n", count - WHY_RUNS_MAX,
                  field_text(why->phase, "address"));
}

/* The remedies: which params phased changed after which failure. */
static void why_write_remedies(const struct why *why, struct text *text)
{
    const json_t *run;
    bool is_first = true;
    size_t i;
    json_array_foreach(json_object_get(why->phase, "runs"), i, run)
    {
        const char *cause = field_text(run, "cause");
        struct text line = {0};
        if (i == WHY_RUNS_MAX)
            break;
        text_addf(&line, "%s: %s → ", field_text(run, "address"), cause[0] ? cause : "gate");
        if (remedy_add(run, &line)) {
            text_add(text, is_first ? "\n" : "");
            terminal_add_folded(&why->cli->out, text, "", &line);
            is_first = false;
        }
        text_fini(&line);
    }
}

/* Which entry of `by_gpu` the runs used. */
static void why_write_hardware(const struct why *why, struct text *text)
{
    const json_t *run;
    bool is_first = true;
    size_t i;
    json_array_foreach(json_object_get(why->phase, "runs"), i, run)
    {
        struct text hardware = {0};
        if (i == WHY_RUNS_MAX)
            break;
        view_hardware(run, &hardware);
        if (hardware.size) {
            text_addf(text, "%s%s: by_gpu %s\n", is_first ? "\n" : "", field_text(run, "address"),
                      text_string(&hardware));
            is_first = false;
        }
        text_fini(&hardware);
    }
}

/* --- The failed run --------------------------------------------------------------------------- */

static void why_write_guards(const struct why *why, struct text *text)
{
    const json_t *guard;
    size_t i;
    json_array_foreach(json_object_get(why->run, "guards"), i, guard)
    {
        struct text line = {0};
        const char *advice = field_text(guard, "advice");
        bool is_told = strstr(field_text(why->run, "message"), field_text(guard, "reason"));
        if (is_told && !advice[0])
            continue;
        text_addf(&line, "guard %s%s: %s%s%s", field_text(guard, "name"),
                  field_is_true(guard, "warn") ? " (a warning)" : "",
                  is_told ? "" : field_text(guard, "reason"), !is_told && advice[0] ? "; " : "",
                  advice);
        terminal_add_folded(&why->cli->out, text, "  ", &line);
    }
}

/* The nodes that failed preflight. Problems that are only observed, or not known, are warnings. */
static void why_write_preflight(const struct why *why, struct text *text)
{
    const json_t *node;
    size_t i;
    char buffer[FORMAT_SIZE];
    json_array_foreach(json_object_get(why->run, "preflight"), i, node)
    {
        double until = field_number(node, "excluded_until");
        struct text line = {0};
        if (preflight_outcome_parse(field_text(node, "outcome")) != PREFLIGHT_FAILED ||
            field_is_true(node, "observed"))
            continue;
        text_addf(&line, "%s failed preflight: %s", field_text(node, "node"),
                  field_text(node, "reason"));
        if (!isnan(until))
            text_addf(&line, "; left out until %s", format_time(until, time(NULL), buffer));
        terminal_add_folded(&why->cli->out, text, "  ", &line);
    }
}

static void why_add_folded(const struct terminal *out, struct text *text, const char *before,
                           const char *string)
{
    struct text line = {0};
    text_add(&line, string);
    terminal_add_folded(out, text, before, &line);
}

static void why_write_warnings(const struct terminal *out, const json_t *run, struct text *text)
{
    const json_t *warning;
    size_t i;
    json_array_foreach(json_object_get(run, "warnings"), i, warning)
    {
        why_add_folded(out, text, "  warning: ", field_text(warning, "message"));
    }
}

/* The failure that was recognised, and advice. */
static void why_write_advice(const struct why *why, struct text *text)
{
    const json_t *failure = json_object_get(why->run, "failure");
    const char *advice = field_text(failure, "advice"), *node = field_text(failure, "node");
    int blame = failure_blame_parse(field_text(failure, "blame"));
    int cause = field_run_cause(why->run);
    struct text line = {0};
    if (!json_is_object(failure))
        return;
    if (advice[0]) {
        text_addf(&line, "advice: %s", advice);
        terminal_add_folded(&why->cli->out, text, "  ", &line);
        bool is_held = field_phase_state(why->phase) == PHASE_HELD;
        if (is_held && (cause == CAUSE_OOM || cause == CAUSE_NAN)) {
            text_addf(&line, "phased can do this for you: remedies: {%s: ...}",
                      field_text(why->run, "cause"));
            terminal_add_folded(&why->cli->out, text, "  ", &line);
        }
    }
    text_addf(&line, "known as %s", field_text(failure, "name"));
    if (blame == BLAME_CODE)
        text_add(&line, "; the code or its params are to blame");
    else if (blame == BLAME_NODE)
        text_addf(&line, "; the node %s is to blame, and new jobs do not use it", node);
    terminal_add_folded(&why->cli->out, text, "  ", &line);
}

/* Whether the table of runs leaves the run out. The table has the messages. */
static bool why_is_below(const struct why *why)
{
    const json_t *runs = json_object_get(why->phase, "runs"), *run;
    size_t i;
    json_array_foreach(runs, i, run)
    {
        if (text_equal(field_text(run, "address"), field_text(why->run, "address")))
            break;
    }
    return i >= WHY_RUNS_MAX;
}

/* Adds what the table of runs does not say about the run. */
static void why_write_details(const struct why *why, struct text *text)
{
    if (field_run_cause(why->run) == CAUSE_PREFLIGHT) {
        why_write_preflight(why, text); /* the findings say more than the message */
    } else if (why_is_below(why) && field_text(why->run, "message")[0]) {
        why_add_folded(&why->cli->out, text, "  ", field_text(why->run, "message"));
    }
    why_write_advice(why, text);
    why_write_guards(why, text);
    suspect_explain(why->phase, text);
    why_write_warnings(&why->cli->out, why->run, text);
    evidence_write(&why->cli->out, json_object_get(why->run, "evidence"), text);
    tail_write(why->run, why->logs, text);
}

static void why_write_failure(const struct why *why, struct text *text)
{
    const char *outcome = field_text(why->run, "outcome"), *cause = field_text(why->run, "cause");
    struct text line = {0}, details = {0};
    if (!why->run)
        return;
    why_write_details(why, &details);
    if (details.size || why_is_below(why)) {
        text_addf(&line, "%s %s%s%s", field_text(why->run, "address"),
                  outcome[0] ? outcome : field_text(why->run, "state"), cause[0] ? ": " : "",
                  cause);
        text_add(text, "\n");
        terminal_colour(&why->cli->out, text, view_colour(outcome), text_string(&line));
        text_addf(text, "\n%s", text_string(&details));
    }
    text_fini(&line);
    text_fini(&details);
}

/* The newest run may not have been judged. Then the gate is of an earlier run. */
static void why_write_gate(const struct why *why, struct text *text)
{
    const char *judged = field_text(why->gate, "run");
    const char *newest = field_text(json_object_get(why->phase, "run"), "address");
    bool is_of_newest = !judged[0] || text_equal(judged, newest);
    if (check_outcome_parse(field_text(why->gate, "decided")) != CHECK_FAILED)
        return;
    text_addf(text, "\ngate of %s: ", is_of_newest ? field_text(why->phase, "address") : judged);
    terminal_colour(&why->cli->out, text, COLOUR_RED, "failed");
    text_add(text, "\n");
    view_gate(&why->cli->out, why->gate, 2, text);
}

/* The warnings of a newer run than the one that failed. */
static void why_write_newest(const struct why *why, struct text *text)
{
    const char *outcome = field_text(why->newest, "outcome");
    if (json_array_size(json_object_get(why->newest, "warnings")) == 0)
        return;
    text_addf(text, "\n%s ", field_text(why->newest, "address"));
    if (!outcome[0])
        outcome = field_text(why->newest, "state");
    terminal_colour(&why->cli->out, text, view_colour(outcome), outcome);
    text_add(text, "\n");
    why_write_warnings(&why->cli->out, why->newest, text);
}

/* --- What comes next -------------------------------------------------------------------------- */

/* Adds "7/b begins when a and c have succeeded". */
static void why_write_before(const json_t *phase, struct text *text)
{
    const json_t *after = json_object_get(phase, "after");
    size_t count = json_array_size(after);
    const char *address = field_text(phase, "address"), *matrix = field_text(phase, "matrix");
    if (matrix[0]) {
        text_addf(text, "%s waits for its turn in %s\n", address, matrix);
        return;
    }
    if (members_is_matrix(phase) && (count == 0 || view_phase_state(phase) != PHASE_BLOCKED)) {
        text_addf(text, "%s waits for its members: ", address);
        view_progress(phase, text);
        text_add(text, " have ended\n");
        return;
    }
    if (count == 0) {
        text_addf(text, "%s is blocked\n", address);
        return;
    }
    text_addf(text, "%s begins when ", address);
    for (size_t i = 0; i < count; i++)
        text_addf(text, "%s%s",
                  i == 0          ? ""
                  : i + 1 < count ? ", "
                                  : " and ",
                  json_string_value(json_array_get(after, i)));
    text_addf(text, " %s succeeded\n", count == 1 ? "has" : "have");
}

/* Whether the phase is over, and can be run again. The matrix decides about its members. */
static bool why_may_run_again(const json_t *phase)
{
    int state = field_phase_state(phase);
    bool is_over = state == PHASE_FAILED || state == PHASE_CANCELLED;
    return is_over && !members_is_matrix(phase) && !members_has(phase);
}

/* Adds what phased has done, or waits for. */
static void why_write_next(const struct why *why, struct text *text)
{
    struct text next = {0}, wait = {0};
    const json_t *run = json_object_get(why->phase, "run");
    int phase_state = field_phase_state(why->phase), state = field_run_state(run);
    const char *address = field_text(run, "address");
    long long job = field_integer(run, "job_id");
    if (members_is_matrix(why->phase) && members_in_state(why->phase, PHASE_HELD) > 0) {
        json_t *held = json_pack("{s:O}", "phases", json_object_get(why->phase, "members"));
        held_write(&why->cli->out, held, &next);
        json_decref(held);
    } else if (phase_state == PHASE_HELD || why_may_run_again(why->phase)) {
        text_add(&next, "what can be done:\n"); /* the first line says why it is held, or over */
        held_ways_out(&why->cli->out, why->phase, &next);
    } else if (phase_state == PHASE_BLOCKED) {
        why_write_before(why->phase, &next);
    } else if (wait_write(run, (double)time(NULL), &wait)) {
        text_addf(&next, "%s: %s\n", address, text_string(&wait));
    } else if (state == RUN_SUBMITTING) {
        text_addf(&next, "%s will be submitted\n", address);
    } else if (*field_text(run, "state") && state != RUN_ENDED) {
        bool resumes = field_text(run, "resume")[0] != '\0';
        text_addf(&next, "%s is %s as job %lld, ", address, field_text(run, "state"), job);
        if (resumes)
            text_addf(&next, "from step %.0f\n", field_number(run, "first_step"));
        else
            text_add(&next, "from the start\n");
    }
    text_fini(&wait);
    text_addf(text, "%s%s", next.size ? "\n" : "", text_string(&next));
    text_fini(&next);
}

/* Adds what happened to the members of a matrix. */
static void why_write_members(const struct why *why, struct text *text)
{
    struct text note = {0}, reasons = {0};
    members_note(why->phase, &note);
    text_add(&note, ",");
    members_reasons(why->phase, &reasons);
    const char *first = text_string(&reasons) + (reasons.size > 0); /* its line begins with \n */
    if (!text_starts(first, text_string(&note))) /* "3 out, such as 7/ladder.1: ..." is enough */
        text_addf(text, "  %.*s\n", (int)note.size - 1, text_string(&note));
    text_add(text, text_string(&reasons));
    text_fini(&note);
    text_fini(&reasons);
}

static void why_write(const struct why *why, struct text *text)
{
    const char *state = view_state(why->phase), *reason = field_text(why->phase, "reason");
    struct text before = {0};
    text_addf(&before, "%s %s ", field_text(why->phase, "address"), state_verb(state));
    terminal_colour(&why->cli->out, &before, view_colour(state), state);
    text_add(&before, reason[0] ? ": " : "");
    why_add_folded(&why->cli->out, text, text_string(&before), reason);
    text_fini(&before);
    if (members_is_matrix(why->phase))
        why_write_members(why, text);
    why_write_runs(why, text);
    why_write_remedies(why, text);
    why_write_hardware(why, text);
    why_write_failure(why, text);
    why_write_newest(why, text);
    why_write_gate(why, text);
    why_write_next(why, text);
}

static void why_print_json(const struct why *why)
{
    json_t *json =
        json_pack("{s:O, s:O?, s:O?, s:O?, s:O}", "phase", why->phase, "run", why->run, "newest",
                  why->newest, "logs", json_object_get(why->logs, "logs"), "gate", why->gate);
    client_print_json(json);
    json_decref(json);
}

static int why_one(struct cli *cli, const struct address *asked, const void *context)
{
    struct address address = *asked;
    struct why why = {.cli = cli};
    struct error err;
    struct text text = {0};
    int exit_code = CLI_OK;
    (void)context;
    if (why_ask(&why, &address, &err) < 0)
        exit_code = cli_fail(&err);
    else if (cli->as_json)
        why_print_json(&why);
    else
        why_write(&why, &text);
    cli_print(&text);
    json_decref(why.phase);
    json_decref(why.run);
    json_decref(why.newest);
    json_decref(why.logs);
    json_decref(why.gate);
    return exit_code;
}

int why_verb(struct cli *cli, char **words)
{
    return options_addresses(cli, words, NULL, 1, why_one, NULL);
}
