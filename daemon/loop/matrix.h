/* Whom a matrix chooses: FX_JUDGE of a phase that has members becomes EV_JUDGED. */
#ifndef PHASED_DAEMON_LOOP_MATRIX_H
#define PHASED_DAEMON_LOOP_MATRIX_H

struct error;
struct loop;
struct phase;

/* Posts EV_JUDGED with what follows from it. Fails when the record cannot be read: try again. */
int matrix_judge(struct loop *loop, struct phase *matrix, struct error *err);

#endif
