/* What a run waits for, remedies, suspect checkpoints and matrices, in words. */
#include "cli/phrases.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/terminal.h"
#include "lib/protocol/words.h"
#include "lib/spec/phase.h"
#include "lib/spec/remedies.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- What a run waits for --------------------------------------------------------------------- */

/* 0: the run does not wait for limits.yaml. */
static void wait_add_turn(long long turn, struct text *text)
{
    if (turn == 1)
        text_add(text, "; this run is next");
    else if (turn > 1)
        text_addf(text, "; %lld other run%s before it", turn - 1, turn == 2 ? " comes" : "s come");
}

bool wait_write(const json_t *run, double now, struct text *text)
{
    double absent_since = field_number(run, "job_absent_since");
    double start_s = field_number(run, "job_start") - now;
    int state = field_run_state(run), job_state = field_job_state(run);
    const char *reason = field_text(run, "job_reason");
    const char *meaning = field_text(run, "job_waits_for"); /* an older daemon does not say it */
    long long job = field_integer(run, "job_id");
    bool was_requeued = (state == RUN_RUNNING || state == RUN_STOPPING) &&
                        !isnan(field_number(run, "ended")); /* the run has not reported its end */
    char buffer[FORMAT_SIZE];
    size_t size = text->size;
    if (!isnan(absent_since)) {
        text_addf(text, "Slurm has not known job %lld for %s", job,
                  format_duration(fmax(now - absent_since, 0), buffer));
    } else if (state != RUN_ENDED && job_state == CLUSTER_JOB_SUSPENDED) {
        text_addf(text, "job %lld is suspended in Slurm; it goes on when Slurm resumes it", job);
    } else if (state == RUN_SUBMITTING && reason[0]) {
        text_addf(text, "not submitted yet: %s", reason);
        wait_add_turn(field_integer(run, "job_turn"), text);
    } else if ((state == RUN_PENDING || state == RUN_STARTING || was_requeued) &&
               job_state == CLUSTER_JOB_PENDING) { /* the next run may exist already */
        const char *why = meaning[0] ? meaning : reason;
        text_addf(text, "job %lld waits in Slurm%s%s", job, why[0] ? ": " : "", why);
        if (start_s > 0)
            text_addf(text, "; Slurm expects its start in %s", format_duration(start_s, buffer));
    }
    return text->size > size;
}

bool wait_write_phase(const json_t *phase, double now, struct text *text)
{
    const char *reason = field_text(phase, "reason");
    if (!wait_write(json_object_get(phase, "run"), now, text))
        return false;
    if (reason[0])
        text_addf(text, "; %s", reason);
    return true;
}

/* --- Remedies --------------------------------------------------------------------------------- */

bool remedy_add(const json_t *run, struct text *text)
{
    const json_t *remedy = json_object_get(run, "remedy");
    int resume = remedy_resume_parse(field_text(remedy, "resume"));
    if (!json_is_object(remedy))
        return false;
    remedies_changes_text(json_object_get(remedy, "changes"), text);
    if (resume == REMEDY_START)
        text_add(text, ", from the start");
    else if (resume == REMEDY_PREVIOUS)
        text_add(text, ", from the checkpoint before");
    text_addf(text, " (remedy %s %lld of %lld)", field_text(remedy, "cause"),
              field_integer(remedy, "number"), field_integer(remedy, "times"));
    return true;
}

/* --- Suspect checkpoints ---------------------------------------------------------------------- */

enum { SUSPECT_STEPS_MAX = 8 }; /* a line names at most these */

bool suspect_has(const json_t *phase)
{
    return json_array_size(json_object_get(phase, "suspects")) > 0;
}

void suspect_note(const json_t *phase, struct text *text)
{
    const json_t *steps = json_object_get(phase, "suspects");
    size_t count = json_array_size(steps);
    if (count == 0)
        return;
    text_add(text, count > 1 ? "steps " : "step ");
    for (size_t i = 0; i < count && i < SUSPECT_STEPS_MAX; i++)
        text_addf(text, "%s%s", i ? ", " : "", json_string_value(json_array_get(steps, i)));
    text_addf(text, "%s: saved after a guard had failed or NaN had come",
              count > SUSPECT_STEPS_MAX ? " and later ones" : "");
}

const char *suspect_option(const json_t *phase, char *buffer, size_t size)
{
    double step = field_number(phase, "checkpoint_step");
    buffer[0] = '\0';
    if (!isnan(step))
        (void)snprintf(buffer, size, "--from %.0f", step); /* fits */
    return buffer;
}

void suspect_explain(const json_t *phase, struct text *text)
{
    double step = field_number(phase, "checkpoint_step");
    if (!suspect_has(phase))
        return;
    text_add(text, "  suspect checkpoints: ");
    suspect_note(phase, text);
    if (isnan(step))
        text_add(text, "; no checkpoint is good\n");
    else
        text_addf(text, "; the last good checkpoint is of step %.0f\n", step);
}

/* --- Matrices --------------------------------------------------------------------------------- */

bool members_has(const json_t *phase)
{
    return field_text(phase, "matrix")[0] != '\0';
}

bool members_is_matrix(const json_t *phase)
{
    return json_is_object(json_object_get(phase, "of_members"));
}

bool members_has_run(const char *phase, const json_t *run)
{
    const char *name = field_text(run, "phase");
    size_t size = strlen(phase);
    return strncmp(name, phase, size) == 0 && (name[size] == '\0' || name[size] == '.');
}

const json_t *members_total(const json_t *phase)
{
    return members_is_matrix(phase) ? json_object_get(phase, "of_members") : phase;
}

long long members_in_state(const json_t *matrix, enum phase_state state)
{
    return field_integer(json_object_get(members_total(matrix), "states"), phase_state_name(state));
}

long long members_can(const json_t *matrix, enum phase_command command)
{
    return field_integer(json_object_get(members_total(matrix), "can"),
                         phase_command_name(command));
}

/* In a matrix without `best`, members have no value, and nothing was chosen. */
const char *members_standing(const json_t *member)
{
    const char *standing = field_text(member, "standing");
    if (!text_equal(standing, "left"))
        return standing;
    return isnan(field_number(member, "value")) ? "" : "stayed";
}

void members_case(const json_t *member, struct text *text)
{
    json_t *params = json_object_get(member, "case"), *value;
    const char *name, *standing = members_standing(member), *comma = "";
    if (!members_has(member))
        return;
    json_object_foreach(params, name, value)
    {
        text_addf(text, "%s%s ", comma, name);
        phase_value_text(value, text);
        comma = ", ";
    }
    if (standing[0])
        text_addf(text, "%s(%s)", comma[0] ? " " : "", standing);
}

void members_note(const json_t *matrix, struct text *text)
{
    static const enum phase_state states[] = {
        PHASE_SUCCEEDED, PHASE_FAILED,   PHASE_CANCELLED, PHASE_SKIPPED, PHASE_HELD,
        PHASE_ACTIVE,    PHASE_DECIDING, PHASE_QUEUED,    PHASE_BLOCKED,
    };
    const char *comma = "";
    if (field_integer(matrix, "rungs") > 1)
        text_addf(text, "rung %lld of %lld: ", field_integer(matrix, "rung"),
                  field_integer(matrix, "rungs"));
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        long long count = members_in_state(matrix, states[i]);
        const char *word = states[i] == PHASE_FAILED    ? "out"
                           : states[i] == PHASE_BLOCKED ? "waiting"
                                                        : phase_state_name(states[i]);
        if (count > 0)
            text_addf(text, "%s%lld %s", comma, count, word);
        comma = count > 0 ? ", " : comma;
    }
}

void members_wait(const json_t *phases, const json_t *matrix, double now, struct text *text)
{
    const json_t *phase;
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        struct text wait = {0};
        bool is_queued = text_equal(field_text(phase, "matrix"), field_text(matrix, "phase")) &&
                         field_phase_state(phase) == PHASE_QUEUED;
        if (is_queued && wait_write(json_object_get(phase, "run"), now, &wait)) {
            text_addf(text, "; %s: %s", field_text(phase, "phase"), text_string(&wait));
            text_fini(&wait);
            return;
        }
        text_fini(&wait);
    }
}

static const char *members_reason(const json_t *member)
{
    const char *reason = field_text(member, "out_reason");
    bool is_out = field_phase_state(member) == PHASE_FAILED;
    return reason[0] || !is_out ? reason : field_text(member, "reason");
}

void members_reasons(const json_t *matrix, struct text *text)
{
    enum { REASONS_MAX = 8 };
    const json_t *members = json_object_get(matrix, "members"), *member;
    const char *reasons[REASONS_MAX], *first[REASONS_MAX];
    size_t count = 0, i, others = 0, counts[REASONS_MAX] = {0};
    json_array_foreach(members, i, member)
    {
        const char *reason = members_reason(member);
        size_t at = 0;
        while (at < count && !text_equal(reasons[at], reason))
            at++;
        if (!reason[0])
            continue;
        if (at == REASONS_MAX) {
            others++;
            continue;
        }
        if (at == count) {
            reasons[count] = reason;
            first[count++] = field_text(member, "address");
        }
        counts[at]++;
    }
    for (size_t at = 0; at < count; at++) {
        struct text line = {0};
        text_addf(&line, "%zu out, %s%s: %s", counts[at], counts[at] > 1 ? "such as " : "",
                  first[at], reasons[at]);
        terminal_add_line(text, at ? "" : "\n", &line);
    }
    if (others > 0)
        text_addf(text, "%zu out for other reasons\n", others);
}
