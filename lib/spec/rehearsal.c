/* Making a rehearsal of a resolved workflow. */
#include "lib/spec/rehearsal.h"

#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/spec/problems.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stdlib.h>

/* Whether the results of a phase exist only at its end. */
static bool rehearsal_is_whole(const json_t *phase)
{
    return json_is_object(json_object_get(phase, "shard")) ||
           json_is_string(json_object_get(phase, "join")) ||
           json_array_size(json_object_get(phase, "outputs")) > 0;
}

static bool rehearsal_counts_steps(const json_t *phase)
{
    return json_is_object(json_object_get(phase, "progress"));
}

/* Whether a second run tests the checkpoint of the first. A phase that runs whole is not run twice.
 */
static bool rehearsal_resumes(const json_t *phase)
{
    return json_is_object(json_object_get(phase, "checkpoint")) && !rehearsal_is_whole(phase);
}

/* The steps at which the first run of a phase ends, and the run that resumes it. */
struct rehearsal_steps {
    json_int_t first, last;
};

/* The phases that a phase waits for stand before it, so `others` has their steps. */
static struct rehearsal_steps rehearsal_count(const json_t *phases, const json_t *phase,
                                              unsigned steps, const struct rehearsal_steps *others)
{
    struct rehearsal_steps own = {0};
    const json_t *after, *other;
    size_t i, j;
    json_array_foreach(json_object_get(phase, "after"), i, after)
    {
        json_array_foreach(phases, j, other)
        {
            if (json_equal(json_object_get(other, "name"), after) && others[j].last > own.first)
                own.first = others[j].last;
        }
    }
    if (rehearsal_counts_steps(phase))
        own.first += steps;
    own.last = own.first;
    if (rehearsal_counts_steps(phase) && rehearsal_resumes(phase))
        own.last += REHEARSAL_RESUMED_STEPS;
    return own;
}

static void rehearsal_end_early(json_t *phase, const struct rehearsal_steps *steps)
{
    bool counts = rehearsal_counts_steps(phase);
    char *condition = counts ? text_format("step >= %lld or elapsed >= %d", (long long)steps->first,
                                           REHEARSAL_STEPS_S)
                             : text_format("elapsed >= %d", REHEARSAL_BLIND_S);
    json_t *by_gpu;
    size_t i;
    (void)json_object_set_new(phase, "until", json_pack("{s:s}", "condition", condition));
    (void)json_object_set_new(phase, "rehearsal", json_true());
    if (rehearsal_resumes(phase))
        (void)json_object_set_new(phase, "until_resumed",
                                  counts ? json_pack("{s:i, s:i}", "steps", REHEARSAL_RESUMED_STEPS,
                                                     "elapsed", REHEARSAL_STEPS_S)
                                         : json_pack("{s:i}", "elapsed", REHEARSAL_BLIND_S));
    json_array_foreach(json_object_get(phase, "by_gpu"), i, by_gpu)(void)
        json_object_del(json_object_get(by_gpu, "phase"), "until");
    free(condition);
}

/* The phase whose allocation `phase` uses: another phase, or itself. */
static const json_t *rehearsal_host(const json_t *workflow, const json_t *phase)
{
    const char *name = json_string_value(json_object_get(phase, "colocate"));
    const json_t *host = name ? phase_spec_find(workflow, name) : NULL;
    return host ? host : phase;
}

/* Whether the phase, or another phase in the same allocation, needs all of its time. */
static bool rehearsal_needs_time(const json_t *workflow, const json_t *phase)
{
    const json_t *host = rehearsal_host(workflow, phase), *other;
    size_t i;
    json_array_foreach(json_object_get(workflow, "phases"), i, other)
    {
        if (rehearsal_host(workflow, other) == host && rehearsal_is_whole(other))
            return true;
    }
    return false;
}

static void rehearsal_cut_time(json_t *phase)
{
    json_t *resources = json_object_get(phase, "resources");
    json_t *checkpoint = json_object_get(phase, "checkpoint");
    json_int_t save_s = json_integer_value(json_object_get(checkpoint, "save_time_s"));
    if (json_integer_value(json_object_get(resources, "time_s")) <= REHEARSAL_TIME_S)
        return;
    (void)json_object_set_new(resources, "time_s", json_integer(REHEARSAL_TIME_S));
    (void)json_object_del(json_object_get(phase, "slurm"), "time_min"); /* it may be longer now */
    if (save_s > REHEARSAL_TIME_S / 2)
        (void)json_object_set_new(checkpoint, "save_time_s", json_integer(REHEARSAL_TIME_S / 2));
}

static void rehearsal_warn_only(const json_t *gate)
{
    const char *name;
    json_t *check;
    json_object_foreach((json_t *)gate, name, check)(void)
        json_object_set_new(check, "else", json_string("warn"));
}

static void rehearsal_let_pass(json_t *phase)
{
    json_t *by_gpu;
    size_t i;
    rehearsal_warn_only(json_object_get(phase, "gate"));
    json_array_foreach(json_object_get(phase, "by_gpu"), i, by_gpu)
        rehearsal_warn_only(json_object_get(json_object_get(by_gpu, "phase"), "gate"));
    (void)json_object_set_new(phase, "promote", json_string("auto"));
    (void)json_object_set_new(phase, "on_fail", json_string("fail"));
    (void)json_object_set_new(phase, "remedies", json_object());
}

void rehearsal_apply(json_t *workflow, unsigned steps, struct spec_problems *problems)
{
    json_t *phases = json_object_get(workflow, "phases"), *phase;
    struct rehearsal_steps *counts = xcalloc(json_array_size(phases) + 1, sizeof *counts);
    size_t i;
    json_array_foreach(phases, i, phase)
    {
        counts[i] = rehearsal_count(phases, phase, steps, counts);
        rehearsal_let_pass(phase);
        (void)json_object_del(phase, "expect"); /* it is about the real workflow */
        if (!rehearsal_needs_time(workflow, phase))
            rehearsal_cut_time(phase);
        if (!rehearsal_is_whole(phase)) {
            rehearsal_end_early(phase, &counts[i]);
            continue;
        }
        char *path = text_format("phases.%s", json_string_value(json_object_get(phase, "name")));
        spec_problems_add(problems, SPEC_WARNING, 0, 0, path,
                          "runs whole in the rehearsal, because other phases may need all of its "
                          "results (--set makes it smaller)");
        free(path);
    }
    char *name = text_format("%s-rehearsal", json_string_value(json_object_get(workflow, "name")));
    (void)json_object_set_new(workflow, "name", json_string(name));
    (void)json_object_del(workflow, "expect");
    (void)json_object_set_new(workflow, "rehearsal", json_pack("{s:i}", "steps", (int)steps));
    free(name);
    free(counts);
}
