/* What the API answers from the record, in the shapes of doc/api.md: WORKFLOW, PHASE, RUN, EVENT,
 * metrics and gates. These functions read only, and see what was committed or was written in this
 * transaction.
 *
 * Each function gives a new reference. The message of -ENOENT says what is missing ("no workflow
 * 9"). The duration of what is not over yet counts until now, as in the views of the record. */
#ifndef PHASED_DAEMON_STORE_ANSWERS_H
#define PHASED_DAEMON_STORE_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct error;
struct store;

/* What a workflow was submitted with: its text, what was set, its environment, its code. */
int answer_source(struct store *store, uint64_t workflow, json_t **ret_json, struct error *err);

/* Brief: without metrics, and without the members that the record has no value for. */
enum answer_detail { ANSWER_FULL, ANSWER_BRIEF };
/* WORKFLOW with `phases`. */
int answer_workflow(struct store *store, uint64_t workflow, enum answer_detail detail,
                    json_t **ret_json, struct error *err);
/* Recent: only workflows that are not over, or ended less than a day ago. */
enum answer_scope { ANSWER_RECENT, ANSWER_ALL };
struct answer_list {
    enum answer_scope scope;
    enum answer_detail detail;
    unsigned limit;    /* 0: no further limit */
    uint64_t before;   /* the list goes on after this workflow; 0: it begins */
    const char *state; /* of the workflows; NULL: any */
    const char *words; /* a text that is in the number, the name, the file, the variants or the
                        * changed values of a workflow, whatever the case; NULL: any */
};
typedef void answer_take(json_t *workflow, void *context);
/* Gives each WORKFLOW to `take`, which owns it. Workflows with a held phase come first, then the
 * others that are not over. Both groups begin with the newest workflow. Workflows that ended (at
 * most 100 recent ones, or 1,000) come last. This group begins with the workflow that ended last.
 * `ret_total` is how many workflows there are, whatever their state and words. `take` gets one
 * workflow at a time: as objects, all workflows together would be most of the daemon's memory.
 * -ENOENT: there is no workflow `before`. */
int answer_workflows(struct store *store, const struct answer_list *wanted, int64_t now_ms,
                     answer_take *take, void *context, int64_t *ret_total, struct error *err);
/* PHASE with its `runs`, newest first. */
int answer_phase(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                 struct error *err);
/* Returns -ENOENT. The message says that the workflow has no such phase, and which phases it has.
 */
int answer_no_phase(struct store *store, uint64_t workflow, const char *name, struct error *err);
/* {"runs": [RUN]}, newest first, at most `limit`; workflow 0: of all workflows. */
int answer_runs(struct store *store, uint64_t workflow, unsigned limit, json_t **ret_json,
                struct error *err);
/* {"runs": [RUN]} of the runs that have an allocation, at most 1,000. */
int answer_runs_at_work(struct store *store, json_t **ret_json, struct error *err);
/* RUN with its `failure`, `guards`, `evidence`, `warnings` and what `preflight` found on its nodes.
 */
int answer_run(struct store *store, uint64_t workflow, const char *phase, unsigned attempt,
               json_t **ret_json, struct error *err);
/* [{"node", "level", "observed", "outcome", "reason", "seconds", "time", "excluded_until"}]. Nodes
 * that failed come first. */
int answer_preflight(struct store *store, uint64_t run, json_t **ret_preflight, struct error *err);
/* {"gpus": [GPU], "paces": [PACE]} of a run, by node: what each GPU did last, and how fast the node
 * makes steps. */
int answer_gpus(struct store *store, uint64_t run, json_t **ret_json, struct error *err);
/* {"first", "seconds", "gpus": [{"node", "gpu", "util": [97.5, null]}]}: how busy the GPUs of a run
 * were (at most 256), in at most so many parts of `seconds` each. The first part began at `first`,
 * which is null without samples. */
int answer_gpu_history(struct store *store, uint64_t run, unsigned parts, json_t **ret_json,
                       struct error *err);
/* {"runs": [{"address", "gpus", "paces", "metrics": {"loss": 2.5}}]}: the runs that have an
 * allocation now. */
int answer_at_work(struct store *store, json_t **ret_json, struct error *err);
/* The id of the run (`run` of RUN), for answer_metrics(). */
int answer_run_id(struct store *store, uint64_t workflow, const char *phase, unsigned attempt,
                  uint64_t *ret_run, struct error *err);

/* {"steps": [...], "times": [...], "series": {"loss": [...]}}: the newest `last` steps (0: all) of
 * the metrics with these names; without names, of all metrics. With `buckets`, each series is
 * divided into so many parts, and has the lowest and the highest value of each part, and a NaN if
 * there is one. Only steps between `from` and `to` count. Then about `rows` rows are read at most,
 * so that a long series does not hold up the daemon. If there are more, the answer has the step
 * `next`, from which the rest can be asked for. */
struct answer_range {
    unsigned last, buckets; /* buckets 0: the series are not divided */
    int64_t from, to;
    unsigned rows;
};
int answer_metrics(struct store *store, uint64_t run, const char *const *names, size_t name_count,
                   const struct answer_range *range, json_t **ret_json, struct error *err);
/* {"phase", "decided", "decided_by", "time", "criteria", "checks": [VERDICT]}; what is not known
 * yet is null.
 */
int answer_gate(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                struct error *err);
/* {"nodes": [NODE]}: the nodes that new jobs are kept away from. */
int answer_nodes(struct store *store, int64_t now_ms, json_t **ret_json, struct error *err);
/* The number of the last event of all workflows; 0: nothing has happened yet. */
int answer_last_event(struct store *store, uint64_t *ret_last, struct error *err);
/* {"events": [EVENT], "last": 130}: the events after event `after`, oldest first, at most `limit`;
 * workflow 0: of all workflows. `last` is the `after` of the next call. */
int answer_events(struct store *store, uint64_t after, uint64_t workflow, unsigned limit,
                  json_t **ret_json, struct error *err);

#endif
