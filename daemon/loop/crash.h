/* Faults for tests: the environment's PHASED_CRASH=<effect>:<n>[:before|after] lets the daemon die
 * (by SIGKILL, so that nothing is tidied up) at the n-th effect of this name, just before it is
 * carried out (the default; its transaction is committed) or just after. `commit` counts the
 * transactions. Without the variable this does nothing. */
#ifndef PHASED_DAEMON_LOOP_CRASH_H
#define PHASED_DAEMON_LOOP_CRASH_H

struct error;

enum crash_moment { CRASH_BEFORE, CRASH_AFTER };

/* Reads the variable. -EINVAL: it is set, and says nothing of the above form. */
int crash_init(struct error *err);
void crash_point(const char *effect, enum crash_moment moment);

#endif
