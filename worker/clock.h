/* The two clocks of the worker: the calendar's, for what is recorded, and one that never jumps,
 * for deadlines. */
#ifndef PHASED_WORKER_CLOCK_H
#define PHASED_WORKER_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, UTC, rounded to microseconds. */
double clock_calendar_s(void);

/* Milliseconds since some moment in the past. */
int64_t clock_steady_ms(void);

#endif
