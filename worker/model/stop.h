/* The wish to stop, set by a signal: SIGTERM, SIGUSR1, SIGUSR2 or a first SIGINT. It is only noted;
 * training looks at each step. A second SIGINT ends the program as usual. */
#ifndef PHASED_WORKER_MODEL_STOP_H
#define PHASED_WORKER_MODEL_STOP_H

#include <stdbool.h>

void stop_install(void);
bool stop_is_wanted(void);

#endif
