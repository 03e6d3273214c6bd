/* Prepares, decides and ends one run. */
#include "worker/lead/lead_run.h"

#include "lib/checkpoint.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/text.h"
#include "worker/health/failure.h"
#include "worker/lead/alone.h"
#include "worker/lead/commands.h"
#include "worker/lead/hardware.h"
#include "worker/lead/inquiry.h"
#include "worker/lead/job_folder.h"
#include "worker/node/shards.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/lineage.h"
#include "worker/protocol/link.h"
#include "worker/protocol/phase_claim.h"
#include "worker/protocol/posthumous.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAD_RUN_STOP_S = 10 };

static int lead_run_write_script(const struct lead_run *run, const char *name, const char *script,
                                 struct error *err)
{
    char *path = text_format("%s/%s", run->assignment->file.run_dir, name);
    int status = file_replace(path, script, strlen(script), 0600, err);
    free(path);
    return status;
}

/* The agents read the secrets themselves. The lead only finds out at once that they are gone. */
static int lead_run_prepare(const struct lead_run *run, struct error *err)
{
    int status = assignment_read_secrets(run->assignment, err);
    if (status == 0)
        status = assignment_make_folders(run->assignment->file.run_dir, err);
    if (status == 0)
        status = file_make_folders(run->assignment->file.out_dir, 0700, err);
    if (status < 0)
        return status;
    status = lead_run_write_script(run, "run.sh", run->assignment->script, err);
    if (status == 0 && run->assignment->join)
        status = lead_run_write_script(run, "join.sh", run->assignment->join, err);
    return status;
}

static bool lead_run_is_removed(const char *checkpoint)
{
    struct checkpoint_extent extent = {0};
    return checkpoint_measure(checkpoint, &extent) < 0 || extent.files == 0;
}

void lead_run_choose_newest(struct lead_run *run)
{
    struct assignment *assignment = run->assignment;
    struct error err;
    if (assignment->file.known_step == RUN_FILE_NO_CHOICE || assignment->file.attempt < 2)
        return;
    char *phase_dir = file_parent(assignment->file.run_dir);
    json_t *newest = lineage_checkpoint(phase_dir, assignment->file.attempt - 1);
    long long step = told_checkpoint_read(newest).step;
    bool is_removed = assignment->resume && lead_run_is_removed(assignment->resume);
    if (newest && (step > assignment->file.known_step || is_removed)) {
        if (assignment_set_resume(assignment, newest, &err) < 0)
            fprintf(stderr, "phase-worker lead: the run does not begin from step %lld: %s\n", step,
                    err.message);
        else
            printf("phase-worker lead: the run begins from step %lld: %s\n", step,
                   is_removed ? "the chosen checkpoint was removed"
                              : "this checkpoint was saved after the run was prepared");
    }
    json_decref(newest);
    free(phase_dir);
}

static void lead_run_push(struct lead_run *run)
{
    journal_flush(run->journal);
    if (run->link)
        link_wake(run->link, LINK_NOW);
}

void lead_run_tell(struct lead_run *run, const struct entry *entry)
{
    journal_add(run->journal, entry);
    lead_run_push(run);
}

void lead_run_warn(struct lead_run *run, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    journal_warnv(run->journal, format, args);
    va_end(args);
    lead_run_push(run);
}

bool lead_run_decide(struct lead_run *run, enum run_outcome kind, enum run_cause cause,
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

static void lead_run_open_link(struct lead_run *run, struct commands *commands)
{
    if (!run->command_file)
        run->command_file = text_format("%s/control/command.json", run->assignment->file.run_dir);
    const struct link_options options = {
        .daemon_file = run->assignment->file.daemon_file,
        .run = run->assignment->file.run,
        .node = "lead",
        .secret = &run->assignment->secret,
        .journal = run->journal,
        .command_file = run->command_file,
        .command_came = commands_post,
        .context = commands,
    };
    run->link = link_open(&options);
}

/* Checks that all `outputs` of the run exist. If one is missing, the run has failed, even if
 * `until` ended the run. */
static void lead_run_check_outputs(struct lead_run *run)
{
    const char *out_dir = run->assignment->file.out_dir;
    size_t i;
    json_t *output;
    json_array_foreach((json_t *)run->assignment->outputs, i, output)
    {
        const char *name = json_string_value(output);
        char *path = text_format("%s/%s", out_dir, name ? name : "");
        char *end = strrchr(path, '/');
        *end = '\0';
        file_look_again(path);
        *end = '/';
        int problem = access(path, F_OK) < 0 ? errno : 0;
        if (problem && run->outcome.kind == OUTCOME_SUCCEEDED)
            run->is_decided = false;
        if (problem)
            (void)lead_run_decide(run, OUTCOME_FAILED, CAUSE_EXIT, "outputs: no %s in %s: %s",
                                  name ? name : "file", out_dir, strerror(problem));
        free(path);
    }
}

/* Removes the parts of the input. A run that has succeeded does not need them any more. */
static void lead_run_remove_shards(const struct lead_run *run)
{
    if (run->outcome.kind == OUTCOME_SUCCEEDED && run->assignment->shard_input)
        shards_remove_all(run->assignment->file.run_dir);
}

/* Finds out whether another lead has begun the run, and how the run ended. If a claim that cannot
 * be read leaves this open, sets `unread_claim` and `err`. */
static enum posthumous_end lead_run_look_back(struct lead_run *run, struct error *err)
{
    const char *run_dir = run->assignment->file.run_dir;
    struct outcome outcome;
    enum posthumous_end end = POSTHUMOUS_TOLD;
    int status = outcome_read(run_dir, run->outcome.token, &outcome, err);
    if (status == -ESTALE)
        fprintf(stderr, "phase-worker lead: %s\n", err->message);
    run->unread_claim = 0;
    if (status < 0) {
        outcome_init(&outcome, run->assignment->file.run);
        memcpy(outcome.token, run->outcome.token, sizeof outcome.token);
        struct phase_holder claim;
        int claimed = phase_claim_of_run(run_dir, &claim, err);
        end = posthumous_read(run_dir, claimed == 0 ? &claim.life : NULL, run->assignment->nodes,
                              &outcome);
        run->needs_writing = end != POSTHUMOUS_NOT_BEGUN;
        if (claimed == -EAGAIN && end == POSTHUMOUS_NOT_BEGUN)
            run->unread_claim = claim.number;
    }
    if (end == POSTHUMOUS_NOT_BEGUN) {
        outcome_fini(&outcome);
        return end;
    }
    outcome_fini(&run->outcome);
    run->outcome = outcome;
    run->is_decided = run->is_ended = true;
    if (end == POSTHUMOUS_KILLED && outcome.kind == OUTCOME_SUCCEEDED)
        lead_run_check_outputs(run);
    if (end == POSTHUMOUS_KILLED)
        lead_run_remove_shards(run);
    return end;
}

/* Writes the outcome. If the lead of the run was killed, also puts the end into the journal. */
static void lead_run_tell_past(struct lead_run *run, enum posthumous_end past)
{
    if (past == POSTHUMOUS_KILLED)
        lead_run_tell(run,
                      &(struct entry){.type = ENTRY_ENDED, .json = outcome_to_json(&run->outcome)});
    (void)lead_run_write(run, NULL); /* the lead tries again when it leaves the run */
}

int lead_run_look_again(struct lead_run *run, struct error *err)
{
    if (run->unread_claim)
        lead_run_tell_past(run, lead_run_look_back(run, err));
    return run->unread_claim ? -EAGAIN : 0;
}

/* Whether an earlier lead has written hardware.json and then not begun the run, for example because
 * its node failed. The job may have other GPUs now. */
static bool lead_run_has_old_hardware(const struct assignment *assignment)
{
    struct phase_holder claim;
    return assignment->hardware && phase_claim_of_run(assignment->file.run_dir, &claim, NULL) < 0;
}

/* Reads the assignment. If it depends on the GPU, finds out the GPU first. */
static int lead_run_read(const char *run_dir, struct assignment **ret_assignment, struct error *err)
{
    struct assignment *assignment;
    int status = assignment_read(run_dir, &assignment, err);
    if (status < 0)
        return status;
    if (!assignment->needs_hardware && !lead_run_has_old_hardware(assignment)) {
        *ret_assignment = assignment;
        return 0;
    }
    status = hardware_settle(run_dir, assignment->file.spec, phase_life_own().job_id, err);
    assignment_free(assignment);
    return status < 0 ? status : assignment_read(run_dir, ret_assignment, err);
}

int lead_run_open(const char *run_dir, struct commands *commands, struct lead_run **ret_run,
                  struct error *err)
{
    struct assignment *assignment;
    int status = lead_run_read(run_dir, &assignment, err);
    if (status < 0)
        return status;
    struct lead_run *run = xcalloc(1, sizeof *run);
    run->assignment = assignment;
    run->saved_step = -1;
    outcome_init(&run->outcome, assignment->file.run);
    const struct phase_life life = phase_life_own();
    run->outcome.job_id = life.job_id;
    run->outcome.restarts = life.restarts;
    memcpy(run->outcome.token, life.token, sizeof run->outcome.token);
    struct error problem;
    enum posthumous_end past = lead_run_look_back(run, &problem);
    bool is_ready = run->is_ended || lead_run_prepare(run, &problem) == 0;
    char *path = journal_path(run_dir, "lead");
    run->journal = journal_open(path);
    free(path);
    if (!assignment->file.is_alone)
        lead_run_open_link(run, commands);
    if (!is_ready)
        (void)lead_run_decide(run, OUTCOME_FAILED, CAUSE_LAUNCH, "%s", problem.message);
    lead_run_tell_past(run, past);
    *ret_run = run;
    return 0;
}

int lead_run_number(struct lead_run *run, struct commands *commands, struct error *err)
{
    struct assignment *assignment;
    int status = assignment_read(run->assignment->file.run_dir, &assignment, err);
    if (status < 0)
        return status;
    if (assignment->file.is_alone) {
        assignment_free(assignment);
        return error_set(err, -EAGAIN, "the number of the run is not visible yet");
    }
    assignment_free(run->assignment);
    run->assignment = assignment;
    run->outcome.run = assignment->file.run;
    lead_run_open_link(run, commands);
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
    json_decref(run->failure);
    free(run->failure_node);
    free(run->command_file);
    free(run);
}

bool lead_run_decide_failed(struct lead_run *run, const json_t *failed, const char *node)
{
    struct rank_failure failure = rank_failure_read(failed);
    int code = (int)failure.code, number = (int)failure.signal;
    const char *line = failure.line;
    char who[32] = "the command", how[128];
    bool has_line = line && *line;
    if (failure.rank >= 0)
        (void)snprintf(who, sizeof who, "rank %d", (int)failure.rank); /* fits */
    if (failure.group >= 0)
        (void)snprintf(who, sizeof who, "group %d", (int)failure.group); /* fits */
    if (failure.is_join)
        (void)snprintf(who, sizeof who, "join"); /* fits */
    if (number)
        (void)snprintf(how, sizeof how, "was killed by signal %d (%s)", number,
                       strsignal(number)); /* fits */
    else
        (void)snprintf(how, sizeof how, "exited with code %d", code); /* fits */
    if (!lead_run_decide(run, OUTCOME_FAILED, CAUSE_EXIT, "%s on %s %s%s%s", who, node, how,
                         has_line ? ": " : "", has_line ? line : ""))
        return false;
    run->outcome.exit_code = code;
    run->outcome.signal = number;
    return true;
}

void lead_run_tell_stop(struct lead_run *run, enum stop_reason why)
{
    lead_run_tell(run, &(struct entry){.type = ENTRY_STOPPING,
                                       .why = stop_reason_name(why),
                                       .message = run->outcome.message});
}

bool lead_run_stop(struct lead_run *run, enum stop_reason why, const char *format, ...)
{
    struct text message = {0};
    va_list args;
    va_start(args, format);
    text_addv(&message, format, args);
    va_end(args);
    bool is_new = lead_run_decide(run, stop_reason_outcome(why), stop_reason_cause(why), "%s",
                                  text_string(&message));
    text_fini(&message);
    if (is_new)
        lead_run_tell_stop(run, why);
    return is_new;
}

static void lead_run_decide_lost(struct lead_run *run, const struct lead_run_facts *facts,
                                 const char *why)
{
    if (!lead_run_decide(run, OUTCOME_FAILED, facts->was_launching ? CAUSE_LAUNCH : CAUSE_NODE_FAIL,
                         "the job step was lost: %s", why))
        return;
    outcome_blame(&run->outcome, facts->complaint);
    /* A job step that was killed because of its memory would be killed on any node. */
    json_t *failure = failure_look_at(run->assignment, facts->complaint);
    char *node = xstrdup(run->outcome.node);
    if (failure)
        failure_apply(run->assignment, failure, node, &run->outcome);
    json_decref(failure);
    free(node);
}

bool lead_run_decide_by(struct lead_run *run, const struct lead_run_facts *facts)
{
    enum cluster_job_state state = facts->answer->state;
    bool is_alive = state == CLUSTER_JOB_RUNNING;
    bool is_ending = state != CLUSTER_JOB_NONE && !is_alive;
    /* A controller that was killed may have forgotten the start, and starts the job again. */
    bool is_forgotten = state == CLUSTER_JOB_PENDING;
    /* Slurm shows the same state for a requeued job and for a cancelled job: COMPLETING. */
    bool is_restarted = facts->answer->restarts > run->outcome.restarts;
    run->is_requeued = is_restarted || is_forgotten;
    if (facts->answer->is_preempted)
        (void)lead_run_stop(run, STOP_PREEMPTED, "preempted by Slurm");
    else if (is_restarted)
        (void)lead_run_stop(run, STOP_PREEMPTED, "the job was requeued in Slurm");
    else if (is_forgotten)
        (void)lead_run_stop(run, STOP_PREEMPTED, "Slurm has forgotten that the job runs");
    else if (facts->is_at_limit)
        (void)lead_run_stop(run, STOP_TIMED_OUT, "the time limit of the job was reached");
    else if (facts->is_near_limit)
        (void)lead_run_stop(run, STOP_TIMED_OUT, "the time limit of the job is near");
    else if (state == CLUSTER_JOB_NODE_FAIL)
        lead_run_decide_lost(run, facts, "a node failed");
    else if (is_ending)
        (void)lead_run_stop(run, STOP_CANCELLED, "the job was cancelled in Slurm");
    else if (facts->complaint[0]) /* srun sends SIGTERM to the remaining agents */
        lead_run_decide_lost(run, facts, facts->complaint);
    else
        (void)lead_run_stop(run, STOP_PREEMPTED, "%s", facts->signal);
    return facts->answer->is_preempted || run->is_requeued || facts->is_at_limit || is_ending;
}

bool lead_run_ended_itself(const struct lead_run *run)
{
    const struct outcome *outcome = &run->outcome;
    bool has_failed = outcome->kind == OUTCOME_FAILED && outcome->cause == CAUSE_EXIT;
    return !run->is_decided || has_failed;
}

/* A script that runs `scontrol requeue` and exits may end before Slurm's SIGTERM arrives. */
void lead_run_check_requeue(struct lead_run *run, const struct inquiry_answer *answer)
{
    if (answer->state == CLUSTER_JOB_NONE || answer->restarts <= run->outcome.restarts ||
        !lead_run_ended_itself(run))
        return;
    run->is_requeued = true;
    run->is_decided = false;
    (void)lead_run_decide(run, OUTCOME_PREEMPTED, CAUSE_NONE, "the job was requeued in Slurm");
    run->outcome.exit_code = run->outcome.signal = 0;
}

unsigned lead_run_stop_seconds(const struct lead_run *run)
{
    /* A failed run has nothing worth saving. A run that `until` ended does save. */
    bool saves = run->outcome.kind != OUTCOME_FAILED;
    return saves ? (unsigned)run->assignment->save_time_s : LEAD_RUN_STOP_S;
}

void lead_run_add_start(struct lead_run *run, double time)
{
    if (time > 0 && (run->outcome.started == 0 || time < run->outcome.started))
        run->outcome.started = time;
}

void lead_run_add_failure(struct lead_run *run, const char *node, const json_t *failure)
{
    if (!json_is_object(failure) || !failure_is_better(run->assignment, failure, run->failure))
        return;
    json_decref(run->failure);
    free(run->failure_node);
    run->failure = json_incref((json_t *)failure);
    run->failure_node = xstrdup(node);
}

void lead_run_add_end(struct lead_run *run, const char *node, const struct report *report)
{
    struct outcome *outcome = &run->outcome;
    if (report->is_idle)
        return;
    lead_run_add_failure(run, node, report->failure);
    json_object_set_new(outcome->finals, node, json_integer(report->final));
    if (report->ended > outcome->ended)
        outcome->ended = report->ended;
    if (report->last_step > outcome->last_step)
        outcome->last_step = report->last_step;
    run->shards += (unsigned)report->shards;
    run->shards_over += (unsigned)report->shards_over;
    if (report->checkpoint > run->saved_step)
        run->saved_step = report->checkpoint;
    if (json_is_object(report->failed) && !run->failed) {
        run->failed = json_incref(report->failed);
        run->failed_node = xstrdup(node);
    }
}

void lead_run_add_lost(struct lead_run *run, const char *node)
{
    bool is_done;
    int64_t saved =
        posthumous_add_node(run->assignment->file.run_dir, node, &run->outcome, &is_done);
    if (saved > run->saved_step)
        run->saved_step = saved;
}

/* Takes over the outcome that another lead of this job has written, if there is one. */
static bool lead_run_yield(struct lead_run *run)
{
    const char *run_dir = run->assignment->file.run_dir;
    struct outcome outcome;
    if (outcome_read(run_dir, run->outcome.token, &outcome, NULL) < 0)
        return false;
    fprintf(stderr, "phase-worker lead: another lead has written how the run in %s ended: %s\n",
            run_dir, run_outcome_name(outcome.kind));
    outcome_fini(&run->outcome);
    run->outcome = outcome;
    run->is_decided = run->is_ended = run->is_overtaken = true;
    run->needs_writing = false;
    return true;
}

int lead_run_write(struct lead_run *run, struct error *err)
{
    if (!run->needs_writing)
        return 0;
    const char *run_dir = run->assignment->file.run_dir;
    struct error other;
    if (job_folder_check_run(run->assignment->file.job_dir, run_dir, &other) < 0) {
        fprintf(stderr, "phase-worker lead: no outcome is written: %s\n", other.message);
        run->needs_writing = false;
        return 0;
    }
    int status = outcome_write(&run->outcome, run_dir, err);
    if (status == -EEXIST && lead_run_yield(run))
        return 0;
    run->needs_writing = status < 0;
    return status;
}

/* Warns if a run has succeeded without a checkpoint at the expected path. A misspelt path should be
 * found now, not after the first preemption. */
static void lead_run_check_checkpoint(struct lead_run *run)
{
    const struct assignment *assignment = run->assignment;
    if (!assignment->checkpoint_path || run->saved_step >= 0 || assignment->resume)
        return;
    lead_run_warn(run, "the run has succeeded and left no checkpoint: no file is called %s",
                  assignment->checkpoint_path);
}

/* Warns if a run has succeeded long before its last step: somebody may have stopped its program.
 * Programs do not print each step, so the last quarter does not count. */
static void lead_run_check_total(struct lead_run *run)
{
    const json_t *spec = run->assignment->spec;
    double total = json_number_value(json_object_get(json_object_get(spec, "progress"), "total"));
    int64_t step = run->outcome.last_step;
    if (json_is_object(json_object_get(spec, "until")) || step < 0 || (double)step >= 0.75 * total)
        return;
    lead_run_warn(run, "the run ended by itself at step %lld of %.0f", (long long)step, total);
}

/* If the daemon has declared the run over, the run ends as cancelled. Another run may have taken
 * its place, and owns the files that the runs of the phase share. */
static void lead_run_obey_tombstone(struct lead_run *run)
{
    struct outcome *outcome = &run->outcome;
    struct error err;
    if (!outcome_is_sealed(run->assignment->file.run_dir, &err) ||
        outcome->kind == OUTCOME_CANCELLED)
        return;
    run->is_decided = false;
    (void)lead_run_decide(run, OUTCOME_CANCELLED, CAUSE_NONE, "%s", err.message);
    outcome->exit_code = outcome->signal = 0;
    outcome->node[0] = '\0';
}

void lead_run_end(struct lead_run *run)
{
    struct outcome *outcome = &run->outcome;
    if (lead_run_yield(run))
        return;
    lead_run_obey_tombstone(run);
    if (run->failed)
        (void)lead_run_decide_failed(run, run->failed, run->failed_node);
    if (!run->is_decided || outcome->kind == OUTCOME_SUCCEEDED)
        lead_run_check_outputs(run);
    (void)lead_run_decide(run, OUTCOME_SUCCEEDED, CAUSE_NONE, "%s", "");
    if (outcome->kind == OUTCOME_SUCCEEDED) {
        lead_run_check_checkpoint(run);
        lead_run_check_total(run);
    }
    /* A hang may have a recognised cause, too: if one rank is out of memory, the other ranks wait
     * for it. */
    bool is_open =
        outcome->cause == CAUSE_EXIT ||
        (outcome->cause == CAUSE_HANG && failure_is_cause(run->assignment, run->failure));
    if (run->failure && is_open)
        failure_apply(run->assignment, run->failure, run->failure_node, outcome);
    lead_run_remove_shards(run);
    /* All shards that are done count as steps if the programs print no steps. */
    if (outcome->last_step < 0 && run->shards)
        outcome->last_step = (int64_t)run->shards + run->shards_over;
    if (outcome->ended == 0)
        outcome->ended = clock_calendar_s();
    outcome->requeues = alone_may_follow(run->assignment, outcome, run->saved_step);
    run->is_ended = run->needs_writing = true;
    lead_run_tell(run, &(struct entry){.type = ENTRY_ENDED, .json = outcome_to_json(outcome)});
    (void)lead_run_write(run, NULL); /* the lead tries again when it leaves the run */
}
