/* Drives a core, and writes its effects as lines. */
#include "tests/unit/core_world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void world_token(void *context, char ret_token[TOKEN_LENGTH + 1])
{
    struct world *world = context;
    (void)snprintf(ret_token, TOKEN_LENGTH + 1, "%032" PRIx64, ++world->tokens);
}

static void phase_set(struct phase *phase, struct workflow *workflow, unsigned index,
                      const char *name)
{
    *phase = (struct phase){
        .workflow = workflow,
        .index = index,
        .name = strdup(name),
        .nodes = 1,
        .gpus_per_node = 8,
        .gpu_type = strdup("h100"),
        .time_s = 3600,
        .stop_s = 90,
        .linger_s = 20,
        .has_checkpoint = true,
        .slurm_options = strdup("{}"),
    };
}

void world_init(struct world *world)
{
    *world = (struct world){.now_ms = 1000000};
    struct core_config config = {.token = world_token, .context = world};
    world->core = core_new(&config);
    struct workflow *workflow = calloc(1, sizeof *workflow);
    assert(workflow);
    workflow->name = strdup("trm");
    workflow->phase_count = 2;
    workflow->phases = calloc(2, sizeof *workflow->phases);
    assert(workflow->phases);
    phase_set(&workflow->phases[0], workflow, 0, "validate");
    phase_set(&workflow->phases[1], workflow, 1, "production");
    workflow->phases[1].after_count = 1;
    workflow->phases[1].after = calloc(1, sizeof(unsigned));
    world->workflow = workflow;
}

void world_fini(struct world *world)
{
    core_free(world->core);
    core_effects_fini(&world->effects);
    text_fini(&world->trace);
}

int core_world_setup(void **state)
{
    static struct world world;
    world_init(&world);
    *state = &world;
    return 0;
}

int core_world_teardown(void **state)
{
    world_fini(*state);
    return 0;
}

static void world_write(struct world *world, const struct core_effect *effect)
{
    assert(core_effect_target(effect) > 0);
    if (effect->is_done)
        return;
    char name[64] = "";
    bool is_about_job = core_effect_rows[effect->kind].needs_cluster;
    bool is_by_type = is_about_job && effect->allocation->gpu_type[0];
    if (effect->run && effect->kind != FX_PROMOTION)
        (void)snprintf(name, sizeof name, "%s#%u", effect->run->phase->name, effect->run->attempt);
    else if (effect->phase)
        (void)snprintf(name, sizeof name, "%s", effect->phase->name);
    if (effect->kind == FX_HISTORY)
        text_addf(&world->trace, "%s: %s -> %s\n", name, effect->from, effect->to);
    else if (effect->kind == FX_PROMOTION)
        text_addf(&world->trace, "promotion of %s by %s%s\n", name,
                  effect->message[0] ? effect->message : "its gate",
                  effect->run->in_place ? ", in place" : "");
    else if (effect->kind == FX_BLAME_NODE)
        text_addf(&world->trace, "blame %s for %s\n", effect->message, name);
    else if (effect->kind == FX_WARNING)
        text_addf(&world->trace, "warning %s\n", name);
    else if (core_effect_rows[effect->kind].is_kept)
        text_addf(&world->trace, "%s %s%s%s\n", core_effect_rows[effect->kind].name, name,
                  is_by_type ? " as " : "", is_by_type ? effect->allocation->gpu_type : "");
}

void world_step(struct world *world, struct core_event event)
{
    event.now_ms = world->now_ms;
    event.workflow = world->workflow;
    core_effects_clear(&world->effects);
    core_decide(world->core, &event, &world->effects);
    for (size_t i = 0; i < world->effects.count; i++)
        world_write(world, &world->effects.items[i]);
}

void world_begin(struct world *world, bool hold)
{
    core_add(world->core, world->workflow);
    world_step(world, (struct core_event){.kind = EV_ADDED, .hold = hold});
}

struct phase *world_phase(struct world *world, const char *name)
{
    for (size_t i = 0; i < world->workflow->phase_count; i++)
        if (text_equal(world->workflow->phases[i].name, name))
            return &world->workflow->phases[i];
    assert(false && "a phase of the world");
    return NULL;
}

void world_event(struct world *world, enum core_event_kind kind, const char *phase)
{
    struct run *run = world_phase(world, phase)->run;
    world_step(world, (struct core_event){.kind = kind,
                                          .run = run,
                                          .allocation = run->seat->allocation,
                                          .slurm_id = 41,
                                          .step = -1});
}

void world_runs(struct world *world, const char *phase)
{
    world_event(world, EV_SUBMITTED, phase);
    world_event(world, EV_RUN_STARTED, phase);
    (void)world_trace(world);
}

void world_seen(struct world *world, const char *phase, const char *state, bool is_final)
{
    struct core_event event = {.kind = EV_JOB_SEEN,
                               .allocation = world_phase(world, phase)->run->seat->allocation};
    event.seen.state = (enum cluster_job_state)cluster_job_state_parse(state);
    event.seen.is_final = is_final;
    world_step(world, event);
}

void world_ended(struct world *world, const char *phase, enum run_outcome outcome,
                 enum run_cause cause, int64_t step)
{
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, phase)->run,
                                          .outcome = outcome,
                                          .cause = cause,
                                          .step = step,
                                          .ended_ms = world->now_ms});
}

void world_requeues(struct world *world, const char *phase, int64_t step)
{
    world_step(world, (struct core_event){.kind = EV_RUN_ENDED,
                                          .run = world_phase(world, phase)->run,
                                          .outcome = OUTCOME_PREEMPTED,
                                          .requeues = true,
                                          .step = step});
}

void world_judged(struct world *world, const char *phase, enum gate_result gate)
{
    world_step(world, (struct core_event){
                          .kind = EV_JUDGED, .phase = world_phase(world, phase), .gate = gate});
}

void world_command(struct world *world, const char *phase, enum phase_command command)
{
    world_step(world, (struct core_event){.kind = EV_COMMAND,
                                          .phase = world_phase(world, phase),
                                          .command = command,
                                          .message = "anna"});
}

void world_wait(struct world *world, int64_t ms)
{
    world->now_ms += ms;
    world_step(world, (struct core_event){.kind = EV_TIME});
}

const char *world_trace(struct world *world)
{
    static char copy[8192];
    (void)snprintf(copy, sizeof copy, "%s", text_string(&world->trace));
    text_clear(&world->trace);
    return copy;
}
