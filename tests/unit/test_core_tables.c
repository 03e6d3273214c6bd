/* The tables of the layers of the core, cell by cell: what each event and each fact does in each
 * state. A cell of the core is either empty, or does what the table here says. */
#include "tests/unit/unit.h"

#include "daemon/core/decision.h"
#include "lib/text.h"
#include "tests/unit/core_world.h"

#include <stdlib.h>
#include <string.h>

struct column {
    unsigned kind;
    const char *name;
};

/* A world with one run, to decide in it. */
struct stage {
    struct world world;
    struct phase *phase;
    struct run *run;
    struct allocation *allocation;
    struct core_config config;
    struct core_event event;
    struct facts facts;
    struct fact fact;
    struct core_effects effects;
    struct decision decision;
};

static void stage_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    (void)context;
    memset(ret_token, 'f', TOKEN_LENGTH);
    ret_token[TOKEN_LENGTH] = '\0';
}

static void stage_begin(struct stage *stage)
{
    *stage = (struct stage){.config = {.token = stage_token}};
    world_init(&stage->world);
    world_begin(&stage->world, false);
    stage->phase = world_phase(&stage->world, "validate");
    stage->run = stage->phase->run;
    stage->allocation = stage->run->seat->allocation;
    stage->event = (struct core_event){.now_ms = stage->world.now_ms,
                                       .workflow = stage->world.workflow,
                                       .phase = stage->phase,
                                       .run = stage->run,
                                       .allocation = stage->allocation,
                                       .slurm_id = 41,
                                       .outcome = OUTCOME_FAILED,
                                       .cause = CAUSE_EXIT,
                                       .step = 10};
    stage->event.seen.state = CLUSTER_JOB_RUNNING;
    stage->decision = (struct decision){.config = &stage->config,
                                        .facts = &stage->facts,
                                        .event = &stage->event,
                                        .effects = &stage->effects,
                                        .now_ms = stage->world.now_ms,
                                        .fact = &stage->fact};
}

static void stage_end(struct stage *stage)
{
    free(stage->facts.items);
    core_effects_fini(&stage->effects);
    world_fini(&stage->world);
}

static const struct fact *stage_fact(struct stage *stage, unsigned kind)
{
    stage->event.kind = kind < EV_COUNT ? (enum core_event_kind)kind : EV_TIME;
    stage->fact = (struct fact){.kind = kind,
                                .workflow = stage->world.workflow,
                                .phase = stage->phase,
                                .run = stage->run,
                                .allocation = stage->allocation,
                                .who = ""};
    return &stage->fact;
}

/* Adds a cell: the state to which it moves; "does" if it does something else; nothing if it is
 * empty. */
static void add_cell(struct text *grid, const struct stage *stage, const char *column,
                     const char *moved_to)
{
    if (moved_to)
        text_addf(grid, " %s: %s;", column, moved_to);
    else if (stage->effects.count > 0 || stage->facts.count > 0)
        text_addf(grid, " %s: does;", column);
}

typedef void cell_adder(struct text *grid, unsigned state, const struct column *column);

/* Adds the cells of a state: those of the columns, then those of all other events and facts, which
 * are empty. */
static void add_row(struct text *grid, unsigned state, const struct column *columns, size_t count,
                    cell_adder *add)
{
    for (size_t i = 0; i < count; i++)
        add(grid, state, &columns[i]);
    for (unsigned kind = 0; kind < FACT_COUNT; kind++) {
        const struct column other = {kind, "another"};
        size_t i = 0;
        while (i < count && columns[i].kind != kind)
            i++;
        if (i == count)
            add(grid, state, &other);
    }
}

/* --- Runs ------------------------------------------------------------------------------------- */

static const struct column run_columns[] = {
    {EV_RUN_STARTED, "started"},
    {EV_RUN_STOPPING, "stopping"},
    {EV_RUN_ENDED, "ended"},
    {EV_RUN_SILENT, "silent"},
    {EV_SEALED, "sealed"},
    {EV_PROGRESS, "progress"},
    {FACT_JOB_KNOWN, "known"},
    {FACT_JOB_RUNS, "runs"},
    {FACT_JOB_WAITS, "waits"},
    {FACT_JOB_MISSED, "missed"},
    {FACT_JOB_RESTARTED, "restarted"},
    {FACT_JOB_REFUSED, "refused"},
    {FACT_JOB_GIVEN_UP, "given up"},
    {FACT_JOB_STUCK, "stuck"},
    {FACT_JOB_BACK, "back"},
    {FACT_JOB_ENDED, "job ended"},
};

static void add_run_cell(struct text *grid, unsigned number, const struct column *column)
{
    enum run_state state = (enum run_state)number;
    struct stage stage;
    stage_begin(&stage);
    stage.run->state = state;
    stage.run->has_begun = state >= RUN_RUNNING;
    stage.run->outcome = state == RUN_ENDED ? OUTCOME_CANCELLED : OUTCOME_NONE;
    stage.allocation->slurm_id = state == RUN_SUBMITTING ? 0 : 41;
    const struct fact *fact = stage_fact(&stage, column->kind);
    (column->kind < EV_COUNT ? run_on_fact : run_on_job_fact)(&stage.decision, fact);
    bool has_moved = stage.run->state != state;
    add_cell(grid, &stage, column->name, has_moved ? run_state_name(stage.run->state) : NULL);
    stage_end(&stage);
}

/* What an allocation does to any of its runs that has not ended. */
static const char live_cells[] = " missed: does; restarted: does; refused: ended; given up: ended;"
                                 " stuck: does; back: does; job ended: does;";

static const struct {
    const char *worker_cells, *job_cells;
} run_rows[RUN_STATE_COUNT] = {
    {" started: running; ended: ended; silent: does; sealed: does; progress: does;",
     " known: pending;"},
    {" started: running; ended: ended; silent: does; sealed: does; progress: does;",
     " runs: starting;"},
    {" started: running; ended: ended; silent: does; sealed: does; progress: does;",
     " waits: pending;"},
    {" stopping: stopping; ended: ended; silent: does; sealed: does; progress: does;", ""},
    {" ended: ended; silent: does; sealed: does; progress: does;", ""},
    {" silent: does; sealed: does;", " restarted: does; job ended: does;"},
};

static void what_happens_to_a_run(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RUN_STATE_COUNT; i++) {
        struct text grid = {0}, expected = {0};
        text_addf(&grid, "%s:", run_state_name((enum run_state)i));
        add_row(&grid, i, run_columns, sizeof run_columns / sizeof *run_columns, add_run_cell);
        text_addf(&expected, "%s:%s%s%s", run_state_name((enum run_state)i),
                  run_rows[i].worker_cells, run_rows[i].job_cells,
                  i == RUN_ENDED ? "" : live_cells);
        assert_string_equal(text_string(&grid), text_string(&expected));
        text_fini(&grid);
        text_fini(&expected);
    }
}

/* --- Allocations ------------------------------------------------------------------------------ */

static const struct column job_columns[] = {
    {EV_SUBMITTED, "submitted"}, {EV_REFUSED, "refused"}, {EV_LIMITED, "limited"},
    {EV_UNSURE, "unsure"},       {EV_UNKNOWN, "unknown"}, {EV_JOB_SEEN, "seen"},
    {EV_JOB_ABSENT, "absent"},
};

static const char *const allocation_names[] = {"intended", "known", "ended"};

static void add_job_cell(struct text *grid, unsigned number, const struct column *column)
{
    enum allocation_state state = (enum allocation_state)number;
    struct stage stage;
    stage_begin(&stage);
    stage.allocation->slurm_id = state == ALLOCATION_INTENDED ? 0 : 41;
    stage.allocation->ended = state == ALLOCATION_ENDED;
    stage.run->state = state == ALLOCATION_INTENDED ? RUN_SUBMITTING : RUN_PENDING;
    if (state == ALLOCATION_ENDED) {
        stage.run->state = RUN_ENDED;
        stage.run->outcome = OUTCOME_LOST;
    }
    const struct fact *fact = stage_fact(&stage, column->kind);
    allocation_on_fact(&stage.decision, fact);
    enum allocation_state after = allocation_state(stage.allocation);
    add_cell(grid, &stage, column->name, after != state ? allocation_names[after] : NULL);
    stage_end(&stage);
}

static void what_happens_to_an_allocation(void **state)
{
    (void)state;
    struct text grid = {0};
    for (unsigned i = 0; i < ALLOCATION_STATE_COUNT; i++) {
        text_addf(&grid, "%s:", allocation_names[i]);
        add_row(&grid, i, job_columns, sizeof job_columns / sizeof *job_columns, add_job_cell);
        text_addf(&grid, "\n");
    }
    assert_string_equal(
        text_string(&grid),
        "intended: submitted: known; refused: ended; limited: does; unsure: does; unknown: does;"
        " seen: known;\n"
        "known: submitted: does; refused: does; limited: does; unsure: does; unknown: does;"
        " seen: does; absent: does;\n"
        "ended: submitted: does; refused: does; limited: does; unsure: does; unknown: does;"
        " seen: does; absent: does;\n");
    text_fini(&grid);
}

/* --- Phases ----------------------------------------------------------------------------------- */

static const struct column phase_columns[] = {
    {FACT_RUN_BEGAN, "run began"},
    {FACT_RUN_WAITS, "run waits"},
    {FACT_RUN_ENDED, "run ended"},
    {FACT_RUN_REQUEUED, "run requeued"},
    {FACT_RUN_CANCELLED, "run cancelled"},
    {EV_JUDGED, "judged"},
    {EV_REMEDIED, "remedied"},
};

static void add_phase_cell(struct text *grid, unsigned number, const struct column *column)
{
    enum phase_state state = (enum phase_state)number;
    struct stage stage;
    stage_begin(&stage);
    stage.phase->state = state;
    stage.phase->hold = state == PHASE_HELD ? HOLD_FAILURE : HOLD_NONE;
    stage.run->state = column->kind == FACT_RUN_BEGAN ? RUN_STARTING : RUN_ENDED;
    stage.run->outcome = OUTCOME_SUCCEEDED;
    stage.phase->fail_finally = column->kind == FACT_RUN_CANCELLED;
    stage.phase->remedies = calloc(1, sizeof *stage.phase->remedies);
    assert_non_null(stage.phase->remedies);
    stage.phase->remedies[0] = (struct remedy){.cause = strdup("oom"), .times = 1, .used = 1};
    stage.phase->remedy_count = 1;
    stage.phase->remedy = column->kind == EV_REMEDIED ? stage.phase->remedies : NULL;
    const struct fact *fact = stage_fact(&stage, column->kind);
    phase_on_fact(&stage.decision, fact);
    bool has_moved = stage.phase->state != state;
    add_cell(grid, &stage, column->name, has_moved ? phase_state_name(stage.phase->state) : NULL);
    stage_end(&stage);
}

static void what_happens_to_a_phase(void **state)
{
    (void)state;
    struct text grid = {0};
    for (unsigned i = 0; i < PHASE_STATE_COUNT; i++) {
        text_addf(&grid, "%s:", phase_state_name((enum phase_state)i));
        add_row(&grid, i, phase_columns, sizeof phase_columns / sizeof *phase_columns,
                add_phase_cell);
        text_addf(&grid, "\n");
    }
    assert_string_equal(text_string(&grid), "blocked:\n"
                                            "queued: run began: active; run ended: deciding;\n"
                                            "active: run waits: queued; run ended: deciding;\n"
                                            "deciding: judged: succeeded; remedied: held;\n"
                                            "held: run requeued: queued; run cancelled: failed;\n"
                                            "succeeded:\n"
                                            "failed:\n"
                                            "cancelled:\n"
                                            "skipped:\n");
    text_fini(&grid);
}

/* --- After a phase ---------------------------------------------------------------------------- */

static const struct column graph_columns[] = {
    {FACT_PHASE_SUCCEEDED, "succeeded"},
    {FACT_PHASE_LOST, "lost"},
    {FACT_PHASE_REVIVED, "revived"},
};

/* `validate` has ended, and `production` waits for it. */
static void add_graph_cell(struct text *grid, unsigned number, const struct column *column)
{
    enum phase_state state = (enum phase_state)number;
    struct stage stage;
    stage_begin(&stage);
    struct phase *next = world_phase(&stage.world, "production");
    bool has_succeeded = column->kind == FACT_PHASE_SUCCEEDED || column->kind == FACT_PHASE_REVIVED;
    stage.phase->state = has_succeeded ? PHASE_SUCCEEDED : PHASE_FAILED;
    stage.run->state = RUN_ENDED;
    next->state = state;
    next->hold = state == PHASE_HELD ? HOLD_USER : HOLD_NONE;
    const struct fact *fact = stage_fact(&stage, column->kind);
    if (column->kind == FACT_PHASE_REVIVED)
        graph_revive_after(&stage.decision, stage.phase);
    else
        graph_on_fact(&stage.decision, fact);
    bool has_moved = next->state != state;
    add_cell(grid, &stage, column->name, has_moved ? phase_state_name(next->state) : NULL);
    stage_end(&stage);
}

static void what_happens_after_a_phase(void **state)
{
    (void)state;
    struct text grid = {0};
    for (unsigned i = 0; i < PHASE_STATE_COUNT; i++) {
        text_addf(&grid, "%s:", phase_state_name((enum phase_state)i));
        add_row(&grid, i, graph_columns, sizeof graph_columns / sizeof *graph_columns,
                add_graph_cell);
        text_addf(&grid, "\n");
    }
    assert_string_equal(text_string(&grid), "blocked: succeeded: queued; lost: skipped;\n"
                                            "queued:\n"
                                            "active:\n"
                                            "deciding:\n"
                                            "held: lost: skipped;\n"
                                            "succeeded:\n"
                                            "failed:\n"
                                            "cancelled:\n"
                                            "skipped: revived: blocked;\n");
    text_fini(&grid);
}

/* --- Matrices --------------------------------------------------------------------------------- */

/* `production` has one member, which has succeeded. */
static struct phase *stage_matrix(struct stage *stage)
{
    struct phase *phase = world_phase(&stage->world, "production");
    matrix_add_member(phase_add_matrix(phase), stage->phase);
    phase->after_count = 0;
    stage->phase->state = PHASE_SUCCEEDED;
    stage->run->state = RUN_ENDED;
    stage->run->outcome = OUTCOME_SUCCEEDED;
    stage->phase = phase;
    return phase;
}

static const struct column matrix_columns[] = {{FACT_SETTLED, "settled"}, {EV_JUDGED, "judged"}};

static void add_matrix_cell(struct text *grid, unsigned number, const struct column *column)
{
    enum phase_state state = (enum phase_state)number;
    struct stage stage;
    stage_begin(&stage);
    struct phase *phase = stage_matrix(&stage);
    struct core_choice choice = {
        .count = 1, .members = phase->members->members, .best = phase->members->members[0]};
    phase->state = state;
    stage.event.choice = &choice;
    stage.event.message = "";
    matrix_on_fact(&stage.decision, stage_fact(&stage, column->kind));
    bool has_moved = phase->state != state;
    add_cell(grid, &stage, column->name, has_moved ? phase_state_name(phase->state) : NULL);
    stage_end(&stage);
}

static void what_happens_to_a_matrix(void **state)
{
    (void)state;
    struct text grid = {0};
    for (unsigned i = 0; i < PHASE_STATE_COUNT; i++) {
        text_addf(&grid, "%s:", phase_state_name((enum phase_state)i));
        add_row(&grid, i, matrix_columns, sizeof matrix_columns / sizeof *matrix_columns,
                add_matrix_cell);
        text_addf(&grid, "\n");
    }
    assert_string_equal(text_string(&grid), "blocked: settled: deciding;\n"
                                            "queued:\n"
                                            "active:\n"
                                            "deciding: judged: succeeded;\n"
                                            "held:\n"
                                            "succeeded:\n"
                                            "failed:\n"
                                            "cancelled:\n"
                                            "skipped:\n");
    text_fini(&grid);
}

/* --- Commands --------------------------------------------------------------------------------- */

/* A phase with a checkpoint and without a run; or a matrix whose member is such a phase. */
static void add_command_cell(struct text *grid, const struct phase *row, const struct phase *member,
                             enum phase_command command)
{
    struct stage stage;
    stage_begin(&stage);
    struct phase *validate = stage.phase, *phase = member ? stage_matrix(&stage) : stage.phase;
    validate->run = NULL;
    validate->checkpoint_path = strdup("/checkpoint");
    if (member) {
        validate->state = member->state;
        validate->hold = member->hold;
    }
    phase->state = row->state;
    phase->hold = row->hold;
    stage.event.command = command;
    const struct fact *fact = stage_fact(&stage, EV_COMMAND);
    bool is_taken = core_command_check(phase, command, NULL) == 0;
    command_on_fact(&stage.decision, fact);
    if (is_taken != (stage.effects.count > 0))
        fail_msg("%s, where a phase is %s", phase_command_name(command),
                 phase_state_name(row->state));
    bool has_moved = phase->state != row->state;
    add_cell(grid, &stage, phase_command_name(command),
             has_moved ? phase_state_name(phase->state) : NULL);
    stage_end(&stage);
}

static void add_command_row(struct text *grid, const struct phase *row, const struct phase *member)
{
    if (row->state == PHASE_HELD)
        text_addf(grid, "held (%s):", phase_hold_name(row->hold));
    else
        text_addf(grid, "%s:", phase_state_name(row->state));
    for (unsigned i = 0; i < COMMAND_COUNT; i++)
        add_command_cell(grid, row, member, (enum phase_command)i);
    text_addf(grid, "\n");
}

static void assert_commands(const struct phase *member, const char *expected)
{
    struct text grid = {0};
    for (unsigned i = 0; i < PHASE_STATE_COUNT; i++)
        for (unsigned hold = 0; hold < HOLD_COUNT; hold++) {
            struct phase row = {.state = (enum phase_state)i, .hold = (enum phase_hold)hold};
            bool is_never = member && (i == PHASE_QUEUED || i == PHASE_ACTIVE);
            if ((i == PHASE_HELD) == (hold != HOLD_NONE) && !is_never)
                add_command_row(&grid, &row, member);
        }
    assert_string_equal(text_string(&grid), expected);
    text_fini(&grid);
}

static void what_a_command_does_to_a_phase(void **state)
{
    (void)state;
    assert_commands(
        NULL, "blocked: hold: held; cancel: cancelled;\n"
              "queued: hold: held; cancel: cancelled;\n"
              "active: hold: held; cancel: cancelled;\n"
              "deciding: cancel: cancelled;\n"
              "held (user): release: queued; resume: queued; cancel: cancelled;\n"
              "held (manual): promote: succeeded; cancel: cancelled;\n"
              "held (gate): promote: succeeded; resume: queued; cancel: cancelled; retry: queued;\n"
              "held (failure): resume: queued; cancel: cancelled; retry: queued;\n"
              "held (progress): resume: queued; cancel: cancelled; retry: queued;\n"
              "succeeded:\n"
              "failed: resume: queued; retry: queued;\n"
              "cancelled: resume: queued; retry: queued;\n"
              "skipped:\n");
}

/* A command goes to the members that accept it, or it is about the matrix itself. */
static void what_a_command_does_to_a_matrix(void **state)
{
    (void)state;
    static const struct {
        struct phase member;
        const char *expected;
    } rows[] = {
        {{.state = PHASE_SUCCEEDED},
         "blocked: cancel: cancelled;\n"
         "deciding: cancel: cancelled;\n"
         "held (user): release: blocked; cancel: cancelled;\n"
         "held (manual): promote: succeeded; cancel: cancelled;\n"
         "held (gate): promote: blocked; cancel: cancelled; retry: blocked;\n"
         "held (failure): cancel: cancelled; retry: blocked;\n"
         "held (progress): cancel: cancelled;\n"
         "succeeded:\n"
         "failed: retry: blocked;\n"
         "cancelled: retry: blocked;\n"
         "skipped:\n"},
        {{.state = PHASE_BLOCKED},
         "blocked: hold: does; cancel: cancelled;\n"
         "deciding: cancel: cancelled;\n"
         "held (user): release: blocked; cancel: cancelled;\n"
         "held (manual): promote: succeeded; cancel: cancelled;\n"
         "held (gate): promote: blocked; cancel: cancelled;\n"
         "held (failure): cancel: cancelled;\n"
         "held (progress): cancel: cancelled;\n"
         "succeeded:\n"
         "failed:\n"
         "cancelled:\n"
         "skipped:\n"},
        {{.state = PHASE_HELD, .hold = HOLD_USER},
         "blocked: release: does; resume: does; cancel: cancelled;\n"
         "deciding: cancel: cancelled;\n"
         "held (user): release: blocked; resume: blocked; cancel: cancelled;\n"
         "held (manual): promote: succeeded; cancel: cancelled;\n"
         "held (gate): promote: blocked; resume: blocked; cancel: cancelled;\n"
         "held (failure): resume: blocked; cancel: cancelled;\n"
         "held (progress): resume: blocked; cancel: cancelled;\n"
         "succeeded:\n"
         "failed: resume: blocked;\n"
         "cancelled: resume: blocked;\n"
         "skipped: resume: blocked;\n"},
        {{.state = PHASE_FAILED},
         "blocked: resume: does; cancel: cancelled; retry: does;\n"
         "deciding: cancel: cancelled;\n"
         "held (user): release: blocked; resume: blocked; cancel: cancelled; retry: blocked;\n"
         "held (manual): promote: succeeded; cancel: cancelled;\n"
         "held (gate): promote: blocked; resume: blocked; cancel: cancelled; retry: blocked;\n"
         "held (failure): resume: blocked; cancel: cancelled; retry: blocked;\n"
         "held (progress): resume: blocked; cancel: cancelled; retry: blocked;\n"
         "succeeded:\n"
         "failed: resume: blocked; retry: blocked;\n"
         "cancelled: resume: blocked; retry: blocked;\n"
         "skipped: resume: blocked; retry: blocked;\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_commands(&rows[i].member, rows[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_happens_to_a_run),
        cmocka_unit_test(what_happens_to_an_allocation),
        cmocka_unit_test(what_happens_to_a_phase),
        cmocka_unit_test(what_happens_after_a_phase),
        cmocka_unit_test(what_happens_to_a_matrix),
        cmocka_unit_test(what_a_command_does_to_a_phase),
        cmocka_unit_test(what_a_command_does_to_a_matrix),
    };
    return cmocka_run_group_tests_name("core tables", tests, NULL, NULL);
}
