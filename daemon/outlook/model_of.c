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

/* Reads the members of one phase. spec_parse() has checked the phase. Types and ranges are
 * checked again, so that a mistake there becomes a message, and not a wrong job. The reader
 * remembers the first damaged member, so that nobody has to check for failure after each member. */
struct phase_reader {
    const char *bad;
};

static const json_t *phase_member(struct phase_reader *reader, const json_t *json, const char *key,
                                  json_type type)
{
    const json_t *member = json_object_get(json, key);
    if (member && json_typeof(member) == type)
        return member;
    if (!reader->bad)
        reader->bad = key;
    return NULL;
}

static const char *phase_string(struct phase_reader *reader, const json_t *json, const char *key)
{
    return json_string_value(phase_member(reader, json, key, JSON_STRING));
}

/* Whether the phase has a value for a key that it need not have. */
static bool phase_has(const json_t *json, const char *key)
{
    const json_t *member = json_object_get(json, key);
    return member && !json_is_null(member);
}

static const char *phase_optional_string(struct phase_reader *reader, const json_t *json,
                                         const char *key)
{
    return phase_has(json, key) ? phase_string(reader, json, key) : NULL;
}

/* Returns 0 if `min` is 0 and the phase has no value. */
static uint32_t phase_whole(struct phase_reader *reader, const json_t *json, const char *key,
                            uint32_t min)
{
    if (min == 0 && !phase_has(json, key))
        return 0;
    json_int_t number = json_integer_value(phase_member(reader, json, key, JSON_INTEGER));
    bool is_good = number >= min && number <= INT32_MAX;
    if (!is_good && !reader->bad)
        reader->bad = key;
    return is_good ? (uint32_t)number : min;
}

/* Whether the member at `key` is `yes`; otherwise it is `no`. */
static bool phase_is(struct phase_reader *reader, const json_t *json, const char *key,
                     const char *yes, const char *no)
{
    const char *word = phase_string(reader, json, key);
    bool is_yes = word && text_equal(word, yes);
    if (word && !is_yes && !text_equal(word, no) && !reader->bad)
        reader->bad = key;
    return is_yes;
}

/* Finds an earlier phase by its name; NULL: there is no such phase. */
static struct phase *model_of_find(const struct workflow *workflow, const struct phase *phase,
                                   const char *name)
{
    for (unsigned i = 0; i < phase->index; i++)
        if (text_equal(workflow->phases[i].name, name))
            return &workflow->phases[i];
    return NULL;
}

/* `host` is the phase that `colocate` names, or NULL. */
static int model_of_beside(const struct workflow *workflow, struct phase *phase, const char *host,
                           struct error *err)
{
    if (!host)
        return 0;
    phase->beside = model_of_find(workflow, phase, host);
    if (!phase->beside || phase->beside->beside)
        return error_set(err, -EINVAL,
                         "phase %s: `colocate: %s` must name an earlier phase without `colocate`",
                         phase->name, host);
    return 0;
}

static int model_of_after(const struct workflow *workflow, struct phase *phase, const json_t *after,
                          struct error *err)
{
    phase->after = xcalloc(json_array_size(after) + 1, sizeof *phase->after);
    for (size_t i = 0; i < json_array_size(after); i++) {
        const char *name = json_string_value(json_array_get(after, i));
        const struct phase *before = name ? model_of_find(workflow, phase, name) : NULL;
        if (!before)
            return error_set(err, -EINVAL,
                             "phase %s: `after` must name an earlier phase, which %s is not",
                             phase->name, name ? name : "this");
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

static void model_of_resources(struct phase_reader *reader, struct phase *phase, const json_t *json)
{
    const json_t *resources = phase_member(reader, json, "resources", JSON_OBJECT);
    uint32_t cpus = phase_whole(reader, resources, "cpus", 0);
    uint32_t cpus_per_gpu = phase_whole(reader, resources, "cpus_per_gpu", 0);
    phase->nodes = phase_whole(reader, resources, "nodes", 1);
    phase->gpus_per_node = phase_whole(reader, resources, "gpus", 0);
    phase->cpus_per_node = cpus ? cpus : cpus_per_gpu * phase->gpus_per_node;
    phase->gpu_type = xstrdup_or_null(phase_optional_string(reader, resources, "gpu_type"));
    phase->alternatives = model_of_alternatives(json_object_get(resources, "alternatives"));
    phase->time_s = phase_whole(reader, resources, "time_s", 1);
}

static void model_of_checkpoint(struct phase_reader *reader, struct phase *phase,
                                const json_t *json)
{
    phase->stop_s = PHASE_STOP_S;
    phase->has_checkpoint = phase_has(json, "checkpoint");
    if (!phase->has_checkpoint)
        return;
    const json_t *checkpoint = phase_member(reader, json, "checkpoint", JSON_OBJECT);
    (void)phase_string(reader, checkpoint, "path"); /* the worker needs it */
    phase->stop_s = phase_whole(reader, checkpoint, "save_time_s", 0);
}

/* The options that two allocations must have alike, so that a phase can use either. */
static char *model_of_slurm_options(const json_t *json, unsigned parts)
{
    json_t *options = phase_spec_options(json, parts);
    char *text = json_text(options, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(options);
    return text;
}

/* `remedies` maps causes and checks to lists of remedies. */
static void model_of_remedies(struct phase *phase, const json_t *remedies)
{
    const char *cause;
    json_t *list, *remedy;
    size_t i;
    json_object_foreach((json_t *)remedies, cause, list)
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
        struct phase *member = model_of_find(workflow, phase, json_string_value(name));
        if (!member)
            return error_set(err, -EINVAL, "%s, a member of %s, must stand before the matrix",
                             json_string_value(name), phase->name);
        matrix_add_member(matrix, member);
        if (matrix->is_parallel)
            model_of_parts(member);
    }
    return 0;
}

static int model_of_phase(struct workflow *workflow, struct phase *phase, const json_t *json,
                          struct error *err)
{
    struct phase_reader reader = {0};
    phase->name = xstrdup_or_null(phase_string(&reader, json, "name"));
    const json_t *after = phase_member(&reader, json, "after", JSON_ARRAY);
    const char *host = phase_optional_string(&reader, json, "colocate");
    model_of_resources(&reader, phase, json);
    model_of_checkpoint(&reader, phase, json);
    phase->linger_s = phase_whole(&reader, json, "linger_s", 0);
    phase->promote_manual = phase_is(&reader, json, "promote", "manual", "auto");
    phase->fail_finally = phase_is(&reader, json, "on_fail", "fail", "hold");
    phase->must_resume = json_object_get(json, "until_resumed") != NULL;
    model_of_remedies(phase, json_object_get(json, "remedies"));
    if (reader.bad)
        return error_set(err, -EINVAL, "phase %s is damaged: no usable '%s'",
                         phase->name ? phase->name : "without a name", reader.bad);
    int status = model_of_after(workflow, phase, after, err);
    if (status == 0)
        status = model_of_beside(workflow, phase, host, err);
    if (status == 0)
        status = model_of_matrix(workflow, phase, json_object_get(json, "matrix"), err);
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
