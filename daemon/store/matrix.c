/* Matrices: their members, what was found of the members, and which params were chosen. */
#include "daemon/store/rows.h"
#include "daemon/store/store_private.h"

#include <stdlib.h>

/* --- Rows with the workflow ------------------------------------------------------------------- */

static int insert_matrix(struct store *store, const struct matrix *matrix, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_MATRIX_INSERT);
    stmt_bind_id(stmt, ":phase", matrix->phase->id);
    stmt_bind_int(stmt, ":lanes", matrix->lanes);
    stmt_bind_int(stmt, ":parallel", matrix->is_parallel);
    stmt_bind_int(stmt, ":rungs", matrix->rung_count);
    return stmt_run(stmt, err);
}

static int insert_member(struct store *store, const struct phase *phase, const json_t *spec,
                         struct error *err)
{
    const json_t *member = json_object_get(spec, "member");
    struct stmt *stmt = store_stmt(store, Q_MEMBER_INSERT);
    stmt_bind_id(stmt, ":phase", phase->id);
    stmt_bind_id(stmt, ":matrix", phase->matrix->phase->id);
    stmt_bind_int(stmt, ":number", json_integer_value(json_object_get(member, "number")));
    stmt_bind_json(stmt, ":params", json_object_get(member, "params"));
    stmt_bind_text(stmt, ":fingerprint", json_string_value(json_object_get(member, "fingerprint")));
    stmt_bind_id(stmt, ":reused", phase->reused);
    stmt_bind_int(stmt, ":reused_rung", phase->reused_rung);
    return stmt_run(stmt, err);
}

int rows_insert_matrix(struct store *store, const struct phase *phase, const json_t *spec,
                       struct error *err)
{
    if (phase->members)
        return insert_matrix(store, phase->members, err);
    return phase->matrix ? insert_member(store, phase, spec, err) : 0;
}

int rows_save_matrix(struct store *store, const struct phase *phase, struct error *err)
{
    const struct phase *best = phase->members ? phase->members->best : NULL;
    if (!phase->members)
        return 0;
    struct stmt *stmt = store_stmt(store, Q_MATRIX_SAVE);
    stmt_bind_id(stmt, ":phase", phase->id);
    stmt_bind_id(stmt, ":best", best ? best->id : 0);
    return stmt_run(stmt, err);
}

int store_result_list(struct store *store, const char *fingerprint, int64_t since_ms,
                      struct store_results *results, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_RESULT_FIND);
    stmt_bind_text(stmt, ":fingerprint", fingerprint);
    stmt_bind_int(stmt, ":since", since_ms);
    stmt_bind_int(stmt, ":limit", STORE_RESULTS_MAX);
    while ((status = stmt_step(stmt, err)) > 0) {
        results->items[results->count++] = (struct store_result){
            .phase = stmt_id(stmt, "phase"),
            .address = stmt_copy(stmt, "address"),
            .checkpoint_path = stmt_copy(stmt, "checkpoint_path"),
            .checkpoint_step = stmt_int(stmt, "checkpoint_step"),
            .rung = stmt_unsigned(stmt, "rung"),
            .gpu = stmt_copy(stmt, "gpu"),
        };
    }
    return status;
}

void store_results_fini(struct store_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        free(results->items[i].address);
        free(results->items[i].checkpoint_path);
        free(results->items[i].gpu);
    }
    *results = (struct store_results){0};
}

/* --- Decisions -------------------------------------------------------------------------------- */

int store_member_set(struct store *store, const struct store_member *member, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_MEMBER_SAVE);
    stmt_bind_id(stmt, ":phase", member->phase);
    stmt_bind_real(stmt, ":value", member->value);
    stmt_bind_text(stmt, ":standing", member->standing);
    stmt_bind_words(stmt, ":reason", member->reason);
    return stmt_run(stmt, err);
}

int store_choice_add(struct store *store, uint64_t phase, const json_t *changes, int64_t time_ms,
                     struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_CHOICE_INSERT);
    stmt_bind_id(stmt, ":phase", phase);
    stmt_bind_json(stmt, ":changes", changes);
    stmt_bind_int(stmt, ":time", time_ms);
    return stmt_run(stmt, err);
}
