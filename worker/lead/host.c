/* The main loop of the host. It takes Slurm's signals and the ends of the leads, and looks for
 * guests. */
#include "worker/lead/host.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/place.h"
#include "lib/protocol/job_files.h"
#include "lib/text.h"
#include "worker/lead/grace.h"
#include "worker/lead/job_folder.h"
#include "worker/lead/lead.h"
#include "worker/lead/requeue.h"
#include "worker/process/child.h"
#include "worker/process/processes.h"
#include "worker/protocol/phase_claim.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

enum {
    HOST_LOOK_MS = 2000,     /* between two looks for guests and for dead leads */
    HOST_DEATHS_MAX = 3,     /* deaths of a lead in a row; then the job is not held for it */
    HOST_STEADY_MS = 60000,  /* after such a life, the count of deaths begins anew */
    HOST_AGAIN_MS = 2000,    /* before a lead is started again; doubled for each death in a row */
    HOST_AGAINS_MAX = 5,     /* doublings at most */
    HOST_ORPHANS_MS = 60000, /* for the processes of a dead lead; agents stop within 10 s */
    HOST_MISSED_MS = 20000,  /* a lead that takes no run any more ends within this time */
};

struct host_lead {
    struct host *host;
    struct host_lead *next;
    char *job_dir;
    struct child *child; /* NULL: the lead does not run */
    bool is_dead;        /* the lead will be started again */
    bool has_failed;     /* it failed the last time it ended */
    bool is_called;      /* the daemon may have given it a run since it started */
    unsigned deaths;     /* deaths in a row; a lead that could not open its run counts as dead */
    uint64_t started_ms, died_ms, called_ms;
};

struct host {
    uv_loop_t loop;
    const char *job_dir;
    char *program;
    struct phase_life life;
    struct host_lead *leads;
    struct stat guests_seen; /* guests.json at the last look */
    uv_signal_t term, interrupt, limit;
    uv_timer_t look;
    uv_async_t ended;       /* wakes the loop when a lead has ended */
    struct requeue requeue; /* if a lead wants it, no lead is started any more */
    bool is_killed;         /* Slurm is killing the job; no lead is started any more */
    bool is_leaving, is_closing;
};

static void host_close(struct host *host)
{
    if (host->is_closing)
        return;
    host->is_closing = true;
    uv_close((uv_handle_t *)&host->term, NULL);
    uv_close((uv_handle_t *)&host->interrupt, NULL);
    uv_close((uv_handle_t *)&host->limit, NULL);
    uv_close((uv_handle_t *)&host->look, NULL);
    requeue_close(&host->requeue);
    uv_close((uv_handle_t *)&host->ended, NULL);
}

static void host_signal(struct host *host, int number)
{
    for (struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (lead->child)
            child_signal(lead->child, number);
}

/* Whether the host may still start leads in this allocation. */
static bool host_goes_on(const struct host *host)
{
    return host->requeue.state == REQUEUE_NONE && !host->is_killed && !host->is_leaving;
}

static void host_requeue_over(void *context)
{
    host_close(context);
}

/* --- Leads ------------------------------------------------------------------------------------ */

/* The lead will be started again. */
static void host_lead_died(struct host_lead *lead)
{
    lead->died_ms = uv_now(&lead->host->loop);
    lead->deaths++;
    lead->is_dead = true;
}

static void host_lead_killed(struct host_lead *lead, int number)
{
    if (uv_now(&lead->host->loop) - lead->started_ms >= HOST_STEADY_MS)
        lead->deaths = 0;
    host_lead_died(lead);
    fprintf(stderr, "phase-worker host: the lead of %s was killed by signal %d\n", lead->job_dir,
            number);
}

/* The lead has ended. If it was called long ago, it has taken the run for which it was called. */
static void host_lead_left(struct host_lead *lead)
{
    if (uv_now(&lead->host->loop) - lead->called_ms > HOST_MISSED_MS)
        lead->is_called = false;
}

static void host_lead_done(void *context, const struct child_end *end)
{
    struct host_lead *lead = context;
    struct host *host = lead->host;
    int code = end->code, number = end->signal;
    child_close(lead->child);
    lead->child = NULL;
    uv_async_send(&host->ended);
    if (code == GUEST_REQUEUE && host_goes_on(host)) {
        requeue_handle(&host->requeue, REQUEUE_WANT);
        host_signal(host, SIGUSR1); /* so that the others save */
    } else if (number && host_goes_on(host)) {
        host_lead_killed(lead, number);
    } else if (code == GUEST_AGAIN && host_goes_on(host)) {
        host_lead_died(lead);
    } else {
        host_lead_left(lead);
    }
    lead->has_failed = number || (code && code != GUEST_REQUEUE);
}

/* Opens the log of a lead. The job's own lead writes to the job's log, which Slurm has opened. */
static int host_open_log(const struct host_lead *lead)
{
    if (text_equal(lead->job_dir, lead->host->job_dir))
        return dup(STDOUT_FILENO);
    char *path = text_format("%s/job.log", lead->job_dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    free(path);
    return fd;
}

static void host_start(struct host_lead *lead)
{
    struct host *host = lead->host;
    char *arguments[] = {host->program, "guest", lead->job_dir, NULL};
    int log = host_open_log(lead);
    const struct child_stream output = {.output = log < 0 ? CHILD_NOWHERE : CHILD_FILE, .fd = log};
    const struct child_options options = {
        .loop = &host->loop,
        .kind = CHILD_OF_LOOP,
        .program = host->program,
        .arguments = arguments,
        .out = output,
        .err = output,
        .ended = host_lead_done,
        .context = lead,
    };
    struct error err;
    lead->is_dead = lead->is_called = false;
    lead->started_ms = uv_now(&host->loop);
    int status = child_start(&options, &lead->child, &err);
    if (log >= 0)
        (void)close(log); /* the host itself writes nothing to it */
    if (status == 0)
        return;
    fprintf(stderr, "phase-worker host: %s\n", err.message);
    lead->has_failed = true;
    host_lead_died(lead);
}

static struct host_lead *host_find(const struct host *host, const char *job_dir)
{
    for (struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (text_equal(job_folder_name(lead->job_dir), job_folder_name(job_dir)))
            return lead;
    return NULL;
}

static void host_add(struct host *host, const char *job_dir)
{
    struct host_lead *lead = xcalloc(1, sizeof *lead);
    *lead = (struct host_lead){.host = host, .next = host->leads, .job_dir = xstrdup(job_dir)};
    host->leads = lead;
    host_start(lead);
}

/* --- Guests ----------------------------------------------------------------------------------- */

/* The files that the daemon has written may become visible here later; then the next look finds
 * them. */
static bool host_can_start(const char *job_dir)
{
    char *path = text_format("%s/current.json", job_dir);
    file_look_again(job_dir);
    bool is_there = access(path, R_OK) == 0;
    free(path);
    return is_there;
}

/* Whether the daemon has written guests.json since the last look. */
static bool host_guests_changed(struct host *host)
{
    struct stat now = {0};
    char *path = text_format("%s/guests.json", host->job_dir);
    file_look_again(host->job_dir);
    if (stat(path, &now) < 0)
        now = (struct stat){0};
    free(path);
    bool has_changed = !file_is_unchanged(&host->guests_seen, &now);
    host->guests_seen = now;
    return has_changed;
}

static void host_call(struct host_lead *lead)
{
    lead->is_called = true;
    lead->called_ms = uv_now(&lead->host->loop);
}

/* Adds new guests. The daemon writes the list when it gives a run to a phase in it, without saying
 * which phase that is. */
static void host_add_guests(struct host *host)
{
    size_t i;
    bool has_changed = host_guests_changed(host);
    json_t *guest, *guests = guests_read(host->job_dir);
    json_array_foreach(guests, i, guest)
    {
        const char *job_dir = json_string_value(guest);
        struct host_lead *lead = job_dir ? host_find(host, job_dir) : NULL;
        if (lead && has_changed)
            host_call(lead);
        else if (job_dir && !lead && host_can_start(job_dir))
            host_add(host, job_dir);
    }
    json_decref(guests);
}

/* Starts a lead again that has left before a run was given to its phase. The new lead finds its
 * last run over, and asks the daemon for the next run, as after a requeue. */
static void host_start_called(struct host *host)
{
    for (struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (lead->is_called && !lead->child && !lead->is_dead)
            host_start(lead);
}

/* --- Leads that died -------------------------------------------------------------------------- */

static bool host_is_lead(const struct host *host, pid_t pid)
{
    for (const struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (lead->child && child_pid(lead->child) == pid)
            return true;
    return false;
}

/* Reaps the children that dead leads have left. libuv reaps the leads, and the scontrol of a host
 * that leaves or asks for a requeue. So only a host that goes on calls this function. */
static void host_reap(const struct host *host)
{
    siginfo_t info = {0};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
           !host_is_lead(host, info.si_pid))
        (void)waitpid(info.si_pid, NULL, WNOHANG);
}

/* Whether a process that a dead lead has started still runs. The host is the subreaper, so such
 * processes are its children. */
static bool host_has_orphans(const struct host *host)
{
    size_t count, orphans = 0;
    struct process *family = processes_family(getpid(), &count);
    for (size_t i = 0; i < count; i++)
        orphans += family[i].parent == getpid() && !host_is_lead(host, family[i].pid);
    free(family);
    return orphans > 0;
}

/* Whether it is time to start a dead lead again. The delay also gives Slurm time to end the
 * processes of a killed srun. */
static bool host_lead_is_due(const struct host_lead *lead)
{
    unsigned doublings = lead->deaths ? lead->deaths - 1 : 0;
    if (doublings > HOST_AGAINS_MAX)
        doublings = HOST_AGAINS_MAX;
    uint64_t dead_ms = uv_now(&lead->host->loop) - lead->died_ms;
    return lead->is_dead && dead_ms >= (uint64_t)HOST_AGAIN_MS << doublings;
}

/* Starts the dead leads that are due. The srun of a killed lead tells its agents to stop, and they
 * save what they can. The host waits for their end, because otherwise the phase would run twice in
 * the same folders. */
static void host_start_again(struct host *host)
{
    bool is_due = false;
    for (const struct host_lead *lead = host->leads; lead; lead = lead->next)
        is_due = is_due || host_lead_is_due(lead);
    if (!is_due || host_has_orphans(host))
        return;
    for (struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (host_lead_is_due(lead))
            host_start(lead);
}

/* --- The job ---------------------------------------------------------------------------------- */

static bool host_is_held_by(const struct host_lead *lead)
{
    const struct host *host = lead->host;
    if (lead->child || !lead->is_dead)
        return lead->child != NULL;
    return host_goes_on(host) && lead->deaths < HOST_DEATHS_MAX &&
           uv_now(&host->loop) - lead->died_ms < HOST_ORPHANS_MS;
}

static bool host_is_idle(const struct host *host)
{
    for (const struct host_lead *lead = host->leads; lead; lead = lead->next)
        if (host_is_held_by(lead))
            return false;
    return true;
}

static void host_forgotten(void *context, bool is_so)
{
    (void)is_so;
    host_close(context);
}

/* Ends a job that need not run again. The host does not see whether Slurm has preempted the job,
 * because in the grace Slurm signals only the job steps. */
static void host_leave(struct host *host)
{
    if (!host->is_killed)
        grace_forget(&host->loop, host->life.job_id, host_forgotten, host);
    else
        host_close(host);
}

/* Starts the leads that are due; ends the job when no lead is left. */
static void host_look(struct host *host)
{
    if (host_goes_on(host)) {
        host_reap(host);
        host_start_again(host);
        host_add_guests(host);
        host_start_called(host);
    }
    if (!host_is_idle(host) || host->is_closing)
        return;
    requeue_handle(&host->requeue, REQUEUE_ASK);
    if (host->requeue.state == REQUEUE_NONE && !host->is_leaving) {
        host->is_leaving = true;
        host_leave(host);
    }
}

static void host_look_done(uv_timer_t *timer)
{
    host_look(timer->data);
}

static void host_ended_done(uv_async_t *async)
{
    host_look(async->data);
}

/* --- Signals ---------------------------------------------------------------------------------- */

/* Slurm is killing the job. This is also how a requeue begins; the nodes are free when this process
 * has ended. */
static void host_term_done(uv_signal_t *handle, int number)
{
    struct host *host = handle->data;
    (void)number;
    host->is_killed = true;
    host_signal(host, SIGTERM);
    requeue_handle(&host->requeue, REQUEUE_TERM);
    host_look(host);
}

/* The time limit of the job is near. Slurm signals only the batch script, so the host passes the
 * signal on. */
static void host_limit_done(uv_signal_t *handle, int number)
{
    (void)number;
    host_signal(handle->data, SIGUSR2);
}

/* --- Start ------------------------------------------------------------------------------------ */

static void host_init(struct host *host, const char *job_dir)
{
    host->job_dir = job_dir;
    host->program = place_self();
    host->life = phase_life_own();
    (void)signal(SIGHUP, SIG_IGN); /* as a lead: its end would be the end of all runs */
    (void)signal(SIGUSR1, SIG_IGN);
    uv_loop_init(&host->loop);
    uv_signal_init(&host->loop, &host->term);
    uv_signal_init(&host->loop, &host->interrupt);
    uv_signal_init(&host->loop, &host->limit);
    uv_timer_init(&host->loop, &host->look);
    uv_async_init(&host->loop, &host->ended, host_ended_done);
    host->term.data = host->interrupt.data = host->limit.data = host;
    host->look.data = host->ended.data = host;
    requeue_init(&host->requeue, &host->loop, "host", host->life.job_id, host_requeue_over, host);
    uv_signal_start(&host->term, host_term_done, SIGTERM);
    uv_signal_start(&host->interrupt, host_term_done, SIGINT);
    uv_signal_start(&host->limit, host_limit_done, SIGUSR2);
    uv_timer_start(&host->look, host_look_done, HOST_LOOK_MS, HOST_LOOK_MS);
}

static int host_fini(struct host *host)
{
    bool has_failed = false;
    int status = uv_loop_close(&host->loop);
    assert(status == 0);
    (void)status; /* all handles are closed */
    while (host->leads) {
        struct host_lead *lead = host->leads;
        host->leads = lead->next;
        has_failed = has_failed || lead->has_failed;
        free(lead->job_dir);
        free(lead);
    }
    free(host->program);
    return has_failed ? 1 : 0;
}

int host_main(const char *job_dir)
{
    struct host host = {0};
    struct error err;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* people read job.log while it grows */
    host_init(&host, job_dir);
    if (processes_adopt(&err) < 0)
        fprintf(stderr, "phase-worker host: %s\n",
                err.message); /* without it, orphans of dead leads are not seen */
    /* A second job with the same token must not serve the guests of the first job. */
    int status = job_folder_claim(job_dir, &host.life, &err);
    if (status < 0)
        fprintf(stderr, "phase-worker host: %s\n", err.message); /* the runs are more important */
    if (status == -EBUSY) {
        host_close(&host);
    } else {
        (void)host_guests_changed(&host); /* all leads start now */
        host_add(&host, job_dir);
        host_look(&host);
    }
    uv_run(&host.loop, UV_RUN_DEFAULT);
    return host_fini(&host);
}
