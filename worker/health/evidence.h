/* What the processes of a run are doing when it seems to hang: two looks at /proc, a second apart,
 * tell which spin, which sleep and in what, and which the kernel does not let go.
 *
 * Nothing that is read can block: a command line, which needs the lock of the address space, is
 * left out of a process that waits uninterruptibly. What the kernel does not let this user read is
 * left out too. Bounded: EVIDENCE_PROCESSES_MAX processes, parents first, the rest counted. */
#ifndef PHASED_WORKER_HEALTH_EVIDENCE_H
#define PHASED_WORKER_HEALTH_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { EVIDENCE_PROCESSES_MAX = 32 };

struct evidence_rank {
    pid_t pid;
    int rank; /* -1: it has no number */
};

struct evidence;

/* The first look at all descendants of the calling process. */
struct evidence *evidence_begin(void);
void evidence_free(struct evidence *evidence); /* accepts NULL */

/* Whether a signal or a debugger has stopped one of them: that is somebody's wish, and no hang. */
bool evidence_is_stopped(const struct evidence *evidence);

/* The processes of the first look, up to `size`; returns how many. */
size_t evidence_pids(const struct evidence *evidence, pid_t *pids, size_t size);

/* The second look. `ret_summary`: the most telling of it in a line for people, the caller's to
 * free(). Gives, members that are not known left out:
 *
 *   {"seconds": 1.0, "omitted": 0, "processes": [
 *     {"pid", "parent", "rank", "name", "command", "does": "sleeps", "spins" or "stuck" (waits
 *      uninterruptibly), "state": "S", "cpu": 0.98 (of one processor),
 *      "threads", "sockets", "call": "futex", "wait": "futex_wait_queue", "stack": ["..."],
 *      "tasks": [{"name", "state", "call", "wait", "count"}]}]}
 *
 * `call` is the system call and `wait` the place in the kernel where it sleeps; of its threads
 * those that are alike are counted. */
json_t *evidence_finish(struct evidence *evidence, const struct evidence_rank *ranks, size_t count,
                        char **ret_summary);

#endif
