/* A cluster for tests of the daemon: it keeps its jobs in a folder, so that it outlives the daemon
 * as Slurm does, and the test sees and changes them there.
 *
 *   jobs          a line "<id> <token> <name>" for each job that was submitted
 *   state.<id>    its state's name as in cluster.h; absent: pending
 *   restarts.<id>, reason.<id>, eligible.<id>   how often it was requeued, why it waits, and until
 *                 when (seconds since 1970); held.<id>: it is held
 *   excluded      a line "<id> <nodes>" for each that leaves nodes out
 *   cancelled     a line "<id>" for each cancellation
 *   begun         a line "<id>" for each cluster_begin(), which sets eligible.<id> too
 *   turned-away   a line for each submission that was limited or refused
 *   strangers     a line for each change of a job that is not there, or has another token
 *   mode          how it behaves: up (also when absent); down: nobody answers; lose: submissions
 *                 are carried out, and their answers get lost; limited; refuse; few: it
 *                 refuses jobs that leave nodes out */
#ifndef PHASED_TESTS_FAKE_CLUSTER_H
#define PHASED_TESTS_FAKE_CLUSTER_H

struct cluster;

/* `wake` is called when results wait, from within requests. */
struct cluster *fake_cluster_new(const char *folder, void (*wake)(void *data), void *data);

#endif
