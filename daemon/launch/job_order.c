/* What a run's job asks for. */
#include "daemon/core/model.h"
#include "daemon/launch/launch.h"
#include "daemon/store/store.h"
#include "lib/memory.h"
#include "lib/secrets.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    WARN_MARGIN_S = 15,    /* beyond the time to stop: the lead needs it to end itself */
    SHORTEST_MINUTES = 10, /* of a job that is shortened to start before a reservation */
};

/* Takes a text, and frees it with the order. */
static char *order_keep(struct job_order *order, char *take_text)
{
    order->kept = xreallocarray(order->kept, order->kept_count + 1, sizeof *order->kept);
    return order->kept[order->kept_count++] = take_text;
}

static void order_add_option(struct job_order *order, const char *name, char *take_value)
{
    size_t count = order->description.option_count++;
    order->options = xreallocarray(order->options, count + 1, sizeof *order->options);
    order->options[count] =
        (struct cluster_option){.name = name, .value = order_keep(order, take_value)};
    order->description.options = order->options;
}

/* Makes {"PATH": "..."} into "PATH=...". Secrets are left out: the lead does not need them, and the
 * programs get them from the worker. */
static void environment_fill(struct job_order *order, const json_t *environment)
{
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)environment, name, value)
    {
        if (secrets_is_mark(json_string_value(value)))
            continue;
        char *text = text_format("%s=%s", name, json_string_value(value));
        order->environment[count++] = order_keep(order, text);
    }
}

/* Writes an option's value as a spec would write it. */
static char *option_text(const json_t *value)
{
    if (json_is_string(value))
        return xstrdup(json_string_value(value));
    if (json_is_boolean(value))
        return xstrdup(json_is_true(value) ? "true" : "false");
    return json_dumps(value, JSON_ENCODE_ANY);
}

static void options_fill(struct job_order *order, const json_t *spec, const char *excluded,
                         unsigned parts)
{
    json_t *options = phase_spec_options(spec, parts), *value;
    const char *name;
    if (excluded) {
        const char *own = json_string_value(json_object_get(options, "exclude"));
        char *all = text_format("%s%s%s", own ? own : "", own ? "," : "", excluded);
        order_add_option(order, "exclude", all);
        order->description.excluded = all + strlen(all) - strlen(excluded);
    }
    json_object_foreach(options, name, value)
    {
        if (!excluded || !text_equal(name, "exclude"))
            order_add_option(order, order_keep(order, xstrdup(name)), option_text(value));
    }
    json_decref(options);
}

/* What the phases that share the allocation need: the longest time to stop, and whether all of them
 * can go on in another job. */
static struct phase shared_needs(const struct phase *phase)
{
    struct phase needs = *phase;
    for (size_t i = 0; i < phase->workflow->phase_count; i++) {
        const struct phase *other = &phase->workflow->phases[i];
        if (phase_anchor(other) != phase_anchor(phase))
            continue;
        needs.has_checkpoint = needs.has_checkpoint && other->has_checkpoint;
        needs.stop_s = other->stop_s > needs.stop_s ? other->stop_s : needs.stop_s;
    }
    return needs;
}

static unsigned warning_s(const struct phase *phase)
{
    unsigned warn_s = phase->stop_s + WARN_MARGIN_S;
    return warn_s < phase->time_s / 2 ? warn_s : phase->time_s / 2;
}

/* The least time of the job; 0: the job needs all of its time. A phase that can go on in another
 * job may start before a reservation with less time than it asks for. It gets at least a quarter of
 * its time, because otherwise it would spend most of the time on beginning again. The time of
 * packed members is for all of them together: members that do not fit wait in the queue again. */
static unsigned time_min_minutes(const struct phase *phase)
{
    if (phase->matrix && phase->matrix->lanes > 0)
        return 0;
    unsigned quarter = (phase->time_s / 4 + 59) / 60, saving = (4 * phase->stop_s + 59) / 60;
    unsigned least = quarter < SHORTEST_MINUTES ? SHORTEST_MINUTES : quarter;
    return least < saving ? saving : least;
}

/* The batch script. The script tells the lead the token of its job. The lead cannot use the id of
 * the job instead, because Slurm gives ids out again. */
static char *order_script(const struct phase *phase, const struct allocation *allocation,
                          const struct folder *folder, const char *worker)
{
    struct text script = {0};
    text_addf(&script, "#!/bin/sh\nexport PHASED_JOB=%s\nexec ", allocation->token);
    text_add_quoted(&script, worker);
    text_add(&script, phase_shares(phase) ? " host " : " lead ");
    text_add_quoted(&script, folder->job);
    text_add(&script, "\n");
    return text_steal(&script);
}

void job_order_init(struct job_order *order, const struct run *run,
                    const struct allocation *allocation, const struct folder *folder,
                    const struct store_launch *launch, const char *worker, const char *excluded)
{
    const struct phase *phase = run->phase;
    size_t variables = json_object_size(launch->environment);
    struct phase needs = shared_needs(phase);

    *order = (struct job_order){
        .environment = xcalloc(variables + 1, sizeof(char *)),
        .limits = xcalloc(json_array_size(launch->limits) + 1, sizeof(char *)),
    };
    for (size_t i = 0; i < json_array_size(launch->limits); i++)
        order->limits[i] = json_string_value(json_array_get(launch->limits, i));
    const json_t *workdir = json_object_get(launch->spec, "workdir");
    order->description = (struct cluster_description){
        .token = allocation->token,
        .name = order_keep(order, text_format("%s.%s", phase->workflow->name, phase->name)),
        .script = order_keep(order, order_script(phase, allocation, folder, worker)),
        .work_dir = json_is_string(workdir) ? json_string_value(workdir) : launch->workdir,
        .output = order_keep(order, text_format("%s/job.log", folder->own)),
        .environment = order->environment,
        .limits = order->limits,
        .umask = launch->umask,
        .submit_dir = launch->workdir,
        .submitted = phase->workflow->submitted_ms / 1000,
        .nodes = phase->nodes,
        .gpus_per_node = phase->gpus_per_node,
        .gpu_type = allocation_gpu_type(allocation, phase),
        .cpus_per_node = phase->cpus_per_node,
        .time_minutes = (phase->time_s + 59) / 60,
        .can_chain = needs.has_checkpoint,
        .time_min_minutes = time_min_minutes(&needs),
        .warn_s = warning_s(&needs),
        /* A preempted run goes on in the same job. The job keeps its age in the queue. */
        .requeue = true,
    };
    environment_fill(order, launch->environment);
    options_fill(order, launch->spec, excluded, phase_parts(phase));
}

void job_order_fini(struct job_order *order)
{
    free(order->environment);
    free(order->limits);
    for (size_t i = 0; i < order->kept_count; i++)
        free(order->kept[i]);
    free(order->kept);
    free(order->options);
}
