/* Drives a matrix with three members. */
#include "tests/unit/matrix_world.h"

#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

char *matrix_copy(const char *text)
{
    char *string = strdup(text);
    assert_non_null(string);
    return string;
}

/* Makes ladder.1 to ladder.3, their matrix `ladder`, and `train` after it. */
struct workflow *matrix_workflow(void)
{
    static const char *const names[] = {"ladder.1", "ladder.2", "ladder.3", "ladder", "train"};
    struct workflow *workflow = calloc(1, sizeof *workflow);
    assert_non_null(workflow);
    workflow->name = matrix_copy("sweep");
    workflow->phase_count = PHASES;
    workflow->phases = calloc(PHASES, sizeof *workflow->phases);
    assert_non_null(workflow->phases);
    for (unsigned i = 0; i < PHASES; i++)
        workflow->phases[i] = (struct phase){
            .workflow = workflow,
            .index = i,
            .name = matrix_copy(names[i]),
            .nodes = 1,
            .gpus_per_node = 1,
            .time_s = 3600,
            .stop_s = 30,
            .linger_s = 20,
            .slurm_options = matrix_copy("{}"),
        };
    struct matrix *matrix = phase_add_matrix(&workflow->phases[MATRIX]);
    for (unsigned i = 0; i < MEMBERS; i++)
        matrix_add_member(matrix, &workflow->phases[i]);
    workflow->phases[NEXT].after = calloc(1, sizeof(unsigned));
    workflow->phases[NEXT].after[0] = MATRIX;
    workflow->phases[NEXT].after_count = 1;
    return workflow;
}

int matrix_setup(void **state)
{
    static struct world world;
    world_init(&world);
    workflow_free(world.workflow);
    world.workflow = matrix_workflow();
    *state = &world;
    return 0;
}

int matrix_teardown(void **state)
{
    world_fini(*state);
    return 0;
}

void matrix_begins(struct world *world, unsigned lanes, unsigned rungs)
{
    world_phase(world, "ladder")->members->lanes = lanes;
    world_phase(world, "ladder")->members->rung_count = rungs;
    world_begin(world, false);
}

void matrix_runs(struct world *world, const char *member)
{
    if (world_phase(world, member)->run->state == RUN_SUBMITTING)
        world_event(world, EV_SUBMITTED, member);
    world_seen(world, member, "running", false);
    world_event(world, EV_RUN_STARTED, member);
    world->now_ms += 1000;
}

void matrix_succeeds(struct world *world, const char *member)
{
    matrix_runs(world, member);
    world_ended(world, member, OUTCOME_SUCCEEDED, CAUSE_NONE, 10);
    world_judged(world, member, GATE_PASSED);
}

void matrix_fails(struct world *world, const char *member, enum run_cause cause)
{
    matrix_runs(world, member);
    world_ended(world, member, OUTCOME_FAILED, cause, 10);
}

void matrix_is_judged(struct world *world, enum gate_result gate)
{
    world_step(world, (struct core_event){.kind = EV_JUDGED,
                                          .phase = world_phase(world, "ladder"),
                                          .gate = gate,
                                          .message = "as measured"});
}

/* The matrix is judged. These members go on, or the first one is the best. */
void matrix_chooses(struct world *world, bool goes_on, size_t count, const char *const *names)
{
    struct workflow *revision = matrix_workflow();
    struct phase *members[MEMBERS];
    for (size_t i = 0; i < count; i++)
        members[i] = world_phase(world, names[i]);
    const struct core_choice choice = {.goes_on = goes_on,
                                       .count = count,
                                       .members = members,
                                       .best = goes_on || count == 0 ? NULL : members[0]};
    revision->phases[NEXT].gpus_per_node = 4;
    revision->phases[MATRIX].promote_manual = world_phase(world, "ladder")->promote_manual;
    for (size_t i = 0; i < MEMBERS; i++)
        revision->phases[i].time_s = 7200;
    world_step(world, (struct core_event){.kind = EV_JUDGED,
                                          .phase = world_phase(world, "ladder"),
                                          .gate = count ? GATE_PASSED : GATE_FAILED,
                                          .choice = count ? &choice : NULL,
                                          .revision = count ? revision : NULL,
                                          .message = "as measured"});
    workflow_free(revision);
}
