/* The daemon's clocks. clock_ms() is monotonic: nobody sets it, and it goes on while the machine
 * sleeps. What waits in the loop goes by it. loop_now_ms() is the time of day, for what is stored:
 * it goes as fast, until the next turn takes over that somebody has set the machine's clock. Then
 * the core moves the times that it waits for by as much, so that nothing comes sooner or later for
 * it and nothing seems to have lasted longer. */
#ifndef PHASED_DAEMON_LOOP_CLOCK_H
#define PHASED_DAEMON_LOOP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_ms(void);
/* When a time of day is by clock_ms(). */
int64_t clock_of(int64_t time_ms);
/* Whether the machine's clock was set, and clock_look() has not taken that over yet. */
bool clock_was_set(void);
/* Takes over by how much the machine's clock was set, and returns that; 0: it was not. */
int64_t clock_look(void);

#endif
