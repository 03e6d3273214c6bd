/* `phase-worker task JOB_DIR`: the one process of a node that Slurm knows. It starts the agent in
 * such a way that the agent is not a descendant of Slurm's processes. It represents the agent to
 * Slurm until the agent has ended.
 *
 * When Slurm preempts, it signals the processes of a job step. With proctrack/cgroup it signals the
 * processes that it has started itself. With proctrack/linuxproc it also signals all their
 * descendants. An srun in a phase would take SIGTERM as the order to kill its program at once. So
 * the task takes Slurm's signals. It reports SIGTERM to the agent, and passes on only stop and
 * continue. If the task is killed, the agent kills all its descendants.
 *
 * The agent's heir is a process between the two that waits for the agent and reaps the agent's
 * helpers. If the agent dies of a signal, its descendants become children of the heir, and the heir
 * kills them. Then the task dies of the same signal, so that Slurm reports it. */
#ifndef PHASED_WORKER_NODE_TASK_H
#define PHASED_WORKER_NODE_TASK_H

/* Names the agent's end of a socket, and the pid of the heir, as in "5 4711". A byte on the socket
 * stands for a SIGTERM, and the end of the socket for the end of the task. The heir first sends the
 * pid of the agent. Later it sends the agent's exit code, or the negative number of the signal that
 * ended the agent. */
#define TASK_VARIABLE "PHASED_TASK"

/* Returns the exit code of the agent. */
int task_main(const char *job_dir);

#endif
