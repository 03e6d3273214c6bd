/* phased itself. Nothing is changed, also if the home does not exist yet. */
#include "cli/doctor/phased.h"

#include "cli/cli.h"
#include "cli/client.h"
#include "cli/doctor/finding.h"
#include "cli/doctor/machine.h"
#include "cli/field.h"
#include "cli/reader/record.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/failures/catalogue.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/http.h"
#include "lib/place.h"
#include "lib/protocol/daemon_file.h"
#include "lib/spec/queue_limits.h"
#include "lib/text.h"

#include "config.h"
#include "schema/queries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    PHASED_ASK_S = 15,
    PHASED_RECORD_LARGE_MIB = 4096,
};

/* --- The daemon ------------------------------------------------------------------------------- */

/* Whether a process of this host runs another file than the `phased` beside this program. A file
 * that was replaced counts as another file. Returns false if the file of the process cannot be
 * read. */
static bool phased_is_replaced(long long pid)
{
    struct stat here, there;
    char *path = place_program("phased"), *link = text_format("/proc/%lld/exe", pid);
    bool is_other = stat(path, &here) == 0 && stat(link, &there) == 0 &&
                    (here.st_dev != there.st_dev || here.st_ino != there.st_ino);
    free(link);
    free(path);
    return is_other;
}

static void phased_judge_ping(const struct cli *cli, const json_t *ping, json_t *findings)
{
    const json_t *cluster = json_object_get(ping, "cluster");
    const char *version = field_text(ping, "version"), *trouble = field_text(ping, "trouble");
    long long pid = field_integer(ping, "pid");
    const char *other = "";
    if (!text_equal(version, PACKAGE_VERSION))
        other = ", and phasectl is " PACKAGE_VERSION;
    else if (!cli->is_remote && phased_is_replaced(pid))
        other = ", but it is not the program that is beside phasectl now";
    finding_add(findings, *other ? FINDING_WARNING : FINDING_OK, "daemon",
                *other ? "`phasectl daemon stop` and `start`: running jobs go on" : NULL,
                "phased %s runs (pid %lld)%s", version, pid, other);
    if (*trouble)
        finding_add(findings, FINDING_ERROR, "daemon", "make room, or repair the file system",
                    "the record cannot be written, so nothing new begins: %s", trouble);
    if (!field_is_true(cluster, "answering"))
        finding_add(findings, FINDING_WARNING, "daemon", "see the line about the controller",
                    "Slurm does not answer the daemon: %s", field_text(cluster, "message"));
}

/* Whether this host reaches the port for workers by the name that they use. */
static void phased_look_at_port(const struct cli *cli, json_t *findings)
{
    struct http_reply reply = {0};
    struct error err;
    struct daemon_file file;
    if (daemon_file_read(cli->home.daemon_file, &file, &err) < 0)
        return; /* the daemon is just starting */
    struct http_client *client = http_client_new_tcp("the daemon", file.host, file.port);
    http_client_set_timeouts(client, 1000 * PHASED_ASK_S, 1000 * PHASED_ASK_S);
    int status = http_request(client, "GET", "/v1/worker/0/command", NULL, 0, &reply, &err);
    if (status < 0)
        finding_add(
            findings, FINDING_WARNING, "port",
            "set PHASED_DAEMON_HOST to a name of this host that all nodes know, or let the site "
            "open the port; meanwhile phased reads what workers write, every 10 s",
            "%s", err.message);
    else
        finding_add(findings, FINDING_OK, "port", NULL,
                    "workers are answered at %s:%u (tried on this host)", file.host, file.port);
    http_reply_fini(&reply);
    http_client_free(client);
    daemon_file_fini(&file);
}

static void phased_look_at_daemon(struct cli *cli, json_t *findings)
{
    struct error err;
    json_t *ping = NULL;
    int held = home_is_locked(&cli->home), status = client_ping(cli, &ping, &err);
    if (held < 0)
        finding_add(findings, FINDING_ERROR, "locks",
                    "make the file yours, or set PHASED_HOME to a file system with locks; Lustre "
                    "needs the mount option flock",
                    "cannot find out whether %s is locked: %s", cli->home.lock, strerror(-held));
    if (status == 0) {
        phased_judge_ping(cli, ping, findings);
        phased_look_at_port(cli, findings);
    } else if (status == -ECONNREFUSED && held <= 0) {
        finding_add(findings, FINDING_NOTE, "daemon", "start it: `phasectl daemon start`",
                    "no daemon runs for this home");
    } else if (status == -ECONNREFUSED || status == -ENOTCONN) {
        finding_add(findings, FINDING_ERROR, "daemon",
                    "wait a moment, or stop phased on the host where you started it", "%s",
                    err.message);
    } else {
        finding_add(findings, FINDING_ERROR, "daemon",
                    "read the end of phased.log; `phasectl daemon stop` and `start` if it lasts",
                    "%s", err.message);
    }
    json_decref(ping);
}

/* --- The home --------------------------------------------------------------------------------- */

static void phased_look_at_record(const struct cli *cli, json_t *findings)
{
    long long version = 0;
    struct error err;
    struct stat about = {0};
    int status = record_version(cli->home.database, &version, &err);
    if (status == -ENOENT)
        return;                             /* the first start makes it */
    (void)stat(cli->home.database, &about); /* at worst its size is unknown */
    long long mib = (long long)about.st_size / (1024 * 1024);
    if (status < 0)
        finding_add(findings, FINDING_ERROR, "record",
                    "copy phased.db to a safe place first; then try `.recover` of sqlite3", "%s",
                    err.message);
    else if (version > SCHEMA_VERSION)
        finding_add(findings, FINDING_ERROR, "record",
                    "use the newer phased again, or another PHASED_HOME",
                    "a newer phased wrote the record (schema %lld; this phased knows %d)", version,
                    SCHEMA_VERSION);
    else if (version > 0 && version < SCHEMA_OLDEST)
        finding_add(findings, FINDING_ERROR, "record",
                    "use the build that made it, or another PHASED_HOME",
                    "an old phased wrote the record (schema %lld; this phased knows %d and later)",
                    version, SCHEMA_OLDEST);
    else if (mib >= PHASED_RECORD_LARGE_MIB)
        finding_add(findings, FINDING_NOTE, "record",
                    "print fewer metrics, or begin a new home for the next project",
                    "the record has %lld MiB: the daemon starts slowly", mib);
    else
        finding_add(findings, FINDING_OK, "record", NULL, "schema %lld of %d, %lld MiB", version,
                    SCHEMA_VERSION, mib);
}

/* Adds the first problem of a file of the user. */
static void phased_judge_file(const char *name, enum finding_severity severity, const char *advice,
                              const struct spec_problems *problems, json_t *findings)
{
    struct text lines = {0};
    spec_problems_text(problems, &lines);
    if (problems->error_count)
        finding_add(findings, severity, name, advice, "%.*s",
                    (int)strcspn(text_string(&lines), "\n"), text_string(&lines));
    else
        finding_add(findings, FINDING_OK, name, NULL, "can be read");
    text_fini(&lines);
}

static void phased_look_at_files(const struct cli *cli, json_t *findings)
{
    struct spec_problems problems = {0};
    if (access(cli->home.limits, F_OK) == 0) {
        json_t *limits;
        (void)queue_limits_load(cli->home.limits, &problems,
                                &limits); /* `problems` has the failure */
        json_decref(limits);
        phased_judge_file("limits.yaml", FINDING_ERROR,
                          "correct it: phased submits nothing without its limits", &problems,
                          findings);
        spec_problems_fini(&problems);
    }
    problems = (struct spec_problems){0};
    if (access(cli->home.failures, F_OK) == 0) {
        json_decref(catalogue_load(cli->home.failures, &problems));
        phased_judge_file("failures.yaml", FINDING_WARNING,
                          "correct it: `phasectl failures` shows all problems; a wrong entry is "
                          "left out",
                          &problems, findings);
        spec_problems_fini(&problems);
    }
}

void phased_look_at_home(struct cli *cli, json_t *findings)
{
    struct error err;
    int status = home_check(&cli->home, &err);
    if (status == -ENOENT) {
        finding_add(findings, FINDING_NOTE, "home", "`phasectl daemon start` makes it",
                    "%s does not exist yet", cli->home.path);
        return;
    }
    if (status < 0) {
        finding_add(findings, FINDING_ERROR, "home",
                    "phased does not start until this is repaired; phased(1) says how", "%s",
                    err.message);
        return;
    }
    finding_add(findings, FINDING_OK, "home", NULL, "only you can write to %s", cli->home.path);
    phased_look_at_daemon(cli, findings);
    phased_look_at_record(cli, findings);
    phased_look_at_files(cli, findings);
}

/* --- Programs --------------------------------------------------------------------------------- */

/* Whether the program phased starts and takes the option. A program does not start if a library is
 * missing. */
static bool phased_try(const char *option, const char *what, const char *advice,
                       struct command_result *ret_result, json_t *findings)
{
    char *path = place_program("phased");
    const char *const words[] = {path, option, NULL};
    struct error err;
    int status = command_run(words, NULL, PHASED_ASK_S, ret_result, &err);
    bool is_good = status == 0 && ret_result->exit_code == 0;
    if (status < 0) {
        finding_add(findings, FINDING_ERROR, what, advice, "%s", err.message);
    } else if (!is_good) {
        char *complaint = command_complaint(ret_result);
        finding_add(findings, FINDING_ERROR, what, advice, "phased %s failed: %s", option,
                    complaint);
        free(complaint);
        command_fini(ret_result);
    }
    free(path);
    return is_good;
}

/* `said`: what `phased --version` prints after its first line. */
static void phased_judge_module(const char *said, char *ret_built, size_t size, json_t *findings)
{
    static const char module[] = "module for Slurm ", library[] = "\nlibslurm: ";
    const char *used = strstr(said, library);
    const char *path = strstr(said, ": ");
    ret_built[0] = '\0';
    if (!text_starts(said, module) || !used || !path) {
        finding_add(findings, FINDING_ERROR, "module",
                    "build one for your Slurm: `phasectl daemon build-slurm`", "%.*s",
                    (int)strcspn(said, "\n"), said);
        return;
    }
    const char *release = said + strlen(module);
    path += strlen(": ");
    used += strlen(library);
    (void)snprintf(ret_built, size, "%.*s", (int)strcspn(release, ":\n"), release);
    finding_add(findings, FINDING_OK, "module", NULL, "for Slurm %s: %.*s with %.*s", ret_built,
                (int)strcspn(path, "\n"), path, (int)strcspn(used, "\n"), used);
}

static void phased_judge_version(const char *said, char *ret_built, size_t size, json_t *findings)
{
    int length = (int)strcspn(said, "\n");
    bool is_same = length == (int)strlen("phased " PACKAGE_VERSION) &&
                   text_starts(said, "phased " PACKAGE_VERSION);
    finding_add(findings, is_same ? FINDING_OK : FINDING_WARNING, "phased",
                is_same ? NULL : "install all programs of one version into one folder", "%.*s%s%s",
                length, said, is_same ? "" : " beside phasectl ", is_same ? "" : PACKAGE_VERSION);
    phased_judge_module(said + length + (said[length] == '\n'), ret_built, size, findings);
}

static void phased_look_at_worker(bool is_sandbox, json_t *findings)
{
    struct statfs system;
    char *path = place_program("phase-worker");
    if (access(path, X_OK) < 0 || statfs(path, &system) < 0)
        finding_add(findings, FINDING_ERROR, "worker",
                    "build or install phased again: no job can run without it", "cannot run %s: %s",
                    path, strerror(errno));
    else
        machine_judge_system((unsigned long)system.f_type, "worker", path, is_sandbox, findings);
    free(path);
}

static bool phased_is_installed(const char *name)
{
    char *program = file_find_program(getenv("PATH"), name);
    bool is_there = program != NULL;
    free(program);
    return is_there;
}

void phased_look_at_programs(bool is_sandbox, char *ret_built, size_t size, json_t *findings)
{
    struct command_result result;
    ret_built[0] = '\0';
    if (phased_try("--version", "phased", "build phased again on this machine", &result,
                   findings)) {
        phased_judge_version(text_string(&result.out), ret_built, size, findings);
        command_fini(&result);
    }
    phased_look_at_worker(is_sandbox, findings);
    if (phased_is_installed("curl") && phased_is_installed("timeout"))
        finding_add(findings, FINDING_OK, "notify", NULL,
                    "notices can be sent (curl and timeout are there; nothing was sent)");
    else
        finding_add(findings, FINDING_WARNING, "notify", "install curl and coreutils",
                    "notices cannot be sent: curl or timeout is not in PATH");
}

void phased_look_at_configuration(json_t *findings)
{
    struct command_result result;
    if (!phased_try("--check-slurm", "slurm.conf",
                    "set SLURM_CONF, or start a private Slurm with `phasectl sandbox start`",
                    &result, findings))
        return;
    finding_add(findings, FINDING_OK, "slurm.conf", NULL, "phased can use Slurm's configuration");
    command_fini(&result);
}
