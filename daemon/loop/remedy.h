/* Working a remedy out: the workflow's own text is read again with the params as the remedy sets
 * them, so that everything which follows from them (derived params, strings, gates, resources, also
 * of later phases) is what it would be had they stood there from the beginning. */
#ifndef PHASED_DAEMON_LOOP_REMEDY_H
#define PHASED_DAEMON_LOOP_REMEDY_H

struct error;
struct loop;
struct phase;

/* Posts EV_REMEDIED for the phase's remedy, with the rows of what changes. Fails when the record
 * cannot be read: then nothing is posted, and it may be tried again. */
int remedy_work_out(struct loop *loop, struct phase *phase, struct error *err);

#endif
