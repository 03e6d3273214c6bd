/* The request to stop, by a signal: SIGTERM, SIGUSR1, SIGUSR2 or a first SIGINT. The handler only
 * sets a flag: training checks it at each step, generation before new lines, and tokenize at each
 * buffer. A second SIGINT ends the program as usual. */
#ifndef PHASED_WORKER_MODEL_STOP_H
#define PHASED_WORKER_MODEL_STOP_H

#include <stdbool.h>

void stop_install(void);
bool stop_is_wanted(void);

#endif
