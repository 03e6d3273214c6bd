/* The two clocks of the worker, neither of which anybody sets: the calendar's, for what is
 * recorded, and one for deadlines. */
#ifndef PHASED_WORKER_CLOCK_H
#define PHASED_WORKER_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, UTC, rounded to microseconds: as the machine told when this process first
 * asked, and what has passed since. A run lasts as long as it has lasted, also where somebody has
 * set the clock in it. */
double clock_calendar_s(void);

/* Milliseconds since some moment in the past. */
int64_t clock_steady_ms(void);

#endif
