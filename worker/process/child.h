/* A child process. Only this module of the worker starts programs, reads their output and learns of
 * their ends.
 *
 * There are three kinds of children, and they differ in who reaps them. libuv reaps the children of
 * the lead and the host. An agent itself reaps all its descendants (processes.h), so libuv must
 * not. Such a child has a session of its own and default signals, and dies with the agent. A helper
 * of an agent may hang in the kernel and must not count as part of the run, so it is made nobody's
 * child. While an agent starts such a child, it adopts no orphans for less than a millisecond. A
 * process of the run that becomes an orphan in this moment escapes the agent, but not its Slurm
 * job. */
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
    CHILD_OF_LOOP,   /* libuv reaps it */
    CHILD_OF_AGENT,  /* the agent reaps it, and calls child_reaped() */
    CHILD_OF_NOBODY, /* only the end of its output is known */
};

/* The destination of one of the child's outputs. */
enum child_output {
    CHILD_NOWHERE,
    CHILD_INHERITS, /* the same as the caller's */
    CHILD_JOINS,    /* for standard error: the same as standard output */
    CHILD_FILE,     /* the open file `fd`, which the caller keeps */
    CHILD_BYTES,    /* found(), in pieces */
    CHILD_LINES,    /* found(), line by line */
    CHILD_TEXT,     /* child_text() */
};

struct child_stream {
    enum child_output output;
    int fd;             /* CHILD_FILE only */
    size_t size_max;    /* of a line, or of the whole text; the rest is dropped */
    lines_found *found; /* borrowed during the call */
};

struct child_end {
    int code;     /* the exit code; -1: the end is unknown */
    int signal;   /* the signal that ended it, or 0 */
    bool is_late; /* the deadline came first; a child of the loop was killed */
};

/* Only the callbacks, `loop` and `context` are needed after child_start(). */
struct child_options {
    uv_loop_t *loop;
    enum child_kind kind;
    const char *program;      /* a path; a child of the loop is also searched on PATH */
    char *const *arguments;   /* the name of the program first, and NULL at the end */
    char *const *environment; /* NULL: that of the caller */
    const char *workdir;      /* of a child of the agent; NULL: the same folder */
    bool ignores_term;        /* of a child of the agent: Slurm's TERM must not end it */
    bool has_input;           /* for child_send(); otherwise standard input is empty */
    struct child_stream out, err;
    int deadline_ms; /* 0: no deadline */
    /* Called once: when the end is known and all output was read, or at the deadline. For nobody's
     * child, the end is the end of its output. The callee calls child_close(), now or later. May be
     * NULL. */
    void (*ended)(void *context, const struct child_end *end);
    void *context;
};

/* Fails, and leaves no process, for example if the program or `workdir` does not exist. `err` names
 * `workdir`. */
int child_start(const struct child_options *options, struct child **ret_child, struct error *err);
/* Like child_start(). If the child cannot be started, `ended` is called from the loop, with code
 * -1. Never returns NULL. */
struct child *child_try(const struct child_options *options);

/* 0: the child has ended, or it is nobody's child. */
pid_t child_pid(const struct child *child);

/* The agent has reaped the child. */
void child_reaped(struct child *child, int status);

/* Whether more output may come. */
bool child_is_read(const struct child *child);

/* The collected text of standard output, or of standard error if that is collected; borrowed. */
const struct text *child_text(const struct child *child);

/* Writes to the child's standard input. Takes over `text`. */
void child_send(struct child *child, char *text);

/* Signals a child of the loop. */
void child_signal(struct child *child, int number);

/* Closes the pipes without ending the child, and frees in the loop. No callback follows. Accepts
 * NULL. */
void child_close(struct child *child);

#endif
