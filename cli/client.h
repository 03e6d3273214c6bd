/* Questions to the daemon of the home, over its Unix socket. Answers are the API's JSON, new, the
 * caller's to json_decref().
 *
 * Failures: -ECONNREFUSED when no daemon is there (the message says how to start it), -ETIMEDOUT
 * and -EIO when an answer was lost, so that the request may or may not have been carried out;
 * -ENOENT, -EBUSY (a conflict), -EINVAL, -ENOTSUP and -EAGAIN (busy; try again) as the daemon
 * said, with its message. */
#ifndef PHASED_CLI_CLIENT_H
#define PHASED_CLI_CLIENT_H

#include <stdbool.h>

#include <jansson.h>

struct address;
struct cli;
struct error;

int client_get(struct cli *cli, const char *path, json_t **ret_json, struct error *err);

/* `ret_problems` may be NULL; it is set, on -EINVAL only, when the daemon lists problems of a spec.
 * `body` may be NULL. */
int client_post(struct cli *cli, const char *path, const json_t *body, json_t **ret_json,
                json_t **ret_problems, struct error *err);

int client_delete(struct cli *cli, const char *path, json_t **ret_json, struct error *err);

/* The object itself: a workflow, a phase or a run. */
int client_get_address(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err);

/* What the GPUs of a run do: {"gpus", "paces"}. */
int client_get_gpus(struct cli *cli, const struct address *run, json_t **ret_json,
                    struct error *err);

/* Makes `address` that of a run: of a phase its newest, of a workflow the newest of all. */
int client_find_run(struct cli *cli, struct address *address, struct error *err);

/* Whether asking again may help: the daemon is restarting, or an answer was lost. */
bool client_may_retry(int code);

/* Prints what the API gave, for `--json`. */
void client_print_json(const json_t *json);

#endif
