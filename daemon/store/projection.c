/* Projecting costs. */
#include "daemon/store/projection.h"

#include <stdbool.h>

static const struct {
    const char *spent, *rate, *projected;
    double rate_s; /* the seconds to which the rate applies */
} projections[] = {
    {"cost_usd", "usd_per_hour", "projected_cost_usd", 3600},
    {"gpu_seconds", "gpus_paid", "projected_gpu_seconds", 1},
};

enum { PROJECTIONS = sizeof projections / sizeof *projections };

void projection_add(json_t *phase)
{
    const json_t *eta_s = json_object_get(phase, "eta_s");
    for (size_t i = 0; i < PROJECTIONS; i++) {
        const json_t *rate = json_object_get(phase, projections[i].rate);
        double spent = json_number_value(json_object_get(phase, projections[i].spent));
        json_t *projected = json_null();
        if (json_is_number(eta_s) && json_is_number(rate))
            projected = json_real(spent + json_number_value(eta_s) * json_number_value(rate) /
                                              projections[i].rate_s);
        json_object_set_new(phase, projections[i].projected, projected);
    }
    (void)json_object_del(phase, "gpus_paid"); /* only this file needs it */
}

void projection_sum(const json_t *phases, json_t *workflow)
{
    const json_t *phase;
    size_t j;
    for (size_t i = 0; i < PROJECTIONS; i++) {
        double sum = 0;
        bool is_known = false;
        json_array_foreach((json_t *)phases, j, phase)
        {
            const json_t *projected = json_object_get(phase, projections[i].projected);
            bool has_one = json_is_number(projected);
            is_known |= has_one;
            sum += json_number_value(has_one ? projected
                                             : json_object_get(phase, projections[i].spent));
        }
        json_object_set_new(workflow, projections[i].projected,
                            is_known ? json_real(sum) : json_null());
    }
}
