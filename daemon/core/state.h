/* The moves between the states of phases and runs (lib/protocol/words.h has the states), and how
 * often a failed run is tried again. */
#ifndef PHASED_DAEMON_CORE_STATE_H
#define PHASED_DAEMON_CORE_STATE_H

#include "lib/protocol/words.h"

enum { LOST_RETRIES_MAX = 3 };

bool phase_move_is_allowed(enum phase_state from, enum phase_state to);
bool run_move_is_allowed(enum run_state from, enum run_state to);

/* How often a failed run with this cause is followed by another run before a person is asked. */
unsigned run_cause_retries(enum run_cause cause);

#endif
