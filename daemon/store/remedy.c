/* Remedies: what they changed, the text that was changed, and phases with other params. */
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"
#include "lib/memory.h"

#include <stdlib.h>

/* --- Of a phase ------------------------------------------------------------------------------- */

json_t *rows_remedies(const struct phase *phase)
{
    if (phase->remedy_count == 0)
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < phase->remedy_count; i++) {
        const struct remedy *remedy = &phase->remedies[i];
        json_array_append_new(list,
                              json_pack("{s:s, s:i, s:i, s:s}", "cause", remedy->cause, "times",
                                        (int)remedy->times, "used", (int)remedy->used, "resume",
                                        remedy_resume_name(remedy->resume)));
    }
    return list;
}

bool rows_load_remedies(const json_t *json, struct phase *phase)
{
    size_t i;
    const json_t *row;
    if (!json)
        return true;
    phase->remedies = xcalloc(json_array_size(json) + 1, sizeof *phase->remedies);
    json_array_foreach((json_t *)json, i, row)
    {
        const char *cause = json_string_value(json_object_get(row, "cause"));
        const char *resume = json_string_value(json_object_get(row, "resume"));
        int parsed = resume ? remedy_resume_parse(resume) : -1;
        if (!cause || parsed < 0)
            return false;
        char *copy = xstrdup(cause);
        phase->remedies[phase->remedy_count++] = (struct remedy){
            .cause = copy,
            .resume = (enum remedy_resume)parsed,
            .times = (unsigned)json_integer_value(json_object_get(row, "times")),
            .used = (unsigned)json_integer_value(json_object_get(row, "used")),
        };
    }
    return true;
}

/* --- Of a workflow ---------------------------------------------------------------------------- */

int store_remedy_add(struct store *store, const struct store_remedy *remedy, int64_t time_ms,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_REMEDY_INSERT);
    stmt_bind_id(stmt, ":run", remedy->run);
    stmt_bind_text(stmt, ":cause", remedy->cause);
    stmt_bind_int(stmt, ":number", remedy->number);
    stmt_bind_int(stmt, ":times", remedy->times);
    stmt_bind_text(stmt, ":resume", remedy->resume);
    stmt_bind_json(stmt, ":changes", remedy->changes);
    stmt_bind_int(stmt, ":time", time_ms);
    return stmt_run(stmt, err);
}

void store_source_add_changes(struct store_source *source, const char *phase, const json_t *changes)
{
    const json_t *change;
    size_t i;
    json_array_foreach(changes, i, change)(void)
        json_array_append_new(source->changes, json_pack("{s:s, s:O, s:O}", "phase", phase, "param",
                                                         json_object_get(change, "param"), "value",
                                                         json_object_get(change, "to")));
}

static int load_changes(struct store *store, uint64_t workflow, struct store_source *source,
                        struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_CHANGES_LIST);
    stmt_bind_id(stmt, ":workflow", workflow);
    while ((status = stmt_step(stmt, err)) > 0) {
        json_t *changes = stmt_json(stmt, "changes");
        store_source_add_changes(source, stmt_text(stmt, "name"), changes);
        json_decref(changes);
    }
    return status;
}

int store_source_load(struct store *store, uint64_t workflow, struct store_source *ret_source,
                      struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SOURCE_LOAD);
    stmt_bind_id(stmt, ":workflow", workflow);
    int status = stmt_find(stmt, "workflow", workflow, err);
    if (status < 0)
        return status;
    struct store_source source = {
        .file = stmt_copy(stmt, "file"),
        .spec = stmt_copy(stmt, "spec"),
        .set = stmt_json(stmt, "overrides"),
        .variants = stmt_json(stmt, "variants"),
        .changes = json_array(),
    };
    stmt_reset(stmt);
    status = load_changes(store, workflow, &source, err);
    if (status < 0)
        store_source_fini(&source);
    else
        *ret_source = source;
    return status;
}

void store_source_fini(struct store_source *source)
{
    free(source->file);
    free(source->spec);
    json_decref(source->set);
    json_decref(source->variants);
    json_decref(source->changes);
    *source = (struct store_source){0};
}
