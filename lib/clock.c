/* Reads the clocks of the system, and the times in logs. */
#include "lib/clock.h"

#include <ctype.h>
#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static int64_t clock_us(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

double clock_calendar_s(void)
{
    static _Atomic int64_t
        ahead_us; /* the calendar minus the time since boot, at the first call; 0: not called yet */
    int64_t ahead = ahead_us, own = clock_us(CLOCK_REALTIME) - clock_us(CLOCK_BOOTTIME);
    if (!ahead && atomic_compare_exchange_strong(&ahead_us, &ahead, own))
        ahead = own;
    return (double)(clock_us(CLOCK_BOOTTIME) + ahead) / 1e6;
}

int64_t clock_steady_ms(void)
{
    return clock_us(CLOCK_MONOTONIC) / 1000;
}

double clock_steady_s(void)
{
    return (double)clock_us(CLOCK_MONOTONIC) / 1e6;
}

size_t clock_stamp_size(const char *line, size_t size)
{
    static const char form[] = "0000-00-00T00:00:00.000Z ";
    if (size < CLOCK_STAMP_SIZE)
        return 0;
    for (size_t i = 0; i < CLOCK_STAMP_SIZE; i++) {
        bool fits = form[i] == '0' ? isdigit((unsigned char)line[i]) != 0 : line[i] == form[i];
        if (!fits)
            return 0;
    }
    return CLOCK_STAMP_SIZE;
}

double clock_stamp_s(const char *line, size_t size)
{
    struct tm tm = {0};
    if (!clock_stamp_size(line, size) || !strptime(line, "%Y-%m-%dT%H:%M:%S", &tm))
        return NAN;
    int milliseconds = (line[20] - '0') * 100 + (line[21] - '0') * 10 + (line[22] - '0');
    return (double)timegm(&tm) + milliseconds / 1000.0;
}
