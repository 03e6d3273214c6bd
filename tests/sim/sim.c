/* Runs worlds, one for each seed: `sim --seeds FIRST COUNT` runs many, `sim --trace SEED` runs one
 * and prints what happens. Exits with 1 at the first breach of an invariant. */
#include "tests/sim/sim.h"

#include "lib/text.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FAULTS_END_S = 3 * 3600, /* from then on nothing fails, so everything must end ... */
    WORLD_END_S = 12 * 3600, /* ... by then */
};

uint32_t sim_below(struct sim *sim, uint32_t limit)
{
    sim->random = sim->random * 6364136223846793005U + 1442695040888963407U;
    return limit ? (uint32_t)(sim->random >> 33) % limit : 0;
}

bool sim_chance(struct sim *sim, uint32_t odds)
{
    return sim_below(sim, odds) == 0;
}

bool sim_fault(struct sim *sim, uint32_t odds)
{
    return sim->has_faults && sim_chance(sim, odds);
}

void sim_say(const struct sim *sim, const char *format, ...)
{
    if (!sim->is_verbose)
        return;
    va_list args;
    va_start(args, format);
    (void)printf("[%6lld] ", (long long)sim->now);
    (void)vprintf(format, args);
    (void)printf("\n");
    va_end(args);
}

void sim_breach(const struct sim *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)printf("# seed %llu, second %lld: ", (unsigned long long)sim->seed, (long long)sim->now);
    (void)vprintf(format, args);
    (void)printf("\n# repeat it alone: sim --trace %llu\n", (unsigned long long)sim->seed);
    va_end(args);
    exit(1);
}

static void sim_add_remedy(struct phase *phase, const char *cause, unsigned times,
                           enum remedy_resume resume)
{
    phase->remedies = realloc(phase->remedies, (phase->remedy_count + 1) * sizeof(struct remedy));
    assert(phase->remedies);
    phase->remedies[phase->remedy_count++] =
        (struct remedy){.cause = strdup(cause), .times = times, .resume = resume};
}

static struct workflow *sim_workflow(struct sim *sim)
{
    struct workflow *workflow = calloc(1, sizeof *workflow);
    assert(workflow);
    workflow->name = strdup("sim");
    workflow->phase_count = sim->is_swept ? SIM_ROWS : SIM_PHASES;
    workflow->phases = calloc(SIM_ROWS, sizeof *workflow->phases);
    assert(workflow->phases);
    bool has_remedies = sim_chance(sim, 3);
    for (unsigned i = 0; i < SIM_PHASES; i++) {
        struct phase *phase = &workflow->phases[i];
        *phase = (struct phase){
            .workflow = workflow,
            .index = i,
            .name = strdup(i ? "production" : "validate"),
            /* The shape differs, so the promotion is not in place. */
            .nodes = i && !sim->is_beside && sim_chance(sim, 4) ? 2 : 1,
            .gpus_per_node = 8,
            .time_s = 120 + sim_below(sim, 400),
            .stop_s = 10,
            .linger_s = 20,
            .has_checkpoint = true,
            .promote_manual = !sim->is_swept && sim_chance(sim, 6),
            .slurm_options = strdup("{}"),
        };
        if (i == 0 && sim->has_candidates) {
            phase->gpu_type = strdup("a");
            phase->alternatives = strdup("a,b");
        }
        if (has_remedies) {
            sim_add_remedy(phase, "exit", 2, sim_chance(sim, 2) ? REMEDY_START : REMEDY_CHECKPOINT);
            sim_add_remedy(phase, "low", 1, REMEDY_START);
            sim_add_remedy(phase, "low", 1, REMEDY_CHECKPOINT);
        }
        phase->after = calloc(1, sizeof *phase->after);
        phase->after_count = sim->is_beside || sim->is_swept ? 0 : i;
        phase->beside = i && sim->is_beside ? &workflow->phases[0] : NULL;
        sim->nodes_wanted[i] = phase->nodes;
        sim->is_manual[i] = phase->promote_manual;
        sim->steps_wanted[i] = 40 + sim_below(sim, 300);
    }
    if (sim->is_swept)
        matrix_add(sim, workflow);
    return workflow;
}

/* After a gate has judged, a retry begins anew, unless the retry is lost and a person then resumes
 * or promotes. */
static void sim_expect_fresh(struct sim *sim, unsigned phase, uint64_t run,
                             enum phase_command command)
{
    bool was_lost = sim->fresh_after[phase] == run;
    if ((command == COMMAND_RESUME || command == COMMAND_PROMOTE) && was_lost) {
        sim->fresh_from[phase] = sim->fresh_before[phase];
    } else if (command == COMMAND_RETRY) {
        if (!was_lost)
            sim->fresh_before[phase] = sim->fresh_from[phase];
        sim->fresh_after[phase] = run;
        sim->fresh_from[phase] = sim->folder_count;
    }
}

/* A matrix that cannot choose is judged again, or chooses among all members, or the person chooses.
 */
static void sim_decide(struct sim *sim)
{
    const struct workflow *record = daemon_record(sim);
    enum phase_state state = record->phases[SIM_PHASES].state;
    unsigned member = sim_below(sim, SIM_PHASES), results = 0;
    for (unsigned i = 0; i < SIM_PHASES; i++) {
        if (state == PHASE_CANCELLED && record->phases[i].state == PHASE_CANCELLED)
            return; /* the member alone is retried below */
        results += record->phases[i].state == PHASE_SUCCEEDED &&
                   record->phases[i].rung == record->phases[SIM_PHASES].rung;
    }
    if (results == 0)
        return; /* the member alone is retried below */
    if (state == PHASE_CANCELLED || (state == PHASE_HELD && sim_chance(sim, 2)))
        daemon_command(sim, SIM_PHASES, COMMAND_RETRY);
    else if (state == PHASE_HELD && sim_chance(sim, 2))
        daemon_command(sim, SIM_PHASES, COMMAND_PROMOTE);
    else if (state == PHASE_HELD && record->phases[member].state == PHASE_SUCCEEDED)
        daemon_command(sim, member, COMMAND_PROMOTE);
}

/* A person who helps held phases, and sometimes wants something else. */
static void sim_person(struct sim *sim)
{
    if (sim_fault(sim, 600)) {
        static const enum phase_command whims[] = {COMMAND_HOLD, COMMAND_CANCEL, COMMAND_RELEASE};
        daemon_command(sim, sim_below(sim, SIM_PHASES), whims[sim_below(sim, 3)]);
        return;
    }
    if (sim->is_swept && sim_chance(sim, 60))
        sim_decide(sim);
    for (unsigned i = 0; i < SIM_PHASES; i++) {
        const struct workflow *record = daemon_record(sim); /* a command may replace it */
        const struct phase *phase = &record->phases[i];
        bool is_asked = phase->state == PHASE_HELD || phase->state == PHASE_CANCELLED ||
                        (sim->is_swept && phase->state == PHASE_FAILED &&
                         record->phases[SIM_PHASES].state == PHASE_HELD);
        if (!is_asked || !sim_chance(sim, 60))
            continue;
        enum phase_command command = COMMAND_RETRY;
        if (phase->hold == HOLD_USER)
            command = COMMAND_RELEASE;
        else if (phase->hold == HOLD_MANUAL || (phase->hold == HOLD_GATE && sim_chance(sim, 2)))
            command = COMMAND_PROMOTE;
        if (command == COMMAND_RETRY && phase->checkpoint_path && sim_chance(sim, 3))
            command = COMMAND_RESUME;
        if (sim->daemon.core && phase->run && phase->run->outcome == OUTCOME_SUCCEEDED &&
            phase->run->rung == phase->rung)
            sim_expect_fresh(sim, i, phase->run->id, command);
        daemon_command(sim, i, command);
    }
}

static bool sim_is_quiet(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->job_count; i++)
        if (sim->jobs[i].state != SIM_OVER)
            return false;
    return true;
}

/* At the end nothing is lost or left over, each run has ended once, and each job is in the record.
 */
static void check_end(struct sim *sim)
{
    const struct workflow *record = daemon_record(sim);
    if (!workflow_is_final(record))
        sim_breach(sim, "the workflow is lost: it is %s, %s and %s",
                   workflow_state_name(workflow_state(record)),
                   phase_state_name(record->phases[0].state),
                   phase_state_name(record->phases[1].state));
    for (size_t i = 0; i < record->run_count; i++)
        if (sim->endings[record->runs[i]->id] != 1)
            sim_breach(sim, "run %llu has %u ends", (unsigned long long)record->runs[i]->id,
                       sim->endings[record->runs[i]->id]);
    for (unsigned i = 0; i < sim->job_count; i++) {
        bool is_recorded = false;
        for (size_t j = 0; j < record->allocation_count && !is_recorded; j++)
            is_recorded = text_equal(record->allocations[j]->token, sim->jobs[i].token);
        if (!is_recorded)
            sim_breach(sim, "job %u is not in the record", sim->jobs[i].id);
    }
    if (!sim_is_quiet(sim))
        sim_breach(sim, "a job is left over");
    for (unsigned i = 0; i < sim->folder_count; i++)
        for (size_t j = 0; j < record->run_count; j++)
            if (sim->folders[i].has_started && record->runs[j]->id == sim->folders[i].run &&
                record->runs[j]->has_begun &&
                !text_equal(record->runs[j]->seat->allocation->token, sim->folders[i].job->token))
                sim_breach(sim, "run %llu is recorded in another job than it ran in",
                           (unsigned long long)record->runs[j]->id);
    for (unsigned i = 0; i < SIM_PHASES; i++) {
        const struct run *run = record->phases[i].run;
        if (record->phases[i].state != PHASE_SUCCEEDED || sim->by_person[i])
            continue;
        const struct sim_folder *folder = folder_find(sim, run->id);
        if (!folder || folder->last_step < sim->steps_wanted[i])
            sim_breach(sim, "phase %u succeeded by a run that has not come to its end", i);
    }
}

static uint64_t seed_of_now;
static struct sigaction abort_before, fault_before;

/* Says the seed at which an assertion or a wild pointer ends the program, as a breach does. When it
 * returns, the signal comes again. */
static void say_seed(int signal_number)
{
    char text[64];
    int length = snprintf(text, sizeof text, "# seed %llu, signal %d\n",
                          (unsigned long long)seed_of_now, signal_number);
    (void)!write(STDOUT_FILENO, text, (size_t)length);
    (void)sigaction(signal_number, signal_number == SIGABRT ? &abort_before : &fault_before, NULL);
}

static void sim_run(uint64_t seed, bool is_verbose, uint64_t *seconds)
{
    seed_of_now = seed;
    static struct sim world;
    world = (struct sim){
        .seed = seed,
        .random = seed * 0x9e3779b97f4a7c15U,
        .is_verbose = is_verbose,
        .has_faults = true,
        .next_job_id = 100,
        .gate = {-1, -1},
    };
    struct sim *sim = &world;
    sim->cancels = sim_chance(sim, 3);
    sim->is_beside = sim_chance(sim, 3);
    sim->has_candidates = !sim->is_beside && sim_chance(sim, 2);
    sim->is_swept = !sim->has_candidates && sim_chance(sim, 2);
    sim->lacks_type = sim_chance(sim, 5);
    daemon_begin(sim, sim_workflow(sim));
    for (; sim->now < WORLD_END_S; sim->now++) {
        if (sim->now == FAULTS_END_S)
            sim->has_faults = false;
        slurm_tick(sim);
        if (sim_fault(sim, 4000))
            daemon_set_clock(sim);
        daemon_tick(sim);
        sim_person(sim);
        const struct workflow *record = daemon_record(sim);
        if (record->ended_ms && workflow_state(record) == WORKFLOW_SUCCEEDED && sim_is_quiet(sim) &&
            !sim->pause.daemon.core)
            break;
    }
    check_end(sim);
    daemon_end(sim);
    *seconds += (uint64_t)sim->now;
}

int main(int argc, char **argv)
{
    uint64_t seconds = 0;
    struct sigaction action = {.sa_handler = say_seed};
    (void)sigaction(SIGABRT, &action, &abort_before);
    (void)sigaction(SIGSEGV, &action, &fault_before);
    if (argc == 3 && text_equal(argv[1], "--trace")) {
        sim_run(strtoull(argv[2], NULL, 10), true, &seconds);
        return 0;
    }
    if (argc != 4 || !text_equal(argv[1], "--seeds")) {
        (void)fprintf(stderr, "usage: sim --seeds FIRST COUNT | --trace SEED\n");
        return 2;
    }
    uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++)
        sim_run(seed, false, &seconds);
    (void)printf("# %llu seeds from %llu, %llu hours of virtual time\n", (unsigned long long)count,
                 (unsigned long long)first, (unsigned long long)seconds / 3600);
    return 0;
}
