/* Two clocks: calendar time for what is recorded, and steady time for deadlines. A change of the
 * system's clock does not change them. Also reads the times in logs. */
#ifndef PHASED_LIB_CLOCK_H
#define PHASED_LIB_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Seconds since 1970, UTC, rounded to microseconds. Only the first call reads the machine's clock.
 * Later calls add the time that has passed since then. So the duration of a run is right even if
 * somebody sets the clock meanwhile. */
double clock_calendar_s(void);

/* Milliseconds since a moment in the past. */
int64_t clock_steady_ms(void);
/* Seconds since the same moment, rounded to microseconds. */
double clock_steady_s(void);

/* The stamp of a line of a rank's log is the time at which it was printed, with the space after it:
 * `2026-11-01T12:00:00.123Z `. */
enum { CLOCK_STAMP_SIZE = 25 };

/* The size of the stamp of a line; 0: the line has no stamp. */
size_t clock_stamp_size(const char *line, size_t size);
/* The time of the stamp, in seconds since 1970; NaN if the line has no stamp. */
double clock_stamp_s(const char *line, size_t size);

#endif
