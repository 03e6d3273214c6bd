/* ssh does the work; this file knows its options. */
#include "cli/remote/connection.h"

#include "lib/command.h"
#include "lib/error.h"
#include "lib/fingerprint.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CONNECTION_KEY_SIZE = 16,
    CONNECTION_FOLDER_MAX = 60, /* bytes: a socket has at most 107, and ssh adds 17 for a moment */
    CONNECTION_ANSWER_S = 20,   /* a host that does not answer for this long is lost */
    CONNECTION_CONTROL_S = 5,   /* the same for the process that keeps the connection */
};

/* The process that keeps the connection notices within 15 s that the host has gone. */
#define CONNECTION_KEEPER                                                                          \
    "-f -N -T -o ControlMaster=yes -o ControlPersist=10m -o ServerAliveInterval=5 "                \
    "-o ServerAliveCountMax=2 -o ClearAllForwardings=yes -o RemoteCommand=none"

/* Without the shared connection, ssh would make another one: `false` prevents that. */
#define CONNECTION_USER                                                                            \
    "-q -o ControlMaster=no -o ProxyCommand=false -o BatchMode=yes -o ClearAllForwardings=yes "    \
    "-o RemoteCommand=none"

/* --- The folder of the sockets ---------------------------------------------------------------- */

static int connection_make_folder(const char *folder, struct error *err)
{
    struct stat info;
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return error_set(err, -errno, "could not make the folder %s: %s", folder, strerror(errno));
    if (lstat(folder, &info) < 0)
        return error_set(err, -errno, "could not read %s: %s", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() || (info.st_mode & 077))
        return error_set(err, -EPERM,
                         "%s must be a folder of yours that nobody else can read: it is for the "
                         "sockets of ssh",
                         folder);
    return 0;
}

/* Chooses the folder, and a name for this host and this ssh. */
static int connection_name(struct connection *connection, struct error *err)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    char fingerprint[FINGERPRINT_SIZE];
    json_t *json = json_pack("[s, s]", connection->login, connection->ssh);
    if (!json)
        return error_set(err, -EINVAL, "PHASED_SSH must be UTF-8 text");
    fingerprint_json(json, fingerprint);
    json_decref(json);
    /* The folder is removed at the logout, but shells in tmux still have the variable. */
    bool is_usable = runtime && runtime[0] == '/' && strlen(runtime) <= CONNECTION_FOLDER_MAX &&
                     access(runtime, F_OK) == 0;
    connection->folder = is_usable ? text_format("%s/phased", runtime)
                                   : text_format("/tmp/phased-%u", (unsigned)geteuid());
    connection->key = text_format("%.*s", CONNECTION_KEY_SIZE, fingerprint);
    connection->socket = text_format("%s/%s", connection->folder, connection->key);
    return connection_make_folder(connection->folder, err);
}

int connection_lock(const struct connection *connection, const char *name, struct error *err)
{
    char *path = text_format("%s/%s.lock", connection->folder, name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), status = fd < 0 ? -errno : 0;
    while (status == 0 && flock(fd, LOCK_EX) < 0)
        status = errno == EINTR ? 0 : -errno;
    if (status < 0) {
        (void)error_set(err, status, "could not lock %s: %s", path, strerror(-status));
        if (fd >= 0)
            (void)close(fd);
    }
    free(path);
    return status < 0 ? status : fd;
}

/* --- Programs --------------------------------------------------------------------------------- */

int connection_start(const char *command, int input, int output, bool has_own_group, pid_t *ret_pid,
                     struct error *err)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    const int files[COMMAND_FILES] = {input, output, -1};
    return command_start(words, files, has_own_group, ret_pid, err);
}

int connection_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int connection_wait(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 255;
    return connection_exit_code(status);
}

/* A shell command: ssh with these options. */
static void connection_add(const struct connection *connection, const char *options,
                           struct text *text)
{
    text_addf(text, "exec %s %s -S ", connection->ssh, options);
    struct text socket = {0};
    for (const char *at = connection->socket; *at; at++) /* ssh replaces %h and others */
        text_add_bytes(&socket, *at == '%' ? "%%" : at, *at == '%' ? 2 : 1);
    text_add_quoted(text, text_string(&socket));
    text_fini(&socket);
    text_add(text, " -- ");
    text_add_quoted(text, connection->login);
}

char *connection_command(const struct connection *connection, const char *options,
                         const char *command)
{
    struct text text = {0};
    char *all = text_format("%s %s", CONNECTION_USER, options);
    connection_add(connection, all, &text);
    text_add(&text, " ");
    text_add_quoted(&text, command);
    free(all);
    return text_steal(&text);
}

/* Runs a shell command that prints nothing of interest. Returns whether it has succeeded. */
static bool connection_try(const char *command, unsigned seconds)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    struct command_result result;
    if (command_ask(words, seconds, &result, NULL) < 0)
        return false;
    command_fini(&result);
    return true;
}

/* --- The connection --------------------------------------------------------------------------- */

bool connection_is_alive(const struct connection *connection)
{
    char *command = connection_command(connection, "-T", "true");
    bool is_alive =
        access(connection->socket, F_OK) == 0 && connection_try(command, CONNECTION_ANSWER_S);
    free(command);
    return is_alive;
}

/* Asks the process that keeps the connection for something: -O of ssh(1). */
static bool connection_control(const struct connection *connection, const char *options)
{
    struct text text = {0};
    connection_add(connection, options, &text);
    bool is_good = connection_try(text_string(&text), CONNECTION_CONTROL_S);
    text_fini(&text);
    return is_good;
}

/* Whether this program is in the background of its terminal, where ssh cannot ask for a password.
 */
static bool connection_is_in_background(void)
{
    int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
    bool is_so = terminal >= 0 && tcgetpgrp(terminal) != getpgrp();
    if (terminal >= 0)
        (void)close(terminal);
    return is_so;
}

static int connection_make(const struct connection *connection, struct error *err)
{
    struct text text = {0};
    pid_t pid;
    /* The old connection may be good, with as many sessions as the host allows. It ends after them,
     * or by itself if it hangs. */
    if (access(connection->socket, F_OK) == 0) {
        (void)connection_control(connection, "-O stop");
        (void)unlink(connection->socket);
    }
    connection_add(connection,
                   connection_is_in_background() ? "-o BatchMode=yes " CONNECTION_KEEPER
                                                 : CONNECTION_KEEPER,
                   &text);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int status = connection_start(text_string(&text), null, STDERR_FILENO, false, &pid, err);
    if (null >= 0)
        (void)close(null);
    text_fini(&text);
    if (status == 0 && connection_wait(pid) != 0)
        status =
            error_set(err, -EHOSTUNREACH, "there is no connection to %s; '%s %s' must work first",
                      connection->login, connection->ssh, connection->login);
    return status;
}

int connection_open(struct connection *connection, const char *login, struct error *err)
{
    const char *ssh = getenv("PHASED_SSH");
    *connection = (struct connection){.login = login};
    connection->ssh = xstrdup(ssh && *ssh ? ssh : "ssh");
    int status = connection_name(connection, err);
    if (status < 0)
        return status;
    int lock = connection_lock(connection, connection->key, err);
    if (lock < 0)
        return lock;
    if (!connection_is_alive(connection))
        status = connection_make(connection, err);
    (void)close(lock);
    return status;
}

void connection_fini(struct connection *connection)
{
    free(connection->ssh);
    free(connection->folder);
    free(connection->key);
    free(connection->socket);
    *connection = (struct connection){0};
}

int connection_forward(const struct connection *connection, int port, int host_port,
                       struct error *err)
{
    char *options = text_format("-q -O forward -L 127.0.0.1:%d:127.0.0.1:%d", port, host_port);
    bool is_good = connection_control(connection, options);
    free(options);
    return is_good ? 0
                   : error_set(err, -EADDRINUSE, "ssh cannot forward port %d of this machine to %s",
                               port, connection->login);
}

void connection_unforward(const struct connection *connection, int port, int host_port)
{
    char *options = text_format("-q -O cancel -L 127.0.0.1:%d:127.0.0.1:%d", port, host_port);
    (void)connection_control(connection, options); /* fails if the connection is lost */
    free(options);
}
