/* The names of the variables that programs get. */
#include "lib/spec/variables.h"

#include "lib/spec/problems.h"
#include "lib/text.h"

#include <stddef.h>
#include <string.h>

/* Variables that can stand in texts come first. PHASED_HOME comes from the shell that submitted. */
static const char *const variables_names[] = {
    "PHASED_OUT",      "PHASED_RESUME", "PHASED_RESUME_STEP", "PHASED_PHASE",
    "PHASED_PHASE_ID", "PHASED_PARAMS", "PHASED_ADDRESS",     "PHASED_CHANNEL",
    "PHASED_RUN_DIR",  "PHASED_SHARD",  "PHASED_SHARDS",      "PHASED_SHARD_FILE",
    "PHASED_HOME",     "PHASED_JOB",    "PHASED_STOP_SIGNAL",
};

static const size_t variables_counts[] = {
    [VARIABLES_OF_TEXTS] = 6,
    [VARIABLES_OF_SCRIPTS] = sizeof variables_names / sizeof variables_names[0],
};

static const char variables_in[] = "PHASED_IN_", variables_checkpoint[] = "PHASED_CHECKPOINT_";

bool variables_has(enum variables_place place, const char *name)
{
    return text_is_one_of(name, variables_names, variables_counts[place]);
}

const char *variables_nearest(const char *name, struct spec_problems *problems)
{
    return spec_problems_nearest(problems, name, variables_names,
                                 variables_counts[VARIABLES_OF_TEXTS]);
}

const char *variables_next_to(const char *name)
{
    return text_next_to(name, variables_names, variables_counts[VARIABLES_OF_SCRIPTS]);
}

bool variables_is_checkpoint(const char *name)
{
    return text_starts(name, variables_checkpoint);
}

const char *variables_phase(const char *name)
{
    if (text_starts(name, variables_in))
        return name + strlen(variables_in);
    return variables_is_checkpoint(name) ? name + strlen(variables_checkpoint) : NULL;
}
