/* The reports and the end of a run on one node, and the requests of the agent. */
#include "worker/node/node_run_state.h"

#include "lib/clock.h"
#include "lib/memory.h"
#include "lib/protocol/journal_file.h"
#include "worker/node/container.h"
#include "worker/node/crew.h"
#include "worker/node/groups.h"
#include "worker/node/nodecheck.h"
#include "worker/node/observer.h"
#include "worker/node/ranklog.h"
#include "worker/node/shards.h"
#include "worker/node/watchdog.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/link.h"

#include <stdlib.h>
#include <string.h>

enum { DRAIN_BEHIND_MS = 10000 }; /* less than the lead waits for its agents */

/* --- Reports and entries ---------------------------------------------------------------------- */

void node_run_report(void *context, struct report *report)
{
    struct node_run *run = context;
    report->start_number = run->options.start_number;
    run->options.report(run->options.context, report);
}

json_t *node_run_failure(const struct node_run *run, const struct crew_rank *rank)
{
    if (!rank)
        return NULL;
    enum assignment_launch launch = run->assignment->launch;
    char *line = ranklog_last_line(rank->log);
    bool is_rank = !run->joined && launch == ASSIGNMENT_LAUNCH_RANK;
    bool is_group = !run->joined && launch == ASSIGNMENT_LAUNCH_GROUP;
    json_t *failure =
        rank_failure_to_json(&(struct rank_failure){.code = rank->code,
                                                    .signal = rank->signal,
                                                    .line = line,
                                                    .rank = is_rank ? (int64_t)rank->rank : -1,
                                                    .group = is_group ? (int64_t)rank->rank : -1,
                                                    .is_join = run->joined != NULL});
    free(line);
    return failure;
}

static json_t *node_run_find_failure(const struct node_run *run)
{
    bool has_ranks = run->assignment->launch == ASSIGNMENT_LAUNCH_RANK;
    unsigned count = crew_count(run->crew);
    struct failure_lines *ranks = xcalloc(count + 1, sizeof *ranks);
    for (unsigned i = 0; i < count; i++) {
        const struct crew_rank *rank = crew_rank(run->crew, i);
        ranks[i].lines = ranklog_recent(rank->log, &ranks[i].size);
        ranks[i].rank = has_ranks ? (int)rank->rank : -1;
    }
    json_t *failure = failure_look(run->assignment, ranks, count);
    free(ranks);
    return failure;
}

void node_run_look_for_failure(struct node_run *run)
{
    if (!run->has_looked && run->crew)
        run->failure = node_run_find_failure(run);
    run->has_looked = true;
}

void node_run_urgent(void *context)
{
    struct node_run *run = context;
    journal_flush(run->journal);
    if (run->link)
        link_wake(run->link, LINK_NOW);
}

void node_run_add(struct node_run *run, const struct entry *entry)
{
    journal_add(run->journal, entry);
    node_run_urgent(run);
}

/* --- The journal ------------------------------------------------------------------------------ */

static void node_run_open_link(struct node_run *run, const struct assignment *assignment)
{
    const struct link_options options = {
        .daemon_file = assignment->file.daemon_file,
        .run = assignment->file.run,
        .node = run->options.node,
        .secret = &assignment->secret,
        .journal = run->journal,
    };
    run->link = link_open(&options);
}

void node_run_open_journal(struct node_run *run)
{
    char *path = journal_path(run->run_dir, run->options.node);
    run->journal = journal_open(path);
    if (!run->assignment->file.is_alone)
        node_run_open_link(run, run->assignment);
    free(path);
}

void node_run_look_for_number(struct node_run *run)
{
    struct assignment *numbered;
    if (!run->journal || run->link || assignment_read(run->run_dir, &numbered, NULL) < 0)
        return;
    if (numbered->file.is_alone) {
        assignment_free(numbered);
        return;
    }
    run->numbered = numbered;
    node_run_open_link(run, numbered);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void node_run_list_ends(const struct crew *crew, json_t *ranks)
{
    unsigned count = crew ? crew_count(crew) : 0;
    for (unsigned i = 0; i < count; i++) {
        const struct crew_rank *rank = crew_rank(crew, i);
        entry_add_rank(
            ranks, ENTRY_EXITED,
            &(struct entry_rank){.rank = rank->rank, .code = rank->code, .signal = rank->signal});
    }
}

static void node_run_end(struct node_run *run)
{
    json_t *ranks = json_array();
    struct report report = {.kind = REPORT_ENDED,
                            .ended = run->ended_s,
                            .last_step = -1,
                            .checkpoint = -1,
                            .is_idle = run->journal == NULL,
                            .shards = run->shards ? shards_done(run->shards) : 0,
                            .shards_over = run->shards ? shards_over(run->shards) : 0};
    run->state = NODE_RUN_ENDED;
    if (run->assignment)
        report.failure = gpu_fault_or(&run->fault, run->assignment, run->failure);
    node_run_list_ends(run->joined, ranks);
    node_run_list_ends(run->crew, ranks);
    /* The last rows may have violated a guard. Slurm may have stopped ranks that run in job steps
     * of their own: such ranks exit with 0, too. */
    bool is_done = run->has_done_its_part && !run->was_terminated &&
                   !(run->observer && observer_is_suspect(run->observer));
    bool was_cut_off = (run->crew && crew_was_cut_off(run->crew)) ||
                       (run->joined && crew_was_cut_off(run->joined));
    if (run->observer) {
        observer_end(run->observer, was_cut_off ? CHECKPOINTS_CUT_OFF : CHECKPOINTS_ENDED_WELL);
        (void)observer_last_step(run->observer, &report.last_step); /* else it stays -1 */
        (void)observer_saved_step(run->observer, &report.checkpoint);
    }
    if (run->journal) {
        node_run_add(run,
                     &(struct entry){.type = ENTRY_EXITED, .ranks = ranks, .is_done = is_done});
        journal_sync(run->journal); /* whoever learns of the end may read the journal at once */
        report.final = (int64_t)journal_last(run->journal);
    }
    json_decref(ranks);
    report.failed = node_run_failure(run, run->crew ? crew_failed(run->crew) : NULL);
    container_remove(run->container);
    node_run_report(run, &report);
    json_decref(report.failed);
}

static void node_run_look_last(struct node_run *run)
{
    bool is_bad = run->crew && (crew_failed(run->crew) || crew_was_cut_off(run->crew));
    if (run->observer)
        observer_look_last(run->observer, is_bad ? OBSERVER_ENDED_BADLY : OBSERVER_ENDED_WELL);
}

void node_run_finish(struct node_run *run)
{
    if (run->state != NODE_RUN_GONE)
        return;
    if (run->observer)
        observer_all_ended(run->observer);
    node_run_look_last(run); /* other nodes may have written to the file of metrics meanwhile */
    node_run_end(run);
}

static void node_run_warn_of_lost_lines(struct node_run *run)
{
    for (unsigned i = 0; i < crew_count(run->crew); i++) {
        const struct crew_rank *rank = crew_rank(run->crew, i);
        int reason;
        unsigned lost = ranklog_lost(rank->log, &reason);
        if (!lost)
            continue;
        journal_warn(run->journal, "%u lines of the log of rank %u were lost: %s", lost, rank->rank,
                     strerror(reason));
        node_run_urgent(run);
    }
}

void node_run_end_check(struct node_run *run)
{
    nodecheck_close(run->check);
    run->check = NULL;
}

void node_run_go(struct node_run *run)
{
    run->state = NODE_RUN_GONE;
    run->ended_s = clock_calendar_s();
    uv_timer_stop(&run->starter);
    uv_timer_stop(&run->ticker);
    watchdog_close(run->watchdog);
    run->watchdog = NULL;
    node_run_end_check(run);
    /* This is read now, because a stop from here on stops nothing. */
    bool joins = run->assignment && run->assignment->join && run->options.node_index == 0;
    run->has_done_its_part =
        run->crew && crew_ended_well(run->crew) && !run->has_failed && (run->joined || !joins);
    node_run_look_last(run);
    if (run->crew)
        node_run_warn_of_lost_lines(run);
    /* Ranks on other nodes may still run, or the output of the groups must be joined. Only the lead
     * knows. */
    if (!run->assignment || (run->assignment->nodes == 1 && !run->assignment->join))
        node_run_end(run);
    else
        node_run_report(run, &(struct report){.kind = REPORT_GONE});
}

/* --- What the agent asks ---------------------------------------------------------------------- */

void node_run_stop(struct node_run *run, unsigned seconds)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->crew && run->state != NODE_RUN_ENDED)
        crew_stop(run->crew, seconds);
    node_run_look_for_failure(run);
}

void node_run_expect(struct node_run *run, unsigned seconds, bool shielded)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->crew && run->state != NODE_RUN_ENDED)
        crew_expect(run->crew, seconds, shielded);
}

void node_run_kill(struct node_run *run)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->crew && run->state != NODE_RUN_ENDED)
        crew_kill(run->crew);
}

void node_run_suspect(struct node_run *run)
{
    if (run->observer)
        observer_suspect(run->observer, INT64_MAX);
}

void node_run_examine(struct node_run *run)
{
    if (run->watchdog)
        watchdog_examine(run->watchdog);
    else if (run->state == NODE_RUN_STARTING)
        node_run_report(run, &(struct report){.kind = REPORT_EXAMINED,
                                              .summary = "the ranks are being started"});
}

void node_run_save_evidence(struct node_run *run)
{
    if (run->watchdog)
        watchdog_save_evidence(run->watchdog);
}

void node_run_number(struct node_run *run)
{
    run->wants_number = true;
    node_run_look_for_number(run);
}

void node_run_terminated(struct node_run *run, bool reached_all)
{
    run->was_terminated = true;
    if (run->crew && reached_all)
        crew_terminated(run->crew);
}

void node_run_reap(struct node_run *run)
{
    if (run->crew)
        crew_reap(run->crew);
    else if (run->check)
        nodecheck_reap(run->check);
}

bool node_run_is_over(const struct node_run *run)
{
    return run->state >= NODE_RUN_GONE;
}

static void node_run_closed(uv_handle_t *handle)
{
    struct node_run *run = handle->data;
    if (--run->handles)
        return;
    assignment_free(run->assignment);
    assignment_free(run->numbered);
    environment_fini(&run->environment);
    container_free(run->container);
    groups_free(run->groups);
    json_decref(run->failure);
    gpu_fault_fini(&run->fault);
    free(run->run_dir);
    free(run->channel);
    free(run->log_folder);
    free(run);
}

void node_run_close(struct node_run *run, int drain_ms)
{
    if (!run)
        return;
    watchdog_close(run->watchdog);
    crew_close(run->crew);
    crew_close(run->joined);
    shards_close(run->shards);
    node_run_end_check(run);
    if (run->journal)
        journal_flush(run->journal);
    if (drain_ms < DRAIN_BEHIND_MS && run->journal && journal_is_behind(run->journal))
        drain_ms = DRAIN_BEHIND_MS; /* entries that a full disk has no room for are nowhere else */
    link_close(run->link, drain_ms);
    observer_free(run->observer);
    journal_close(run->journal);
    uv_close((uv_handle_t *)&run->starter, node_run_closed);
    uv_close((uv_handle_t *)&run->ticker, node_run_closed);
}
