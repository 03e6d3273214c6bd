/* Looking, when a run is over, for checkpoints that nobody has told: its agents were killed before
 * they saw them, or their last words were lost. */
#ifndef PHASED_DAEMON_LOOP_SEARCH_H
#define PHASED_DAEMON_LOOP_SEARCH_H

#include <stdbool.h>

struct loop;
struct notes;
struct run;

/* Posts those that the run has left, as its journals would have told them; before its end is. None
 * of a run whose guard broke: what came since is suspect, whatever its step. What agents that ended
 * by themselves did not believe is not among them. */
void search_left(struct loop *loop, const struct notes *notes, struct run *run);
/* The same for the run before this one, which is about to be prepared: a program that outlives its
 * agents may save after the end of its run. True: there is something, and the record has it a
 * moment later. */
bool search_again(struct loop *loop, const struct run *run);

#endif
