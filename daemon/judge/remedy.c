/* From the record to other params, and back into it. */
#include "daemon/judge/inside.h"
#include "daemon/loop/loop.h"
#include "daemon/launch/launch.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/spec/remedies.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is worked out, until it is recorded. */
struct cure {
    struct loop_item item;
    struct phase *phase;
    uint64_t run; /* that failed */
    char *cause;
    const char *resume;
    unsigned number, times;
    json_t *spec;     /* the phase so far */
    json_t *changes;  /* [{"param", "from", "to"}] */
    json_t *resolved; /* the workflow from now on */
    struct workflow *plan;
    json_t *previous; /* the checkpoint before the newest, or JSON's null */
    char message[REASON_MAX];
};

static void cure_free(struct loop_item *item)
{
    struct cure *cure = (struct cure *)item;
    free(cure->cause);
    json_decref(cure->spec);
    json_decref(cure->changes);
    json_decref(cure->resolved);
    json_decref(cure->previous);
    workflow_free(cure->plan);
    free(cure);
}

/* Comes after the core's decision, in the same turn. What a person has cancelled in between keeps
 * its params. */
static int cure_write(struct loop_item *item, struct store *store, struct error *err)
{
    const struct cure *cure = (struct cure *)item;
    const struct workflow *workflow = cure->phase->workflow;
    if (!cure->plan || cure->phase->run->id == cure->run)
        return 0;
    struct store_remedy remedy = {.run = cure->run,
                                  .cause = cure->cause,
                                  .resume = cure->resume,
                                  .number = cure->number,
                                  .times = cure->times,
                                  .changes = cure->changes};
    int status = store_remedy_add(store, &remedy, loop_now_ms(), err);
    for (size_t i = cure->phase->index; status == 0 && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (phase == cure->phase || !phase->run) /* as the core does */
            status = store_phase_replan(store, phase, cure->resolved, err);
    }
    return status;
}

/* The `set` of the remedy at this place among all of the phase; NULL: none. */
static const json_t *find_set(const json_t *spec, size_t place)
{
    const char *cause;
    json_t *list;
    json_object_foreach(json_object_get(spec, "remedies"), cause, list)
    {
        if (place < json_array_size(list))
            return json_object_get(json_array_get(list, place), "set");
        place -= json_array_size(list);
    }
    return NULL;
}

/* "micro_batch 32 → 16, grad_accum 2 → 4" */
static void describe(struct cure *cure)
{
    struct text text = {0};
    const json_t *change;
    size_t i;
    json_array_foreach(cure->changes, i, change)
    {
        text_addf(&text, "%s%s ", i ? ", " : "",
                  json_string_value(json_object_get(change, "param")));
        phase_value_text(json_object_get(change, "from"), &text);
        text_add(&text, " → ");
        phase_value_text(json_object_get(change, "to"), &text);
    }
    (void)snprintf(cure->message, sizeof cure->message, "%s",
                   text.size ? text_string(&text) : "the same params");
    text_fini(&text);
}

/* -EINVAL with what is wrong, for people. */
static int compute_changes(struct cure *cure, const json_t *set, struct error *err)
{
    const json_t *params = json_object_get(cure->spec, "params");
    json_t *values = NULL, *value;
    const char *name;
    int status = remedies_compute(params, set, &values, err);
    if (status < 0)
        return status;
    json_object_foreach(values, name, value)(void)
        json_array_append_new(cure->changes, json_pack("{s:s, s:O, s:O}", "param", name, "from",
                                                       json_object_get(params, name), "to", value));
    json_decref(values);
    describe(cure);
    return 0;
}

/* -EINVAL: it is impossible, as the message says. Others: the record could not be read. */
static int work_out(struct cure *cure, struct store *store, struct error *err)
{
    const struct phase *phase = cure->phase;
    struct store_source source = {0};
    int status = store_run_spec(store, phase->run->id, &cure->spec, err);
    if (status == 0)
        status = store_source_load(store, phase->workflow->id, &source, err);
    if (status == 0 && phase->remedy->resume == REMEDY_PREVIOUS)
        status = resume_previous(store, phase, &cure->previous, err);
    if (status < 0)
        goto out;
    const json_t *set = find_set(cure->spec, (size_t)(phase->remedy - phase->remedies));
    status = compute_changes(cure, set, err);
    if (status == 0) {
        replan_change(&source, phase->name, cure->changes);
        status = replan(&source, phase->workflow, &cure->resolved, &cure->plan, err);
        if (status < 0)
            status = error_prefix(err, "with %.100s", cure->message);
    }
    if (status < 0) /* trying again would not help */
        status = -EINVAL;
out:
    store_source_fini(&source);
    return status;
}

int remedy_work_out(struct loop *loop, struct phase *phase, struct error *err)
{
    struct cure *cure = xcalloc(1, sizeof *cure);
    const struct remedy *remedy = phase->remedy;
    cure->item = (struct loop_item){.write = cure_write, .free = cure_free};
    cure->phase = phase;
    cure->run = phase->run->id;
    cure->cause = xstrdup(remedy->cause);
    cure->resume = remedy_resume_name(remedy->resume);
    cure->changes = json_array();
    phase_count_remedies(phase, remedy->cause, &cure->number, &cure->times);
    int status = work_out(cure, loop_store(loop), err);
    if (status < 0 && status != -EINVAL) {
        cure_free(&cure->item);
        return status;
    }
    struct core_event event = {
        .kind = EV_REMEDIED,
        .workflow = phase->workflow,
        .phase = phase,
        .plan = cure->plan,
        .message = status < 0 ? err->message : cure->message,
        .path = json_string_value(json_object_get(cure->previous, "path")),
        .step = json_integer_value(json_object_get(cure->previous, "step")),
    };
    loop_post_item(loop, &cure->item, &event);
    return 0;
}
