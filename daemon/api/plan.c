/* What the core must know of each phase. */
#include "daemon/api/plan.h"

#include "daemon/core/model.h"
#include "lib/error.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

enum {
    STOP_S = 30, /* of a program that saves nothing: TERM, then KILL */
};

static int plan_after(struct workflow *workflow, struct phase *phase, const struct phase_spec *spec,
                      struct error *err)
{
    phase->after = calloc(spec->after_count + 1, sizeof *phase->after);
    if (!phase->after)
        abort();
    for (size_t i = 0; i < spec->after_count; i++) {
        unsigned index = 0;
        while (index < phase->index && !text_equal(workflow->phases[index].name, spec->after[i]))
            index++;
        if (index == phase->index)
            return error_set(err, -EINVAL, "phase %s is after %s, which does not stand before it",
                             spec->name, spec->after[i]);
        phase->after[phase->after_count++] = index;
    }
    return 0;
}

static void plan_resources(struct phase *phase, const struct phase_spec *spec)
{
    const struct phase_resources *resources = &spec->resources;
    phase->nodes = resources->nodes;
    phase->gpus_per_node = resources->gpus;
    phase->cpus_per_node =
        resources->cpus ? resources->cpus : resources->cpus_per_gpu * resources->gpus;
    phase->gpu_type = resources->gpu_type ? text_format("%s", resources->gpu_type) : NULL;
    phase->time_s = resources->time_s;
}

static int plan_phase(struct workflow *workflow, struct phase *phase, json_t *json,
                      struct error *err)
{
    struct phase_spec spec = {0};
    int status = phase_spec_init(&spec, json, err);
    if (status < 0)
        return status;
    phase->name = text_format("%s", spec.name);
    plan_resources(phase, &spec);
    phase->has_checkpoint = spec.checkpoint.path != NULL;
    phase->stop_s = phase->has_checkpoint ? spec.checkpoint.save_time_s : STOP_S;
    phase->linger_s = spec.linger_s;
    phase->promote_manual = spec.promote == PHASE_PROMOTE_MANUAL;
    phase->fail_finally = spec.on_fail == PHASE_ON_FAIL_FAIL;
    phase->slurm_options = json_dumps(spec.slurm, JSON_COMPACT | JSON_SORT_KEYS);
    if (!phase->slurm_options)
        abort();
    status = plan_after(workflow, phase, &spec, err);
    phase_spec_fini(&spec);
    return status;
}

int plan_workflow(const json_t *resolved, struct workflow **ret_workflow, struct error *err)
{
    const json_t *phases = json_object_get(resolved, "phases");
    const char *name = json_string_value(json_object_get(resolved, "name"));
    struct workflow *workflow = calloc(1, sizeof *workflow);
    if (!workflow)
        abort();
    workflow->name = text_format("%s", name ? name : "");
    workflow->phase_count = json_array_size(phases);
    workflow->phases = calloc(workflow->phase_count + 1, sizeof *workflow->phases);
    if (!workflow->phases)
        abort();
    int status = 0;
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        phase->workflow = workflow;
        phase->index = (unsigned)i;
        status = plan_phase(workflow, phase, json_array_get(phases, i), err);
    }
    if (status < 0)
        workflow_free(workflow);
    else
        *ret_workflow = workflow;
    return status;
}
