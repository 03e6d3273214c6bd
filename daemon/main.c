/* phased: the daemon. Builds its parts in order, runs the loop, and takes the parts down in the
 * opposite order when it is told to stop. Running jobs are left alone. Their workers go on, and the
 * next daemon of this home takes them up again. If Slurm's configuration has changed, the next
 * daemon is the same process: it executes phased anew. */
#include "daemon/api/api.h"
#include "daemon/lock.h"
#include "daemon/loop/loop.h"
#include "daemon/rooms.h"
#include "daemon/service.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/module.h"
#include "daemon/slurm/slurm_cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/option.h"
#include "lib/place.h"
#include "lib/text.h"

#include "config.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

static const char usage[] =
    "usage: phased [--home DIR] [--host NAME]\n"
    "\n"
    "The daemon of phased: runs the workflows of one user on Slurm. It stays in the foreground;\n"
    "`phasectl daemon start` starts it in the background. SIGTERM and SIGINT stop it; running "
    "jobs\n"
    "are left alone.\n";

enum {
    BEGINS_ANEW = -1,
    EXIT_OTHER_DAEMON = 3, /* another daemon serves the home: to start again would not help */
    RENEWAL_TRIES = 360,   /* for an hour, because the trouble may pass */
    RENEWAL_AGAIN_S = 10,
    RECORD_PATIENCE_S = 60, /* while another program, such as sqlite3, has the record locked */
    RECORD_AGAIN_MS = 200,
};

struct options {
    const char *home, *host, *job, *program; /* program: the path of phased itself */
    bool is_anew;                            /* this process has executed itself */
    int tries; /* how often a process that began anew may still fail to serve */
    int lock;  /* the lock that this process keeps while it executes itself; -1: none */
    struct service service;
};

struct daemon {
    struct home home;
    int lock;
    char *worker;
    struct store *store;
    struct module module;
    struct cluster *cluster;
    struct loop *loop;
    struct api *api;
    uv_loop_t uv;
    uv_signal_t signals[2];
    uv_async_t renewal;
    const struct service *service;
    uv_timer_t service_timer;
    bool is_stopping, begins_anew, is_fenced;
    int starter; /* a pipe to the program that waits for the start; -1: no program waits */
};

/* --- Command line ----------------------------------------------------------------------------- */

/* Opens the module of the home. A home that does not exist has no modules. */
static int open_module(const char *home_path, struct module *ret_module, struct error *err)
{
    struct home home;
    int status = home_init(&home, home_path, err);
    if (status < 0)
        return status;
    status = module_open(&home, ret_module, err);
    home_fini(&home);
    return status;
}

static int print_version(const char *home)
{
    struct module module;
    struct error err;
    printf("phased " PACKAGE_VERSION "\n");
    if (open_module(home, &module, &err) < 0) {
        printf("no Slurm: %s\n", err.message);
        return 0;
    }
    printf("module for Slurm %s: %s\nlibslurm: %s\n", module.calls->release, module.path,
           module.library);
    module_fini(&module);
    return 0;
}

/* Ends the process, with Slurm's words on standard error, if the configuration cannot be used. */
static int check_slurm(const char *home)
{
    struct module module;
    struct error err;
    if (open_module(home, &module, &err) < 0) {
        fprintf(stderr, "phased: error: %s\n", err.message);
        return 1;
    }
    free(module.calls->configuration_read());
    module_fini(&module);
    return 0;
}

/* Returns -1 if the daemon can go on, or else the exit code. */
static int read_options(char **words, struct options *options)
{
    bool is_check = false, is_version = false;
    const struct option_rule rules[] = {
        {"home", 0, "DIR", "where everything is kept (default: $PHASED_HOME, or ~/.phased)",
         .text = &options->home},
        {"host", 0, "NAME",
         "how the nodes reach this host (default: $PHASED_DAEMON_HOST, or its name)",
         .text = &options->host},
        {"check-slurm", 0, NULL, "only try whether Slurm's configuration can be used",
         .flag = &is_check},
        {"version", 0, NULL, "print the version, and which Slurm is used", .flag = &is_version},
        {0},
    };
    options->host = getenv("PHASED_DAEMON_HOST");
    options->job = getenv("PHASED_DAEMON_JOB"); /* daemon-job sets it */
    int exit_code = option_main("phased", usage, words, rules, NULL);
    if (exit_code >= 0)
        return exit_code;
    if (is_version)
        return print_version(options->home);
    return is_check ? check_slurm(options->home) : -1;
}

/* --- Telling of the start --------------------------------------------------------------------- */

/* `phasectl daemon start` opens a pipe, and hears on the pipe how the start goes. The log would not
 * do: it may be on a full disk. */
static int find_starter(void)
{
    const char *text = getenv("PHASED_START_FD");
    int fd = text ? (int)strtol(text, NULL, 10) : -1;
    (void)unsetenv("PHASED_START_FD"); /* programs that we start must not see it */
    return fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

/* `word`: wait or fail. The other program may be gone. */
static void tell_starter(const struct daemon *daemon, const char *word, const char *text)
{
    if (daemon->starter >= 0)
        (void)dprintf(daemon->starter, "%s %s\n", word, text);
}

static void forget_starter(struct daemon *daemon)
{
    if (daemon->starter >= 0)
        (void)close(daemon->starter); /* nothing is buffered */
    daemon->starter = -1;
}

/* What `systemctl status` shows. The caller frees it. */
static char *service_status(const struct daemon *daemon)
{
    const struct loop_cluster_state *cluster = loop_cluster_state(daemon->loop);
    const char *trouble = loop_trouble(daemon->loop);
    if (trouble)
        return text_format("cannot record anything: %s", trouble);
    if (cluster->name[0] && cluster->is_answering)
        return text_format("serves %s; Slurm cluster %s answers", daemon->home.path, cluster->name);
    return text_format("serves %s; Slurm does not answer%s%s", daemon->home.path,
                       cluster->message[0] ? ": " : " yet", cluster->message);
}

static void tell_service(struct daemon *daemon)
{
    bool is_ready = daemon->loop && daemon->api && !daemon->is_stopping;
    char *status =
        is_ready ? service_status(daemon) : xstrdup(daemon->is_stopping ? "stopping" : "starting");
    service_tell(daemon->service, is_ready ? "READY=1\nWATCHDOG=1" : "WATCHDOG=1", status);
    free(status);
}

/* If the loop is stuck, this is not called, and systemd starts the daemon again. */
static void on_service(uv_timer_t *timer)
{
    tell_service(timer->data);
}

/* --- Building --------------------------------------------------------------------------------- */

/* Thousands of workers may be connected. */
static void raise_limits(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* fewer files are enough for fewer workers */
    }
}

static int prepare_home(struct daemon *daemon, const struct options *options, struct error *err)
{
    int status = home_init(&daemon->home, options->home, err);
    if (status == 0)
        status = home_make(&daemon->home, err);
    if (status < 0)
        return status;
    daemon->lock = lock_take(daemon->home.lock, options->lock, err);
    if (daemon->lock < 0)
        return daemon->lock;
    home_choose_slurm(&daemon->home);
    return file_make_folders(daemon->home.runs, 0700, err);
}

static void ask_for_renewal(void *context)
{
    struct daemon *daemon = context;
    (void)uv_async_send(&daemon->renewal); /* cannot fail */
}

/* Another program's lock passes. The daemon waits for it, and says so. */
static int open_record(struct daemon *daemon, struct error *err)
{
    const uint64_t until = uv_hrtime() + RECORD_PATIENCE_S * (uint64_t)1000000000;
    const char *path = daemon->home.database;
    bool was_told = false;
    int status;
    while ((status = store_open(path, daemon->home.runs, &daemon->store, err)) == -EBUSY) {
        char *text = text_format("another program has the record %s locked, such as sqlite3 or a "
                                 "backup: waiting for it, at most %d s",
                                 path, RECORD_PATIENCE_S);
        if (!was_told) {
            log_line("%s", text);
            tell_starter(daemon, "wait", text);
        }
        was_told = true;
        free(text);
        if (uv_hrtime() >= until)
            return error_prefix(err, "waited %d s", RECORD_PATIENCE_S);
        uv_sleep(RECORD_AGAIN_MS);
        (void)uv_run(&daemon->uv, UV_RUN_NOWAIT); /* so that SIGTERM is seen */
        if (daemon->is_stopping)
            return error_set(err, -EINTR, "stopped while the record was locked");
    }
    return status;
}

static void on_fenced(void *context);

static int open_parts(struct daemon *daemon, const struct options *options, int64_t started_ms,
                      struct error *err)
{
    int status = open_record(daemon, err);
    if (status < 0)
        return status;
    daemon->worker = place_program("phase-worker"); /* on a file system that all nodes share */
    struct loop_config loop_config = {
        .uv = &daemon->uv,
        .home = &daemon->home,
        .store = daemon->store,
        .worker = daemon->worker,
        .rooms = daemon_rooms,
        .fenced = on_fenced,
        .context = daemon,
    };
    status = loop_open(&loop_config, &daemon->loop, err);
    if (status < 0)
        return status;
    status = module_open(&daemon->home, &daemon->module, err);
    if (status < 0)
        return status;
    log_line("uses the module for Slurm %s: %s with %s", daemon->module.calls->release,
             daemon->module.path, daemon->module.library);
    struct slurm_cluster_config cluster_config = {.checker = options->program,
                                                  .home = daemon->home.path,
                                                  .wake = loop_wake,
                                                  .wake_context = daemon->loop,
                                                  .renew = ask_for_renewal,
                                                  .renew_context = daemon};
    status = daemon->module.calls->cluster_new(&cluster_config, &daemon->cluster, err);
    if (status < 0)
        return status;
    loop_start(daemon->loop, daemon->cluster);
    struct api_config api_config = {.uv = &daemon->uv,
                                    .loop = daemon->loop,
                                    .home = &daemon->home,
                                    .host = options->host,
                                    .job = options->job,
                                    .version = PACKAGE_VERSION,
                                    .started_ms = started_ms};
    return api_open(&api_config, &daemon->api, err);
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void loop_is_closed(void *context)
{
    struct daemon *daemon = context;
    daemon->loop = NULL;
    for (size_t i = 0; i < sizeof daemon->signals / sizeof *daemon->signals; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
    uv_close((uv_handle_t *)&daemon->renewal, NULL);
    uv_close((uv_handle_t *)&daemon->service_timer, NULL);
}

static void api_is_closed(void *context)
{
    struct daemon *daemon = context;
    daemon->api = NULL;
    if (daemon->loop)
        loop_close(daemon->loop, loop_is_closed, daemon);
    /* The cluster ends before the handles that its thread wakes are gone. */
    cluster_free(daemon->cluster);
    if (!daemon->loop)
        loop_is_closed(daemon);
}

static void stop(struct daemon *daemon)
{
    if (daemon->is_stopping)
        return;
    daemon->is_stopping = true;
    if (daemon->api)
        api_close(daemon->api, api_is_closed, daemon);
    else
        api_is_closed(daemon);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct daemon *daemon = handle->data;
    log_line("stopping: %s", strsignal(number));
    service_tell(daemon->service, "STOPPING=1", "stopping");
    daemon->begins_anew = false;
    stop(daemon);
}

static void on_renewal(uv_async_t *handle)
{
    struct daemon *daemon = handle->data;
    if (daemon->is_stopping)
        return;
    log_line("beginning anew: Slurm's configuration has changed");
    service_tell(daemon->service, "", "beginning anew: Slurm's configuration has changed");
    daemon->begins_anew = true;
    stop(daemon);
}

static void on_fenced(void *context)
{
    struct daemon *daemon = context;
    daemon->is_fenced = true;
    daemon->begins_anew = false;
    stop(daemon);
}

static void daemon_fini(struct daemon *daemon)
{
    int status = uv_loop_close(&daemon->uv);
    assert(status == 0);
    store_close(daemon->store);
    module_fini(&daemon->module);
    free(daemon->worker);
    home_fini(&daemon->home);
    if (daemon->lock >= 0 && !daemon->begins_anew)
        (void)close(daemon->lock); /* only the lock is lost */
}

/* --- Running ---------------------------------------------------------------------------------- */

/* Returns the exit code. BEGINS_ANEW: everything is taken down, and the process can execute anew.
 */
static int serve(struct options *options)
{
    struct daemon daemon = {.home = {.folder = -1},
                            .lock = -1,
                            .starter = find_starter(),
                            .service = &options->service};
    struct error err;
    char text[sizeof err.where + sizeof err.message + 32];
    int64_t started_ms = loop_now_ms();
    static const int numbers[] = {SIGTERM, SIGINT};
    /* These calls fail only without memory or descriptors. */
    (void)uv_loop_init(&daemon.uv);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)uv_signal_init(&daemon.uv, &daemon.signals[i]);
        daemon.signals[i].data = &daemon;
        (void)uv_signal_start(&daemon.signals[i], on_signal, numbers[i]);
    }
    (void)uv_async_init(&daemon.uv, &daemon.renewal, on_renewal);
    (void)uv_timer_init(&daemon.uv, &daemon.service_timer);
    daemon.renewal.data = daemon.service_timer.data = &daemon;
    uint64_t every_ms = service_every_ms(&options->service);
    if (every_ms > 0) {
        (void)uv_timer_start(&daemon.service_timer, on_service, every_ms, every_ms);
        tell_service(&daemon);
    }
    int status = prepare_home(&daemon, options, &err);
    if (status == 0)
        status = open_parts(&daemon, options, started_ms, &err);
    if (status < 0) {
        fprintf(stderr, "phased: %s\n", error_text(&err, text, sizeof text));
        tell_starter(&daemon, "fail", text);
        service_tell(&options->service, "WATCHDOG=1", text);
        stop(&daemon);
    } else {
        log_line("phased " PACKAGE_VERSION " (%d) serves %s", (int)getpid(), daemon.home.path);
        if (options->is_anew)
            service_be_patient(&options->service, false, "serving again");
    }
    forget_starter(&daemon);
    (void)uv_run(&daemon.uv, UV_RUN_DEFAULT); /* until all handles are closed */
    if (status == 0 && !daemon.begins_anew)
        log_line("stopped");
    daemon_fini(&daemon);
    options->lock = daemon.begins_anew ? daemon.lock : -1;
    /* Nobody else would start the daemon again. slurm.conf may be half written, or a disk may be
     * full. Meanwhile the lock is free, so a person can start another daemon. */
    if (status < 0 && status != -EINTR && daemon.lock >= 0 && options->tries > 0) {
        log_line("cannot start again: trying once more in %d s", RENEWAL_AGAIN_S);
        uv_sleep(1000 * RENEWAL_AGAIN_S); /* signals end the process now */
        return BEGINS_ANEW;
    }
    if (daemon.lock == -EBUSY || daemon.is_fenced)
        return EXIT_OTHER_DAEMON;
    if (status < 0)
        return 1;
    if (daemon.begins_anew)
        options->tries = RENEWAL_TRIES + 1;
    return daemon.begins_anew ? BEGINS_ANEW : 0;
}

/* Reads what begin_anew() has told this process. */
static void find_renewal(struct options *options)
{
    const char *text = getenv("PHASED_RENEWAL");
    char *end;
    options->is_anew = text != NULL;
    if (text) {
        options->tries = (int)strtol(text, &end, 10);
        if (*end == ' ')
            options->lock = (int)strtol(end, NULL, 10);
    }
    (void)unsetenv("PHASED_RENEWAL"); /* programs that we start must not see it */
    if (options->lock >= 0)
        (void)fcntl(options->lock, F_SETFD, FD_CLOEXEC);
}

/* Executes the file that this program came from, under the same process id. Returns only on
 * failure. */
static int begin_anew(const struct options *options, char **argv)
{
    char renewal[32];
    const char *program = options->program;
    int lock = options->lock;
    (void)snprintf(renewal, sizeof renewal, "%d %d", options->tries - 1, lock); /* fits */
    (void)setenv("PHASED_RENEWAL", renewal, 1); /* if this fails, there is only one try */
    service_be_patient(&options->service, true, "beginning anew");
    service_hand_on(&options->service);
    /* Libraries may have left descriptors open. The lock stays: otherwise it would seem that no
     * daemon runs. */
    if (lock > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, (unsigned)lock - 1, 0);
    (void)close_range((unsigned)(lock > STDERR_FILENO ? lock : STDERR_FILENO) + 1, ~0U, 0);
    if (lock >= 0)
        (void)fcntl(lock, F_SETFD, 0);
    (void)execv(program, argv);
    fprintf(stderr, "phased: could not begin anew: cannot execute %s: %s\n", program,
            strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    (void)argc;
    struct options options = {.lock = -1};
    int exit_code = read_options(argv + 1, &options);
    if (exit_code >= 0)
        return exit_code;
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN); /* these cannot fail */
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk */
    raise_limits();
    char *program = place_self();
    options.program = program;
    find_renewal(&options);
    service_init(&options.service);
    exit_code = serve(&options);
    if (exit_code == BEGINS_ANEW)
        exit_code = begin_anew(&options, argv);
    service_fini(&options.service);
    free(program);
    return exit_code;
}
