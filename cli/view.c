/* The tables of phases, runs, members, nodes and gates. */
#include "cli/view.h"

#include "cli/field.h"
#include "cli/format.h"
#include "cli/phrases.h"
#include "cli/table.h"
#include "lib/expr/check.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum colour view_colour(const char *state)
{
    static const struct {
        const char *state;
        enum colour colour;
    } rows[] = {
        {"succeeded", COLOUR_GREEN},  {"passed", COLOUR_GREEN},     {"failed", COLOUR_RED},
        {"lost", COLOUR_RED},         {"error", COLOUR_RED},        {"insufficient", COLOUR_RED},
        {"active", COLOUR_YELLOW},    {"running", COLOUR_YELLOW},   {"deciding", COLOUR_YELLOW},
        {"stopping", COLOUR_YELLOW},  {"starting", COLOUR_YELLOW},  {"warned", COLOUR_YELLOW},
        {"preempted", COLOUR_YELLOW}, {"timed_out", COLOUR_YELLOW}, {"held", COLOUR_MAGENTA},
        {"queued", COLOUR_BLUE},      {"pending", COLOUR_BLUE},     {"submitting", COLOUR_BLUE},
        {"blocked", COLOUR_DIM},      {"cancelled", COLOUR_DIM},    {"skipped", COLOUR_DIM},
        {"failing", COLOUR_YELLOW},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (text_equal(rows[i].state, state))
            return rows[i].colour;
    }
    return COLOUR_PLAIN;
}

bool view_is_final(const char *state)
{
    int parsed = phase_state_parse(state);
    return parsed >= 0 && phase_state_is_final((enum phase_state)parsed);
}

int view_phase_state(const json_t *phase)
{
    const json_t *run = json_object_get(phase, "run");
    int state = field_phase_state(phase), run_state = field_run_state(run);
    bool is_open = state == PHASE_ACTIVE || state == PHASE_QUEUED;
    bool is_stopping =
        run_state == RUN_STOPPING || (field_text(run, "wish")[0] && run_state != RUN_ENDED);
    if (state == PHASE_BLOCKED && members_is_matrix(phase)) {
        bool works =
            members_in_state(phase, PHASE_ACTIVE) + members_in_state(phase, PHASE_DECIDING) > 0;
        bool waits = members_in_state(phase, PHASE_QUEUED) > 0;
        bool follows = members_in_state(phase, PHASE_BLOCKED) > 0;
        if (members_in_state(phase, PHASE_HELD) > 0 && !works && !waits && !follows)
            return PHASE_HELD;
        if (field_integer(members_total(phase), "begun") > 0)
            return waits && !works ? PHASE_QUEUED : PHASE_ACTIVE;
    }
    return is_open && is_stopping ? VIEW_STOPPING : state;
}

const char *view_state(const json_t *phase)
{
    int state = view_phase_state(phase);
    return state == VIEW_STOPPING ? run_state_name(RUN_STOPPING)
           : state < 0            ? field_text(phase, "state")
                                  : phase_state_name((enum phase_state)state);
}

void view_progress(const json_t *phase, struct text *text)
{
    double step = field_number(phase, "step"), total = field_number(phase, "total");
    if (members_is_matrix(phase)) {
        const json_t *members = json_object_get(phase, "members");
        long long count = json_is_array(members) ? (long long)json_array_size(members)
                                                 : field_integer(phase, "members");
        text_addf(text, "%lld of %lld", field_integer(members_total(phase), "ended"), count);
        return;
    }
    if (!isnan(step) && !isnan(total))
        text_addf(text, "%.0f/%.0f", step, total);
    else if (!isnan(step))
        text_addf(text, "%.0f", step);
}

const char *view_bar(const json_t *phase, int columns, bool unicode, char bar[FORMAT_BAR_SIZE])
{
    bool is_matrix = members_is_matrix(phase);
    double part = field_number(members_total(phase), is_matrix ? "ended" : "step");
    double whole = field_number(phase, is_matrix ? "members" : "total");
    return !isnan(part) && whole > 0 ? format_bar(part, whole, columns, unicode, bar) : "";
}

const char *view_best_metric(const json_t *metrics)
{
    const char *name, *best = NULL;
    json_t *value;
    int best_rank = 0;
    json_object_foreach((json_t *)metrics, name, value)
    {
        int rank = text_equal(name, "loss")         ? 4
                   : text_equal(name, "train_loss") ? 3
                   : strstr(name, "loss")           ? 2
                                                    : 1;
        best = rank > best_rank ? name : best;
        best_rank = rank > best_rank ? rank : best_rank;
    }
    return best;
}

void view_metric(const json_t *phase, struct text *text)
{
    const json_t *metrics = json_object_get(phase, "metrics");
    const char *best = view_best_metric(metrics);
    char number[FORMAT_SIZE];
    if (best)
        text_addf(text, "%s %s", best, format_number(field_number(metrics, best), number));
}

double view_run_duration(const json_t *run, double now)
{
    double ended = field_number(run, "ended");
    return (isnan(ended) ? now : ended) - field_number(run, "started");
}

void view_hardware(const json_t *run, struct text *text)
{
    const char *gpu = field_text(run, "gpu"), *by_gpu = field_text(run, "by_gpu");
    if (json_is_string(json_object_get(run, "by_gpu")))
        text_addf(text, "%s (%s)", by_gpu[0] ? by_gpu : "nothing", gpu[0] ? gpu : "not known");
}

static void view_names(const json_t *names, struct text *text)
{
    const json_t *name;
    size_t i;
    json_array_foreach(names, i, name)
    {
        const char *string = json_string_value(name);
        text_addf(text, "%s%s", i ? "," : "", string ? string : "?");
    }
}

/* Adds ", beside large in job 4711" if phases share the job. */
static void view_beside(const json_t *run, struct text *text)
{
    const json_t *beside = json_object_get(run, "beside");
    if (json_array_size(beside) == 0)
        return;
    text_add(text, ", beside ");
    view_names(beside, text);
    text_addf(text, " in job %lld", field_integer(run, "job_id"));
}

void view_note(const json_t *phases, const json_t *phase, double now, struct text *text)
{
    const json_t *run = json_object_get(phase, "run");
    const json_t *nodes = json_object_get(run, "nodes");
    const char *reason = field_text(phase, "reason");
    if (wait_write_phase(phase, now, text)) {
        return;
    } else if (members_is_matrix(phase) && field_phase_state(phase) == PHASE_BLOCKED) {
        members_note(phase, text); /* `reason` is about the rung before */
        members_wait(phases, phase, now, text);
    } else if (reason[0]) {
        text_add(text, reason);
    } else if (field_phase_state(phase) == PHASE_ACTIVE && json_array_size(nodes)) {
        text_add(text, "on ");
        view_names(nodes, text);
        view_beside(run, text);
        if (field_text(phase, "warning")[0])
            text_addf(text, "; warning: %s", field_text(phase, "warning"));
    } else if (text_equal(field_text(phase, "promoted"), "in_place")) {
        text_add(text, "promoted in place");
    } else if (field_text(phase, "promoted")[0]) {
        text_addf(text, "promoted: %s", field_text(phase, "promoted"));
    }
}

void view_add_cell(struct table *table, const json_t *object,
                   void (*write)(const json_t *object, struct text *text))
{
    struct text text = {0};
    write(object, &text);
    table_take(table, COLOUR_PLAIN, &text);
}

void view_add_named(struct table *table, const char *name, const json_t *object,
                    void (*write)(const json_t *object, struct text *text))
{
    struct text text = {0};
    write(object, &text);
    table_add_named(table, name, text_string(&text));
    text_fini(&text);
}

void view_add_eta(struct table *table, const json_t *phase)
{
    char buffer[FORMAT_SIZE];
    double eta_s = field_number(phase, "eta_s");
    table_add(table, isnan(eta_s) ? "" : format_duration(eta_s, buffer));
}

void view_add_spent(struct table *table, const json_t *phase)
{
    const json_t *total = members_total(phase);
    table_addf(table, "%lld", field_integer(total, "attempts"));
    table_add_duration(table, field_number(total, "gpu_seconds"));
    table_add_cost(table, field_number(total, "cost_usd"));
}

void view_phases(const struct terminal *terminal, const json_t *workflow, double now,
                 struct text *text)
{
    static const struct table_column columns[] = {
        {"PHASE", TABLE_LEFT, TABLE_NAME},      {"STATE", TABLE_LEFT, TABLE_WHOLE},
        {"STEP", TABLE_RIGHT, TABLE_WHOLE},     {"METRIC", TABLE_LEFT, TABLE_WHOLE},
        {"ETA", TABLE_RIGHT, TABLE_WHOLE},      {"RUNS", TABLE_RIGHT, TABLE_WHOLE},
        {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE}, {"COST", TABLE_RIGHT, TABLE_WHOLE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    struct table table;
    const json_t *phases = json_object_get(workflow, "phases"), *phase;
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(phases, i, phase)
    {
        const char *state = view_state(phase);
        if (members_has(phase))
            continue;
        table_add(&table, field_text(phase, "phase"));
        table_add_in(&table, view_colour(state), state);
        view_add_cell(&table, phase, view_progress);
        view_add_cell(&table, phase, view_metric);
        view_add_eta(&table, phase);
        view_add_spent(&table, phase);
        struct text note = {0};
        view_note(phases, phase, now, &note);
        table_take(&table, COLOUR_PLAIN, &note);
    }
    table_write(&table, terminal, 0, text);
}

/* Adds `succeeded` or `failed: oom`; nothing before the run has ended. */
static void view_outcome(const json_t *run, struct text *text)
{
    const char *cause = field_text(run, "cause");
    text_addf(text, "%s%s%s", field_text(run, "outcome"), cause[0] ? ": " : "", cause);
}

static void view_run_nodes(const json_t *run, struct text *text)
{
    view_names(json_object_get(run, "nodes"), text);
}

static void view_steps(const json_t *run, struct text *text)
{
    double first = field_number(run, "first_step"), last = field_number(run, "last_step");
    if (!isnan(first) && !isnan(last))
        text_addf(text, "%.0f-%.0f", first, last);
}

/* Adds the remedy first: the outcome already says that the run failed. */
static void view_message(const json_t *run, struct text *text)
{
    const char *message = field_text(run, "message");
    size_t size = text->size;
    if (json_is_object(json_object_get(run, "remedy")))
        text_add(text, "→ ");
    (void)remedy_add(run, text); /* without a remedy it adds nothing */
    text_addf(text, "%s%s", text->size > size && message[0] ? "; " : "", message);
}

void view_runs(const struct terminal *terminal, const json_t *runs, double now, struct text *text)
{
    static const struct table_column columns[] = {
        {"RUN", TABLE_LEFT, TABLE_NAME},      {"STATE", TABLE_LEFT, TABLE_WHOLE},
        {"OUTCOME", TABLE_LEFT, TABLE_GIVES}, {"JOB", TABLE_RIGHT, TABLE_WHOLE},
        {"NODES", TABLE_LEFT, TABLE_GIVES},   {"STARTED", TABLE_LEFT, TABLE_WHOLE},
        {"TOOK", TABLE_RIGHT, TABLE_WHOLE},   {"STEPS", TABLE_RIGHT, TABLE_WHOLE},
        {"MESSAGE", TABLE_LEFT, TABLE_REST},
    };
    struct table table;
    const json_t *run;
    size_t i;
    char buffer[FORMAT_SIZE];
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(runs, i, run)
    {
        const char *state = field_text(run, "state"), *outcome = field_text(run, "outcome");
        long long job_id = field_integer(run, "job_id");
        struct text cell = {0};
        table_add(&table, field_text(run, "address"));
        table_add_in(&table, view_colour(state), state);
        view_outcome(run, &cell);
        table_take(&table, view_colour(outcome), &cell);
        if (job_id)
            table_addf(&table, "%lld", job_id);
        else
            table_add(&table, "");
        view_add_cell(&table, run, view_run_nodes);
        table_add(&table, format_time(field_number(run, "started"), (time_t)now, buffer));
        table_add_duration(&table, view_run_duration(run, now));
        view_add_cell(&table, run, view_steps);
        view_add_cell(&table, run, view_message);
    }
    table_write(&table, terminal, 0, text);
}

/* Members that may still be chosen stand before those that cannot. */
static int view_standing(const json_t *member)
{
    static const char *const standings[] = {"best", "left", "", "cut", "out"};
    const char *standing = field_text(member, "standing");
    for (int i = 0; i < (int)(sizeof standings / sizeof standings[0]); i++)
        if (text_equal(standings[i], standing))
            return i;
    return 0;
}

static bool view_comes_later(const json_t *member, const json_t *other, double best)
{
    double value = field_number(member, "value"), others = field_number(other, "value");
    if (view_standing(member) != view_standing(other))
        return view_standing(member) > view_standing(other);
    if (isnan(value) || isnan(others))
        return isnan(value) && !isnan(others);
    /* The best value is the lowest or the highest, and may be infinite. */
    return value != best && (others == best || fabs(value - best) > fabs(others - best));
}

/* An insertion sort: members are few, and equal members keep the order of the file. */
static json_t **view_sort_members(const json_t *members)
{
    size_t count = json_array_size(members);
    json_t **sorted = xcalloc(count + 1, sizeof(json_t *)), *member;
    double best = NAN;
    for (size_t i = 0; i < count; i++)
        if (view_standing(json_array_get(members, i)) == 0)
            best = field_number(json_array_get(members, i), "value");
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        member = json_array_get(members, i);
        for (; at > 0 && view_comes_later(sorted[at - 1], member, best); at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = member;
    }
    return sorted;
}

static void view_member(struct table *table, const json_t *member,
                        const struct table_column *columns, size_t params, double now)
{
    const char *state = view_state(member), *reason = field_text(member, "out_reason");
    char buffer[FORMAT_SIZE];
    double value = field_number(member, "value");
    table_add(table, field_text(member, "phase"));
    for (size_t i = 0; i < params; i++) {
        const json_t *param = json_object_get(json_object_get(member, "case"), columns[i].title);
        struct text cell = {0};
        if (param)
            phase_value_text(param, &cell);
        table_take(table, COLOUR_PLAIN, &cell);
    }
    table_add_in(table, view_colour(state), state);
    view_add_cell(table, member, view_progress);
    table_add(table, isnan(value) ? "" : format_number(value, buffer));
    table_add_in(table, view_standing(member) == 0 ? COLOUR_GREEN : COLOUR_PLAIN,
                 members_standing(member));
    table_addf(table, "%lld", field_integer(member, "attempts"));
    table_add_duration(table, field_number(member, "gpu_seconds"));
    bool is_reused = field_text(member, "reused")[0] != '\0';
    if (!reason[0] && (is_reused || field_phase_state(member) != PHASE_SUCCEEDED))
        reason = field_text(member, "reason");
    struct text note = {0};
    text_add(&note, reason);
    if (!reason[0])
        (void)wait_write(json_object_get(member, "run"), now, &note); /* it may add nothing */
    table_take(table, COLOUR_PLAIN, &note);
}

void view_members(const struct terminal *terminal, const json_t *matrix, double now,
                  struct text *text)
{
    static const struct table_column first = {"MEMBER", TABLE_LEFT, TABLE_WHOLE};
    static const struct table_column rest[] = {
        {"STATE", TABLE_LEFT, TABLE_WHOLE},  {"STEP", TABLE_RIGHT, TABLE_WHOLE},
        {"VALUE", TABLE_RIGHT, TABLE_WHOLE}, {"STANDING", TABLE_LEFT, TABLE_WHOLE},
        {"RUNS", TABLE_RIGHT, TABLE_WHOLE},  {"GPU TIME", TABLE_RIGHT, TABLE_WHOLE},
        {"NOTE", TABLE_LEFT, TABLE_REST},
    };
    enum { REST = sizeof rest / sizeof rest[0] };
    const json_t *members = json_object_get(matrix, "members");
    json_t *params = json_object_get(json_array_get(members, 0), "case"), *value;
    struct table_column columns[TABLE_COLUMNS_MAX] = {first};
    size_t count = 0;
    const char *name;
    struct table table;
    json_object_foreach(params, name, value)
    {
        if (count + 1 + REST < TABLE_COLUMNS_MAX)
            columns[++count] = (struct table_column){name, TABLE_RIGHT, TABLE_WHOLE};
    }
    memcpy(columns + 1 + count, rest, sizeof rest);
    table_init(&table, columns, 1 + count + REST);
    json_t **sorted = view_sort_members(members);
    for (size_t i = 0; i < json_array_size(members); i++)
        view_member(&table, sorted[i], columns + 1, count, now);
    free(sorted);
    table_write(&table, terminal, 0, text);
}

void view_nodes(const struct terminal *terminal, const json_t *nodes, double now, struct text *text)
{
    static const struct table_column columns[] = {
        {"NODE", TABLE_LEFT, TABLE_WHOLE},   {"CAUSE", TABLE_LEFT, TABLE_WHOLE},
        {"RUN", TABLE_LEFT, TABLE_WHOLE},    {"SINCE", TABLE_LEFT, TABLE_WHOLE},
        {"LEFT", TABLE_RIGHT, TABLE_WHOLE},  {"COUNT", TABLE_RIGHT, TABLE_WHOLE},
        {"MESSAGE", TABLE_LEFT, TABLE_REST},
    };
    struct table table;
    const json_t *node;
    size_t i;
    char buffer[FORMAT_SIZE];
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(nodes, i, node)
    {
        const char *cause = field_text(node, "cause");
        double left_s = field_number(node, "until") - now;
        table_add(&table, field_text(node, "node"));
        table_add(&table, cause[0] ? cause : "wanted");
        table_add(&table, field_text(node, "run"));
        table_add(&table, format_time(field_number(node, "since"), (time_t)now, buffer));
        table_add(&table,
                  isnan(left_s) ? "until cleared" : format_duration(fmax(left_s, 0), buffer));
        table_addf(&table, "%lld", field_integer(node, "count"));
        table_add(&table, field_text(node, "message"));
    }
    table_write(&table, terminal, 0, text);
}

/* The verdict in one word. A failure that only warns has a word of its own. */
static const char *view_verdict(const json_t *verdict, bool is_early)
{
    int outcome = field_check_outcome(verdict);
    if (field_is_true(verdict, "warn") && outcome != CHECK_PASSED)
        return "warned";
    if (is_early && outcome == CHECK_INSUFFICIENT)
        return "too early";
    return is_early && outcome == CHECK_FAILED ? "failing" : field_text(verdict, "outcome");
}

static void view_window(const json_t *verdict, struct text *text)
{
    const json_t *window = json_object_get(verdict, "window");
    if (json_is_object(window))
        text_addf(text, "steps %lld-%lld", field_integer(window, "first_step"),
                  field_integer(window, "last_step"));
}

static void view_gate_reasons(const struct terminal *terminal, const json_t *checks,
                              unsigned indent, struct text *text)
{
    const json_t *verdict;
    size_t i;
    json_array_foreach(checks, i, verdict)
    {
        const char *reason = field_text(verdict, "reason"), *advice = field_text(verdict, "advice");
        int outcome = field_check_outcome(verdict);
        struct text line = {0};
        if (outcome == CHECK_PASSED)
            continue;
        if (outcome != CHECK_FAILED)
            advice = ""; /* advice needs a value, and this check has no value */
        text_addf(&line, "%s%s%s", reason, reason[0] && advice[0] ? "; " : "", advice);
        struct text safe = {0};
        terminal_add_plain(&safe, text_string(&line));
        text_addf(text, "%*s", (int)indent, "");
        terminal_colour(terminal, text, view_colour(view_verdict(verdict, false)),
                        text_string(&safe));
        text_add(text, "\n");
        text_fini(&safe);
        text_fini(&line);
    }
}

/* The table alone. Before the end of the run, no check of a gate has failed. */
static void view_checks(const struct terminal *terminal, const json_t *checks, bool is_early,
                        unsigned indent, struct text *text)
{
    static const struct table_column columns[] = {
        {"CHECK", TABLE_LEFT, TABLE_WHOLE},   {"VALUE", TABLE_RIGHT, TABLE_WHOLE},
        {"BOUNDS", TABLE_LEFT, TABLE_WRAPS},  {"WINDOW", TABLE_LEFT, TABLE_WHOLE},
        {"VERDICT", TABLE_LEFT, TABLE_WHOLE},
    };
    const json_t *verdict;
    struct table table;
    size_t i;
    table_init(&table, columns, sizeof columns / sizeof columns[0]);
    json_array_foreach(checks, i, verdict)
    {
        const json_t *value = json_object_get(verdict, "value");
        const char *word = view_verdict(verdict, is_early);
        char number[FORMAT_SIZE] = "";
        if (value && !json_is_null(value))
            format_number(field_as_number(value), number);
        table_add(&table, field_text(verdict, "name"));
        table_add(&table, number);
        table_add(&table, field_text(verdict, "bounds"));
        view_add_cell(&table, verdict, view_window);
        table_add_in(&table, view_colour(word), word);
    }
    table_write(&table, terminal, indent, text);
}

void view_gate(const struct terminal *terminal, const json_t *gate, unsigned indent,
               struct text *text)
{
    const json_t *checks = json_object_get(gate, "checks");
    view_checks(terminal, checks, false, indent, text);
    view_gate_reasons(terminal, checks, indent, text);
}

char *view_trouble_line(const json_t *ping)
{
    char since[FORMAT_SIZE];
    return text_format("the record cannot be written since %s: what is shown is of that time, and "
                       "nothing new begins: %s (home %s)",
                       format_time(field_number(ping, "trouble_since"), time(NULL), since),
                       field_text(ping, "trouble"), field_text(ping, "home"));
}

void view_trouble(const struct terminal *terminal, const json_t *ping, struct text *text)
{
    const json_t *cluster = json_object_get(ping, "cluster");
    const char *message = field_text(cluster, "message"), *trouble = field_text(ping, "trouble");
    if (trouble[0]) {
        char *line = view_trouble_line(ping);
        terminal_colour(terminal, text, COLOUR_RED, line);
        text_add(text, "\n");
        free(line);
    }
    if (!field_is_true(cluster, "answering") && message[0]) {
        char *line = text_format("Slurm does not answer, so nothing new begins: %s", message);
        terminal_colour(terminal, text, COLOUR_YELLOW, line);
        text_add(text, "\n");
        free(line);
    }
}

/* The guards of the newest run. They often explain why the gate has nothing to judge. */
static void view_guards(const struct terminal *terminal, const json_t *gate, struct text *text)
{
    json_t *guards = json_object_get(gate, "guards");
    if (json_array_size(guards) == 0)
        return;
    text_add(text, "guards of its newest run:\n");
    json_t *shown = json_pack("{s:O}", "checks", guards);
    view_gate(terminal, shown, 2, text);
    json_decref(shown);
}

static void view_decision(const struct terminal *terminal, const json_t *gate, double now,
                          struct text *text)
{
    bool is_overruled = text_equal(field_text(gate, "decided_by"), "user");
    const char *decided = is_overruled ? "overruled by a person" : field_text(gate, "decided");
    char buffer[FORMAT_SIZE];
    terminal_colour(terminal, text, view_colour(decided), decided);
    text_addf(text, ", %s\n", format_time(field_number(gate, "time"), (time_t)now, buffer));
    if (json_array_size(json_object_get(gate, "checks")))
        view_gate(terminal, gate, 2, text);
    else
        text_add(text, "  without checks\n");
}

void view_judgement(const struct terminal *terminal, const json_t *gate, double now,
                    struct text *text)
{
    const json_t *so_far = json_object_get(gate, "so_far");
    bool has_checks = json_object_size(json_object_get(gate, "criteria")) ||
                      json_array_size(json_object_get(gate, "checks"));
    text_addf(text, "gate of %s: ", field_text(gate, "phase"));
    if (json_array_size(so_far)) {
        text_add(text, "so far; the gate judges a run that succeeds\n");
        view_checks(terminal, so_far, true, 2, text);
    } else if (!has_checks && isnan(field_number(gate, "time"))) {
        text_add(text, "the gate has no checks: a run that succeeds passes\n");
    } else if (!field_text(gate, "decided")[0]) {
        text_add(text, "not decided yet; the gate judges a run that succeeds\n");
    } else {
        view_decision(terminal, gate, now, text);
    }
    view_guards(terminal, gate, text);
}
