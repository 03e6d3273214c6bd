/* The daemon's clock, which nobody sets. It goes as fast as the machine's, also while that sleeps,
 * and tells the time of day: when somebody sets the machine's clock, the next turn of the loop
 * takes that over, and moves all that waits by as much, so that nothing comes sooner or later for
 * it and nothing seems to have lasted longer. */
#ifndef PHASED_DAEMON_LOOP_CLOCK_H
#define PHASED_DAEMON_LOOP_CLOCK_H

#include <stdint.h>

struct loop;

/* Before anything of a turn: takes over by how much the clock was set. */
void clock_look(struct loop *loop);
/* At the start: times in the record that are yet to come were told by a clock that was ahead. */
void clock_begin(struct loop *loop);

#endif
