/* A daemon that is paused in the middle of its effects, as by SIGSTOP or in a frozen virtual
 * machine. Another daemon may take the lease meanwhile. The first one wakes, and carries out the
 * rest of its batch, because it had looked at the lease before. Then it looks again. If the lease
 * is its own, it goes on; otherwise it stops. */
#include "tests/sim/sim.h"

#include <string.h>

enum { SKEW_S = 300 };

bool daemon_is_owner(const struct sim *sim)
{
    return sim->daemon.lease == sim->record.lease;
}

void daemon_pause(struct sim *sim, const struct sim_outbox *left, unsigned count)
{
    struct sim_daemon *daemon = &sim->daemon;
    struct sim_pause *pause = &sim->pause;
    pause->daemon = *daemon;
    memcpy(pause->left, left, count * sizeof *left);
    pause->left_count = count;
    pause->wakes_at = sim->now + 1 + sim_below(sim, sim_chance(sim, 2) ? 60 : 4000);
    daemon->core = NULL;
    daemon->queue_count = 0;
    daemon->up_at = sim->now + 1 + sim_below(sim, sim_chance(sim, 2) ? 10 : 900);
    /* The other daemon is on another host. */
    daemon->clock_ms += ((int64_t)sim_below(sim, 2 * SKEW_S + 1) - SKEW_S) * 1000;
    sim_say(sim, "daemon: paused until %lld, with %u effects left", (long long)pause->wakes_at,
            count);
}

/* The effects were looked at when the lease was still its own. Its verdicts are never committed. */
static void wake_finish_batch(struct sim *sim)
{
    int gate[SIM_ROWS];
    memcpy(gate, sim->gate, sizeof gate);
    sim->is_late = !daemon_is_owner(sim);
    for (unsigned i = 0; i < sim->pause.left_count; i++)
        daemon_carry(sim, &sim->pause.left[i]);
    if (sim->is_late)
        memcpy(sim->gate, gate, sizeof gate);
    sim->is_late = false;
}

void daemon_wake(struct sim *sim)
{
    struct sim_pause *pause = &sim->pause;
    if (!pause->daemon.core || sim->now < pause->wakes_at)
        return;
    static struct sim_daemon other;
    other = sim->daemon;
    sim->daemon = pause->daemon;
    pause->daemon.core = NULL;
    sim_say(sim, "daemon: wakes, %u effects left%s", pause->left_count,
            daemon_is_owner(sim) ? "" : ", without the lease");
    wake_finish_batch(sim);
    if (daemon_is_owner(sim))
        daemon_turn(sim);
    if (!daemon_is_owner(sim)) {
        core_free(sim->daemon.core);
        sim->daemon = other;
    }
}
