/* The folder that holds everything of one user's phased: $PHASED_HOME, or ~/.phased.
 *
 * Two homes share nothing, so any number of daemons and sandboxes can live side by side. All names
 * of files in it are here and nowhere else. The strings belong to the home.
 *
 * A home is its owner's alone. Who else could write to it, or put another folder in its place,
 * could run programs as its owner: jobs are started from what stands in it. */
#ifndef PHASED_LIB_HOME_H
#define PHASED_LIB_HOME_H

#include <stddef.h>

struct error;

/* {member, path below the home, what it is: FILE, that phased writes; FOLDER, which may be a link
 * of the owner; TEXT, that phased only reads}. */
#define HOME_FILES(X)                                                                              \
    X(socket, "phased.sock", FILE)            /* where people and scripts reach the daemon */      \
    X(database, "phased.db", FILE)            /* the record */                                     \
    X(lock, "phased.lock", FILE)              /* locked by the one daemon of this home */          \
    X(log, "phased.log", FILE)                /* what the daemon says */                           \
    X(daemon_file, "daemon.json", FILE)       /* where the daemon listens for workers */           \
    X(limits, "limits.yaml", TEXT)            /* the user's own: phased(1) */                      \
    X(failures, "failures.yaml", TEXT)        /* the user's own: phased-failures(5) */             \
    X(runs, "runs", FOLDER)                   /* a folder for each workflow, job and run */        \
    X(snapshots, "snapshots", FOLDER)         /* copies of code that workflows run */              \
    X(sandbox, "sandbox", FOLDER)             /* the private Slurm, where there is one */          \
    X(slurm_conf, "sandbox/slurm.conf", FILE) /* its configuration */

struct home {
    char *path; /* absolute */
#define X(member, name, kind) char *member;
    HOME_FILES(X)
#undef X
    int folder; /* descriptor of `path` for home_socket_address(); -1: not opened */
};

enum { HOME_SOCKET_ADDRESS_SIZE = 108 }; /* sun_path of struct sockaddr_un */

/* The home at `path`; NULL: that of the environment. Touches no file. Fails with -ENOENT when the
 * user has no home folder and $PHASED_HOME is not set, with -EINVAL when its path is not UTF-8 or
 * has control characters: it stands in JSON, in Slurm's texts and in lines of logs. */
int home_init(struct home *home, const char *path, struct error *err);
void home_fini(struct home *home);

/* Makes the folder unless it is there, and makes it the owner's alone: mode 0700. Fails like
 * home_check(). */
int home_make(const struct home *home, struct error *err);

/* Whether nobody else can write to the home or put another in its place: it and what phased keeps
 * in it belong to the user, its files are no links, and others may neither write to it nor rename
 * one of the folders and links on the way to it. -ENOENT: there is no home. */
int home_check(const struct home *home, struct error *err);

/* Likewise of one folder in the home, which must be there and be no link. */
int home_check_folder(const char *path, struct error *err);

/* The path by which this process can bind or connect the socket: `home->socket`, or, as such a path
 * cannot be longer than 107 bytes, one through /proc/self/fd. It is good as long as `home` lives.
 * The folder must be there; it is checked as by home_check(). */
int home_socket_address(struct home *home, char ret_address[HOME_SOCKET_ADDRESS_SIZE],
                        struct error *err);

#endif
