/* Makes the core's model of a resolved workflow. */
#include "daemon/outlook/outlook.h"

#include "daemon/core/model.h"
#include "lib/error.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

/* Finds an earlier phase by its name; NULL: there is no such phase. */
static struct phase *model_of_find(const struct workflow *workflow, const struct phase *phase,
                                   const char *name)
{
    for (unsigned i = 0; i < phase->index; i++)
        if (text_equal(workflow->phases[i].name, name))
            return &workflow->phases[i];
    return NULL;
}

static int model_of_beside(const struct workflow *workflow, struct phase *phase,
                           const struct phase_spec *spec, struct error *err)
{
    if (!spec->colocate)
        return 0;
    phase->beside = model_of_find(workflow, phase, spec->colocate);
    if (!phase->beside || phase->beside->beside)
        return error_set(err, -EINVAL,
                         "phase %s: `colocate: %s` must name an earlier phase without `colocate`",
                         spec->name, spec->colocate);
    return 0;
}

static int model_of_after(struct workflow *workflow, struct phase *phase,
                          const struct phase_spec *spec, struct error *err)
{
    phase->after = xcalloc(spec->after_count + 1, sizeof *phase->after);
    for (size_t i = 0; i < spec->after_count; i++) {
        const struct phase *before = model_of_find(workflow, phase, spec->after[i]);
        if (!before)
            return error_set(err, -EINVAL,
                             "phase %s: `after` must name an earlier phase, which %s is not",
                             spec->name, spec->after[i]);
        phase->after[phase->after_count++] = before->index;
    }
    return 0;
}

/* The types of the alternatives, with commas between; the caller frees the text. NULL: there is no
 * choice. */
static char *model_of_alternatives(const json_t *alternatives)
{
    struct text types = {0};
    json_t *alternative;
    size_t i;
    if (json_array_size(alternatives) == 0)
        return NULL;
    json_array_foreach((json_t *)alternatives, i, alternative)
    {
        const char *type = json_string_value(json_object_get(alternative, "gpu_type"));
        text_addf(&types, "%s%s", i ? "," : "", type ? type : "");
    }
    return text_steal(&types);
}

static void model_of_resources(struct phase *phase, const struct phase_spec *spec)
{
    const struct phase_resources *resources = &spec->resources;
    phase->nodes = resources->nodes;
    phase->gpus_per_node = resources->gpus;
    phase->cpus_per_node =
        resources->cpus ? resources->cpus : resources->cpus_per_gpu * resources->gpus;
    phase->gpu_type = xstrdup_or_null(resources->gpu_type);
    phase->alternatives = model_of_alternatives(resources->alternatives);
    phase->time_s = resources->time_s;
}

/* The options that two allocations must have alike, so that a phase can use either. */
static char *model_of_slurm_options(const json_t *json, unsigned parts)
{
    json_t *options = phase_spec_options(json, parts);
    char *text = json_text(options, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(options);
    return text;
}

static void model_of_remedies(struct phase *phase, const struct phase_spec *spec)
{
    const char *cause;
    json_t *list, *remedy;
    size_t i;
    json_object_foreach((json_t *)spec->remedies, cause, list)
    {
        json_array_foreach(list, i, remedy)
        {
            const char *resume = json_string_value(json_object_get(remedy, "resume"));
            int parsed = resume ? remedy_resume_parse(resume) : REMEDY_CHECKPOINT;
            phase->remedies =
                xrealloc(phase->remedies, (phase->remedy_count + 1) * sizeof *phase->remedies);
            phase->remedies[phase->remedy_count++] = (struct remedy){
                .cause = xstrdup(cause),
                .times = (unsigned)json_integer_value(json_object_get(remedy, "times")),
                .resume = parsed < 0 ? REMEDY_CHECKPOINT : (enum remedy_resume)parsed,
            };
        }
    }
}

/* A member shares the job of its matrix. The job is large enough for all members that run at once.
 */
static void model_of_parts(struct phase *member)
{
    member->gpus_per_node *= phase_parts(member);
    member->cpus_per_node *= phase_parts(member);
}

/* Members come before their matrix, so these pointers lead to phases that are made already. */
static int model_of_matrix(struct workflow *workflow, struct phase *phase, const json_t *json,
                           struct error *err)
{
    const json_t *pack = json_object_get(json, "pack"), *name;
    size_t rungs = json_array_size(json_object_get(json_object_get(json, "rungs"), "values")), i;
    if (!json)
        return 0;
    struct matrix *matrix = phase_add_matrix(phase);
    const char *kind = json_string_value(json_object_get(pack, "kind"));
    matrix->lanes = (unsigned)json_integer_value(json_object_get(pack, "lanes"));
    matrix->is_parallel = kind && text_equal(kind, "parallel");
    matrix->rung_count = rungs ? (unsigned)rungs : 1;
    json_array_foreach(json_object_get(json, "members"), i, name)
    {
        unsigned index = 0;
        while (index < phase->index &&
               !text_equal(workflow->phases[index].name, json_string_value(name)))
            index++;
        if (index == phase->index)
            return error_set(err, -EINVAL, "%s, a member of %s, must stand before the matrix",
                             json_string_value(name), phase->name);
        matrix_add_member(matrix, &workflow->phases[index]);
        if (matrix->is_parallel)
            model_of_parts(&workflow->phases[index]);
    }
    return 0;
}

static int model_of_phase(struct workflow *workflow, struct phase *phase, json_t *json,
                          struct error *err)
{
    struct phase_spec spec = {0};
    int status = phase_spec_init(&spec, json, err);
    if (status < 0)
        return status;
    phase->name = xstrdup(spec.name);
    model_of_resources(phase, &spec);
    phase->has_checkpoint = spec.checkpoint.path != NULL;
    phase->stop_s = phase->has_checkpoint ? spec.checkpoint.save_time_s : PHASE_STOP_S;
    phase->linger_s = spec.linger_s;
    phase->promote_manual = spec.promote == PHASE_PROMOTE_MANUAL;
    phase->fail_finally = spec.on_fail == PHASE_ON_FAIL_FAIL;
    phase->must_resume = json_object_get(json, "until_resumed") != NULL;
    model_of_remedies(phase, &spec);
    status = model_of_after(workflow, phase, &spec, err);
    if (status == 0)
        status = model_of_beside(workflow, phase, &spec, err);
    if (status == 0)
        status = model_of_matrix(workflow, phase, json_object_get(json, "matrix"), err);
    phase_spec_fini(&spec);
    return status;
}

/* Phases that share a job must know which job it is, so they cannot have a choice of GPUs. */
static int model_of_check_choice(const struct phase *phase, struct error *err)
{
    if (phase->alternatives && (phase_shares(phase) || phase_parts(phase) > 1))
        return error_set(err, -EINVAL,
                         "phase %s shares its job (`colocate` or `parallel`), so `gpus` must name "
                         "one type, without |",
                         phase->name);
    return 0;
}

int outlook_model(const json_t *resolved, struct workflow **ret_workflow, struct error *err)
{
    const json_t *phases = json_object_get(resolved, "phases");
    const char *name = json_string_value(json_object_get(resolved, "name"));
    struct workflow *workflow = xcalloc(1, sizeof *workflow);
    workflow->name = xstrdup(name ? name : "");
    workflow->phase_count = json_array_size(phases);
    workflow->phases = xcalloc(workflow->phase_count + 1, sizeof *workflow->phases);
    int status = 0;
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        phase->workflow = workflow;
        phase->index = (unsigned)i;
        status = model_of_phase(workflow, phase, json_array_get(phases, i), err);
    }
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        phase->slurm_options =
            model_of_slurm_options(json_array_get(phases, i), phase_parts(phase));
        status = model_of_check_choice(phase, err);
    }
    if (status < 0)
        workflow_free(workflow);
    else
        *ret_workflow = workflow;
    return status;
}
