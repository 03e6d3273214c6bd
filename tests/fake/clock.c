/* The clocks of the program under test (lib/clock.h). The steady clock normally runs like that
 * of the system. If a fake library is asked for an event that will never come, the clock leaps. So
 * a deadline passes at once, but until then the program has all the time it needs. FAKE_CUDA has a
 * word for this file:
 *
 *   start=20 the start of CUDA takes 20 s, and so does the start of a communicator */
#include "lib/clock.h"

#include "tests/fake/cuda.h"

#include <time.h>

enum { LEAP_MS = 500 };

static _Atomic int64_t leapt_ms; /* a thread that aborts may leap, too */

void fake_leap(void)
{
    leapt_ms += LEAP_MS;
}

void fake_start(void)
{
    int seconds = fake_said("start");
    leapt_ms += seconds > 0 ? 1000 * seconds : 0;
}

static int64_t steady_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 + leapt_ms * 1000;
}

double clock_calendar_s(void)
{
    return (double)time(NULL);
}

int64_t clock_steady_ms(void)
{
    return steady_us() / 1000;
}

double clock_steady_s(void)
{
    return (double)steady_us() / 1e6;
}
