/* Reads the clocks of the system. */
#include "lib/clock.h"

#include <stdatomic.h>
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
