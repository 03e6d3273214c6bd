/* One run as the lead sees it. */
#include "worker/lead_run.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/assignment.h"
#include "worker/clock.h"
#include "worker/commands.h"
#include "worker/inquiry.h"
#include "worker/journal.h"
#include "worker/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAD_RUN_STOP_S = 10 };

static int64_t lead_run_number(const char *name)
{
    const char *value = getenv(name);
    return value ? strtoll(value, NULL, 10) : 0;
}

static int lead_run_prepare(const struct lead_run *run, struct error *err)
{
    static const char *const folders[] = {"journal", "log", "channel"};
    const char *script = run->assignment->script;
    int result = 0;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) && result == 0; i++) {
        char *folder = text_format("%s/%s", run->assignment->run_dir, folders[i]);
        result = file_make_folders(folder, 0700, err);
        free(folder);
    }
    if (result == 0)
        result = file_make_folders(run->assignment->out_dir, 0700, err);
    if (result < 0)
        return result;
    char *path = text_format("%s/run.sh", run->assignment->run_dir);
    result = file_replace(path, script, strlen(script), 0600, err);
    free(path);
    return result;
}

int lead_run_open(const char *run_dir, struct commands *commands, struct lead_run **ret_run,
                  struct error *err)
{
    struct assignment *assignment;
    int result = assignment_read(run_dir, &assignment, err);
    if (result < 0)
        return result;
    if (outcome_is_written(run_dir)) {
        assignment_free(assignment);
        return error_set(err, -EALREADY, "the run in %s has its outcome already", run_dir);
    }
    struct lead_run *run = calloc(1, sizeof(*run));
    if (!run)
        abort();
    run->assignment = assignment;
    outcome_init(&run->outcome, assignment->run);
    run->outcome.job_id = lead_run_number("SLURM_JOB_ID");
    run->outcome.restarts = (unsigned)lead_run_number("SLURM_RESTART_COUNT");
    struct error problem;
    bool is_ready = lead_run_prepare(run, &problem) == 0;
    char *path = text_format("%s/journal/lead.jsonl", run_dir);
    run->journal = journal_open(path);
    free(path);
    const struct link_options options = {
        .daemon_file = assignment->daemon_file,
        .run = assignment->run,
        .node = "lead",
        .secret = &assignment->secret,
        .journal = run->journal,
        .command_came = commands_post,
        .context = commands,
    };
    run->link = link_open(&options);
    if (!is_ready)
        (void)lead_run_decide(run, OUTCOME_FAILED, OUTCOME_CAUSE_LAUNCH, "%s", problem.message);
    *ret_run = run;
    return 0;
}

void lead_run_close(struct lead_run *run, int drain_ms)
{
    if (!run)
        return;
    journal_flush(run->journal);
    link_close(run->link, drain_ms);
    journal_close(run->journal);
    outcome_fini(&run->outcome);
    assignment_free(run->assignment);
    json_decref(run->failed);
    free(run->failed_node);
    free(run);
}

void lead_run_tell(struct lead_run *run, const char *type, json_t *members)
{
    journal_add(run->journal, JOURNAL_STATE, type, members);
    journal_flush(run->journal);
    link_wake(run->link, LINK_NOW);
}

bool lead_run_decide(struct lead_run *run, enum outcome_kind kind, enum outcome_cause cause,
                     const char *format, ...)
{
    struct text text = {0};
    va_list args;
    if (run->is_decided)
        return false;
    va_start(args, format);
    text_addv(&text, format, args);
    va_end(args);
    run->is_decided = true;
    run->outcome.kind = kind;
    run->outcome.cause = cause;
    outcome_set_message(&run->outcome, "%s", text_string(&text));
    text_fini(&text);
    return true;
}

bool lead_run_decide_failed(struct lead_run *run, const json_t *failed, const char *node)
{
    const json_t *rank = json_object_get(failed, "rank");
    int code = (int)json_integer_value(json_object_get(failed, "code"));
    int number = (int)json_integer_value(json_object_get(failed, "signal"));
    char who[32] = "the command", how[128];
    if (json_is_integer(rank))
        (void)snprintf(who, sizeof(who), "rank %d", (int)json_integer_value(rank)); /* fits */
    if (number)
        (void)snprintf(how, sizeof(how), "was killed by signal %d (%s)", number,
                       strsignal(number)); /* fits */
    else
        (void)snprintf(how, sizeof(how), "exited with code %d", code); /* fits */
    if (!lead_run_decide(run, OUTCOME_FAILED, OUTCOME_CAUSE_EXIT, "%s on %s %s", who, node, how))
        return false;
    run->outcome.exit_code = code;
    run->outcome.signal = number;
    return true;
}

void lead_run_tell_stop(struct lead_run *run, const char *why)
{
    lead_run_tell(run, "stopping",
                  json_pack("{s:s, s:s}", "why", why, "message", run->outcome.message));
}

static void lead_run_decide_stop(struct lead_run *run, enum outcome_kind kind, const char *message)
{
    if (lead_run_decide(run, kind, OUTCOME_CAUSE_NONE, "%s", message))
        lead_run_tell_stop(run, outcome_kind_name(kind));
}

static void lead_run_decide_lost(struct lead_run *run, bool was_launching, const char *complaint)
{
    (void)lead_run_decide(run, OUTCOME_FAILED,
                          was_launching ? OUTCOME_CAUSE_LAUNCH : OUTCOME_CAUSE_NODE_FAIL,
                          "the job step was lost: %s", complaint);
}

void lead_run_decide_by(struct lead_run *run, const struct lead_run_evidence *evidence)
{
    const char *state = evidence->answer->state;
    bool is_alive = text_equal(state, "RUNNING");
    if (evidence->answer->is_preempted)
        lead_run_decide_stop(run, OUTCOME_PREEMPTED, "preempted by Slurm");
    else if (evidence->is_at_limit)
        lead_run_decide_stop(run, OUTCOME_TIMED_OUT, "the time limit of the job was reached");
    else if (text_equal(state, "NODE_FAIL"))
        lead_run_decide_lost(run, evidence->was_launching, "a node failed");
    else if (state[0] && !is_alive)
        lead_run_decide_stop(run, OUTCOME_CANCELLED, "the job was cancelled in Slurm");
    else if (evidence->complaint[0]) /* srun sends SIGTERM to the agents that are left */
        lead_run_decide_lost(run, evidence->was_launching, evidence->complaint);
    else
        lead_run_decide_stop(run, OUTCOME_PREEMPTED, "SIGTERM was sent to the job step");
}

unsigned lead_run_stop_seconds(const struct lead_run *run)
{
    /* A failed run has nothing worth waiting for. */
    bool saves = run->outcome.kind != OUTCOME_FAILED && run->outcome.kind != OUTCOME_SUCCEEDED;
    return saves ? (unsigned)run->assignment->save_time_s : LEAD_RUN_STOP_S;
}

void lead_run_add_start(struct lead_run *run, const json_t *report)
{
    double time = json_real_value(json_object_get(report, "time"));
    if (time > 0 && (run->outcome.started == 0 || time < run->outcome.started))
        run->outcome.started = time;
}

void lead_run_add_end(struct lead_run *run, const char *node, const json_t *report)
{
    struct outcome *outcome = &run->outcome;
    const json_t *step = json_object_get(report, "last_step");
    const json_t *failed = json_object_get(report, "failed");
    double ended = json_real_value(json_object_get(report, "ended"));
    if (json_is_true(json_object_get(report, "idle")))
        return;
    json_object_set(outcome->finals, node, json_object_get(report, "final"));
    if (ended > outcome->ended)
        outcome->ended = ended;
    if (json_is_integer(step) &&
        (!outcome->has_step || json_integer_value(step) > outcome->last_step)) {
        outcome->has_step = true;
        outcome->last_step = json_integer_value(step);
    }
    if (json_is_object(failed) && !run->failed) {
        run->failed = json_incref((json_t *)failed);
        run->failed_node = text_format("%s", node);
    }
}

void lead_run_add_lost(struct lead_run *run, const char *node)
{
    char *path = text_format("%s/journal/%s.jsonl", run->assignment->run_dir, node);
    uint64_t last = journal_last_of(path);
    if (last)
        json_object_set_new(run->outcome.finals, node, json_integer((json_int_t)last));
    free(path);
}

void lead_run_write(struct lead_run *run)
{
    struct error err;
    if (!run->needs_writing)
        return;
    run->needs_writing = outcome_write(&run->outcome, run->assignment->run_dir, &err) < 0;
    if (run->needs_writing)
        fprintf(stderr, "phase-worker lead: %s\n", err.message);
}

void lead_run_end(struct lead_run *run)
{
    struct outcome *outcome = &run->outcome;
    if (run->failed)
        (void)lead_run_decide_failed(run, run->failed, run->failed_node);
    (void)lead_run_decide(run, OUTCOME_SUCCEEDED, OUTCOME_CAUSE_NONE, "%s", "");
    if (outcome->ended == 0)
        outcome->ended = clock_calendar_s();
    run->is_ended = run->needs_writing = true;
    lead_run_tell(run, "ended", outcome_to_json(outcome));
    lead_run_write(run);
}
