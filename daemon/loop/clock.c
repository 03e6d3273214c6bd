/* Reading clocks. */
#include "daemon/loop/clock.h"

#include "daemon/loop/loop.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CLOCK_SET_MS = 2000, /* a smaller step does no harm, and is not worth writing all times anew */
    READING_MS = 100,    /* the most that reading two clocks may take */
};

/* How far the time of day is ahead of the machine's own time. This is a global, because the process
 * has only one clock. */
static int64_t ahead_ms = INT64_MIN;

static int64_t read_ms(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How far the machine's clock is ahead. Tests set the clock: PHASED_CLOCK names a file with a
 * number of milliseconds that is added. */
static int64_t measure_ms(void)
{
    const char *path = getenv("PHASED_CLOCK");
    FILE *file = path ? fopen(path, "re") : NULL;
    long long set_ms = 0;
    if (file && fscanf(file, "%lld", &set_ms) != 1)
        set_ms = 0;
    if (file)
        (void)fclose(file); /* it was only read */
    int64_t before, real;
    do { /* if the process was stopped between the two readings, they would show a jump */
        before = read_ms(CLOCK_BOOTTIME);
        real = read_ms(CLOCK_REALTIME);
    } while (read_ms(CLOCK_BOOTTIME) - before > READING_MS);
    return real - before + set_ms;
}

int64_t clock_ms(void)
{
    return read_ms(CLOCK_BOOTTIME);
}

int64_t loop_now_ms(void)
{
    if (ahead_ms == INT64_MIN)
        ahead_ms = measure_ms();
    return clock_ms() + ahead_ms;
}

int64_t clock_of(int64_t time_ms)
{
    (void)loop_now_ms(); /* sets ahead_ms */
    return time_ms == INT64_MAX ? time_ms : time_ms - ahead_ms;
}

int64_t clock_day_of(int64_t at_ms)
{
    (void)loop_now_ms(); /* sets ahead_ms */
    return at_ms + ahead_ms;
}

static int64_t clock_set_by_ms(void)
{
    (void)loop_now_ms(); /* sets ahead_ms */
    int64_t by_ms = measure_ms() - ahead_ms;
    return llabs(by_ms) < CLOCK_SET_MS ? 0 : by_ms;
}

bool clock_was_set(void)
{
    return clock_set_by_ms() != 0;
}

int64_t clock_look(void)
{
    int64_t by_ms = clock_set_by_ms();
    if (!by_ms)
        return 0;
    ahead_ms += by_ms;
    log_line("the clock was set %s by %lld s: the deadlines of workflows move by the same time",
             by_ms < 0 ? "back" : "forward", (long long)(llabs(by_ms) + 500) / 1000);
    return by_ms;
}
