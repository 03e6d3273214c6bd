/* All processes that the ranks of a node have started, wherever they are.
 *
 * The agent is the "subreaper" of its descendants: if the parent of a process ends, the process
 * becomes a child of the agent, even from a session of its own. So the agent has a child as long as
 * a descendant is left, and it gets SIGCHLD for each end. It may also have a child that no rank has
 * started (crew.h). */
#ifndef PHASED_WORKER_PROCESS_PROCESSES_H
#define PHASED_WORKER_PROCESS_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

enum { PROCESS_NAME_SIZE = 64 };

struct process {
    pid_t pid, parent, process_group, session;
    char state; /* as in ps: R, S, D, T, ... */
    unsigned threads;
    uint64_t ticks;   /* of processor time until now */
    uint64_t started; /* in ticks since the boot */
    char name[PROCESS_NAME_SIZE];
};

/* Makes the calling process the subreaper of all processes that it will start. */
int processes_adopt(struct error *err);

/* Reaps one ended child, if there is one. `ret_status` is that of waitpid(). `ret_started`, which
 * may be NULL, is when the child was started, in ticks since the boot; 0: unknown. Returns the pid
 * of the child; 0 if all children still run; -1 if there is no child. */
pid_t processes_reap(int *ret_status, uint64_t *ret_started);

/* The time now, in ticks since the boot. */
uint64_t processes_now(void);
/* Whether a descendant was started at this time or later. */
bool processes_any_since(uint64_t started);

/* Returns all processes that have not ended. The caller frees the list. */
struct process *processes_all(size_t *ret_count);
/* Returns all descendants of one process, each after its parent. The caller frees the list. */
struct process *processes_family(pid_t ancestor, size_t *ret_count);

/* Whether the process is Slurm's srun, which must get no signal except SIGKILL (job_steps.h). */
bool processes_is_srun(const struct process *process);

/* Reads "/proc/.../stat" at `path`, of a process or a thread. False: it has ended. */
bool process_read(const char *path, struct process *ret_process);

/* Returns a thread of the process that waits uninterruptibly; 0: no thread waits so. Looks at 512
 * threads at most. A read of the environment or the command line of the process may block as long
 * as the thread waits. */
pid_t process_stuck_thread(pid_t pid);

/* Returns the name of the program's file, without its folder; empty: it is unknown. The caller
 * frees it. */
char *process_program(pid_t pid);

/* Returns the environment of a process, as in /proc: texts NAME=VALUE, each with its NUL. The
 * caller frees it. NULL: it cannot be read. */
char *process_environment(pid_t pid, size_t *ret_size);
/* Returns the value of a variable in such an environment, or NULL. */
const char *process_variable(const char *environment, size_t size, const char *name);

/* Signals all descendants of the calling process. Leaves out processes with one of `names`, a list
 * that ends with NULL; or NULL. A timeout and an srun get only SIGKILL. A process that waits for an
 * srun gets another signal only if it has a handler for it, and a shell that waits gets no SIGTERM.
 * Returns how many processes were signalled. Unlike kill(), this cannot hit a foreign process when
 * the number of an ended group is in use again. A process that is forked meanwhile may be missed,
 * so signal again when a child ends. */
unsigned processes_signal(const char *const *names, int number);

/* Chooses from a list the processes that must get the stop signal of a program, so that each part
 * of the program gets it once. `process_group` is the group of the program's first process, which
 * has started the others. The caller frees the list of choices.
 *
 * - The processes of this group get the signal, and so do those of other groups in its session, as
 *   timeout and `set -m` make them. If the process that has made a group has a handler, the group
 *   is left to it, because it passes the signal on if the group needs it.
 * - Other sessions belong to launchers, which pass SIGTERM and SIGINT on, or to services that must
 *   live until the program has saved. But launchers such as torchrun do not pass SIGUSR1 and
 *   SIGUSR2 on. So the first process in a group of another session that has a handler gets these
 *   signals, by the same rule.
 * - If a process has a handler for SIGUSR1 or SIGUSR2, these signals end neither the launcher that
 *   has made its group nor its helpers. Other processes that wait for it, such as shells, end, so
 *   that the script of a rank does not go on after the stop. */
bool *processes_choose(const struct process *list, size_t count, pid_t process_group, int number);

/* Signals the chosen descendants of the calling process; otherwise like processes_signal(). */
unsigned processes_stop(pid_t process_group, const char *const *names, int number);

/* Like processes_stop(), for the process groups of the children of processes with this name. */
unsigned processes_stop_children(const char *name, int number);

/* Kills all descendants, also those that are forked meanwhile. Returns when no descendant is left,
 * or after about 10 s, because a process may be stuck in the kernel. */
void processes_end_all(void);

#endif
