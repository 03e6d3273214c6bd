/* Faults for tests. PHASED_CRASH=<effect>:<n>[:before|after] in the environment makes the daemon
 * die at the n-th effect of this name: just before the effect is carried out (the default; its
 * transaction is committed) or just after. The daemon dies by SIGKILL, so that nothing is tidied
 * up. `commit` counts the transactions. Without the variable nothing happens. */
#ifndef PHASED_DAEMON_LOOP_CRASH_H
#define PHASED_DAEMON_LOOP_CRASH_H

struct error;

enum crash_moment { CRASH_BEFORE, CRASH_AFTER };

/* Reads the variable. -EINVAL: the variable does not have the form above. */
int crash_init(struct error *err);
void crash_point(const char *effect, enum crash_moment moment);

#endif
