/* The daemon's clocks. clock_ms() is monotonic: nobody sets it, and it goes on while the machine
 * sleeps. Whatever waits in the loop goes by clock_ms(). loop_now_ms() is the time of day, for what
 * is stored. It goes as fast as clock_ms(). If somebody sets the machine's clock, the next turn
 * takes that over. The core then moves the times that it waits for by the same amount. So nothing
 * comes sooner or later, and nothing seems to have lasted longer.
 *
 * The rooms and the API use libuv's uv_now() for short pauses, such as those between polls. It has
 * one value for a whole turn, and stands still while the machine sleeps. So a sleep of the machine
 * is not a silence of the workers. */
#ifndef PHASED_DAEMON_LOOP_CLOCK_H
#define PHASED_DAEMON_LOOP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

int64_t clock_ms(void);
/* Converts a time of day into a time of clock_ms(). */
int64_t clock_of(int64_t time_ms);
/* Converts a time of clock_ms() into a time of day. */
int64_t clock_day_of(int64_t at_ms);
/* Whether the machine's clock was set, and clock_look() has not taken that over yet. */
bool clock_was_set(void);
/* Takes over how far the machine's clock was set, and returns that; 0: the clock was not set. */
int64_t clock_look(void);

#endif
