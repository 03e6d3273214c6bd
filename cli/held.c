/* Phases that are held. */
#include "cli/held.h"

#include "cli/field.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "lib/amount.h"
#include "lib/protocol/words.h"
#include "lib/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void held_way_out(struct table *table, const char *verb, const char *target,
                         const char *help)
{
    table_addf(table, "phasectl %s %s", verb, target);
    table_add(table, help);
}

/* A phase that its budget holds cannot be released before the budget is larger. */
static void held_budget_first(const json_t *phase, struct table *table)
{
    const char *address = field_text(phase, "address");
    int budget = field_hold_budget(phase), amount = amount_parse(field_text(phase, "hold_amount"));
    if (budget == BUDGET_WORKFLOW && amount >= 0) {
        char *target = text_format("%.*s %s N", (int)strcspn(address, "/"), address,
                                   amount_option((enum amount)amount));
        held_way_out(table, "budget", target, "give the workflow a larger budget first");
        free(target);
    } else if (budget == BUDGET_MONTH) {
        table_add(table, "limits.yaml: month");
        table_add(table, "raise the budget of the month first");
    }
}

/* What a retry does. If a gate has judged the phase, the retry begins at its start. */
static const char *held_retry_help(const json_t *phase, bool is_judged, char buffer[static 80])
{
    double step = field_number(phase, "checkpoint_step");
    if (members_is_matrix(phase))
        return members_in_state(phase, PHASE_SUCCEEDED) > 0 ? "judge the members again"
                                                            : "run the members again";
    if (is_judged || (isnan(step) && !suspect_has(phase)))
        return "run the phase again";
    if (isnan(step))
        return "run again from the start: no checkpoint is good";
    if (suspect_has(phase))
        return "run again from the last good checkpoint";
    (void)snprintf(buffer, 80, "run again from the checkpoint of step %.0f", step); /* fits */
    return buffer;
}

/* What a person can do about a phase. */
struct held_ways {
    struct {
        bool is_shown;
        /* The key of the live view that does it. "": the view shows it without a key. HELD_MORE: a
         * key does a variant of it. NULL: only the command does it. */
        const char *key;
        const char *verb, *suffix, *help;
    } rows[12];
    char from[40], help[80];
    bool may_correct_gate, may_correct_file; /* a retry alone would end in the same way */
};

#define HELD_MORE     "more"
#define VERB(command) phase_command_name(COMMAND_##command)

/* The daemon says which commands the phase takes. A failed or cancelled phase is not held, but may
 * be run again. */
static void held_find_ways(const json_t *phase, struct held_ways *ways)
{
    const json_t *run = json_object_get(phase, "run");
    int hold = field_phase_hold(phase);
    bool has_run = !isnan(field_number(run, "started"));
    bool has_checkpoint = field_text(phase, "checkpoint")[0] != '\0';
    bool by_user = hold == HOLD_USER, by_manual = hold == HOLD_MANUAL, by_gate = hold == HOLD_GATE;
    bool by_failure = !by_user && !by_manual && !by_gate;
    bool is_matrix = members_is_matrix(phase);
    bool is_refused = by_failure && field_is_true(run, "refused");
    bool is_judged = by_gate || field_run_outcome(run) == OUTCOME_SUCCEEDED;
    bool can_retry = field_can(phase, COMMAND_RETRY), can_cancel = field_can(phase, COMMAND_CANCEL);
    bool runs_again = can_retry && !is_refused;
    (void)snprintf(ways->from, sizeof ways->from, " ");
    if (by_failure && suspect_has(phase))
        (void)suspect_option(phase, ways->from + 1, sizeof ways->from - 1);
    bool has_from = ways->from[1] != '\0';
    const struct held_ways found = {
        .rows = {
            {by_failure && has_run, "Enter", "logs", "", "what the run printed"},
            {is_matrix && !by_user, "Enter", "status", "", "the members, and why they are out"},
            {!is_matrix && (by_gate || by_manual), "", "gate", "", "what the gate found"},
            {field_can(phase, COMMAND_PROMOTE), "p", VERB(PROMOTE), "",
             !by_gate    ? "go on"
             : is_matrix ? "choose among the members anyway"
                         : "start the next phases anyway"},
            {members_can(phase, COMMAND_PROMOTE) > 0, HELD_MORE, VERB(PROMOTE), ".N",
             "go on with this member"},
            {is_refused && can_cancel, "c", VERB(CANCEL), "",
             "end the phase, then submit what Slurm takes: `phasectl plan` shows it"},
            {runs_again, has_from ? NULL : "r", VERB(RETRY), has_from ? ways->from : "",
             held_retry_help(phase, is_judged, ways->help)},
            {runs_again && !is_matrix && (has_checkpoint || suspect_has(phase)), HELD_MORE,
             VERB(RETRY), " --from STEP", "from another checkpoint, or `start`"},
            {field_can(phase, COMMAND_RESUME) && !is_matrix && is_judged, "R", VERB(RESUME), "",
             suspect_has(phase) ? "resume from the last good checkpoint"
                                : "resume from the last checkpoint"},
            {field_can(phase, COMMAND_RELEASE), "h", VERB(RELEASE), "",
             has_run ? "let the phase go on" : "let the phase start"},
            {is_refused && can_retry, "r", VERB(RETRY), "",
             "ask Slurm again, when it would take the job"},
            {!is_refused && can_cancel, "c", VERB(CANCEL), "", "end it"},
        }};
    memcpy(ways->rows, found.rows, sizeof ways->rows);
    ways->may_correct_gate = by_gate && can_retry && !is_matrix && !members_has(phase);
    ways->may_correct_file = by_failure && runs_again && has_run && !is_matrix;
}

/* A retry runs what was submitted. The mistake may be in what was submitted. */
static void held_write_corrections(const struct held_ways *ways, const json_t *phase,
                                   struct text *text)
{
    const char *address = field_text(phase, "address"), *slash = strchr(address, '/');
    if (ways->may_correct_gate)
        text_addf(text,
                  "  to change the gate: correct the file, try it on what the run printed, and "
                  "submit it again:\n"
                  "    phasectl logs %s | phasectl check FILE --log %s=/dev/stdin\n",
                  address, slash ? slash + 1 : "PHASE");
    else if (ways->may_correct_file)
        text_add(text, "  to change the file or the time: correct the file and submit it again\n");
}

void held_ways_out(const struct terminal *terminal, const json_t *phase, struct text *text)
{
    struct held_ways ways;
    struct table table;
    held_find_ways(phase, &ways);
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    held_budget_first(phase, &table);
    for (size_t i = 0; i < sizeof ways.rows / sizeof ways.rows[0]; i++) {
        char *target = text_format("%s%s", field_text(phase, "address"), ways.rows[i].suffix);
        if (ways.rows[i].is_shown)
            held_way_out(&table, ways.rows[i].verb, target, ways.rows[i].help);
        free(target);
    }
    table_write(&table, terminal, 2, text);
    held_write_corrections(&ways, phase, text);
}

void held_keys(const struct terminal *terminal, const json_t *phase, struct text *text)
{
    const char *address = field_text(phase, "address"), *gap = " ";
    struct held_ways ways;
    struct table table;
    bool has_more = false;
    held_find_ways(phase, &ways);
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    held_budget_first(phase, &table);
    for (size_t i = 0; i < sizeof ways.rows / sizeof ways.rows[0]; i++) {
        const char *key = ways.rows[i].is_shown ? ways.rows[i].key : "";
        if (!key) {
            char *target = text_format("%s%s", address, ways.rows[i].suffix);
            held_way_out(&table, ways.rows[i].verb, target, ways.rows[i].help);
            free(target);
        } else if (text_equal(key, HELD_MORE)) {
            has_more = true;
        } else if (key[0]) {
            text_add(text, gap);
            terminal_colour(terminal, text, COLOUR_BOLD, key);
            text_addf(text, " %s", ways.rows[i].help);
            gap = "   ";
        }
    }
    if (has_more)
        text_addf(text, "%smore: phasectl why %s", gap, address);
    text_add(text, "\n");
    table_write(&table, terminal, 1, text);
}

/* How many members of the same matrix are held for the same kind of reason, including this member.
 * Returns 0 if an earlier member has the same kind of reason: its count includes this member. */
static size_t held_count(const json_t *phases, size_t index)
{
    const json_t *phase = json_array_get(phases, index), *other;
    size_t count = 0, i;
    json_array_foreach(phases, i, other)
    {
        bool is_like = field_phase_state(other) == PHASE_HELD &&
                       text_equal(field_text(other, "matrix"), field_text(phase, "matrix")) &&
                       text_equal(field_text(other, "hold"), field_text(phase, "hold"));
        if (is_like && i < index)
            return 0;
        count += is_like;
    }
    return members_has(phase) ? count : 1;
}

/* The commands for many members at once. */
static void held_write_members(const struct terminal *terminal, const json_t *phase, size_t count,
                               struct text *text)
{
    const char *address = field_text(phase, "address"), *dot = strrchr(address, '.');
    bool can_release = field_can(phase, COMMAND_RELEASE);
    char *matrix = text_format("%.*s", (int)(dot ? dot - address : 0), address);
    struct text line = {0};
    text_addf(&line, "%zu members of %s are held, such as %s: %s\n", count, matrix, address,
              field_text(phase, "reason"));
    terminal_colour(terminal, text, COLOUR_MAGENTA, text_string(&line));
    text_fini(&line);
    const struct {
        const char *verb, *address, *help;
    } rows[] = {
        {"status", matrix, "its members"},
        {"why", address, "what happened to this member"},
        {phase_command_name(can_release ? COMMAND_RELEASE : COMMAND_RETRY), matrix,
         can_release ? "let the members go on" : "run the members again"},
        {VERB(CANCEL), matrix, "end it"},
    };
    struct table table;
    table_init(&table, table_names, TABLE_NAMES_COLUMNS);
    held_budget_first(phase, &table);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        held_way_out(&table, rows[i].verb, rows[i].address, rows[i].help);
    table_write(&table, terminal, 2, text);
    free(matrix);
}

void held_write(const struct terminal *terminal, const json_t *workflow, struct text *text)
{
    const json_t *phases = json_object_get(workflow, "phases"), *phase;
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        if (field_phase_state(phase) != PHASE_HELD)
            continue;
        const char *address = field_text(phase, "address"), *reason = field_text(phase, "reason");
        size_t count = members_has(phase) ? held_count(phases, i) : 1;
        if (count == 0)
            continue;
        if (count > 1) {
            held_write_members(terminal, phase, count, text);
            continue;
        }
        struct text line = {0};
        text_addf(&line, "%s is held%s%s\n", address, reason[0] ? ": " : "", reason);
        terminal_colour(terminal, text, COLOUR_MAGENTA, text_string(&line));
        text_fini(&line);
        held_ways_out(terminal, phase, text);
    }
}

void held_write_releasable(const json_t *workflow, struct text *text)
{
    const json_t *phases = json_object_get(workflow, "phases"), *phase, *first = NULL;
    size_t count = 0, i;
    json_array_foreach(phases, i, phase)
    {
        bool is_releasable = field_phase_state(phase) == PHASE_HELD &&
                             field_can(phase, COMMAND_RELEASE) &&
                             field_hold_budget(phase) <= BUDGET_NONE;
        first = is_releasable && !first ? phase : first;
        count += is_releasable;
    }
    if (count == 1)
        text_addf(text, "%s is still held: phasectl release %s\n", field_text(first, "address"),
                  field_text(first, "address"));
    else if (count > 1)
        text_addf(text, "%zu phases are still held, such as %s: phasectl release %lld\n", count,
                  field_text(first, "address"), field_integer(workflow, "workflow"));
}
