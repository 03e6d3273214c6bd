/* A child process: the one place where the worker starts a program, reads what it prints, and is
 * told of its end.
 *
 * Three kinds of children differ in who takes their end. The lead and the host leave that to libuv.
 * An agent takes the ends of all its descendants by itself (processes.h), so libuv must not: such a
 * child gets a session of its own and default signals, and dies with the agent. What helps an agent
 * and may hang in the kernel must not count as the run's, so it is made nobody's child. The agent
 * adopts no orphans while it starts such a child: a process of the run that is orphaned in just
 * that moment (less than a millisecond) escapes the agent, not its Slurm job. */
#ifndef PHASED_WORKER_PROCESS_CHILD_H
#define PHASED_WORKER_PROCESS_CHILD_H

#include "worker/lines.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <uv.h>

struct child;
struct error;

enum child_kind {
    CHILD_OF_LOOP,   /* libuv takes its end */
    CHILD_OF_AGENT,  /* the agent takes its end, and tells by child_reaped() */
    CHILD_OF_NOBODY, /* its end is not known, only that of what it prints */
};

/* Where one of the child's outputs goes. */
enum child_output {
    CHILD_NOWHERE,
    CHILD_INHERITS, /* where the caller's own goes */
    CHILD_JOINS,    /* standard error: where standard output goes */
    CHILD_FILE,     /* to the open file `fd`, which stays the caller's */
    CHILD_BYTES,    /* to found(), as it comes */
    CHILD_LINES,    /* to found(), a line at a time */
    CHILD_TEXT,     /* is collected for child_text() */
};

struct child_stream {
    enum child_output output;
    int fd;             /* CHILD_FILE only */
    size_t size_max;    /* of a line, or of the whole text; the rest is dropped */
    lines_found *found; /* borrowed during the call */
};

struct child_end {
    int code;     /* of a process that ended by itself; -1: the end is not known */
    int signal;   /* that ended it, or 0 */
    bool is_late; /* the deadline came first: a child of the loop was killed */
};

/* Needed during child_start() alone, but for the callbacks, `loop` and `context`. */
struct child_options {
    uv_loop_t *loop;
    enum child_kind kind;
    const char *program;      /* a path; a child of the loop is found on PATH, too */
    char *const *arguments;   /* the first is the program's name; NULL ends them */
    char *const *environment; /* NULL: the caller's */
    const char *workdir;      /* of a child of the agent; NULL: stay */
    int umask;                /* likewise; -1: leave */
    bool ignores_term;        /* likewise: Slurm's TERM to all processes must not end it */
    bool has_input;           /* for child_send(); else standard input is empty */
    struct child_stream out, err;
    int deadline_ms; /* 0: none */
    /* Once: the end is known (of nobody's child: it has no output any more) and all that it printed
     * is read; or the deadline has come. The owner calls child_close(), now or later. NULL: none.
     */
    void (*ended)(void *context, const struct child_end *end);
    void *context;
};

/* Fails without a process: there is no such program, or no `workdir` (where `err` names it). */
int child_start(const struct child_options *options, struct child **ret_child, struct error *err);
/* The same where a child that cannot be started counts as one that has ended: `ended` is called
 * from the loop, with code -1. Never NULL. */
struct child *child_try(const struct child_options *options);

/* 0: it has ended, or it is nobody's child. */
pid_t child_pid(const struct child *child);

/* The agent has taken the child's end. */
void child_reaped(struct child *child, int status);

/* Whether output may still come. */
bool child_is_read(const struct child *child);

/* What was collected of standard output, or of standard error where that is collected; borrowed. */
const struct text *child_text(const struct child *child);

/* Writes to its standard input. Takes over `text`. */
void child_send(struct child *child, char *text);

/* Signals a child of the loop. */
void child_signal(struct child *child, int number);

/* Closes its pipes without ending it, and frees in the loop. No callback follows. Accepts NULL. */
void child_close(struct child *child);

#endif
