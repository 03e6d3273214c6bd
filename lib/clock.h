/* Two clocks: calendar time for what is recorded, and steady time for deadlines.
 * A change of the system's clock changes neither. */
#ifndef PHASED_LIB_CLOCK_H
#define PHASED_LIB_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, UTC, rounded to microseconds. Only the first call reads the machine's clock.
 * Later calls add the time that has passed since then. So the duration of a run is right even if
 * somebody sets the clock meanwhile. */
double clock_calendar_s(void);

/* Milliseconds since a moment in the past. */
int64_t clock_steady_ms(void);
/* Seconds since the same moment, rounded to microseconds. */
double clock_steady_s(void);

#endif
