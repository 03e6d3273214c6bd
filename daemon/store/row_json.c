/* Rows become objects; numbers become what JSON can hold. */
#include "daemon/store/row_json.h"

#include "daemon/store/nodes.h"
#include "lib/json.h"

#include <assert.h>
#include <string.h>

enum { ROW_JSON_NAME_SIZE = 32 }; /* bytes of a column's name in schema/queries */

static json_t *row_json_column(sqlite3_stmt *row, int column, char kind)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        return kind == '?' ? json_boolean(sqlite3_column_int(row, column))
                           : json_integer(sqlite3_column_int64(row, column));
    case SQLITE_FLOAT:
        return json_double(sqlite3_column_double(row, column));
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        if (kind == '}') {
            json_t *json = json_loads(text, 0, NULL);
            return json ? json : json_null();
        }
        /* A text may be cut inside a letter, or come from Slurm in another encoding. */
        return kind == ']' ? nodes_expand(text) : json_string_of(text);
    }
    default:
        return kind == ']' ? json_array() : json_null();
    }
}

json_t *row_json(const struct stmt *stmt, enum row_json_nulls nulls)
{
    json_t *object = json_object();
    for (int i = 0; i < stmt->column_count; i++) {
        if (nulls == ROW_JSON_WITHOUT_NULLS && sqlite3_column_type(stmt->sqlite, i) == SQLITE_NULL)
            continue;
        const char *column = stmt->columns[i];
        char name[ROW_JSON_NAME_SIZE];
        size_t size = strcspn(column, "?[{");
        assert(size < sizeof name);
        memcpy(name, column, size);
        name[size] = '\0';
        char kind = column[size] ? column[strlen(column) - 1] : '\0';
        json_object_set_new_nocheck(object, name, row_json_column(stmt->sqlite, i, kind));
    }
    return object;
}

int row_json_list(struct stmt *stmt, json_t **ret_rows, struct error *err)
{
    int status;
    json_t *rows = json_array();
    while ((status = stmt_step(stmt, err)) > 0)
        (void)json_array_append_new(
            rows, row_json(stmt, ROW_JSON_WITH_NULLS)); /* fails only without memory */
    if (status < 0)
        json_decref(rows);
    else
        *ret_rows = rows;
    return status;
}
