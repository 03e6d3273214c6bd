/* Works out the params that a remedy sets, and writes them into the record. */
#include "daemon/judge/judge_private.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/protocol/told_checkpoint.h"
#include "lib/spec/remedies.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What was worked out, until it is recorded. */
struct remedy_item {
    struct loop_item item;
    struct phase *phase;
    uint64_t run; /* the run that failed */
    char *cause;
    const char *resume;
    unsigned number, times;
    json_t *spec;     /* the phase so far */
    json_t *changes;  /* [{"param", "from", "to"}] */
    json_t *resolved; /* the workflow from now on */
    struct workflow *revision;
    json_t *previous; /* the checkpoint before the newest, or NULL */
    char message[REASON_MAX];
};

static void item_free(void *context)
{
    struct remedy_item *item = context;
    free(item->cause);
    json_decref(item->spec);
    json_decref(item->changes);
    json_decref(item->resolved);
    json_decref(item->previous);
    workflow_free(item->revision);
    free(item);
}

/* Writes the remedy. The core has decided before, in the same turn. If a person has cancelled the
 * phase meanwhile, the core has started no run. Then the phase keeps its params. */
static int item_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct remedy_item *item = (struct remedy_item *)base;
    const struct workflow *workflow = item->phase->workflow;
    if (!item->revision || item->phase->run->id == item->run)
        return 0;
    struct store_remedy remedy = {.run = item->run,
                                  .cause = item->cause,
                                  .resume = item->resume,
                                  .number = item->number,
                                  .times = item->times,
                                  .changes = item->changes};
    int status = store_remedy_add(store, &remedy, loop_now_ms(), err);
    for (size_t i = item->phase->index; status == 0 && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (phase == item->phase || !phase->run) /* as in phase_adopt_revision() */
            status = store_phase_revise(store, phase, item->resolved, err);
    }
    return status;
}

/* The `set` of the remedy with this index in the phase; NULL: no `set`. */
static const json_t *find_set(const json_t *spec, size_t index)
{
    const char *cause;
    json_t *list;
    json_object_foreach(json_object_get(spec, "remedies"), cause, list)
    {
        if (index < json_array_size(list))
            return json_object_get(json_array_get(list, index), "set");
        index -= json_array_size(list);
    }
    return NULL;
}

static void describe(struct remedy_item *item)
{
    struct text text = {0};
    remedies_changes_text(item->changes, &text);
    (void)snprintf(item->message, sizeof item->message, "%s", text_string(&text));
    text_fini(&text);
}

/* -EINVAL: `err` says what is wrong, for people. */
static int compute_changes(struct remedy_item *item, const json_t *set, struct error *err)
{
    const json_t *params = json_object_get(item->spec, "params");
    json_t *values = NULL, *value;
    const char *name;
    int status = remedies_compute(params, set, &values, err);
    if (status < 0)
        return status;
    json_object_foreach(values, name, value)(void)
        json_array_append_new(item->changes, json_pack("{s:s, s:O, s:O}", "param", name, "from",
                                                       json_object_get(params, name), "to", value));
    json_decref(values);
    describe(item);
    return 0;
}

/* -EINVAL: the remedy is impossible, as the message says. Any other error: the record could not be
 * read. */
static int work_out(struct remedy_item *item, struct store *store, struct error *err)
{
    const struct phase *phase = item->phase;
    struct store_source source = {0};
    int status = store_phase_spec(store, phase->id, &item->spec, err);
    if (status == 0)
        status = store_source_load(store, phase->workflow->id, &source, err);
    if (status == 0 && phase->remedy->resume == REMEDY_PREVIOUS)
        status = resume_previous(store, phase, &item->previous, err);
    if (status < 0)
        goto out;
    const json_t *set = find_set(item->spec, (size_t)(phase->remedy - phase->remedies));
    status = compute_changes(item, set, err);
    if (status == 0) {
        store_source_add_changes(&source, phase->name, item->changes);
        status = revision_resolve(&source, phase->workflow, &item->resolved, &item->revision, err);
        if (status < 0)
            status = error_prefix(err, "with %.100s", item->message);
    }
    if (status < 0) /* trying again would not help */
        status = -EINVAL;
out:
    store_source_fini(&source);
    return status;
}

int remedy_work_out(struct loop *loop, struct phase *phase, struct error *err)
{
    struct remedy_item *item = xcalloc(1, sizeof *item);
    const struct remedy *remedy = phase->remedy;
    item->item = (struct loop_item){.write = item_write, .free = item_free};
    item->phase = phase;
    item->run = phase->run->id;
    item->cause = xstrdup(remedy->cause);
    item->resume = remedy_resume_name(remedy->resume);
    item->changes = json_array();
    phase_count_remedies(phase, remedy->cause, &item->number, &item->times);
    int status = work_out(item, loop_store(loop), err);
    if (status < 0 && status != -EINVAL) {
        item_free(item);
        return status;
    }
    struct told_checkpoint previous = told_checkpoint_read(item->previous);
    struct core_event event = {
        .kind = EV_REMEDIED,
        .workflow = phase->workflow,
        .phase = phase,
        .revision = item->revision,
        .message = status < 0 ? err->message : item->message,
        .path = previous.path,
        .step = previous.path ? previous.step : 0,
    };
    loop_post_item(loop, &item->item, &event);
    return 0;
}
