/* Finds groups that are silent while others print. */
#include "worker/node/quiet.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/node/crew.h"
#include "worker/health/hang.h"

#include <stdbool.h>
#include <stdlib.h>

struct quiet_group {
    struct hang hang;
    uint64_t printed;
    bool was_told;
};

struct quiet {
    const struct crew *crew;
    unsigned count;
    struct quiet_group groups[];
};

struct quiet *quiet_new(const struct crew *crew, int setting_s, int64_t now_ms)
{
    unsigned count = crew_count(crew);
    struct quiet *quiet = xcalloc(1, sizeof *quiet + count * sizeof *quiet->groups);
    quiet->crew = crew;
    quiet->count = count;
    for (unsigned i = 0; i < count; i++)
        hang_init(&quiet->groups[i].hang, setting_s, now_ms);
    return quiet;
}

void quiet_free(struct quiet *quiet)
{
    free(quiet);
}

char *quiet_look(struct quiet *quiet, int64_t now_ms)
{
    struct quiet_group *silent = NULL;
    unsigned rank = 0;
    bool goes_on = false; /* another group */
    for (unsigned i = 0; i < quiet->count; i++) {
        struct quiet_group *group = &quiet->groups[i];
        const struct crew_rank *of = crew_rank(quiet->crew, i);
        bool has_printed = of->printed != group->printed;
        group->printed = of->printed;
        hang_look(&group->hang, has_printed ? HANG_LIFE : HANG_NOTHING, now_ms);
        bool is_over = !of->has_ended && hang_is_over(&group->hang);
        goes_on |= !of->has_ended && !is_over;
        if (is_over && !group->was_told && !silent) {
            silent = group;
            rank = of->rank;
        }
    }
    if (!silent || !goes_on)
        return NULL;
    silent->was_told = true;
    double silent_s = (double)silent->hang.silence_ms / 1000;
    bool is_long = silent_s >= 120;
    return text_format("group %u has printed nothing for %.0f %s, while others go on", rank,
                       is_long ? silent_s / 60 : silent_s, is_long ? "min" : "s");
}
