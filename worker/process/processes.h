/* All that the ranks of a node have started, wherever it hides.
 *
 * The agent is the "subreaper" of its descendants: a process whose parent ends becomes the agent's
 * own child, even one in a session of its own. So none is left exactly when the agent has no
 * child, and each end is seen as SIGCHLD. */
#ifndef PHASED_WORKER_PROCESS_PROCESSES_H
#define PHASED_WORKER_PROCESS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum { PROCESS_NAME_SIZE = 64 };

struct process {
    pid_t pid, parent, group;
    char state; /* as ps shows it: R, S, D, T, ... */
    unsigned threads;
    uint64_t ticks; /* of processor time so far */
    char name[PROCESS_NAME_SIZE];
};

/* Makes the calling process the subreaper of all it will start. */
int processes_adopt(struct error *err);

/* Takes one ended child, if there is one. `ret_status` is waitpid()'s. Returns its pid; 0 when all
 * children still run; -1 when there are none. */
pid_t processes_reap(int *ret_status);

/* All processes that have not ended; the caller's to free(). */
struct process *processes_all(size_t *ret_count);
/* All descendants of one, each after its parent; likewise. */
struct process *processes_family(pid_t ancestor, size_t *ret_count);

/* Whether it is Slurm's srun, which must be given no signal but SIGKILL: steps.h. */
bool processes_is_srun(const struct process *process);

/* What "/proc/.../stat" at `path` says, of a process or a thread. False for what is gone, and for
 * one that has ended. */
bool process_read(const char *path, struct process *ret_process);

/* Signals every descendant of the calling process. Only SIGKILL goes to srun, and to what waits for
 * an srun and would die of the signal. Returns how many were signalled. A process that forks
 * meanwhile may be missed: signal again when a child ends. */
unsigned processes_signal_all(int number);

/* The same for the descendants in one process group. Unlike kill() it cannot hit a stranger when
 * the group's leader has ended and its number is in use again. */
unsigned processes_signal_group(pid_t group, int number);

/* Kills every descendant, and those that are forked meanwhile. Returns when none is left, or after
 * some 10 s, as the kernel may hold one. */
void processes_end_all(void);

#endif
