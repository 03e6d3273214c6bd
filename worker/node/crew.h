/* The ranks of one run on one node: their processes and all descendants, their output, and the
 * ladder that stops them.
 *
 * A crew is gone when each rank has ended, no descendant is left, and all output was read. If all
 * ranks have ended by themselves, their leftover processes are told to end, and killed 2 s later.
 * Processes that are older than the crew, such as a leftover of the preflight, are killed at its
 * start. The crew does not wait for them, and their ends do not count as ends of its processes.
 *
 * The failure of a rank is reported 0.3 s later, and a success too, if successes are reported. The
 * reason: Slurm preempts by a signal to all processes of a job step at once, so a rank may end of
 * the signal shortly before the agent learns of it. */
#ifndef PHASED_WORKER_NODE_CREW_H
#define PHASED_WORKER_NODE_CREW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct assignment;
struct crew;
struct environment;
struct rank_place;
struct ranklog;
struct error;

struct crew_rank {
    unsigned rank, local_rank;
    pid_t pid;
    bool has_ended;
    int code, signal; /* after its end: the exit code, and the signal that ended it or 0 */
    uint64_t printed; /* grows with the output */
    /* If no program prints how the rank ended, a line says it: killed by a signal, or by the
     * kernel's OOM killer. */
    struct ranklog *log;
};

/* All members are borrowed until the crew is closed, except `environment` and `place`, which are
 * needed only at the start. */
struct crew_options {
    uv_loop_t *loop;
    const struct assignment *assignment;
    struct environment *environment; /* common to all ranks */
    const struct rank_place *place;
    const char *script;                /* the name of a file in the run's folder */
    const struct container *container; /* NULL: the ranks run without a container */
    unsigned first_rank, count;
    bool (*is_over)(void *context,
                    unsigned local_rank); /* if it returns true, the rank is not started; or NULL */
    const char *log_folder;
    /* The first rank of this crew printed this. */
    void (*printed)(void *context, const char *data, size_t size);
    /* A rank failed, and was not being stopped. Called once, for the first failure. */
    void (*failed)(void *context, const struct crew_rank *rank);
    /* A rank succeeded, and was not being stopped; or NULL. */
    void (*succeeded)(void *context, const struct crew_rank *rank);
    /* The crew is gone. This is the last call. */
    void (*gone)(void *context);
    void *context;
};

/* Starts the ranks. If a rank cannot be started, the ranks before it are killed. Then `ret_crew` is
 * set all the same, and the crew is gone when they have ended. A crew without ranks is gone at
 * once, and `gone` is not called. */
int crew_start(const struct crew_options *options, struct crew **ret_crew, struct error *err);

/* Stops the crew by the ladder. The ranks and the job steps that they have started (job_steps.h)
 * get the stop signal of the program now, unless Slurm has just sent the same signal to all
 * processes. KILL follows after `seconds`. If the stop signal is not TERM, TERM is sent to all some
 * seconds before KILL. A later call can only shorten the time, and signals the job steps if they
 * were not signalled. The crew may be gone, because job steps of ranks on another node may run on
 * this node. */
void crew_stop(struct crew *crew, unsigned seconds);
/* Stops the crew while Slurm sends SIGTERM to all job steps of the job, so that the job steps of
 * the ranks are signalled already. If the stop signal is SIGTERM and the ranks are `shielded` from
 * Slurm's signals, the ranks get it at once. If they are not shielded, they get it only if Slurm's
 * signal does not come, because some programs stop abruptly at a second SIGTERM. */
void crew_expect(struct crew *crew, unsigned seconds, bool shielded);
void crew_kill(struct crew *crew);

/* Slurm has sent SIGTERM to all processes of the agent's job step. */
void crew_terminated(struct crew *crew);

/* Reaps children. Call it at each SIGCHLD. */
void crew_reap(struct crew *crew);

/* When the crew began, in ticks since the boot. Its processes were started then or later. */
uint64_t crew_began(const struct crew *crew);

bool crew_is_gone(const struct crew *crew);
/* The crew was told to stop, or its leftovers were. */
bool crew_is_stopping(const struct crew *crew);

/* Grows with the output of each rank. */
uint64_t crew_printed(const struct crew *crew);

/* How many ranks were started. */
unsigned crew_count(const struct crew *crew);
const struct crew_rank *crew_rank(const struct crew *crew, unsigned i);

/* The first rank that failed, or NULL. */
const struct crew_rank *crew_failed(const struct crew *crew);

/* Whether all ranks could be started, succeeded, and were not told to stop. A crew whose ranks were
 * all over before it has ended well. */
bool crew_ended_well(const struct crew *crew);
/* Whether a process died of a signal other than the stop signal. The process may have been writing.
 */
bool crew_was_cut_off(const struct crew *crew);

/* Kills the remaining processes. Frees the crew in the loop when its handles are closed. Accepts
 * NULL. */
void crew_close(struct crew *crew);

#endif
