/* Starts a run on one node. */
#include "worker/node/node_run_state.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/node/container.h"
#include "worker/node/crew.h"
#include "worker/node/groups.h"
#include "worker/node/nodecheck.h"
#include "worker/node/observer.h"
#include "worker/node/shards.h"
#include "worker/node/watchdog.h"
#include "worker/protocol/assignment.h"
#include "worker/protocol/journal.h"
#include "worker/protocol/link.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    NODE_RUN_TICK_MS = 200,
    NODE_RUN_FAULT_MS = 1500,  /* after a failure, until the driver reports a fault */
    NODE_RUN_RETRY_MS = 20,    /* between two looks for files of other nodes */
    NODE_RUN_FILES_MS = 60000, /* until these files must be visible here */
};

/* --- What ranks and observers tell ------------------------------------------------------------ */

static void node_run_guard(void *context, enum stop_reason cause, const char *message,
                           json_t *verdict)
{
    struct node_run *run = context;
    struct report report = {
        .kind = REPORT_GUARD, .cause = cause, .message = message, .verdict = verdict};
    node_run_report(run, &report);
}

static void node_run_fault(void *context, const char *line)
{
    struct node_run *run = context;
    gpu_fault_hear(&run->fault, run->assignment, line, clock_steady_ms());
}

static void node_run_printed(void *context, const char *data, size_t size)
{
    struct node_run *run = context;
    observer_feed(run->observer, data, size);
}

static void node_run_failed(void *context, const struct crew_rank *rank)
{
    struct node_run *run = context;
    struct report report = {.kind = REPORT_FAILED};
    node_run_look_for_failure(run);
    run->has_failed = true;
    report.failure = gpu_fault_or(&run->fault, run->assignment, run->failure);
    report.failed = node_run_failure(run, rank);
    node_run_report(run, &report);
    json_decref(report.failed);
}

static void node_run_late_done(uv_timer_t *timer)
{
    node_run_go(timer->data);
}

/* The driver is asked once a second. A program may die of a fault before the driver reports it. */
static void node_run_gone(void *context)
{
    struct node_run *run = context;
    bool is_awaited = run->has_failed && !run->fault.failure && observer_gpus(run->observer);
    if (is_awaited)
        uv_timer_start(&run->starter, node_run_late_done, NODE_RUN_FAULT_MS, 0);
    else
        node_run_go(run);
}

static void node_run_tick_done(uv_timer_t *timer)
{
    struct node_run *run = timer->data;
    observer_look(run->observer);
    gpu_fault_look(&run->fault, crew_printed(run->crew), clock_steady_ms());
    if (run->watchdog && run->state == NODE_RUN_RUNNING)
        watchdog_look(run->watchdog);
    if (run->wants_number)
        node_run_look_for_number(run);
    if (run->link)
        link_wake(run->link, LINK_SOON);
}

static void node_run_tell_start(struct node_run *run)
{
    json_t *ranks = json_array();
    for (unsigned i = 0; i < crew_count(run->crew); i++) {
        const struct crew_rank *rank = crew_rank(run->crew, i);
        entry_add_rank(ranks, ENTRY_RANKS,
                       &(struct entry_rank){
                           .rank = rank->rank, .local_rank = rank->local_rank, .pid = rank->pid});
    }
    node_run_add(run, &(struct entry){.type = ENTRY_RANKS, .ranks = ranks});
    json_decref(ranks);
    node_run_report(run, &(struct report){.kind = REPORT_STARTED, .time = run->started_s});
}

static void node_run_shard_done(void *context, const struct crew_rank *rank)
{
    struct node_run *run = context;
    struct error err;
    if (shards_mark_done(run->shards, rank->local_rank, &err) == 0)
        return;
    journal_warn(run->journal, "%s", err.message);
    node_run_urgent(run);
}

static bool node_run_is_shard_over(void *context, unsigned local_rank)
{
    const struct node_run *run = context;
    return shards_is_over(run->shards, local_rank);
}

/* Starts the script of the phase in each rank, or the one process that joins the output. */
static int node_run_start_crew(struct node_run *run, const char *script, struct error *err)
{
    const struct assignment *assignment = run->assignment;
    unsigned count = run->joined ? 1 : run->place.ranks_per_node;
    bool is_sharded = run->shards && !run->joined;
    const struct crew_options crew = {
        .loop = run->options.loop,
        .assignment = assignment,
        .environment = &run->environment,
        .place = &run->place,
        .script = script,
        .container = run->container,
        /* The joining process is numbered after all groups. */
        .first_rank = run->joined ? assignment->nodes * run->place.ranks_per_node
                                  : run->place.node_index * count,
        .count = count,
        .is_over = is_sharded ? node_run_is_shard_over : NULL,
        .log_folder = run->log_folder,
        .printed = node_run_printed,
        .failed = node_run_failed,
        .succeeded = is_sharded ? node_run_shard_done : NULL,
        .gone = node_run_gone,
        .context = run,
    };
    return crew_start(&crew, &run->crew, err);
}

static int node_run_start_observer(struct node_run *run, struct error *err)
{
    const struct observer_options observed = {
        .loop = run->options.loop,
        .program = run->options.program,
        .assignment = run->assignment,
        .environment = &run->environment,
        .journal = run->journal,
        .is_first_node = run->options.node_index == 0,
        .channel = run->channel,
        .stop = node_run_guard,
        .fault = node_run_fault,
        .urgent = node_run_urgent,
        .context = run,
    };
    return observer_new(&observed, &run->observer, err);
}

static void node_run_start_watchdog(struct node_run *run)
{
    enum assignment_launch launch = run->assignment->launch;
    const struct watchdog_options options = {
        .loop = run->options.loop,
        .crew = run->crew,
        .observer = run->observer,
        .journal = run->journal,
        .has_ranks = !run->joined && launch == ASSIGNMENT_LAUNCH_RANK,
        .has_groups = !run->joined && launch == ASSIGNMENT_LAUNCH_GROUP,
        .hang_s = run->assignment->hang_s,
        .folder = run->options.node_index == 0 ? run->assignment->file.out_dir : NULL,
        .program = run->options.program,
        .environment = run->environment.entries,
        .secrets = run->assignment->secrets,
        .ras_address = environment_get(&run->environment, "NCCL_RAS_ADDR"),
        .report = node_run_report,
        .context = run,
    };
    run->watchdog = watchdog_new(&options);
}

/* Whether the spec names a path that does not exist or cannot be used. Then no node is at fault,
 * and another try would fail, too. */
static bool node_run_is_by_spec(const struct error *err)
{
    static const int numbers[] = {ENOENT, ENOTDIR, EISDIR, EACCES, ELOOP, ENAMETOOLONG};
    static const char *const keys[] = {"workdir", "shard.input", "container.image",
                                       "container.mounts"};
    bool is_path = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        is_path |= text_equal(err->where, keys[i]);
    for (size_t i = 0; is_path && i < sizeof numbers / sizeof numbers[0]; i++)
        if (err->code == -numbers[i])
            return true;
    return false;
}

static void node_run_cannot_start(struct node_run *run, const struct error *err)
{
    enum stop_reason cause = node_run_is_by_spec(err) ? STOP_EXIT : STOP_LAUNCH;
    char text[1024];
    (void)error_text(err, text, sizeof text);
    json_t *message = json_string(text); /* only if it is UTF-8 */
    if (run->journal) {
        journal_warn(run->journal, "%s", text);
        node_run_urgent(run);
    }
    const char *shown = message ? text : "cannot start, for a reason that is not UTF-8";
    node_run_report(
        run, &(struct report){.kind = REPORT_CANNOT_START, .cause = cause, .message = shown});
    json_decref(message);
    /* If only one rank could not be started, the ranks before it are being killed. */
    if (!run->crew || crew_is_gone(run->crew))
        node_run_go(run);
    else
        run->state = NODE_RUN_RUNNING;
}

/* --- The preflight ---------------------------------------------------------------------------- */

static void node_run_checked(void *context, const struct entry *check)
{
    struct node_run *run = context;
    node_run_add(run, check);
    node_run_report(run, &(struct report){.kind = REPORT_PREFLIGHT,
                                          .outcome = check->outcome,
                                          .reason = check->reason});
}

static bool node_run_waits(const struct node_run *run)
{
    return run->assignment && run->assignment->preflight && !run->is_fit;
}

static void node_run_check(struct node_run *run)
{
    if (run->check)
        return;
    const struct nodecheck_options options = {
        .loop = run->options.loop,
        .assignment = run->assignment,
        .node_index = run->options.node_index,
        .done = node_run_checked,
        .context = run,
    };
    node_run_open_journal(run);
    run->check = nodecheck_start(&options);
}

/* --- The ranks -------------------------------------------------------------------------------- */

static void node_run_watch(struct node_run *run)
{
    run->state = NODE_RUN_RUNNING;
    node_run_start_watchdog(run);
    uv_timer_start(&run->ticker, node_run_tick_done, NODE_RUN_TICK_MS, NODE_RUN_TICK_MS);
}

/* All files that the ranks need are there. */
static void node_run_begin(struct node_run *run)
{
    struct error err;
    int status = node_run_start_observer(run, &err);
    run->started_s = clock_calendar_s();
    if (status == 0)
        status = node_run_start_crew(run, "run.sh", &err);
    if (status < 0) {
        node_run_cannot_start(run, &err);
        return;
    }
    node_run_watch(run);
    node_run_tell_start(run);
    if (crew_is_gone(run->crew))
        node_run_go(run); /* all shards of this node were done before */
}

static void node_run_shards_ready(void *context, int status, const struct error *err)
{
    struct node_run *run = context;
    if (run->state != NODE_RUN_STARTING)
        return;
    if (status < 0)
        node_run_cannot_start(run, err);
    else
        node_run_begin(run);
}

static void node_run_find_shards(struct node_run *run)
{
    const struct shards_options options = {
        .loop = run->options.loop,
        .assignment = run->assignment,
        .environment = &run->environment,
        .first = run->place.node_index * run->place.ranks_per_node,
        .count = run->place.ranks_per_node,
        .ready = node_run_shards_ready,
        .context = run,
    };
    run->shards = shards_find(&options);
    run->place.shards = run->shards;
}

static int node_run_prepare(struct node_run *run, struct error *err)
{
    const struct assignment *assignment = run->assignment;
    run->place = (struct rank_place){
        .node_index = run->options.node_index,
        .nodes = assignment->nodes,
        .ranks_per_node = assignment_ranks_per_node(assignment),
        .address = run->rendezvous.address,
        .port = run->rendezvous.port,
        .channel = run->channel,
        .program = run->options.program,
    };
    rank_environment_build(&run->environment, assignment, &run->place, environ);
    int status = 0;
    if (assignment->launch == ASSIGNMENT_LAUNCH_GROUP)
        status = groups_new(assignment, &run->environment, &run->groups, err);
    run->place.groups = run->groups;
    if (status == 0)
        status =
            container_new(assignment, &run->environment, run->options.loop, &run->container, err);
    return status;
}

static int node_run_read_assignment(struct node_run *run, struct error *err)
{
    struct assignment *assignment;
    int status = assignment_read(run->run_dir, &assignment, err);
    if (status < 0)
        return status;
    status = assignment_read_secrets(assignment, err);
    if (status == 0 && assignment->needs_hardware)
        status = error_set(err, -ENOENT, "%s/hardware.json is not visible yet", run->run_dir);
    if (status == 0)
        run->assignment = assignment;
    else
        assignment_free(assignment);
    return status;
}

/* Reads the files that other nodes write. -EAGAIN: a file is not there yet. */
static int node_run_read_files(struct node_run *run, struct error *err)
{
    const struct node_run_options *options = &run->options;
    int status = 0;
    if (!run->assignment)
        status = node_run_read_assignment(run, err);
    bool is_needed =
        status == 0 && !node_run_waits(run) && options->node_index < run->assignment->nodes;
    if (is_needed && !run->rendezvous.port) {
        unsigned nodes = run->assignment->nodes;
        if (options->node_index > 0)
            status = rendezvous_read(run->run_dir, options->restarts, &run->rendezvous, err);
        else
            status = rendezvous_pick(options->node, nodes, &run->rendezvous, err);
        if (status == 0 && options->node_index == 0 && nodes > 1)
            status = rendezvous_publish(&run->rendezvous, run->run_dir, options->restarts, err);
    }
    bool is_missing = status == -ENOENT || status == -ESTALE;
    return is_missing && clock_steady_ms() < run->files_by_ms ? -EAGAIN : status;
}

static void node_run_start_done(uv_timer_t *timer)
{
    struct node_run *run = timer->data;
    struct error err;
    if (run->state != NODE_RUN_STARTING)
        return;
    int status = node_run_read_files(run, &err);
    if (status == -EAGAIN) {
        uv_timer_start(&run->starter, node_run_start_done, NODE_RUN_RETRY_MS, 0);
        return;
    }
    if (status == 0 && run->options.node_index >= run->assignment->nodes) {
        node_run_go(run); /* the run needs fewer nodes than the job has */
        return;
    }
    if (status == 0 && node_run_waits(run)) {
        node_run_check(run);
        return;
    }
    if (status == 0) {
        if (!run->journal)
            node_run_open_journal(run);
        status = node_run_prepare(run, &err);
    }
    if (status < 0)
        node_run_cannot_start(run, &err);
    else if (run->assignment->shard_input)
        node_run_find_shards(run);
    else
        node_run_begin(run);
}

struct node_run *node_run_start(const struct node_run_options *options)
{
    struct node_run *run = xcalloc(1, sizeof *run);
    run->options = *options;
    run->run_dir = xstrdup(options->run_dir);
    run->channel = text_format("%s/channel/%s.jsonl", options->run_dir, options->node);
    run->log_folder = text_format("%s/log", options->run_dir);
    /* A missing folder is noticed when it is used. */
    (void)assignment_make_folders(options->run_dir, NULL);
    uv_timer_init(options->loop, &run->starter);
    uv_timer_init(options->loop, &run->ticker);
    run->starter.data = run->ticker.data = run;
    run->handles = 2;
    run->files_by_ms = clock_steady_ms() + NODE_RUN_FILES_MS;
    node_run_start_done(&run->starter);
    return run;
}

void node_run_go_on(struct node_run *run)
{
    if (run->state != NODE_RUN_STARTING || run->is_fit)
        return;
    run->is_fit = true;
    node_run_end_check(run);
    run->files_by_ms = clock_steady_ms() + NODE_RUN_FILES_MS;
    node_run_start_done(&run->starter);
}

/* --- Joining ---------------------------------------------------------------------------------- */

void node_run_join(struct node_run *run)
{
    bool is_ready = run->state == NODE_RUN_GONE && run->crew && !run->joined;
    struct error err;
    if (!is_ready || run->options.node_index > 0 || !run->assignment->join)
        return;
    run->joined = run->crew;
    run->crew = NULL;
    observer_all_ended(run->observer);
    run->place.groups = NULL; /* the joining process has the node to itself */
    run->place.shards = NULL;
    environment_fini(&run->environment);
    rank_environment_build(&run->environment, run->assignment, &run->place, environ);
    if (run->container)
        container_move_env(run->assignment, &run->environment);
    if (node_run_start_crew(run, "join.sh", &err) < 0)
        node_run_cannot_start(run, &err);
    else
        node_run_watch(run);
}
