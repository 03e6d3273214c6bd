/* Inside daemon/store: between rows and the model of daemon/core. */
#ifndef PHASED_DAEMON_STORE_ROWS_H
#define PHASED_DAEMON_STORE_ROWS_H

#include "daemon/core/model.h"
#include "daemon/store/stmt.h"

/* Binds what can change in a phase, for phase_insert and phase_save. */
void rows_bind_phase(struct stmt *stmt, const struct phase *phase);

/* What is stored of the remedies; JSON's null if there are no remedies. A new reference. */
json_t *rows_remedies(const struct phase *phase);
/* Reads the stored remedies; NULL: no remedies. False: the JSON is damaged. */
bool rows_load_remedies(const json_t *json, struct phase *phase);
/* Writes the row of a matrix or of a member; `spec` is its resolved phase. Other phases have no
 * such row. */
int rows_insert_matrix(struct store *store, const struct phase *phase, const json_t *spec,
                       struct error *err);
/* Writes what can change in a matrix. */
int rows_save_matrix(struct store *store, const struct phase *phase, struct error *err);

#endif
