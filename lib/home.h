/* The folder that holds all files of one user's phased: $PHASED_HOME, or ~/.phased.
 *
 * Two homes share nothing, so any number of daemons and sandboxes can live side by side. This
 * header has the names of all files in a home. The strings belong to the home.
 *
 * Only the owner may write to a home. Another user who could write to the home, or put another
 * folder in its place, could run programs as the owner, because jobs are started from its files. */
#ifndef PHASED_LIB_HOME_H
#define PHASED_LIB_HOME_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;

/* {member, path below the home, kind}. phased writes a FILE and only reads a TEXT. A FOLDER may be
 * a link of the owner. */
#define HOME_FILES(X)                                                                              \
    X(socket, "phased.sock", FILE)            /* the socket for people and scripts */              \
    X(database, "phased.db", FILE)            /* the record */                                     \
    X(lock, "phased.lock", FILE)              /* the daemon of this home locks it */               \
    X(log, "phased.log", FILE)                /* messages of the daemon */                         \
    X(daemon_file, "daemon.json", FILE)       /* the address on which the daemon listens for       \
                                               * workers */                                        \
    X(key, "key", FILE)                       /* proves over TCP who the owner is */               \
    X(job, "daemon-job", FILE)                /* the daemon runs as a job: `daemon start --as-job` \
                                               */                                                  \
    X(limits, "limits.yaml", TEXT)            /* written by the user: phased(1) */                 \
    X(failures, "failures.yaml", TEXT)        /* written by the user: phased-failures(5) */        \
    X(runs, "runs", FOLDER)                   /* a folder for each workflow, job and run */        \
    X(secrets, "secrets", FOLDER)             /* a file for each workflow: lib/secrets.h */        \
    X(page, "page.html", FILE)                /* leads a browser to the page of the daemon */      \
    X(otlp, "otlp.json", FILE)                /* the last event that `events --otlp` has sent */   \
    X(otlp_lock, "otlp.lock", FILE)           /* the sender of `events --otlp` locks it */         \
    X(slurm, "slurm", FOLDER)                 /* modules for Slurm that the user has built */      \
    X(snapshots, "snapshots", FOLDER)         /* copies of the code that workflows run */          \
    X(code, "code", FOLDER)                   /* code that came from other machines */             \
    X(sandbox, "sandbox", FOLDER)             /* the private Slurm, if there is one */             \
    X(slurm_conf, "sandbox/slurm.conf", FILE) /* the configuration of the private Slurm */

struct home {
    char *path; /* absolute */
#define X(member, name, kind) char *member;
    HOME_FILES(X)
#undef X
    int folder; /* descriptor of `path` for home_socket_address(); -1: not opened */
};

enum { HOME_SOCKET_ADDRESS_SIZE = 108 }; /* sun_path of struct sockaddr_un */

/* Sets the home to `path`, or to the environment's if `path` is NULL. Touches no file. Returns
 * -ENOENT if the user has no home folder and $PHASED_HOME is not set. Returns -EINVAL if the path
 * is not UTF-8 or has control characters: the path is used in JSON, in Slurm's texts and in log
 * lines. */
int home_init(struct home *home, const char *path, struct error *err);
void home_fini(struct home *home);

/* Makes the folder if it is missing, and gives it mode 0700. Fails like home_check(). */
int home_make(const struct home *home, struct error *err);

/* Whether only the user can write to the home or replace it. The home and phased's files in it must
 * belong to the user. The files must not be links. Other users may neither write to the home nor
 * rename any folder or link on the way to it. -ENOENT: the home does not exist. */
int home_check(const struct home *home, struct error *err);

/* Checks one folder in the home in the same way. The folder must exist and must not be a link. */
int home_check_folder(const char *path, struct error *err);

/* Sets SLURM_CONF to the private Slurm of the home, if the home has one and SLURM_CONF is not set.
 * An empty SLURM_CONF counts as not set, and is removed. */
void home_choose_slurm(const struct home *home);

/* Whether the chosen Slurm is a sandbox whose nodes and GPUs are pretended. Its folder says so. */
bool home_slurm_pretends(void);

/* Whether a daemon holds the lock of the home: some process, also on another host. A negative
 * errno: it is not known, because the file cannot be opened or its file system has no locks. A
 * daemon holds the lock until it ends. Its process may stay longer, as a zombie: in a container,
 * process 1 may never wait for its children. */
int home_is_locked(const struct home *home);

/* Gives the path by which this process can bind or connect the socket. It is `home->socket`, or a
 * path through /proc/self/fd if `home->socket` is longer than the limit of 107 bytes. The path is
 * valid as long as `home` lives. The folder must exist, and is checked as by home_check(). */
int home_socket_address(struct home *home, char ret_address[HOME_SOCKET_ADDRESS_SIZE],
                        struct error *err);

/* Writes the name of a user into `buffer`, and returns `buffer`. */
enum { HOME_USER_SIZE = 64 };
const char *home_user(uid_t uid, char buffer[HOME_USER_SIZE]);

#endif
