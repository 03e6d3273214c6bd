/* phased: the daemon. Builds its parts in order, runs the loop, and takes them down in the opposite
 * order when it is told to stop. Running jobs are left alone: their workers go on, and the next
 * daemon of this home takes them up again. */
#include "daemon/api/api.h"
#include "daemon/lock.h"
#include "daemon/loop/crash.h"
#include "daemon/loop/log.h"
#include "daemon/loop/loop.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/slurm_cluster.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/text.h"

#include "config.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
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
    "The daemon of phased: runs the workflows of one user on Slurm. It stays in the foreground;\n"
    "`phasectl daemon start` starts it in the background.\n"
    "\n"
    "  --home DIR    where everything is kept (default: $PHASED_HOME, or ~/.phased)\n"
    "  --host NAME   by which the nodes reach this host (default: $PHASED_HOST, or its name)\n"
    "  --foreground  the default, for scripts that say it\n"
    "  --version     print the version\n"
    "  --help        print this\n"
    "\n"
    "SIGTERM and SIGINT stop it; running jobs are left alone.\n";

struct options {
    const char *home, *host;
};

struct daemon {
    struct home home;
    int lock;
    char *worker;
    struct store *store;
    struct cluster *cluster;
    struct loop *loop;
    struct api *api;
    uv_loop_t uv;
    uv_signal_t signals[2];
    bool is_stopping;
};

/* --- Command line ----------------------------------------------------------------------------- */

/* Returns the exit status when there is nothing more to do, else -1. */
static int read_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"home", required_argument, NULL, 'h'}, {"host", required_argument, NULL, 'H'},
        {"foreground", no_argument, NULL, 'f'}, {"version", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, '?' + 128}, {NULL, 0, NULL, 0},
    };
    int option;
    options->host = getenv("PHASED_HOST");
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'h':
            options->home = optarg;
            break;
        case 'H':
            options->host = optarg;
            break;
        case 'f':
            break;
        case 'v':
            puts("phased " PACKAGE_VERSION);
            return 0;
        case '?' + 128:
            fputs(usage, stdout);
            return 0;
        default:
            fputs("Try `phased --help`.\n", stderr);
            return 2;
        }
    }
    if (optind == argc)
        return -1;
    fprintf(stderr, "phased: it takes no argument: %s\n", argv[optind]);
    return 2;
}

/* --- Building --------------------------------------------------------------------------------- */

/* phase-worker lies beside phased, on a file system that all nodes share. */
static char *find_worker(void)
{
    char path[4096];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[size > 0 ? size : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = '\0';
    return text_format("%s/phase-worker", path);
}

/* Thousands of workers may be connected. */
static void raise_limits(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files); /* with fewer it works too, for fewer workers */
    }
}

static int prepare_home(struct daemon *daemon, const struct options *options, struct error *err)
{
    int status = home_init(&daemon->home, options->home, err);
    if (status == 0)
        status = home_make(&daemon->home, err);
    if (status < 0)
        return status;
    daemon->lock = lock_take(daemon->home.lock, err);
    if (daemon->lock < 0)
        return daemon->lock;
    /* The home's own private Slurm, where there is one and nothing else was said. */
    if (!getenv("SLURM_CONF") && access(daemon->home.slurm_conf, R_OK) == 0)
        (void)setenv("SLURM_CONF", daemon->home.slurm_conf, 1);
    return file_make_folders(daemon->home.runs, 0700, err);
}

static int open_parts(struct daemon *daemon, const struct options *options, int64_t started_ms,
                      struct error *err)
{
    int status = store_open(daemon->home.database, daemon->home.runs, &daemon->store, err);
    if (status < 0)
        return status;
    daemon->worker = find_worker();
    struct loop_config loop_config = {
        .uv = &daemon->uv, .home = &daemon->home, .store = daemon->store, .worker = daemon->worker};
    status = loop_open(&loop_config, &daemon->loop, err);
    if (status < 0)
        return status;
    struct slurm_cluster_config cluster_config = {.wake = loop_wake, .data = daemon->loop};
    status = slurm_cluster_new(&cluster_config, &daemon->cluster, err);
    if (status < 0)
        return status;
    loop_start(daemon->loop, daemon->cluster);
    struct api_config api_config = {.uv = &daemon->uv,
                                    .loop = daemon->loop,
                                    .home = &daemon->home,
                                    .host = options->host,
                                    .version = PACKAGE_VERSION,
                                    .started_ms = started_ms};
    return api_open(&api_config, &daemon->api, err);
}

/* --- Stopping --------------------------------------------------------------------------------- */

static void loop_is_closed(void *arg)
{
    struct daemon *daemon = arg;
    daemon->loop = NULL;
    for (size_t i = 0; i < sizeof daemon->signals / sizeof *daemon->signals; i++)
        uv_close((uv_handle_t *)&daemon->signals[i], NULL);
}

static void api_is_closed(void *arg)
{
    struct daemon *daemon = arg;
    daemon->api = NULL;
    if (daemon->loop)
        loop_close(daemon->loop, loop_is_closed, daemon);
    else
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
    log_line("stopping: %s", strsignal(number));
    stop(handle->data);
}

static void daemon_fini(struct daemon *daemon)
{
    int status = uv_loop_close(&daemon->uv);
    assert(status == 0);
    cluster_free(daemon->cluster);
    store_close(daemon->store);
    free(daemon->worker);
    home_fini(&daemon->home);
    if (daemon->lock >= 0)
        (void)close(daemon->lock); /* nothing is lost with it but the lock */
}

/* --- Running ---------------------------------------------------------------------------------- */

static int serve(const struct options *options)
{
    struct daemon daemon = {.home = {.folder = -1}, .lock = -1};
    struct error err;
    char text[sizeof err.where + sizeof err.message + 32];
    int64_t started_ms = loop_now_ms();
    static const int numbers[] = {SIGTERM, SIGINT};
    (void)uv_loop_init(&daemon.uv); /* fails without memory or descriptors only: then all does */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        (void)uv_signal_init(&daemon.uv, &daemon.signals[i]); /* likewise */
        daemon.signals[i].data = &daemon;
        (void)uv_signal_start(&daemon.signals[i], on_signal, numbers[i]);
    }
    int status = crash_init(&err);
    if (status == 0)
        status = prepare_home(&daemon, options, &err);
    if (status == 0)
        status = open_parts(&daemon, options, started_ms, &err);
    if (status < 0) {
        fprintf(stderr, "phased: %s\n", error_text(&err, text, sizeof text));
        stop(&daemon);
    } else {
        log_line("phased " PACKAGE_VERSION " (%d) serves %s", (int)getpid(), daemon.home.path);
    }
    (void)uv_run(&daemon.uv, UV_RUN_DEFAULT); /* until all handles are closed */
    if (status == 0)
        log_line("stopped");
    daemon_fini(&daemon);
    return status < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    int status = read_options(argc, argv, &options);
    if (status >= 0)
        return status;
    (void)umask(077);
    (void)signal(SIGPIPE, SIG_IGN); /* these cannot fail */
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on files is a full disk */
    raise_limits();
    return serve(&options);
}
