/* The processes of this node that the programs of a run have started with srun. They belong to job
 * steps of Slurm, so they descend from slurmstepd and not from the agent.
 *
 * The worker signals these processes as Slurm would. Their srun gets no signal but SIGKILL: at
 * SIGTERM, srun kills its program at once, and the program cannot save. The processes are
 * recognised by their environment, which srun passes on: the job, the node, the run's folder, and a
 * job step that is not the agent's. A program that changes its name (setproctitle) may overwrite
 * its environment, and some environments cannot be read. Such processes are recognised by their
 * slurmstepd, if it can be seen. Slurm's controller is not needed. */
#ifndef PHASED_WORKER_PROCESS_JOB_STEPS_H
#define PHASED_WORKER_PROCESS_JOB_STEPS_H

#include <sys/types.h>

/* Set for the agents of a phase that shares its job. Then a job step without the folder of a run
 * does not count. A process whose environment says nothing does not count either. */
#define JOB_STEPS_SHARED_VARIABLE "PHASED_SHARED"

/* Sets the agent's heir (task.h), the parent of the agent's helpers. The helpers are in no other
 * job step. */
void job_steps_know_heir(pid_t heir);

/* Signals what processes_choose() chooses for the processes that Slurm has started in these job
 * steps. SIGKILL goes to all processes. Returns how many processes were signalled. */
unsigned job_steps_signal(const char *run_dir, int number);

#endif
