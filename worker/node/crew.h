/* The ranks of one run on one node: their processes with all that those start, their output, and
 * the ladder by which they are stopped.
 *
 * A crew is gone when each rank has ended, no process that any of them started is left, and their
 * output has been read to its end. What a rank leaves behind when all have ended by themselves is
 * told to end, and killed 2 s later. A rank's failure, or success where that is asked for, is held
 * back for 0.3 s: Slurm signals all processes of a step at once when it preempts, so a rank may end
 * of that a moment before the agent learns of it. */
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
struct error;

struct crew_rank {
    unsigned rank, local_rank;
    pid_t pid;
    bool has_ended;
    int code, signal; /* once it has ended; the signal that ended it, or 0 */
    uint64_t printed; /* grows with what it prints */
};

/* All borrowed until the crew is closed, but for `environment` and `place`, needed at the start. */
struct crew_options {
    uv_loop_t *loop;
    const struct assignment *assignment;
    struct environment *environment; /* what the ranks have in common */
    const struct rank_place *place;
    const char *script; /* the name of a file in the run's folder */
    unsigned first_rank, count;
    bool (*is_over)(void *context, unsigned local_rank); /* NULL, or: this one is not started */
    const char *log_folder;
    /* The first one started here printed this. */
    void (*printed)(void *context, const char *data, size_t size);
    /* A rank failed and was not being stopped; once, for the first one. */
    void (*failed)(void *context, const struct crew_rank *rank);
    /* NULL, or: a rank has ended well by itself, and not because it was stopped. */
    void (*succeeded)(void *context, const struct crew_rank *rank);
    /* The crew is gone; the last call. */
    void (*gone)(void *context);
    void *context;
};

/* Starts the ranks. When one cannot be started those before it are killed; the crew is there all
 * the same, and is gone as soon as they are. With nothing to start it is gone at once, and `gone`
 * is not called. */
int crew_start(const struct crew_options *options, struct crew **ret_crew, struct error *err);

/* The program's stop signal now, to the ranks and to the steps that they have started (steps.h),
 * unless Slurm has just sent the same to all processes, and KILL after `seconds`; where that signal
 * is not TERM, TERM to all in the seconds before. A later call can only bring the KILL nearer, and
 * tells the steps if they do not know. Also for a crew that is gone: steps of ranks on another node
 * may still run on this one. */
void crew_stop(struct crew *crew, unsigned seconds);
/* The same where Slurm is sending SIGTERM to all steps of the job: theirs has got it. A program
 * that stops at SIGTERM is given it at once if the ranks are `shielded` from Slurm's, else only if
 * that does not come. Some take a second one for impatience. */
void crew_expect(struct crew *crew, unsigned seconds, bool shielded);
void crew_kill(struct crew *crew);

/* Slurm has sent SIGTERM to every process of the agent's step. */
void crew_terminated(struct crew *crew);

/* Takes the ends of children: call it at each SIGCHLD. */
void crew_reap(struct crew *crew);

bool crew_is_gone(const struct crew *crew);
/* It was told to stop, or its leftovers are. */
bool crew_is_stopping(const struct crew *crew);

/* Grows whenever a rank has printed something. */
uint64_t crew_printed(const struct crew *crew);

/* How many ranks were started, and the i-th of them. */
unsigned crew_count(const struct crew *crew);
const struct crew_rank *crew_rank(const struct crew *crew, unsigned i);

/* The first rank that failed, or NULL. */
const struct crew_rank *crew_failed(const struct crew *crew);

/* Whether all ranks ended by themselves, and well: nobody told them to stop. */
bool crew_ended_well(const struct crew *crew);
/* Whether a process died by a signal that was not the one for stopping: it may have been writing.
 */
bool crew_was_cut_off(const struct crew *crew);

/* The last line that a rank of the crew printed, as ranklog_last_line(); the caller's to free(). */
char *crew_last_line(const struct crew *crew, const struct crew_rank *rank);

/* The newest lines of the i-th rank, as ranklog_recent(), and how it ended where no program says
 * it: killed by a signal, or by the kernel's OOM killer. */
const char *crew_recent(struct crew *crew, unsigned i, size_t *ret_size);

/* How many lines of a rank's log were lost, and why. */
unsigned crew_lost_lines(const struct crew *crew, unsigned i, int *ret_reason);

/* Kills what is left; frees the crew in the loop, once its handles are closed. Accepts NULL. */
void crew_close(struct crew *crew);

#endif
