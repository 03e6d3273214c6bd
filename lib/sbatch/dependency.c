/* Reads --dependency. A script may name another script by its job name instead of a job's number: a
 * file with #SBATCH lines cannot know the number yet. */
#include "lib/sbatch/dependency.h"

#include "lib/sbatch/script.h"
#include "lib/spec/dependency.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char option[] = "dependency";

/* The scripts that can be named: the arguments of sbatch_dependency_read(). */
struct names {
    const struct sbatch_script *script;
    const struct sbatch_earlier *earlier;
    size_t count;
};

static bool is_called(const struct dependency_part *part, const char *name)
{
    return strlen(name) == part->size && strncasecmp(name, part->word, part->size) == 0;
}

/* The phase of an earlier script, or NULL. If several scripts have the title, the last one
 * counts. */
static const char *find_phase(const struct names *names, const struct dependency_part *part)
{
    for (size_t i = names->count; i > 0; i--)
        if (is_called(part, names->earlier[i - 1].phase))
            return names->earlier[i - 1].phase;
    for (size_t i = names->count; i > 0; i--)
        if (is_called(part, names->earlier[i - 1].title))
            return names->earlier[i - 1].phase;
    return NULL;
}

static void refuse_unknown(const struct names *names, const struct dependency_part *part)
{
    struct text known = {0};
    for (size_t i = 0; i < names->count; i++)
        text_addf(&known, "%s%s", i ? ", " : " (", names->earlier[i].phase);
    text_add(&known, names->count ? ")" : "");
    sbatch_refuse(names->script, option,
                  "'%.*s' is not the number of a job, and no earlier script has this name%s",
                  (int)part->size, part->word, text_string(&known));
    text_fini(&known);
}

static void add_phase(struct text *after, const char *phase)
{
    struct text padded = {0}, wanted = {0};
    text_addf(&padded, ", %s,", text_string(after));
    text_addf(&wanted, ", %s,", phase);
    if (!strstr(text_string(&padded), text_string(&wanted))) /* each phase once */
        text_addf(after, "%s%s", after->size ? ", " : "", phase);
    text_fini(&padded);
    text_fini(&wanted);
}

static void keep(struct text *kept, const struct dependency_part *part, bool has_choice)
{
    if (kept->size)
        text_add(kept, has_choice ? "?" : ",");
    if (part->kind[0])
        text_addf(kept, "%s:", part->kind);
    text_add_bytes(kept, part->word, part->size);
}

static void take_name(const struct names *names, const struct dependency_part *part,
                      bool has_choice, struct text *after)
{
    const char *phase = find_phase(names, part);
    if (!phase)
        refuse_unknown(names, part);
    else if (!text_equal(part->kind, "afterok"))
        sbatch_refuse(names->script, option,
                      "'%s:%s': a phase begins only after success (afterok); use `notify:` for an "
                      "action after a failure",
                      part->kind, phase);
    else if (has_choice)
        sbatch_refuse(names->script, option,
                      "'?': a phase begins after all phases that it names, not after one of them");
    else
        add_phase(after, phase);
}

void sbatch_dependency_read(const struct sbatch_script *script,
                            const struct sbatch_earlier *earlier, size_t count,
                            struct sbatch_dependency *ret_dependency)
{
    const struct names names = {.script = script, .earlier = earlier, .count = count};
    const char *value = sbatch_given(script, option)->value;
    *ret_dependency = (struct sbatch_dependency){0};
    if (!value)
        return;
    struct dependency_part part = {.at = value};
    bool has_choice = strchr(value, '?');
    if (has_choice && strchr(value, ','))
        sbatch_refuse(script, option, "'%s' has both ',' and '?'", value);
    while (dependency_next(&part)) {
        bool is_alone = !part.kind[0];
        if (!is_alone && !dependency_has_kind(&part))
            sbatch_refuse(script, option, "'%s' is not a dependency, such as afterok", part.kind);
        else if (dependency_is_singleton(&part) || dependency_is_job(&part))
            keep(&ret_dependency->kept, &part, has_choice);
        else if (!part.size || is_alone)
            sbatch_refuse(script, option, "'%s' names no job", value);
        else
            take_name(&names, &part, has_choice, &ret_dependency->after);
    }
    if (ret_dependency->kept.size && !ret_dependency->after.size) { /* keep the text as it was
                                                                     * written */
        text_clear(&ret_dependency->kept);
        text_add(&ret_dependency->kept, value);
    }
}

void sbatch_dependency_fini(struct sbatch_dependency *dependency)
{
    text_fini(&dependency->after);
    text_fini(&dependency->kept);
}
