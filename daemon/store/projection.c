/* Projecting costs. */
#include "daemon/store/projection.h"

#include <stdbool.h>

void projection_add(json_t *phase)
{
    const json_t *eta_s = json_object_get(phase, "eta_s");
    const json_t *price = json_object_get(phase, "usd_per_hour");
    double cost_usd = json_number_value(json_object_get(phase, "cost_usd"));
    json_t *projected = json_null();
    if (json_is_number(eta_s) && json_is_number(price))
        projected =
            json_real(cost_usd + json_number_value(eta_s) * json_number_value(price) / 3600);
    json_object_set_new(phase, "projected_cost_usd", projected);
}

void projection_sum(const json_t *phases, json_t *workflow)
{
    double sum = 0;
    bool is_known = false;
    const json_t *phase;
    size_t i;
    json_array_foreach((json_t *)phases, i, phase)
    {
        const json_t *projected = json_object_get(phase, "projected_cost_usd");
        bool has_one = json_is_number(projected);
        is_known |= has_one;
        sum += json_number_value(has_one ? projected : json_object_get(phase, "cost_usd"));
    }
    json_object_set_new(workflow, "projected_cost_usd", is_known ? json_real(sum) : json_null());
}
