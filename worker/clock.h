/* The two clocks of the worker: calendar time for what is recorded, and steady time for deadlines.
 * A change of the system's clock changes neither. */
#ifndef PHASED_WORKER_CLOCK_H
#define PHASED_WORKER_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, UTC, rounded to microseconds. The machine's clock counts only at the first
 * call; then the passed time is added. So a run lasts as long as it has lasted, even if somebody
 * sets the clock meanwhile. */
double clock_calendar_s(void);

/* Milliseconds since a moment in the past. */
int64_t clock_steady_ms(void);

#endif
