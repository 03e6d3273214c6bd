/* What the programs of a run have started on this node by an srun of their own: steps of Slurm's,
 * whose processes descend from slurmstepd and not from the agent.
 *
 * They are signalled here, as Slurm would, and their srun never is: at SIGTERM srun kills its
 * program at once, where Slurm's own signals let it save. They are known by their environment,
 * which srun hands on: the job, the node, the run's folder, and a step that is not the agent's.
 * A program that names itself anew (setproctitle) may overwrite its environment, and some cannot be
 * read at all: those are known by the slurmstepd that they descend from, where it can be seen.
 * Slurm's controller is not needed for it. */
#ifndef PHASED_WORKER_PROCESS_STEPS_H
#define PHASED_WORKER_PROCESS_STEPS_H

/* Set for the agents of a phase that shares its job: a step that does not name its run is then of
 * nobody known, and so is a process whose environment says nothing. */
#define STEPS_SHARED_VARIABLE "PHASED_SHARED"

/* Signals what Slurm has started there, and their process groups; launchers pass it on to the
 * sessions that they have made. SIGKILL goes to all processes. Returns how many there were. */
unsigned steps_signal(const char *run_dir, int number);

#endif
