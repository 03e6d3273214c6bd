/* Reads the journals of a run that is over. */
#include "worker/protocol/posthumous.h"

#include "lib/clock.h"
#include "lib/protocol/claim.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/journal_order.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/told_checkpoint.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct posthumous_node {
    struct outcome *outcome;
    struct journal_order order;
    int64_t checkpoint_step;
    bool is_done, is_suspect;
    bool has_exited;
};

/* Counts the entry with this number. 0: the journal has ended. */
static void posthumous_count(struct posthumous_node *node, uint64_t number)
{
    uint64_t last;
    void *item;
    if (number > 0)
        journal_order_add(&node->order, number, NULL);
    while (journal_order_next(&node->order, number == 0, &last, &item))
        ; /* only `order.last` is needed */
}

/* Whether the checkpoint is neither suspect nor unseen. An agent uses the same rule for `saved`. */
static bool posthumous_is_good(const struct entry *entry)
{
    struct told_checkpoint told = told_checkpoint_read(entry->json);
    return !told.is_suspect && !told.is_unseen;
}

static void posthumous_node_entry(void *context, const struct entry *entry)
{
    struct posthumous_node *node = context;
    struct outcome *outcome = node->outcome;
    enum entry_type type = entry->type;
    double time = entry->time;
    if (entry->seq > 0)
        posthumous_count(node, (uint64_t)entry->seq);
    outcome->ended = time > outcome->ended ? time : outcome->ended;
    if (type == ENTRY_RANKS || type == ENTRY_EXITED)
        node->has_exited = type == ENTRY_EXITED;
    bool is_start = type == ENTRY_RANKS && (outcome->started == 0 || time < outcome->started);
    if (is_start)
        outcome->started = time;
    else if (type == ENTRY_EXITED)
        node->is_done = entry->is_done;
    else if (type == ENTRY_SUSPECT)
        node->is_suspect = true;
    else if (type == ENTRY_CHECKPOINT && posthumous_is_good(entry) &&
             entry->step > node->checkpoint_step)
        node->checkpoint_step = entry->step;
    else if (type == ENTRY_METRIC && !entry->is_stepless && entry->step > outcome->last_step)
        outcome->last_step = entry->step;
}

int64_t posthumous_add_node(const char *run_dir, const char *node, struct outcome *outcome,
                            bool *ret_is_done)
{
    struct posthumous_node found = {.outcome = outcome, .checkpoint_step = -1};
    char *path = journal_path(run_dir, node);
    journal_visit(path, -1, posthumous_node_entry, &found);
    posthumous_count(&found, 0);
    if (found.order.last)
        json_object_set_new(outcome->finals, node, json_integer((json_int_t)found.order.last));
    free(path);
    *ret_is_done = found.is_done && !found.is_suspect;
    return found.checkpoint_step;
}

struct posthumous_lead {
    struct outcome *outcome;
    json_t *nodes; /* owned */
    json_t *ended; /* owned */
    bool was_stopping;
};

static void posthumous_lead_entry(void *context, const struct entry *entry)
{
    struct posthumous_lead *lead = context;
    struct outcome *outcome = lead->outcome;
    struct outcome told = {0};
    if (entry->type == ENTRY_ENDED)
        told = outcome_view(entry->json);
    if (entry->type == ENTRY_STARTED) {
        json_decref(lead->nodes);
        lead->nodes = json_incref(entry->nodes);
        outcome->job_id = entry->job_id;
        outcome->restarts = entry->restarts;
    } else if (entry->type == ENTRY_ENDED && !outcome_is_of(&told, outcome->token)) {
        fprintf(stderr,
                "phase-worker lead: the end of the run that another job tells is skipped\n");
    } else if (entry->type == ENTRY_ENDED) {
        json_decref(lead->ended);
        lead->ended = json_incref(entry->json);
    }
    int reason = entry->type == ENTRY_STOPPING ? stop_reason_parse(entry->why) : -1;
    if (reason >= 0) {
        outcome->kind = stop_reason_outcome((enum stop_reason)reason);
        outcome->cause = stop_reason_cause((enum stop_reason)reason);
        outcome_set_message(outcome, "%s", entry->message ? entry->message : entry->why);
        lead->was_stopping = true;
    }
}

/* Adds the journals of all nodes. The run has succeeded if all nodes had done their part and the
 * lead was not stopping the run. */
static void posthumous_add_nodes(const char *run_dir, const struct posthumous_lead *lead,
                                 unsigned nodes)
{
    struct outcome *outcome = lead->outcome;
    bool are_done = json_array_size(lead->nodes) >= nodes, is_done = false, has_saved = false;
    size_t i;
    json_t *node;
    json_array_foreach(lead->nodes, i, node)
    {
        const char *name = json_string_value(node);
        int64_t saved = name ? posthumous_add_node(run_dir, name, outcome, &is_done) : -1;
        has_saved |= saved >= 0;
        are_done &= name && is_done;
    }
    if (outcome->ended == 0)
        outcome->ended = clock_calendar_s();
    if (are_done && !lead->was_stopping) {
        outcome->kind = OUTCOME_SUCCEEDED;
        outcome_set_message(outcome, "%s", "");
    }
    outcome->requeues =
        outcome->kind == OUTCOME_PREEMPTED || (outcome->kind == OUTCOME_TIMED_OUT && has_saved);
}

enum posthumous_end posthumous_read(const char *run_dir, const struct phase_life *claimed,
                                    unsigned nodes, struct outcome *outcome)
{
    struct posthumous_lead lead = {.outcome = outcome};
    enum posthumous_end end = POSTHUMOUS_NOT_BEGUN;
    char *path = journal_path(run_dir, "lead");
    struct outcome told;
    outcome->kind = OUTCOME_PREEMPTED;
    outcome_set_message(outcome, "killed with its job");
    journal_visit(path, -1, posthumous_lead_entry, &lead);
    if (lead.ended && outcome_from_json(lead.ended, &told, NULL) == 0) {
        outcome_fini(outcome);
        *outcome = told;
        end = POSTHUMOUS_TOLD;
    } else if (lead.nodes || claimed) {
        if (!lead.nodes) {
            lead.nodes = journal_nodes(run_dir);
            outcome->job_id = claimed->job_id;
            outcome->restarts = claimed->restarts;
        }
        posthumous_add_nodes(run_dir, &lead, nodes);
        end = POSTHUMOUS_KILLED;
    }
    json_decref(lead.nodes);
    json_decref(lead.ended);
    free(path);
    return end;
}

bool posthumous_has_ended(const char *run_dir)
{
    struct outcome outcome;
    struct posthumous_lead lead = {.outcome = &outcome};
    char *path = journal_path(run_dir, "lead");
    size_t i;
    json_t *name;
    outcome_init(&outcome, 0);
    journal_visit(path, ENTRY_STARTED, posthumous_lead_entry, &lead);
    free(path);
    bool have_ended = json_array_size(lead.nodes) > 0;
    json_array_foreach(lead.nodes, i, name)
    {
        struct posthumous_node node = {.outcome = &outcome};
        const char *of = json_string_value(name);
        path = journal_path(run_dir, of ? of : "");
        journal_visit(path, -1, posthumous_node_entry, &node);
        free(path);
        have_ended &= node.has_exited;
    }
    json_decref(lead.nodes);
    outcome_fini(&outcome);
    return have_ended;
}
