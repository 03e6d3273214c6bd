/* Writes a model with its figures, as thresholds_read() reads them. */
#include "worker/preflight/baseline.h"

#include "lib/text.h"
#include "worker/preflight/groups.h"
#include "worker/preflight/measures.h"
#include "worker/preflight/speed.h"

#include <stdbool.h>
#include <stddef.h>

static bool baseline_is_alike(const struct speed *speed, const struct measure *one,
                              const struct measure *other)
{
    if (other->kind != MEASURE_FIGURE || other->figure != one->figure)
        return false;
    return one->figure != FIGURE_ALLREDUCE || (groups_size(speed->groups, one->a, one->b) ==
                                                   groups_size(speed->groups, other->a, other->b) &&
                                               groups_nodes(speed->groups, one->a, one->b) ==
                                                   groups_nodes(speed->groups, other->a, other->b));
}

/* Adds the lowest of all figures that are of the same kind as the figure at `place`. Does nothing
 * if an earlier figure is of that kind, because the kind was added with the earlier figure. Returns
 * whether it added a figure. */
static bool baseline_add(const struct speed *speed, size_t place, struct text *text)
{
    const struct measure *items = speed->measures->items, *measure = &items[place];
    double lowest = measure->value;
    if (measure->kind != MEASURE_FIGURE)
        return false;
    for (size_t i = 0; i < speed->measures->count; i++) {
        if (!baseline_is_alike(speed, measure, &items[i]))
            continue;
        if (i < place)
            return false;
        lowest = items[i].value < lowest ? items[i].value : lowest;
    }
    if (measure->figure != FIGURE_ALLREDUCE) {
        text_addf(text, "    %s: %lld\n", figure_kinds[measure->figure].name, (long long)lowest);
        return true;
    }
    unsigned nodes = groups_nodes(speed->groups, measure->a, measure->b);
    text_addf(text, "      %u", groups_size(speed->groups, measure->a, measure->b));
    if (nodes > 1)
        text_addf(text, " on %u", nodes);
    text_addf(text, ": %lld\n", (long long)lowest);
    return true;
}

unsigned baseline_text(const struct speed *speed, const char *node, struct text *text)
{
    const struct measures *measures = speed->measures;
    struct text groups = {0};
    unsigned count = 0;
    if (!speed->gpu_count)
        return 0;
    text_addf(text, "# Measured on %s; for phase-preflight --baseline.\nmodels:\n  - match: %s\n",
              node, speed->gpus[0]->name);
    for (size_t i = 0; i < measures->count; i++)
        count +=
            baseline_add(speed, i, measures->items[i].row == FIGURE_ROW_ALLREDUCE ? &groups : text);
    if (groups.size)
        text_addf(text, "    allreduce_gbps:\n%s", text_string(&groups));
    text_fini(&groups);
    return count;
}
