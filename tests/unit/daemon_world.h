/* A daemon in a process of its own, with a home of its own and the fake cluster, driven over its
 * sockets as phasectl and workers drive it. It can be killed and started again. */
#ifndef PHASED_TESTS_DAEMON_WORLD_H
#define PHASED_TESTS_DAEMON_WORLD_H

#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum { WORLD_DEADLINE_MS = 20000 };

struct world {
    char home[64];
    char slurm[96]; /* the fake cluster's folder */
    pid_t pid;      /* 0: not running */
};

/* For cmocka's set-up and tear-down: a world with a running daemon. */
int world_setup(void **state);
int world_teardown(void **state);

/* `crash`: PHASED_CRASH for it, or NULL. Returns when it answers, or has died. */
void world_start(struct world *world, const char *crash);
/* By SIGTERM; it must end well. */
void world_stop(struct world *world);
void world_kill(struct world *world);
/* Waits until the daemon has died by SIGKILL. */
void world_await_crash(struct world *world);

/* One request over the Unix socket; NULL: no reply came (the daemon died). */
json_t *world_call(struct world *world, const char *method, const char *path, json_t *body,
                   int *ret_status);
/* The same, which must be answered with this status. */
json_t *world_expect(struct world *world, int status, const char *method, const char *path,
                     json_t *body);
/* The body for a submission of `spec`; with `key` unless it is NULL. */
json_t *world_submission(const char *spec, const char *key);

/* Waits until GET `path` has the text at `member` (a.b.0.c). */
void world_await(struct world *world, const char *path, const char *member, const char *text);
/* The text or number at `member` of it as a text, borrowed until the next call. */
const char *world_member(json_t *json, const char *member);

/* The fake cluster's files. */
void world_slurm_write(struct world *world, const char *name, const char *text);
size_t world_slurm_lines(struct world *world, const char *name);
void world_await_lines(struct world *world, const char *name, size_t count);
/* The id of the n-th job (from 0) as the fake cluster gave it. */
unsigned world_job(size_t n);

/* One signed request of a worker of this run (folder such as runs/1/a/1). */
json_t *world_worker(struct world *world, const char *run_folder, const char *method,
                     const char *verb, json_t *body, int *ret_status);
/* A push of entries (JSON texts, NULL-terminated) of the node; returns what is committed, or a
 * negative status. */
long world_push(struct world *world, const char *run_folder, const char *node,
                const char *const *entries);

char *world_read(struct world *world, const char *name); /* below the home; free() */
bool world_log_has(struct world *world, const char *text);
void world_pause(void); /* between two looks at a condition */

#endif
