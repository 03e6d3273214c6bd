/* The timer of the lead's state. While Slurm suspends a job, the clock goes on and the job does
 * not. A timer that is much too late was due in that time, and gets its time once more. */
#include "worker/lead/lead_state.h"

#include "lib/clock.h"

enum { LEAD_LATE_MS = 5000 };

bool lead_is_late(int64_t due_ms)
{
    return clock_steady_ms() - due_ms > LEAD_LATE_MS;
}

static void lead_timer_done(uv_timer_t *timer)
{
    struct lead *lead = timer->data;
    if (lead_is_late(lead->due_ms))
        lead_set_timer(lead, lead->due, lead->due_after_ms);
    else
        lead->due(timer);
}

void lead_set_timer(struct lead *lead, uv_timer_cb due, uint64_t after_ms)
{
    lead->due = due;
    lead->due_after_ms = after_ms;
    lead->due_ms = clock_steady_ms() + (int64_t)after_ms;
    uv_timer_start(&lead->timer, lead_timer_done, after_ms, 0);
}
