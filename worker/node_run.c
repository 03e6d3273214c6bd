/* Running one run on one node. */
#include "worker/node_run.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/assignment.h"
#include "worker/clock.h"
#include "worker/crew.h"
#include "worker/environment.h"
#include "worker/groups.h"
#include "worker/failure.h"
#include "worker/journal.h"
#include "worker/link.h"
#include "worker/nodecheck.h"
#include "worker/observer.h"
#include "worker/rendezvous.h"
#include "worker/vigil.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NODE_RUN_TICK_MS = 200,
    NODE_RUN_RETRY_MS = 20,    /* between looks for files of other nodes */
    NODE_RUN_FILES_MS = 60000, /* how long they may take to be seen here */
};

enum node_run_state { NODE_RUN_STARTING, NODE_RUN_RUNNING, NODE_RUN_GONE, NODE_RUN_ENDED };

struct node_run {
    struct node_run_options options;
    char *run_dir, *channel, *log_folder;
    enum node_run_state state;
    struct assignment *assignment; /* NULL until it could be read */
    struct assignment *numbered;   /* of a run begun alone, once the daemon knows it */
    bool wants_number;             /* the lead says that it does */
    struct rendezvous rendezvous;
    struct environment environment;
    struct groups *groups;   /* of launch: group, else NULL */
    struct nodecheck *check; /* the preflight; NULL: not begun, or none */
    bool is_fit;             /* the lead says that all nodes are */
    struct journal *journal; /* this and the next three: NULL where the run has no ranks */
    struct link *link;
    struct observer *observer;
    struct crew *crew;
    struct vigil *vigil; /* NULL before the ranks have started */
    bool has_looked;     /* for what tells why it failed */
    json_t *failure;     /* what was found: see worker/failure.h; or NULL */
    double started_s, ended_s;
    int64_t files_by_ms;
    uv_timer_t starter, ticker;
    unsigned handles;
};

/* --- Reports and entries --------------------------------------------------------------------- */

static void node_run_report(struct node_run *run, json_t *report)
{
    if (!report)
        abort();
    json_object_set_new(report, "turn", json_integer(run->options.turn));
    run->options.report(run->options.context, report);
}

static json_t *node_run_failure(const struct node_run *run, const struct crew_rank *rank)
{
    if (!rank)
        return json_null();
    static const char *const names[] = {
        [ASSIGNMENT_LAUNCH_RANK] = "rank",
        [ASSIGNMENT_LAUNCH_GROUP] = "group",
    };
    const char *name = names[run->assignment->launch];
    char *line = crew_last_line(run->crew, rank->local_rank);
    json_t *failure =
        json_pack("{s:i, s:i, s:s}", "code", rank->code, "signal", rank->signal, "line", line);
    if (name)
        json_object_set_new(failure, name, json_integer((json_int_t)rank->rank));
    free(line);
    return failure;
}

/* Looks for what tells why the run failed: before it is stopped, or just then, as what the ranks
 * print after that follows from it. */
static void node_run_look_for_failure(struct node_run *run)
{
    if (!run->has_looked && run->crew)
        run->failure = failure_look(run->assignment, run->crew);
    run->has_looked = true;
}

static void node_run_urgent(void *context)
{
    struct node_run *run = context;
    if (run->link)
        link_wake(run->link, LINK_NOW);
}

/* Tells the daemon at once. */
static void node_run_add(struct node_run *run, const char *type, json_t *members)
{
    journal_add(run->journal, JOURNAL_STATE, type, members);
    journal_flush(run->journal);
    node_run_urgent(run);
}

static void node_run_guard(void *context, enum observer_stop_cause cause, const char *message,
                           json_t *verdict)
{
    struct node_run *run = context;
    node_run_report(run, json_pack("{s:s, s:s, s:s, s:O?}", "report", "guard", "cause",
                                   cause == OBSERVER_STOP_NAN ? "nan" : "guard", "message", message,
                                   "verdict", verdict));
}

/* --- The end --------------------------------------------------------------------------------- */

static void node_run_end(struct node_run *run)
{
    json_t *ranks = json_array(), *step = json_null(), *checkpoint = json_null();
    int64_t last_step, saved_step;
    uint64_t final = 0;
    run->state = NODE_RUN_ENDED;
    unsigned count = run->crew ? crew_count(run->crew) : 0;
    for (unsigned i = 0; i < count; i++) {
        const struct crew_rank *rank = crew_rank(run->crew, i);
        json_array_append_new(ranks, json_pack("{s:i, s:i, s:i}", "rank", (int)rank->rank, "code",
                                               rank->code, "signal", rank->signal));
    }
    if (run->observer) {
        observer_end(run->observer,
                     crew_was_cut_off(run->crew) ? CHECKPOINTS_CUT_OFF : CHECKPOINTS_ENDED_WELL);
        if (observer_last_step(run->observer, &last_step))
            step = json_integer(last_step);
        if (observer_saved_step(run->observer, &saved_step))
            checkpoint = json_integer(saved_step);
    }
    if (run->journal) {
        node_run_add(run, "exited", json_pack("{s:O}", "ranks", ranks));
        final = journal_last(run->journal);
    }
    json_decref(ranks);
    node_run_report(run, json_pack("{s:s, s:I, s:f, s:o, s:o, s:o, s:O?, s:b}", "report", "ended",
                                   "final", (json_int_t) final, "ended", run->ended_s, "last_step",
                                   step, "checkpoint", checkpoint, "failed",
                                   node_run_failure(run, run->crew ? crew_failed(run->crew) : NULL),
                                   "failure", run->failure, "idle", run->journal == NULL));
}

void node_run_finish(struct node_run *run)
{
    if (run->state == NODE_RUN_GONE)
        node_run_end(run);
}

static void node_run_warn_of_lost_lines(struct node_run *run)
{
    for (unsigned i = 0; i < crew_count(run->crew); i++) {
        int reason;
        unsigned lost = crew_lost_lines(run->crew, i, &reason);
        if (!lost)
            continue;
        char *message = text_format("%u lines of the log of rank %u were lost: %s", lost,
                                    crew_rank(run->crew, i)->rank, strerror(reason));
        node_run_add(run, "warning", json_pack("{s:s}", "message", message));
        free(message);
    }
}

static void node_run_end_check(struct node_run *run)
{
    nodecheck_close(run->check);
    run->check = NULL;
}

/* Nothing of the run is left on this node. */
static void node_run_go(struct node_run *run)
{
    run->state = NODE_RUN_GONE;
    run->ended_s = clock_calendar_s();
    uv_timer_stop(&run->starter);
    uv_timer_stop(&run->ticker);
    vigil_close(run->vigil);
    run->vigil = NULL;
    node_run_end_check(run);
    bool is_bad = run->crew && (crew_failed(run->crew) || crew_was_cut_off(run->crew));
    if (run->observer)
        observer_look_last(run->observer, is_bad ? OBSERVER_ENDED_BADLY : OBSERVER_ENDED_WELL);
    if (run->crew)
        node_run_warn_of_lost_lines(run);
    if (!run->assignment || run->assignment->nodes == 1)
        node_run_end(run);
    else
        node_run_report(run, json_pack("{s:s}", "report", "gone"));
}

/* --- The start ------------------------------------------------------------------------------- */

static void node_run_open_link(struct node_run *run, const struct assignment *assignment)
{
    const struct link_options options = {
        .daemon_file = assignment->daemon_file,
        .run = assignment->run,
        .node = run->options.node,
        .secret = &assignment->secret,
        .journal = run->journal,
    };
    run->link = link_open(&options);
}

static void node_run_open_journal(struct node_run *run)
{
    char *path = text_format("%s/journal/%s.jsonl", run->run_dir, run->options.node);
    run->journal = journal_open(path);
    if (!run->assignment->is_alone)
        node_run_open_link(run, run->assignment);
    free(path);
}

/* Looks whether run.json has its number here, as what the daemon has written may be seen late. */
static void node_run_look_for_number(struct node_run *run)
{
    struct assignment *numbered;
    if (!run->journal || run->link || assignment_read(run->run_dir, &numbered, NULL) < 0)
        return;
    if (numbered->is_alone) {
        assignment_free(numbered);
        return;
    }
    run->numbered = numbered;
    node_run_open_link(run, numbered);
}

static void node_run_printed(void *context, const char *data, size_t size)
{
    struct node_run *run = context;
    if (run->options.node_index == 0)
        observer_feed(run->observer, data, size);
}

static void node_run_failed(void *context, const struct crew_rank *rank)
{
    struct node_run *run = context;
    node_run_look_for_failure(run);
    node_run_report(run, json_pack("{s:s, s:o, s:O?}", "report", "failed", "failed",
                                   node_run_failure(run, rank), "failure", run->failure));
}

static void node_run_gone(void *context)
{
    node_run_go(context);
}

static void node_run_tick_done(uv_timer_t *timer)
{
    struct node_run *run = timer->data;
    observer_look(run->observer);
    if (run->vigil && run->state == NODE_RUN_RUNNING)
        vigil_look(run->vigil);
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
        json_array_append_new(ranks,
                              json_pack("{s:i, s:i, s:i}", "rank", (int)rank->rank, "local_rank",
                                        (int)rank->local_rank, "pid", (int)rank->pid));
    }
    node_run_add(run, "ranks", json_pack("{s:o}", "ranks", ranks));
    node_run_report(run, json_pack("{s:s, s:f}", "report", "started", "time", run->started_s));
}

static int node_run_start_crew(struct node_run *run, struct error *err)
{
    const struct assignment *assignment = run->assignment;
    struct environment_place place = {
        .node_index = run->options.node_index,
        .nodes = assignment->nodes,
        .ranks_per_node = assignment_ranks_per_node(assignment),
        .address = run->rendezvous.address,
        .port = run->rendezvous.port,
        .channel = run->channel,
        .program = run->options.program,
    };
    environment_build(&run->environment, assignment, &place, environ);
    int result = 0;
    if (assignment->launch == ASSIGNMENT_LAUNCH_GROUP)
        result = groups_new(assignment, &run->environment, &run->groups, err);
    if (result < 0)
        return result;
    place.groups = run->groups;
    const struct observer_options observed = {
        .loop = run->options.loop,
        .program = run->options.program,
        .assignment = assignment,
        .environment = &run->environment,
        .journal = run->journal,
        .is_first_node = run->options.node_index == 0,
        .channel = run->channel,
        .stop = node_run_guard,
        .urgent = node_run_urgent,
        .context = run,
    };
    result = observer_new(&observed, &run->observer, err);
    if (result < 0)
        return result;
    const struct crew_options crew = {
        .loop = run->options.loop,
        .assignment = assignment,
        .environment = &run->environment,
        .place = &place,
        .log_folder = run->log_folder,
        .printed = node_run_printed,
        .failed = node_run_failed,
        .gone = node_run_gone,
        .context = run,
    };
    run->started_s = clock_calendar_s();
    return crew_start(&crew, &run->crew, err);
}

static void node_run_vigil_report(void *context, json_t *report)
{
    node_run_report(context, report);
}

static void node_run_start_vigil(struct node_run *run)
{
    const struct vigil_options options = {
        .loop = run->options.loop,
        .crew = run->crew,
        .observer = run->observer,
        .journal = run->journal,
        .hang_s = run->assignment->hang_s,
        .folder = run->options.node_index == 0 ? run->assignment->out_dir : NULL,
        .ras_address = environment_get(&run->environment, "NCCL_RAS_ADDR"),
        .report = node_run_vigil_report,
        .context = run,
    };
    run->vigil = vigil_new(&options);
}

static void node_run_cannot_start(struct node_run *run, const struct error *err)
{
    char text[1024];
    (void)error_text(err, text, sizeof(text));
    json_t *message = json_string(text);
    if (!message)
        message = json_string("cannot start, for a reason that is not UTF-8");
    if (run->journal)
        node_run_add(run, "warning", json_pack("{s:O}", "message", message));
    node_run_report(run, json_pack("{s:s, s:o}", "report", "cannot_start", "message", message));
    /* Ranks that were started before the one that could not be are being killed. */
    if (!run->crew || crew_is_gone(run->crew))
        node_run_go(run);
    else
        run->state = NODE_RUN_RUNNING;
}

/* --- The preflight --------------------------------------------------------------------------- */

static void node_run_checked(void *context, json_t *report)
{
    struct node_run *run = context;
    json_t *outcome = json_object_get(report, "outcome"),
           *reason = json_object_get(report, "reason");
    json_t *told =
        json_pack("{s:s, s:O, s:O}", "report", "preflight", "outcome", outcome, "reason", reason);
    json_object_set_new(report, "observe", json_boolean(run->assignment->preflight_observes));
    node_run_add(run, "preflight", report);
    node_run_report(run, told);
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

/* --- The ranks ------------------------------------------------------------------------------- */

/* Reads what other nodes write. -EAGAIN: not there yet. */
static int node_run_read_files(struct node_run *run, struct error *err)
{
    const struct node_run_options *options = &run->options;
    int result = 0;
    if (!run->assignment)
        result = assignment_read(run->run_dir, &run->assignment, err);
    bool is_needed =
        result == 0 && !node_run_waits(run) && options->node_index < run->assignment->nodes;
    if (is_needed && !run->rendezvous.port) {
        unsigned nodes = run->assignment->nodes;
        if (options->node_index > 0)
            result = rendezvous_read(run->run_dir, options->restarts, &run->rendezvous, err);
        else
            result = rendezvous_pick(options->node, nodes, &run->rendezvous, err);
        if (result == 0 && options->node_index == 0 && nodes > 1)
            result = rendezvous_publish(&run->rendezvous, run->run_dir, options->restarts, err);
    }
    bool is_missing = result == -ENOENT || result == -ESTALE;
    return is_missing && clock_steady_ms() < run->files_by_ms ? -EAGAIN : result;
}

static void node_run_start_done(uv_timer_t *timer)
{
    struct node_run *run = timer->data;
    struct error err;
    if (run->state != NODE_RUN_STARTING)
        return;
    int result = node_run_read_files(run, &err);
    if (result == -EAGAIN) {
        uv_timer_start(&run->starter, node_run_start_done, NODE_RUN_RETRY_MS, 0);
        return;
    }
    if (result == 0 && run->options.node_index >= run->assignment->nodes) {
        node_run_go(run); /* the run needs fewer nodes than the job has */
        return;
    }
    if (result == 0 && node_run_waits(run)) {
        node_run_check(run);
        return;
    }
    if (result == 0) {
        if (!run->journal)
            node_run_open_journal(run);
        result = node_run_start_crew(run, &err);
    }
    if (result < 0) {
        node_run_cannot_start(run, &err);
        return;
    }
    run->state = NODE_RUN_RUNNING;
    node_run_start_vigil(run);
    uv_timer_start(&run->ticker, node_run_tick_done, NODE_RUN_TICK_MS, NODE_RUN_TICK_MS);
    node_run_tell_start(run);
}

struct node_run *node_run_start(const struct node_run_options *options)
{
    static const char *const folders[] = {"journal", "log", "channel"};
    struct node_run *run = calloc(1, sizeof(*run));
    if (!run)
        abort();
    run->options = *options;
    run->run_dir = text_format("%s", options->run_dir);
    run->channel = text_format("%s/channel/%s.jsonl", options->run_dir, options->node);
    run->log_folder = text_format("%s/log", options->run_dir);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char *folder = text_format("%s/%s", options->run_dir, folders[i]);
        (void)file_make_folders(folder, 0700, NULL); /* what is missing is seen when it is used */
        free(folder);
    }
    uv_timer_init(options->loop, &run->starter);
    uv_timer_init(options->loop, &run->ticker);
    run->starter.data = run->ticker.data = run;
    run->handles = 2;
    run->files_by_ms = clock_steady_ms() + NODE_RUN_FILES_MS;
    node_run_start_done(&run->starter);
    return run;
}

/* --- What the owner asks --------------------------------------------------------------------- */

void node_run_go_on(struct node_run *run)
{
    if (run->state != NODE_RUN_STARTING || run->is_fit)
        return;
    run->is_fit = true;
    node_run_end_check(run);
    run->files_by_ms = clock_steady_ms() + NODE_RUN_FILES_MS;
    node_run_start_done(&run->starter);
}

void node_run_stop(struct node_run *run, unsigned seconds)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->state == NODE_RUN_RUNNING)
        crew_stop(run->crew, seconds);
    node_run_look_for_failure(run);
}

void node_run_expect(struct node_run *run, unsigned seconds)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->state == NODE_RUN_RUNNING)
        crew_expect(run->crew, seconds);
}

void node_run_kill(struct node_run *run)
{
    if (run->state == NODE_RUN_STARTING)
        node_run_go(run);
    else if (run->state == NODE_RUN_RUNNING)
        crew_kill(run->crew);
}

void node_run_examine(struct node_run *run)
{
    if (run->vigil)
        vigil_examine(run->vigil);
    else if (run->state == NODE_RUN_STARTING)
        node_run_report(run, json_pack("{s:s, s:f, s:s}", "report", "examined", "seconds", 0.0,
                                       "summary", "the ranks are being started"));
}

void node_run_testify(struct node_run *run)
{
    if (run->vigil)
        vigil_testify(run->vigil);
}

void node_run_number(struct node_run *run)
{
    run->wants_number = true;
    node_run_look_for_number(run);
}

void node_run_terminated(struct node_run *run)
{
    if (run->crew)
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
    groups_free(run->groups);
    json_decref(run->failure);
    free(run->run_dir);
    free(run->channel);
    free(run->log_folder);
    free(run);
}

void node_run_close(struct node_run *run, int drain_ms)
{
    if (!run)
        return;
    vigil_close(run->vigil);
    crew_close(run->crew);
    node_run_end_check(run);
    if (run->journal)
        journal_flush(run->journal);
    link_close(run->link, drain_ms);
    observer_free(run->observer);
    journal_close(run->journal);
    uv_close((uv_handle_t *)&run->starter, node_run_closed);
    uv_close((uv_handle_t *)&run->ticker, node_run_closed);
}
