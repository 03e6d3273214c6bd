/* Measures and compares paces. */
#include "worker/health/pace.h"

void pace_step(struct pace *pace, int64_t step, int64_t now_ms)
{
    if (!pace->has_begun || step < pace->step) /* the program counts from the beginning again */
        *pace = (struct pace){.has_begun = true, .first_step = step, .first_ms = now_ms};
    pace->step = step;
    pace->step_ms = now_ms;
}

bool pace_take(struct pace *pace, int64_t window_ms, struct pace_span *ret_span)
{
    int64_t steps = pace->step - pace->first_step, passed_ms = pace->step_ms - pace->first_ms;
    if (!pace->has_begun || steps < PACE_STEPS || passed_ms < window_ms)
        return false;
    *ret_span = (struct pace_span){steps, (double)passed_ms / 1000};
    pace->first_step = pace->step;
    pace->first_ms = pace->step_ms;
    return true;
}

bool pace_compare(struct pace_node *nodes, unsigned count, unsigned index, double steps_per_s,
                  int64_t now_ms, unsigned *ret_fastest)
{
    struct pace_node *node = &nodes[index];
    unsigned fastest = index;
    node->steps_per_s = steps_per_s;
    node->told_ms = now_ms;
    for (unsigned i = 0; i < count; i++) {
        bool is_fresh = nodes[i].steps_per_s > 0 && now_ms - nodes[i].told_ms <= PACE_FRESH_MS;
        if (is_fresh && nodes[i].steps_per_s > nodes[fastest].steps_per_s)
            fastest = i;
    }
    bool is_slow = steps_per_s < PACE_SLOW * nodes[fastest].steps_per_s;
    bool is_straggler = is_slow && node->was_slow;
    bool is_new = is_straggler && !node->is_straggler && node->times < PACE_TELL_MAX;
    node->was_slow = is_slow;
    node->is_straggler = is_straggler;
    node->times += is_new;
    *ret_fastest = fastest;
    return is_new;
}
