/* Inside daemon/api: the API's state and one call in the making. routes.c finds the handler of a
 * request; the others are named after what they answer. */
#ifndef PHASED_DAEMON_API_INSIDE_H
#define PHASED_DAEMON_API_INSIDE_H

#include "daemon/api/api.h"
#include "daemon/api/server.h"
#include "daemon/api/waiters.h"
#include "daemon/core/core.h"
#include "lib/address.h"
#include "lib/mac.h"

#include <sys/stat.h>

struct node_call;
struct plan_call;
struct submit_item;

struct api {
    struct api_config config;
    struct server *people, *workers;
    struct waiters events, commands;
    struct submit_item *submitting; /* posted, not yet committed: their keys */
    struct plan_call *planning;     /* waiting for the cluster */
    struct node_call *naming;       /* likewise */
    struct stat socket;             /* the people's, as this daemon made it */
    unsigned handles_open;
    bool is_closing;
    void (*closed)(void *arg);
    void *closed_arg;
};

/* One request, and what its path named. */
struct call {
    struct api *api;
    struct request *request;
    struct address address; /* workflow, phase, attempt: as far as the route has them */
    uint64_t run;           /* of worker routes */
    char node[256];         /* as in Slurm */
    enum core_command command;
    char text[ADDRESS_TEXT_SIZE]; /* the address, for errors */
};

typedef void call_handler(struct call *call);

/* --- routes.c --------------------------------------------------------------------------------- */

void routes_handle_person(struct request *request, void *api);
void routes_handle_worker(struct request *request, void *api);
/* Answers what no worker of a known run has sent, before its body comes. */
void routes_admit_worker(struct request *request, void *api);

/* --- For all handlers, in routes.c ------------------------------------------------------------ */

/* Answers by what went wrong: 404, 400, 503 or 500. */
void call_fail(struct request *request, const char *where, const struct error *err);
/* Answers 200 with `json`, or, when `status` is negative, as call_fail(). */
void call_answer(struct call *call, int status, json_t *json, const struct error *err);
/* The body as a JSON object, a new reference; NULL: it is none, and that was answered. An empty
 * body is an empty object. */
json_t *call_body(struct call *call);
/* The argument of the query as a number; `otherwise` when absent. False: it is none, and that was
 * answered. */
bool call_number(struct call *call, const char *name, uint64_t otherwise, uint64_t *ret_number);
/* Whether something can be recorded now; if not, that was answered. */
bool call_can_record(struct call *call);

/* --- Bodies that bring a spec, in submission.c ------------------------------------------------ */

/* Whether it is one: -EINVAL says what is wrong with it. */
int submission_check(const json_t *body, struct error *err);
/* Members that may be left out stand there with their defaults from now on. */
void submission_fill(json_t *body);
/* The resolved workflow, a new reference. NULL: it has problems, which are added to the list
 * `problems`. */
json_t *submission_resolve(const json_t *body, json_t *problems, json_t *warnings,
                           size_t *ret_error_count);

/* --- Handlers --------------------------------------------------------------------------------- */

call_handler read_ping, read_workflows, read_workflow, read_phase, read_run, read_metrics,
    read_gpus, read_exposition, read_gate, read_logs, read_runs, read_source;
call_handler events_get;
bool events_answer(void *api, const struct waiter *waiter, bool is_over);
call_handler submit_post;
call_handler plan_post;
/* At the end: those who wait get no answer any more. */
void plan_forget_all(struct api *api);
void nodes_forget_all(struct api *api);
call_handler control_post;
call_handler nodes_get, nodes_post, nodes_delete;
call_handler cost_get, budget_post;
call_handler worker_journal, worker_command, worker_look;
bool worker_answer(void *api, const struct waiter *waiter, bool is_over);

#endif
