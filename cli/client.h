/* Requests to the daemon of the home: over its Unix socket, or over TCP if the daemon runs on
 * another host. Each answer is new JSON, as the API describes it. The caller calls json_decref().
 *
 * Failures: -ECONNREFUSED when no daemon runs (the message says how to start it). -ENOTCONN when a
 * daemon holds the home and is starting or ending, or does not answer on its host. -ETIMEDOUT and
 * -EIO when the answer was lost: the request may or may not have been carried out. -ENOENT, -EBUSY
 * (a conflict), -EINVAL, -ENOTSUP and -EAGAIN (busy: try again) come from the daemon, with its
 * message. */
#ifndef PHASED_CLI_CLIENT_H
#define PHASED_CLI_CLIENT_H

#include <stdbool.h>

#include <jansson.h>

struct address;
struct cli;
struct error;
struct text;

/* `format` is the path. */
int client_get(struct cli *cli, json_t **ret_json, struct error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Asks whether the daemon answers. Waits 10 s at most for an answer. */
int client_ping(struct cli *cli, json_t **ret_json, struct error *err);

/* `body` and `ret_problems` may be NULL. `ret_problems` is set on -EINVAL only, when the daemon
 * lists problems of a spec. */
int client_post(struct cli *cli, const char *path, const json_t *body, json_t **ret_json,
                json_t **ret_problems, struct error *err);

int client_delete(struct cli *cli, const char *path, json_t **ret_json, struct error *err);

/* The object itself: a workflow, a phase or a run. */
int client_get_address(struct cli *cli, const struct address *address, json_t **ret_json,
                       struct error *err);

/* Returns 0 if the object exists. */
int client_check_address(struct cli *cli, const struct address *address, struct error *err);

/* A part of the object, such as "/gate" or "/logs". */
int client_get_part(struct cli *cli, const struct address *address, const char *part,
                    json_t **ret_json, struct error *err);
/* The same for an object of an answer. Its member `address` names it. */
int client_get_part_of(struct cli *cli, const json_t *object, const char *part, json_t **ret_json,
                       struct error *err);

/* Replaces the address of a phase or workflow by the address of its newest run. */
int client_find_run(struct cli *cli, struct address *address, struct error *err);

/* Returns the current folder, for `workdir` of a request. NULL: `err` says why the daemon cannot
 * have it. */
json_t *client_workdir(struct error *err);

/* Whether a second try may help: the daemon is restarting, or an answer was lost. */
bool client_may_retry(int status);

/* Prints an answer of the API, for `--json`. */
void client_print_json(const json_t *json);

/* Prints `text`, or with `--json` the answer that it is about. Releases the answer and empties the
 * text. Returns CLI_OK. */
int client_take_answer(const struct cli *cli, json_t *answer, struct text *text);

#endif
