/* A daemon in a process of its own, with a home of its own and the fake cluster. Tests use its
 * sockets as phasectl and workers do. They can kill the daemon and start it again. */
#ifndef PHASED_TESTS_DAEMON_WORLD_H
#define PHASED_TESTS_DAEMON_WORLD_H

#include "tests/unit/unit.h"

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum { WORLD_DEADLINE_MS = 180000 };

struct world {
    char home[64];
    char slurm[96]; /* the fake cluster's folder */
    pid_t pid;      /* 0: it does not run */
};

/* Setup and teardown for cmocka: a world with a running daemon. */
int world_setup(void **state);
int world_teardown(void **state);

/* `crash` becomes PHASED_CRASH, or is NULL. Returns when the daemon answers or has died. */
void world_start(struct world *world, const char *crash);
/* Sends SIGTERM. The daemon must end with exit code 0. */
void world_stop(struct world *world);
void world_kill(struct world *world);
/* The most memory that the daemon has taken since its start. */
long world_memory_kib(const struct world *world);
/* Waits until SIGKILL has ended the daemon. */
void world_await_crash(struct world *world);

/* Sends one request over the Unix socket. NULL: no reply came, because the daemon died. */
json_t *world_call(struct world *world, const char *method, const char *path, json_t *body,
                   int *ret_status);
/* Like world_call(). The reply must have this status. */
json_t *world_expect(struct world *world, int status, const char *method, const char *path,
                     json_t *body);
/* The body for a submission of `spec`. `key` may be NULL. */
json_t *world_submission(const char *spec, const char *key);

/* Waits until GET `path` has the text at `member` (a.b.0.c). */
void world_await(struct world *world, const char *path, const char *member, const char *text);
/* Returns the text or number at `member` as a text, borrowed until the next call. */
const char *world_member(json_t *json, const char *member);

/* Writes or counts lines of a file of the fake cluster. */
void world_slurm_write(struct world *world, const char *name, const char *text);
size_t world_slurm_lines(struct world *world, const char *name);
void world_await_lines(struct world *world, const char *name, size_t count);
/* The same for lines that the daemon may repeat: there may be more. */
void world_await_least(struct world *world, const char *name, size_t count);
/* The id of the n-th job (from 0) of the fake cluster. */
unsigned world_job(size_t n);

/* Sends one signed request of a worker of this run (a folder such as runs/1/a/1). */
json_t *world_worker(struct world *world, const char *run_folder, const char *method,
                     const char *verb, json_t *body, int *ret_status);
/* Pushes entries of the node (JSON texts, terminated by NULL). Returns the committed number, or a
 * negative status. */
long world_push(struct world *world, const char *run_folder, const char *node,
                const char *const *entries);

char *world_read(struct world *world,
                 const char *name); /* `name` is below the home; the caller frees the text */
bool world_log_has(struct world *world, const char *text);
void world_pause(void); /* between two looks at a condition */

#endif
