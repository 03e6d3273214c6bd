/* The ssh connection to a host that all verbs share, so that a second verb needs no second login.
 *
 * A process of ssh keeps the connection (ControlMaster of ssh_config(5)) for ten minutes after the
 * last verb. Its socket is in a folder that only the user can read. The configuration and the keys
 * are those that ssh has anyway. PHASED_SSH is another command for ssh, such as `ssh -F FILE`.
 *
 * If the host takes no more sessions on a connection (MaxSessions of sshd_config(5)), the next verb
 * makes another connection. The old connection ends with its verbs. */
#ifndef PHASED_CLI_REMOTE_CONNECTION_H
#define PHASED_CLI_REMOTE_CONNECTION_H

#include <stdbool.h>
#include <sys/types.h>

struct error;

struct connection {
    const char *login;  /* borrowed: what ssh takes as its destination */
    char *ssh;          /* a shell command: ssh */
    char *folder, *key; /* the folder of the sockets; names the connection in it */
    char *socket;
};

/* Finds the connection, or makes it. ssh may ask the user for a password then. The caller calls
 * connection_fini(), also after a failure; the connection stays. */
int connection_open(struct connection *connection, const char *login, struct error *err);
void connection_fini(struct connection *connection);

/* Whether the host answers over the connection. */
bool connection_is_alive(const struct connection *connection);

/* Locks a name in the folder until the descriptor that is returned is closed. Returns -errno if
 * that fails. */
int connection_lock(const struct connection *connection, const char *name, struct error *err);

/* Returns a shell command: ssh over the connection, with these options, and `command` for the
 * host. The exit code is 255 if there is no connection. The caller's to free(). */
char *connection_command(const struct connection *connection, const char *options,
                         const char *command);

/* Starts a shell command. `input` and `output` are descriptors, or -1: those of this program. Two
 * programs that are in one process group get Ctrl-C together. */
int connection_start(const char *command, int input, int output, bool has_own_group, pid_t *ret_pid,
                     struct error *err);

/* Waits until a program has ended, and returns its exit code, as connection_exit_code() does. */
int connection_wait(pid_t pid);

/* The exit code in a status of waitpid(); for a signal, 128 and its number. */
int connection_exit_code(int status);

/* Forwards a port of this machine's loopback to a port of the host's loopback, or ends the
 * forwarding. */
int connection_forward(const struct connection *connection, int port, int host_port,
                       struct error *err);
void connection_unforward(const struct connection *connection, int port, int host_port);

#endif
