/* What the API answers from the record, in the shapes of doc/api.md: WORKFLOW, PHASE, RUN, EVENT,
 * metrics and gates. These functions read only, and see what was committed or was written in this
 * transaction.
 *
 * Each function gives a new reference. The message of -ENOENT says what is missing ("no workflow
 * 9"). What is not over yet has lasted until now, as in the views of the record. */
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

/* Gives each WORKFLOW to `take`, which owns it. Workflows with a held phase come first, then the
 * others that are not over. Both groups begin with the newest workflow. Workflows that ended less
 * than a day ago (at most 100) come last, or all that ended (at most 1,000). This group begins with
 * the workflow that ended last. `ret_total` is how many workflows there are. `take` gets at most
 * `limit` (0: no further limit). `take` gets one workflow at a time: as objects, all workflows
 * together would be most of the daemon's memory. */
enum answer_scope { ANSWER_RECENT, ANSWER_ALL };
/* Brief: without metrics, and without the members that the record has no value for. */
enum answer_detail { ANSWER_FULL, ANSWER_BRIEF };
typedef void answer_take(json_t *workflow, void *context);
int answer_workflows(struct store *store, enum answer_scope scope, enum answer_detail detail,
                     unsigned limit, int64_t now_ms, answer_take *take, void *context,
                     int64_t *ret_total, struct error *err);
/* WORKFLOW with `phases`. */
int answer_workflow(struct store *store, uint64_t workflow, json_t **ret_json, struct error *err);
/* PHASE with its `runs`, newest first. */
int answer_phase(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                 struct error *err);
/* {"runs": [RUN]}, newest first, at most `limit`; workflow 0: of all workflows. */
int answer_runs(struct store *store, uint64_t workflow, unsigned limit, json_t **ret_json,
                struct error *err);
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
/* {"runs": [{"address", "gpus", "paces", "metrics": {"loss": 2.5}}]}: the runs that have an
 * allocation now. */
int answer_at_work(struct store *store, json_t **ret_json, struct error *err);
/* The id of the run (`run` of RUN), for answer_metrics(). */
int answer_run_id(struct store *store, uint64_t workflow, const char *phase, unsigned attempt,
                  uint64_t *ret_run, struct error *err);

/* {"steps": [...], "series": {"loss": [...]}}: the newest `last` steps (0: all) of the metrics with
 * these names; without names, of all metrics. With `buckets`, each series is divided into so many
 * parts, and has the lowest and the highest value of each part, and a NaN if there is one. */
int answer_metrics(struct store *store, uint64_t run, const char *const *names, size_t name_count,
                   unsigned last, unsigned buckets, json_t **ret_json, struct error *err);
/* {"phase", "decided", "decided_by", "time", "criteria", "checks": [VERDICT]}; what is not known
 * yet is null.
 */
int answer_gate(struct store *store, uint64_t workflow, const char *phase, json_t **ret_json,
                struct error *err);
/* {"nodes": [NODE]}: the nodes that new jobs are kept away from. */
int answer_nodes(struct store *store, int64_t now_ms, json_t **ret_json, struct error *err);
/* {"events": [EVENT], "last": 130}: the events after event `after`, oldest first, at most `limit`;
 * workflow 0: of all workflows. `last` is the `after` of the next call. */
int answer_events(struct store *store, uint64_t after, uint64_t workflow, unsigned limit,
                  json_t **ret_json, struct error *err);

#endif
