/* What a folder tells the daemon, by its journals or when its files are read: events without
 * pointers into the model. */
#include "tests/sim/sim.h"

#include <stdio.h>

enum { CLOCK_BEGIN_S = 1000 * 1000 * 1000 }; /* the calendar time of the first second */

int64_t world_ms(int64_t second)
{
    return second ? (CLOCK_BEGIN_S + second) * 1000 : 0;
}

/* The path of a checkpoint. The same step has the same path. Static. */
static const char *checkpoint_path(int64_t step)
{
    static char paths[SIM_STEPS_MAX][24];
    (void)snprintf(paths[step], sizeof paths[step], "/%lld", (long long)step);
    return paths[step];
}

struct core_event started_event(const struct sim_folder *folder)
{
    struct core_event event = {.kind = EV_RUN_STARTED,
                               .slurm_id = folder->job->id,
                               .token = folder->job->token,
                               .started_ms = world_ms(folder->job->started),
                               .step = -1};
    if (folder->was_alone || folder->looked_again) {
        event.path = folder->begin_step >= 0 ? checkpoint_path(folder->begin_step) : "";
        event.step = folder->begin_step;
    }
    return event;
}

struct core_event checkpoint_event(int64_t step)
{
    return (struct core_event){.kind = EV_CHECKPOINT, .path = checkpoint_path(step), .step = step};
}

struct core_event suspect_event(const struct sim_folder *folder)
{
    return (struct core_event){
        .kind = EV_SUSPECT,
        .since = folder->suspect_since,
        .path = folder->good_step >= 0 ? checkpoint_path(folder->good_step) : NULL,
        .step = folder->good_step,
    };
}

struct core_event progress_event(const struct sim_folder *folder)
{
    return (struct core_event){
        .kind = EV_PROGRESS, .begin_step = folder->begin_step + 1, .step = folder->last_step};
}

struct core_event hold_event(void)
{
    return (struct core_event){.kind = EV_RUN_STOPPING,
                               .stop_reason = STOP_REASON_COUNT,
                               .hold_reason = "the disk is full"};
}

struct core_event ended_event(const struct sim_folder *folder)
{
    return (struct core_event){.kind = EV_RUN_ENDED,
                               .slurm_id = folder->job->id,
                               .outcome = folder->outcome,
                               .cause = folder->cause,
                               .step = folder->last_step,
                               .requeues = folder->requeues,
                               .ended_ms = world_ms(folder->ended)};
}
