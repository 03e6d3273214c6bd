/* bench_printer RATE SECONDS: prints numbered lines as a program does that flushes each line: one
 * write(2) for each, and metrics in one line of a hundred. Late lines are printed later, so the
 * count is always RATE x SECONDS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TICKS = 100, METRICS_EVERY = 100, LINE_SIZE = 128 }; /* ticks a second */

static void print_line(long number)
{
    char line[LINE_SIZE];
    int size;
    if (number % METRICS_EVERY == 0)
        size = snprintf(line, sizeof(line),
                        "step %ld/1000000 | loss %.6f | grad norm: 0.9213 | dt: 92.31ms\n",
                        number / METRICS_EVERY, 4 / (1 + (double)number * 1e-6));
    else
        size = snprintf(line, sizeof(line),
                        "[INFO] dataloader worker prefetched shard no. %09ld from the cache\n",
                        number);
    if (write(STDOUT_FILENO, line, (size_t)size) != size)
        exit(1);
}

int main(int argc, char **argv)
{
    long rate = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    long ticks = argc == 3 ? TICKS * strtol(argv[2], NULL, 10) : 0, number = 0;
    struct timespec next;
    if (rate < TICKS || ticks <= 0) {
        (void)fprintf(stderr, "usage: bench_printer RATE SECONDS\n");
        return 2;
    }
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (long tick = 0; tick < ticks; tick++) {
        for (; number < rate * (tick + 1) / TICKS; number++)
            print_line(number);
        next.tv_nsec += 1000000000 / TICKS;
        if (next.tv_nsec >= 1000000000) {
            next.tv_nsec -= 1000000000;
            next.tv_sec++;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}
