/* Inside daemon/api: the state of the API, and one call. routes.c finds the handler of a request.
 * The other files are named after what they answer. */
#ifndef PHASED_DAEMON_API_PRIVATE_H
#define PHASED_DAEMON_API_PRIVATE_H

#include "daemon/api/api.h"
#include "daemon/api/page.h"
#include "daemon/api/server.h"
#include "daemon/api/waiters.h"
#include "daemon/core/core.h"
#include "lib/address.h"
#include "lib/mac.h"

#include <sys/stat.h>

struct submit_item;

struct api {
    struct api_config config;
    struct server *people, *workers, *pages;
    struct page page;
    struct mac_secret key; /* of the home */
    struct waiters events, commands;
    struct submit_item *submitting; /* posted, but not committed; their keys are reserved */
    struct stat socket;             /* the Unix socket, as this daemon made it */
    unsigned handles_open, holds;
    bool is_closing; /* all requests are answered, or will be before api_close() returns */
    void (*closed)(void *context);
    void *closed_context;
};

/* One request, and what its path names. */
struct call {
    struct api *api;
    struct request *request;
    struct address address; /* workflow, phase and attempt, if the route has them */
    uint64_t run;           /* on the routes of workers */
    char node[256];         /* Slurm's name for it */
    enum phase_command command;
    char text[ADDRESS_TEXT_SIZE]; /* the address as text, for errors */
};

typedef void call_handler(struct call *call);

/* --- routes.c --------------------------------------------------------------------------------- */

void routes_handle_person(struct request *request, void *api);
/* Requests over TCP, of workers and of the owner. */
void routes_handle_remote(struct request *request, void *context);
/* Checks the header of a request before its body arrives. Refuses a request that comes neither from
 * a worker of a known run nor from the owner. */
void routes_admit_remote(struct request *request, void *api);

/* --- The owner over TCP, in owner.c ----------------------------------------------------------- */

/* Reads the key of the home, or makes it. */
int owner_key(const struct home *home, struct mac_secret *ret_key, struct error *err);
/* Checks the header: a request that does not answer the challenge of its connection gets the
 * challenge, and its body is not read. */
void owner_look(struct request *request);
/* Checks the code of the request, and opens its body. False: the request was answered. */
bool owner_admit(struct request *request, const struct mac_secret *key);

/* --- For all handlers, in call.c -------------------------------------------------------------- */

/* Answers 404, 400, 503 or 500, depending on the code of `err`. */
void call_fail(struct request *request, const char *where, const struct error *err);
/* Answers 503: the commit of the request has failed. The loop repeats the commit if the failure may
 * pass. */
void call_fail_later(struct request *request, const struct error *failure);
/* Answers 200 with `json`. If `status` is negative, answers as call_fail() does. Takes the
 * reference to `json`. `json` may be NULL if `status` is negative. */
void call_answer(struct call *call, int status, json_t *json, const struct error *err);
/* Reads the body as a JSON object: a new reference. An empty body is an empty object. NULL: the
 * body is not an object, and the request was answered with an error. */
json_t *call_body(struct call *call);
/* Reads a numeric argument of the query, or `otherwise` if it is absent. False: the argument is not
 * a number, and the request was answered with an error. */
bool call_number(struct call *call, const char *name, uint64_t otherwise, uint64_t *ret_number);
/* Reads digits alone. False: they are not a number, or the number is above `max`. */
bool call_parse_number(const char *text, size_t size, uint64_t max, uint64_t *ret_number);
/* Whether the record can be written now. False: the request was answered with an error. */
bool call_can_record(struct call *call);
/* Keeps the struct for a result of the cluster that may come after the API is closed. If
 * `is_closing`, the server has already answered the request with 503. */
struct api *call_hold_api(struct api *api);
void call_release_api(struct api *api);

/* --- Bodies with a spec, in submission.c ------------------------------------------------------ */

/* Checks the members of a submission. -EINVAL: `err` says which member is wrong. */
int submission_check(const json_t *body, struct error *err);
/* Adds the defaults of optional members to the body. */
void submission_fill(json_t *body);
/* Puts marks in place of the secrets in the body: in the spec, the environment and the changes of
 * the code. `ret_secrets` is the caller's. In secrets.c. */
int submission_hide(json_t *body, json_t **ret_secrets, struct error *err);
/* Returns the resolved workflow, a new reference. NULL: the spec has problems, which are added to
 * the list `problems`. */
json_t *submission_resolve(const json_t *body, json_t *problems, json_t *warnings,
                           size_t *ret_error_count);

/* --- Handlers --------------------------------------------------------------------------------- */

call_handler read_ping, read_workflows, read_workflow, read_phase, read_run, read_metrics,
    read_gpus, read_exposition, read_gate, read_runs, read_source, read_events;
call_handler logs_get, logs_read;
call_handler page_post;
bool read_events_answer(void *api, const struct waiter *waiter, bool is_over);
call_handler submit_post;
call_handler plan_post;
call_handler control_post;
call_handler nodes_get, nodes_post, nodes_delete;
call_handler cost_get, budget_post;
call_handler worker_journal, worker_command, worker_look;
bool worker_answer(void *api, const struct waiter *waiter, bool is_over);

#endif
