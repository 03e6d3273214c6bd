/* The gate of a phase whose run has succeeded: every check is evaluated on the metrics in the
 * record, the verdicts are recorded, and the core is told. A phase without a gate passes. */
#ifndef PHASED_DAEMON_LOOP_JUDGE_H
#define PHASED_DAEMON_LOOP_JUDGE_H

struct error;
struct loop;
struct phase;

/* Posts the verdicts and EV_JUDGED. Fails when the record cannot be read: then nothing is posted,
 * and it may be tried again. */
int judge_phase(struct loop *loop, struct phase *phase, struct error *err);

#endif
