/* Inside daemon/store: between rows and the model of daemon/core. */
#ifndef PHASED_DAEMON_STORE_ROWS_H
#define PHASED_DAEMON_STORE_ROWS_H

#include "daemon/core/model.h"
#include "daemon/store/stmt.h"

/* Binds what changes of a phase, for phase_insert and phase_save. */
void rows_bind_phase(struct stmt *stmt, const struct phase *phase);

/* {value, stored name} of enum run_wish; none is NULL. */
#define RUN_WISHES(X)                                                                              \
    X(WISH_CANCEL, "cancel")                                                                       \
    X(WISH_HOLD, "hold")

#endif
