/* What a phase takes over from the phase beside it, and whether the two can share an allocation. */
#include "lib/spec/colocate.h"

#include "lib/json.h"
#include "lib/spec/phases.h"
#include "lib/spec/problems.h"
#include "lib/spec/sections.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>

/* Members of a resolved phase whose keys in the file have another name. */
static const struct {
    const char *name, *key, *unit;
} colocate_keys[] = {
    {"gpu_type", "gpus", ""},
    {"mem_mb", "mem", " MiB"},
    {"time_s", "time", " s"},
};

static char *colocate_value(const json_t *value, const char *unit)
{
    if (!value || json_is_null(value))
        return text_format("nothing");
    if (json_is_string(value))
        return text_format("%.64s", json_string_value(value));
    char *number = json_text(value, JSON_ENCODE_ANY | JSON_COMPACT);
    char *text = text_format("%.64s%s", number, unit);
    free(number);
    return text;
}

static void colocate_compare(const struct phases_entry *entry, const char *section,
                             const char *name, const json_t *mine, const json_t *theirs,
                             struct spec_problems *problems)
{
    const char *key = name, *unit = "";
    if (mine && theirs ? json_equal(mine, theirs) : mine == theirs)
        return;
    for (size_t i = 0; i < sizeof colocate_keys / sizeof colocate_keys[0]; i++) {
        if (!text_equal(colocate_keys[i].name, name))
            continue;
        key = colocate_keys[i].key;
        unit = colocate_keys[i].unit;
    }
    const struct yaml_node *map = yaml_get(entry->node, section), *node = yaml_get(map, key);
    char *here = colocate_value(mine, unit), *there = colocate_value(theirs, unit);
    yaml_problem(problems,
                 node  ? node
                 : map ? map
                       : yaml_get(entry->node, "colocate"),
                 "%s is %s here and %s in %.64s: phases in one job must ask for the same (without "
                 "%s, this phase takes it from the other)",
                 key, here, there, entry->beside->name, section);
    free(here);
    free(there);
}

static void colocate_compare_all(const struct phases_entry *entry, const char *section,
                                 const json_t *json, const json_t *beside,
                                 struct spec_problems *problems)
{
    const json_t *mine = json_object_get(json, section), *theirs = json_object_get(beside, section);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)theirs, name, value)
        colocate_compare(entry, section, name, json_object_get(mine, name), value, problems);
    json_object_foreach((json_t *)mine, name, value)
    {
        if (!json_object_get(theirs, name))
            colocate_compare(entry, section, name, value, NULL, problems);
    }
}

static void colocate_drop_preflight(const struct phases_entry *entry, json_t *json,
                                    struct spec_problems *problems)
{
    const struct yaml_node *node = yaml_get(entry->node, "preflight");
    const char *level = json_string_value(json_object_get(json, "preflight"));
    if (node && level && !text_equal(level, "off"))
        yaml_problem(problems, node,
                     "%s: phases that share GPUs would report each other's programs, so preflight "
                     "must be off",
                     level);
    (void)json_object_set_new(json, "preflight", json_string("off"));
}

/* Each alternative would be a separate job. */
static void colocate_check_choice(const struct phases_entry *entry, const json_t *json,
                                  struct spec_problems *problems)
{
    const json_t *resources = json_object_get(json, "resources");
    if (json_array_size(json_object_get(resources, "alternatives")) > 0)
        yaml_problem(problems, yaml_get(entry->node, "colocate"),
                     "phases in one job cannot have a choice of GPUs (|)");
}

void colocate_take_over(const struct phases_entry *entry, const json_t *beside,
                        struct sections *sections)
{
    bool has_resources = yaml_get(entry->node, "resources");
    bool has_slurm = yaml_get(entry->written, "slurm") || yaml_get(entry->written, "extends");
    sections->resources = has_resources ? NULL : json_object_get(beside, "resources");
    sections->slurm = has_slurm ? NULL : json_object_get(beside, "slurm");
}

void colocate_settle(const struct phases_entry *entry, json_t *json, json_t *beside,
                     struct spec_problems *problems)
{
    (void)json_object_set_new(json, "colocate",
                              entry->beside ? json_string(entry->beside->name) : json_null());
    if (!entry->beside || !beside)
        return;
    colocate_check_choice(entry, json, problems);
    colocate_compare_all(entry, "resources", json, beside, problems);
    colocate_compare_all(entry, "slurm", json, beside, problems);
    colocate_drop_preflight(entry, json, problems);
    colocate_drop_preflight(entry->beside, beside, problems);
}
