/* `phase-worker task JOB_DIR`: the one process that Slurm knows on a node. It starts the agent as
 * no descendant of Slurm's, and stands for it before Slurm until it has ended.
 *
 * Slurm signals the processes of a step when it preempts: with proctrack/cgroup those that it has
 * started itself, with proctrack/linuxproc all that descend from them. An srun in a phase would
 * take SIGTERM for a demand to kill its program at once. So the task takes Slurm's signals: it
 * tells the agent of SIGTERM, and passes on only stopping and continuing. When it is killed, the
 * agent kills all that it has started; when the agent dies of a signal, the task dies of the same
 * one, so that Slurm tells of it. */
#ifndef PHASED_WORKER_NODE_TASK_H
#define PHASED_WORKER_NODE_TASK_H

/* Names the agent's end of a socket: a byte comes from it for each SIGTERM, and its end is that of
 * the task. The agent sends its exit status, or the number of the signal that it dies of, negative;
 * when it can send nothing, it was killed. */
#define TASK_VARIABLE "PHASED_TASK"

/* Returns the exit status, the agent's. */
int task_main(const char *job_dir);

#endif
