/* A cluster for tests of the daemon. It keeps its jobs in a folder, so they outlive the daemon as
 * in Slurm, and tests read and change the files:
 *
 *   jobs          a line "<id> <token> <name>" for each submitted job
 *   state.<id>    the name of its state, as in cluster.h; without the file, the job is pending
 *   restarts.<id>, requeued.<id>, reason.<id>, eligible.<id>   how often it was requeued, when it
 *                 was last requeued (seconds since 1970), why it waits, and until when; with
 *                 held.<id> it is held
 *   excluded      a line "<id> <nodes>" for each job that excludes nodes
 *   cancelled     a line "<id>" for each cancellation
 *   begun         a line "<id>" for each CLUSTER_BEGIN, which also sets eligible.<id>
 *   polls         a line for each poll
 *   turned-away   a line for each submission that was limited or refused
 *   strangers     a line for each change of a job that does not exist or has another token
 *   name          the name of the cluster; without the file: fake
 *   mode          its behaviour: up (the default), down (no answers), lose (submissions are carried
 *                 out, but their answers are lost), limited, refuse, few (jobs that exclude nodes
 *                 are refused), forget (cancellations are accepted, and change nothing) */
#ifndef PHASED_TESTS_FAKE_CLUSTER_H
#define PHASED_TESTS_FAKE_CLUSTER_H

struct cluster;

/* Requests call `wake` when results wait. */
struct cluster *fake_cluster_new(const char *folder, void (*wake)(void *context), void *context);

#endif
