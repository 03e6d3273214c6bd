/* What the processes of a run do when the run seems to hang. Two looks at /proc, a second apart,
 * show which processes spin, which sleep and where, and which are stuck in the kernel.
 *
 * No read can block. The command line of a process that waits uninterruptibly is left out, because
 * reading it needs the lock of the address space. Files that this user may not read are left out,
 * too. The size is bounded: EVIDENCE_PROCESSES_MAX processes are described, parents first, and the
 * others are counted. */
#ifndef PHASED_WORKER_HEALTH_EVIDENCE_H
#define PHASED_WORKER_HEALTH_EVIDENCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { EVIDENCE_PROCESSES_MAX = 32 };

struct evidence_rank {
    pid_t pid;
    int rank, group; /* -1: the process has no such number */
};

struct evidence;

/* Takes the first look, at all descendants of the calling process that were started at `since` or
 * later, in ticks since the boot. */
struct evidence *evidence_begin(uint64_t since);
void evidence_free(struct evidence *evidence); /* accepts NULL */

/* Whether a signal or a debugger has stopped one of the processes. Somebody wanted that, so it is
 * not a hang. */
bool evidence_is_stopped(const struct evidence *evidence);

/* Writes the processes of the first look, up to `size`. Returns how many there are in `pids`. */
size_t evidence_pids(const struct evidence *evidence, pid_t *pids, size_t size);

/* Takes the second look. `ret_summary` is one line for people about the most telling process; the
 * caller frees it. Returns a told_evidence (lib/protocol/told_evidence.h) with `seconds`, `omitted`
 * and `processes`. Members of a process that are unknown are left out. `command` is the beginning
 * of the command line. It has "(secret)" in place of each value of `secrets` (lib/secrets.h), which
 * may be NULL. */
json_t *evidence_finish(struct evidence *evidence, const struct evidence_rank *ranks, size_t count,
                        const json_t *secrets, char **ret_summary);

#endif
