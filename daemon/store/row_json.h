/* Inside daemon/store: a row as a JSON object.
 *
 * A column is a member, and the end of its name may say more about it:
 *
 *   name?    true or false
 *   name[]   a list of names: nodes as Slurm abbreviates them, or others with commas
 *   name{}   JSON */
#ifndef PHASED_DAEMON_STORE_ROW_JSON_H
#define PHASED_DAEMON_STORE_ROW_JSON_H

#include "daemon/store/stmt.h"

#include <jansson.h>

/* The current row as a new object. */
enum row_json_nulls { ROW_JSON_WITH_NULLS, ROW_JSON_WITHOUT_NULLS };
json_t *row_json(const struct stmt *stmt, enum row_json_nulls nulls);

/* Makes a list of the rows that the statement still gives. The caller owns the list. */
int row_json_list(struct stmt *stmt, json_t **ret_rows, struct error *err);

#endif
