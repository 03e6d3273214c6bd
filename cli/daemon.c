/* phasectl daemon start|stop|status|build-slurm. The daemon starts in a new session and writes to
 * the log of the home, or starts as a job of Slurm. SIGTERM stops it. */
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/daemon_job.h"
#include "cli/field.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "cli/view.h"
#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/place.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    DAEMON_POLL_MS = 50,
    DAEMON_START_MAX_S = 30, /* a large record on a slow file system is checked at the start */
    DAEMON_WAIT_MAX_S = 90,  /* if the daemon says that it waits for the record */
    DAEMON_STOP_MAX_S = 40,  /* a request to a Slurm that does not answer takes up to 36 s */
    DAEMON_JOB_MAX_S = 15,   /* for a job to begin on a free node; then the user need not wait */
    DAEMON_FDS_MAX = 1024, /* shells and test programs pass on few descriptors, with low numbers */
    DAEMON_TAIL_LINES = 10,
    DAEMON_TAIL_SIZE = 16384,
    DAEMON_WORD_SIZE = 5, /* of "wait " and "fail " */
    DAEMON_WORDS_SIZE = 2048,
    DAEMON_WORDS_FD = 3, /* in the daemon */
};

/* What the daemon says about its start. It uses a pipe, because the disk of its log may be full. */
struct daemon_words {
    int fd;
    char text[DAEMON_WORDS_SIZE];
    size_t size;
    char reason[DAEMON_WORDS_SIZE]; /* why it does not start; empty: it has not said why */
};

/* Prints the last lines that the daemon has written since its log was `from` bytes long. */
static void daemon_print_log(const struct cli *cli, off_t from)
{
    struct stat info;
    char *data;
    off_t size = stat(cli->home.log, &info) == 0 ? info.st_size - from : 0;
    size = size > DAEMON_TAIL_SIZE ? DAEMON_TAIL_SIZE : size;
    if (size <= 0 || file_read_end(cli->home.log, (size_t)size, &data, NULL, NULL) < 0)
        return;
    (void)fprintf(stderr, "%s%s", text_last_lines(data, DAEMON_TAIL_LINES),
                  text_ends(data, "\n") ? "" : "\n");
    free(data);
}

/* Reads what the daemon says. Returns whether it waits for something. */
static bool daemon_hear(struct daemon_words *words)
{
    ssize_t size;
    bool waits = false;
    while ((size = read(words->fd, words->text + words->size,
                        sizeof words->text - 1 - words->size)) > 0) {
        words->size += (size_t)size;
        words->text[words->size] = '\0';
        char *line = words->text, *end;
        for (; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            if (text_starts(line, "wait ")) {
                (void)fprintf(stderr, "phased: %s\n", line + DAEMON_WORD_SIZE);
                waits = true;
            } else if (text_starts(line, "fail ")) {
                (void)snprintf(words->reason, sizeof words->reason, "%s", line + DAEMON_WORD_SIZE);
            }
        }
        words->size -= (size_t)(line - words->text);
        memmove(words->text, line, words->size);
    }
    return waits;
}

/* In the child: becomes the daemon. Failures go to the log. */
static void daemon_become(const struct cli *cli, const char *program, int log, int words)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%d", DAEMON_WORDS_FD); /* fits */
    int null = open("/dev/null", O_RDONLY);
    if (setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || dup2(words, DAEMON_WORDS_FD) < 0 ||
        fcntl(DAEMON_WORDS_FD, F_SETFD, 0) < 0 || chdir("/") < 0 ||
        setenv("PHASED_START_FD", number, 1) < 0 || setenv("PHASED_HOME", cli->home.path, 1) < 0) {
        perror("phasectl: could not prepare the daemon");
        return;
    }
    (void)signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
    for (int fd = DAEMON_WORDS_FD + 1; fd < DAEMON_FDS_MAX; fd++)
        (void)close(fd); /* a reader of one of our pipes must not wait for the daemon */
    (void)execl(program, program, (char *)NULL);
    perror("phasectl: could not run phased");
}

/* Waits until `pid` answers, or has ended. */
static int daemon_wait_started(struct cli *cli, pid_t pid, struct daemon_words *words,
                               json_t **ret_json, struct error *err)
{
    int64_t begin_ms = clock_steady_ms();
    int patience_s = DAEMON_START_MAX_S;
    while (clock_steady_ms() - begin_ms < 1000 * patience_s) {
        int status;
        bool has_ended = waitpid(pid, &status, WNOHANG) == pid;
        if (daemon_hear(words))
            patience_s = DAEMON_WAIT_MAX_S;
        if (has_ended) {
            if (words->reason[0])
                return error_set(err, -ECHILD, "phased did not start: %s", words->reason);
            if (WIFSIGNALED(status))
                return error_set(err, -ECHILD, "phased was ended by signal %d (%s)",
                                 WTERMSIG(status), strsignal(WTERMSIG(status)));
            return error_set(err, -ECHILD, "phased ended with exit code %d; the end of %s says why",
                             WEXITSTATUS(status), cli->home.log);
        }
        if (client_ping(cli, ret_json, NULL) == 0)
            return 0;
        cli_wait(DAEMON_POLL_MS);
    }
    return error_set(err, -ETIMEDOUT, "phased (pid %d) did not answer within %d s; its log is %s",
                     (int)pid, patience_s, cli->home.log);
}

static void daemon_print_ping(const struct cli *cli, const json_t *ping, const char *word)
{
    const json_t *cluster = json_object_get(ping, "cluster");
    const char *message = field_text(cluster, "message");
    printf("phased %s %s (pid %lld, home %s)\n", field_text(ping, "version"), word,
           field_integer(ping, "pid"), cli->home.path);
    if (field_is_true(cluster, "answering"))
        printf("Slurm cluster %s answers\n", field_text(cluster, "name"));
    else
        printf("%s%s\n", message[0] ? "Slurm does not answer: " : "Slurm has not answered yet",
               message);
    if (field_text(ping, "trouble")[0]) {
        char *line = view_trouble_line(ping);
        printf("%s\n", line);
        free(line);
    }
}

static int daemon_launch(struct cli *cli, const char *program, json_t **ret_json, struct error *err)
{
    assert(program);
    int log = open(cli->home.log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (log < 0) {
        int status = -errno;
        return error_set(err, status, "cannot open %s: %s", cli->home.log, strerror(-status));
    }
    off_t from = lseek(log, 0, SEEK_END);
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0) {
        int status = -errno;
        (void)close(log); /* nothing was written */
        return error_set(err, status, "could not make a pipe: %s", strerror(-status));
    }
    pid_t pid = fork();
    if (pid == 0) {
        daemon_become(cli, program, log, pipe_fds[1]);
        _exit(127); /* does not write the buffers of the parent */
    }
    (void)close(pipe_fds[1]); /* the daemon has its own copy */
    struct daemon_words words = {.fd = pipe_fds[0]};
    int status = pid < 0 ? error_set(err, -errno, "could not fork: %s", strerror(errno))
                         : daemon_wait_started(cli, pid, &words, ret_json, err);
    (void)close(pipe_fds[0]);
    (void)close(log);
    if (status < 0 && !words.reason[0])
        daemon_print_log(cli, from);
    return status;
}

/* Finds the daemon's program. The caller frees the path. */
static int daemon_find(char **ret_path, struct error *err)
{
    char *path = place_program("phased");
    if (access(path, X_OK) < 0) {
        int status = -errno;
        (void)error_set(err, status, "cannot run %s: %s", path, strerror(-status));
        free(path);
        return status;
    }
    *ret_path = path;
    return 0;
}

static int daemon_start(struct cli *cli)
{
    struct error err;
    char *program = NULL;
    json_t *ping = NULL;
    int exit_code = CLI_OK;
    bool is_running = client_ping(cli, &ping, NULL) == 0;
    if (!is_running && daemon_job_is_wanted(cli)) {
        (void)error_set(&err, -EEXIST,
                        "the daemon of %s runs as a job that does not answer now: 'phasectl daemon "
                        "status' shows the job, and 'phasectl daemon stop' ends it",
                        cli->home.path);
        return cli_fail(&err);
    }
    if (!is_running && (daemon_find(&program, &err) < 0 || home_make(&cli->home, &err) < 0 ||
                        daemon_launch(cli, program, &ping, &err) < 0))
        exit_code = cli_fail(&err);
    else if (cli->as_json)
        client_print_json(ping);
    else
        daemon_print_ping(cli, ping, is_running ? "is running already" : "started");
    json_decref(ping);
    free(program);
    return exit_code;
}

/* Prints the jobs of the home, if the daemon is to run as a job. `ping` is NULL if no daemon
 * answers. */
static void daemon_print_jobs(const struct cli *cli, const json_t *ping)
{
    struct error err;
    char *line;
    if (!daemon_job_is_wanted(cli))
        return;
    if (daemon_job_describe(cli, ping ? field_text(ping, "job") : "", &line, &err) < 0) {
        (void)fprintf(stderr, "phasectl: the jobs of the daemon are not known: %s\n", err.message);
        return;
    }
    if (line[0])
        printf("%s\n", line);
    free(line);
}

static int daemon_refuse_job(const struct cli *cli, const json_t *ping)
{
    struct error err;
    const char *job = field_text(ping, "job");
    if (job[0] && daemon_job_want(cli, &err) == 0) /* a `stop` may have failed */
        (void)error_set(&err, -EEXIST, "the daemon of this home runs as job %s already", job);
    else if (!job[0])
        (void)error_set(&err, -EEXIST,
                        "a daemon (pid %lld) already serves %s: run 'phasectl daemon stop' first",
                        field_integer(ping, "pid"), cli->home.path);
    return cli_fail(&err);
}

/* Waits a little for a job that can begin at once. */
static int daemon_start_job(struct cli *cli, char **options)
{
    struct error err;
    json_t *ping = NULL;
    char *job;
    int status = client_ping(cli, &ping, &err);
    if (status == 0) {
        int exit_code = daemon_refuse_job(cli, ping);
        json_decref(ping);
        return exit_code;
    }
    if (status == -ENOTCONN) /* the job would wait for that daemon to end */
        return cli_fail(&err);
    if (home_make(&cli->home, &err) < 0 || daemon_job_start(cli, options, &job, &err) < 0)
        return cli_fail(&err);
    int64_t deadline_ms = clock_steady_ms() + 1000 * DAEMON_JOB_MAX_S;
    while (client_ping(cli, &ping, NULL) < 0 && clock_steady_ms() < deadline_ms)
        cli_wait(10 * DAEMON_POLL_MS);
    if (cli->as_json && ping) {
        client_print_json(ping);
    } else if (cli->as_json) {
        printf("{\"job\": \"%s\"}\n", job);
    } else if (ping) {
        daemon_print_ping(cli, ping, "started");
        daemon_print_jobs(cli, ping);
    } else {
        printf("job %s will run phased; 'phasectl daemon status' shows its state\n", job);
    }
    json_decref(ping);
    free(job);
    return CLI_OK;
}

/* Asks the daemon that is to stop. A daemon that is starting has no process number for us yet, and
 * answers later. A daemon that is ending never answers, and then releases the home. */
static int daemon_ping_starting(struct cli *cli, json_t **ret_ping, struct error *err)
{
    int64_t deadline_ms = clock_steady_ms() + 1000 * DAEMON_WAIT_MAX_S;
    int status = client_ping(cli, ret_ping, err);
    if (status == -ENOTCONN)
        (void)fprintf(stderr, "phasectl: %s: waiting for it, at most %d s\n", err->message,
                      DAEMON_WAIT_MAX_S);
    while (status == -ENOTCONN && clock_steady_ms() < deadline_ms) {
        cli_wait(4 * DAEMON_POLL_MS);
        status = client_ping(cli, ret_ping, err);
    }
    return status;
}

/* Says what became of the daemon that should stop. */
static int daemon_print_stop(const struct cli *cli, bool was_running)
{
    if (cli->as_json)
        printf("{\"stopped\": %s}\n", was_running ? "true" : "false");
    else
        printf("%s\n", was_running ? "phased stopped" : "phased is not running");
    return CLI_OK;
}

static int daemon_stop(struct cli *cli)
{
    struct error err;
    json_t *ping;
    int status = daemon_ping_starting(cli, &ping, &err);
    bool was_job = daemon_job_is_wanted(cli) || (status == 0 && field_text(ping, "job")[0]);
    if (was_job) {
        if (status == 0)
            json_decref(ping);
        if (daemon_job_stop(cli, &err) < 0)
            return cli_fail(&err);
        status = daemon_ping_starting(cli, &ping, &err);
    }
    if (status == -ECONNREFUSED)
        return daemon_print_stop(cli, was_job);
    if (status < 0)
        return cli_fail(&err);
    if (cli->is_remote) {
        json_decref(ping);
        (void)error_set(&err, -EXDEV,
                        "phased runs on another host: run 'phasectl daemon stop' there");
        return cli_fail(&err);
    }
    pid_t pid = (pid_t)field_integer(ping, "pid");
    json_decref(ping);
    if (pid <= 1) {
        (void)error_set(&err, -EPROTO, "the answer of phased has no process number");
        return cli_fail(&err);
    }
    if (kill(pid, SIGTERM) < 0) {
        (void)error_set(&err, -errno, "could not signal phased (pid %d): %s", (int)pid,
                        strerror(errno));
        return cli_fail(&err);
    }
    int64_t deadline_ms = clock_steady_ms() + 1000 * DAEMON_STOP_MAX_S;
    while (home_is_locked(&cli->home) > 0 && clock_steady_ms() < deadline_ms)
        cli_wait(DAEMON_POLL_MS);
    if (home_is_locked(&cli->home) > 0) {
        (void)error_set(&err, -ETIMEDOUT, "phased (pid %d) still runs after %d s; its log is %s",
                        (int)pid, DAEMON_STOP_MAX_S, cli->home.log);
        return cli_fail(&err);
    }
    return daemon_print_stop(cli, true);
}

static int daemon_status(struct cli *cli)
{
    struct error err;
    json_t *ping;
    if (client_ping(cli, &ping, &err) < 0) {
        if (cli->as_json || !daemon_job_is_wanted(cli))
            return cli_fail(&err);
        daemon_print_jobs(cli, NULL);
        return CLI_FAILED;
    }
    if (cli->as_json) {
        client_print_json(ping);
    } else {
        daemon_print_ping(cli, ping, "is running");
        daemon_print_jobs(cli, ping);
    }
    json_decref(ping);
    return CLI_OK;
}

/* Becomes the script that builds a module for the Slurm of this machine. Returns only if that
 * fails. */
static int daemon_build_slurm(struct cli *cli, const char *prefix, const char *headers)
{
    struct error err;
    if (home_make(&cli->home, &err) < 0 || file_make_folders(cli->home.slurm, 0700, &err) < 0)
        return cli_fail(&err);
    char *script = place_library("build-slurm"), *source = place_library("source");
    const char *words[] = {script, "module", "--source", source, "--to", cli->home.slurm,
                           NULL,   NULL,     NULL,       NULL,   NULL};
    size_t count = 6;
    if (prefix) {
        words[count++] = "--prefix";
        words[count++] = prefix;
    }
    if (headers) {
        words[count++] = "--headers";
        words[count++] = headers;
    }
    (void)signal(SIGPIPE, SIG_DFL); /* as a shell would start it */
    (void)execv(script, (char **)words);
    (void)error_set(&err, -errno, "cannot run %s: %s", script, strerror(errno));
    free(script);
    free(source);
    return cli_fail(&err);
}

int daemon_verb(struct cli *cli, char **words)
{
    const char *prefix = NULL, *headers = NULL;
    bool as_job = false;
    const struct option_rule rules[] = {
        {"as-job", 0, NULL,
         "with start: run it as a job of Slurm; options of sbatch may follow after `--`",
         .flag = &as_job},
        {"prefix", 0, "DIR", "with build-slurm: where Slurm is installed, such as /opt/slurm",
         .text = &prefix},
        {"headers", 0, "DIR", "with build-slurm: the folder of slurm/slurm.h", .text = &headers},
        {"json", 0, NULL, "print the daemon's answer; with stop: whether it was running",
         .flag = &cli->as_json},
        {0},
    };
    struct option_arguments arguments = {.min = 1, .max = 1, .has_rest = true};
    int exit_code;
    if (!options_parse(cli, words, rules, &arguments, &exit_code))
        return exit_code;
    bool is_start = text_equal(arguments.items[0], "start");
    if ((as_job && !is_start) || (arguments.rest && !as_job))
        return cli_usage(cli, "--as-job and words after -- are only for start --as-job");
    bool is_build = text_equal(arguments.items[0], "build-slurm");
    if ((prefix || headers) && !is_build)
        return cli_usage(cli, "--prefix and --headers are only for build-slurm");
    if (is_build)
        return daemon_build_slurm(cli, prefix, headers);
    if (is_start)
        return as_job ? daemon_start_job(cli, arguments.rest) : daemon_start(cli);
    if (text_equal(arguments.items[0], "stop"))
        return daemon_stop(cli);
    if (text_equal(arguments.items[0], "status"))
        return daemon_status(cli);
    return cli_usage(cli, "unknown word '%s'; say start, stop, status or build-slurm",
                     arguments.items[0]);
}
