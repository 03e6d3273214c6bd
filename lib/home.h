/* The folder that holds everything of one user's phased: $PHASED_HOME, or ~/.phased.
 *
 * Two homes share nothing, so any number of daemons and sandboxes can live side by side. All names
 * of files in it are here and nowhere else. The strings belong to the home. */
#ifndef PHASED_LIB_HOME_H
#define PHASED_LIB_HOME_H

#include <stddef.h>

struct error;

/* {member, path below the home}. */
#define HOME_FILES(X)                                                                              \
    X(socket, "phased.sock")            /* where people and scripts reach the daemon */            \
    X(database, "phased.db")            /* the record */                                           \
    X(lock, "phased.lock")              /* locked by the one daemon of this home */                \
    X(log, "phased.log")                /* what the daemon says */                                 \
    X(daemon_file, "daemon.json")       /* where the daemon listens for workers */                 \
    X(limits, "limits.yaml")            /* the user's own: phased(1) */                            \
    X(failures, "failures.yaml")        /* the user's own: phased-failures(5) */                   \
    X(runs, "runs")                     /* a folder for each workflow, job and run */              \
    X(snapshots, "snapshots")           /* copies of code that workflows run */                    \
    X(sandbox, "sandbox")               /* the private Slurm, where there is one */                \
    X(slurm_conf, "sandbox/slurm.conf") /* its configuration */

struct home {
    char *path; /* absolute */
#define X(member, name) char *member;
    HOME_FILES(X)
#undef X
    int folder; /* descriptor of `path` for home_socket_address(); -1: not opened */
};

enum { HOME_SOCKET_ADDRESS_SIZE = 108 }; /* sun_path of struct sockaddr_un */

/* The home at `path`; NULL: that of the environment. Touches no file. Fails with -ENOENT when the
 * user has no home folder and $PHASED_HOME is not set. */
int home_init(struct home *home, const char *path, struct error *err);
void home_fini(struct home *home);

/* Makes the folder, for its owner alone, unless it is there. */
int home_make(const struct home *home, struct error *err);

/* The path by which this process can bind or connect the socket: `home->socket`, or, as such a path
 * cannot be longer than 107 bytes, one through /proc/self/fd. It is good as long as `home` lives.
 * The folder must be there. */
int home_socket_address(struct home *home, char ret_address[HOME_SOCKET_ADDRESS_SIZE],
                        struct error *err);

#endif
