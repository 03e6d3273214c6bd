/* Whether a run whose lead died without an outcome had reached its end. */
#ifndef PHASED_DAEMON_LOOP_POSTHUMOUS_H
#define PHASED_DAEMON_LOOP_POSTHUMOUS_H

#include <stdbool.h>

struct folder;

/* Looks into the folder of a run whose job is over. True: the journals of all nodes that the lead
 * has named say that the node had done its part, and well, and name nothing as suspect; the lead
 * had not begun to stop the run; and the phase's `outputs` are there. */
bool posthumous_is_success(const struct folder *folder);

#endif
