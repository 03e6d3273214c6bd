/* `phase-worker task JOB_DIR`: the one process that Slurm knows on a node. It starts the agent as
 * no descendant of Slurm's, and stands for it before Slurm until it has ended.
 *
 * Slurm signals the processes of a step when it preempts: with proctrack/cgroup those that it has
 * started itself, with proctrack/linuxproc all that descend from them. An srun in a phase would
 * take SIGTERM for a demand to kill its program at once. So the task takes Slurm's signals: it
 * tells the agent of SIGTERM, and passes on only stopping and continuing. When it is killed, the
 * agent kills all that it has started.
 *
 * Between the two stands the agent's heir, a process that only waits. When the agent dies of a
 * signal, what it has started becomes the heir's, which kills all of it; then the task dies of the
 * same signal, so that Slurm tells of it. */
#ifndef PHASED_WORKER_NODE_TASK_H
#define PHASED_WORKER_NODE_TASK_H

/* Names the agent's end of a socket: a byte comes from it for each SIGTERM, and its end is that of
 * the task. The heir sends the agent's pid at first, and then its exit status, or the number of the
 * signal that it died of, negative. */
#define TASK_VARIABLE "PHASED_TASK"

/* Returns the exit status, the agent's. */
int task_main(const char *job_dir);

#endif
