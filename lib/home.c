/* The path of the home, the names of its files, and the check that only its owner can write
 * there. */
#include "lib/home.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOME_LINKS_MAX = 16, HOME_KIND_MAX = 64 };
enum home_kind { HOME_FILE, HOME_FOLDER, HOME_TEXT };

/* The path from the caller or the environment, which may be relative. The caller frees it. */
static char *home_choose(const char *path)
{
    if (!path || !path[0])
        path = getenv("PHASED_HOME");
    if (path && path[0])
        return xstrdup(path);
    const char *user_home = getenv("HOME");
    if (!user_home || !user_home[0]) {
        const struct passwd *entry = getpwuid(getuid());
        user_home = entry ? entry->pw_dir : NULL;
    }
    return user_home && user_home[0] ? text_format("%s/.phased", user_home) : NULL;
}

/* Frees `path`. */
static int home_refuse_path(char *path, struct error *err)
{
    struct text visible = {0};
    text_add_visible(&visible, path, strlen(path), "");
    (void)error_set(err, -EINVAL,
                    "cannot use the home %s: its path must be UTF-8 without control characters; "
                    "set PHASED_HOME to another",
                    text_string(&visible));
    text_fini(&visible);
    free(path);
    return -EINVAL;
}

int home_init(struct home *home, const char *path, struct error *err)
{
    *home = (struct home){.folder = -1};
    char *chosen = home_choose(path);
    if (!chosen)
        return error_set(err, -ENOENT, "cannot find the home folder: set PHASED_HOME");
    size_t size = strlen(chosen);
    while (size > 1 && chosen[size - 1] == '/')
        chosen[--size] = '\0';
    if (chosen[0] == '/') {
        home->path = chosen;
    } else {
        char *here;
        int status = file_find_current(&here, err);
        if (status < 0) {
            free(chosen);
            return status;
        }
        home->path = text_format("%s/%s", here, chosen);
        free(here);
        free(chosen);
    }
    if (!text_is_plain(home->path, "")) {
        char *refused = home->path;
        home->path = NULL;
        return home_refuse_path(refused, err);
    }
#define X(member, name, kind) home->member = text_format("%s/" name, home->path);
    HOME_FILES(X)
#undef X
    return 0;
}

void home_fini(struct home *home)
{
    if (home->path && home->folder >= 0)
        (void)close(home->folder); /* it was only used as a base for paths */
    free(home->path);
#define X(member, name, kind) free(home->member);
    HOME_FILES(X)
#undef X
    *home = (struct home){.folder = -1};
}

/* --- Who else may write there ----------------------------------------------------------------- */

const char *home_user(uid_t uid, char buffer[HOME_USER_SIZE])
{
    const struct passwd *entry = getpwuid(uid);
    if (entry)
        (void)snprintf(buffer, HOME_USER_SIZE, "%s", entry->pw_name); /* a long name is cut */
    else
        (void)snprintf(buffer, HOME_USER_SIZE, "user %u", (unsigned)uid);
    return buffer;
}

/* Whether a group is private to the user: it has the user's name and no other member. Many systems
 * give each user such a group, and let the group write to the files that the user makes. */
static bool home_group_is_own(gid_t gid)
{
    const struct passwd *user = getpwuid(geteuid());
    const struct group *group = user ? getgrgid(gid) : NULL;
    bool is_own = group && text_equal(group->gr_name, user->pw_name);
    for (char **member = group ? group->gr_mem : NULL; is_own && *member; member++)
        is_own = text_equal(*member, user->pw_name);
    return is_own;
}

static bool home_others_may_write(const struct stat *info)
{
    return (info->st_mode & S_IWOTH) ||
           ((info->st_mode & S_IWGRP) && !home_group_is_own(info->st_gid));
}

static int home_fail(const char *path, struct error *err)
{
    return error_set(err, -errno, "cannot look at %s: %s", path, strerror(errno));
}

static int home_check_way(const char *path, unsigned links, struct error *err);

/* Whether the owner is the user or root, who can do anything anyway. Root has another number in a
 * user namespace without root. The owner of "/" is then root. */
static bool home_is_trusted(uid_t uid)
{
    struct stat root;
    return uid == geteuid() || uid == 0 || (stat("/", &root) == 0 && uid == root.st_uid);
}

/* Checks a link on the way to the home. */
static int home_check_link(const char *path, const struct stat *link, unsigned links,
                           struct error *err)
{
    char target[PATH_MAX], user[HOME_USER_SIZE];
    if (!home_is_trusted(link->st_uid))
        return error_set(err, -EPERM,
                         "%s is a link of %s, who could change it: remove it, or set "
                         "PHASED_HOME",
                         path, home_user(link->st_uid, user));
    ssize_t size = readlink(path, target, sizeof target - 1);
    if (size < 0)
        return home_fail(path, err);
    if (links == HOME_LINKS_MAX)
        return error_set(err, -ELOOP, "too many links lead to %s", path);
    target[size] = '\0';
    char *whole = target[0] == '/'
                      ? xstrdup(target)
                      : text_format("%.*s%s", (int)(strrchr(path, '/') + 1 - path), path, target);
    int status = home_check_way(whole, links + 1, err);
    free(whole);
    return status;
}

/* Checks a folder above the home. The sticky bit keeps other users from renaming the entries of the
 * folder, but not the owner of the folder. */
static int home_check_above(const char *path, const struct stat *info, struct error *err)
{
    char user[HOME_USER_SIZE];
    if (!home_is_trusted(info->st_uid))
        return error_set(err, -EPERM,
                         "%s belongs to %s, who could put another home in place of yours: set "
                         "PHASED_HOME to a folder elsewhere",
                         path, home_user(info->st_uid, user));
    if (!home_others_may_write(info) || (info->st_mode & S_ISVTX))
        return 0;
    return error_set(
        err, -EPERM,
        "others may write to %s and put another home in place of yours: 'chmod go-w' it, "
        "or set PHASED_HOME to a folder elsewhere",
        path);
}

/* Checks each folder above `path` and each link on the way. Missing folders are fine: the user will
 * make them. */
static int home_check_way(const char *path, unsigned links, struct error *err)
{
    struct stat info;
    if (lstat("/", &info) < 0)
        return home_fail("/", err);
    int status = home_check_above("/", &info, err);
    for (const char *at = path; status == 0 && at[strspn(at, "/")];) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        bool is_last = !at[strspn(at, "/")];
        char *part = text_format("%.*s", (int)(at - path), path);
        if (lstat(part, &info) < 0)
            status = errno == ENOENT ? 1 : home_fail(part, err);
        else if (S_ISLNK(info.st_mode))
            status = home_check_link(part, &info, links, err);
        if (status == 0 && stat(part, &info) < 0)
            status = 1; /* the link leads nowhere */
        if (status == 0 && !is_last)
            status = home_check_above(part, &info, err);
        free(part);
    }
    return status < 0 ? status : 0;
}

static int home_check_owner(const char *path, const struct stat *info, struct error *err)
{
    char user[HOME_USER_SIZE];
    if (info->st_uid == geteuid())
        return 0;
    return error_set(err, -EPERM, "%s belongs to %s: use a home of your own (PHASED_HOME)", path,
                     home_user(info->st_uid, user));
}

/* Checks the home itself, or the target if the home is a link. */
static int home_check_entry(const char *path, const struct stat *info, struct error *err)
{
    if (!S_ISDIR(info->st_mode))
        return error_set(err, -ENOTDIR, "%s is not a folder", path);
    int status = home_check_owner(path, info, err);
    if (status == 0 && home_others_may_write(info))
        status = error_set(
            err, -EPERM,
            "others may write to %s: check that everything in it is yours, then 'chmod 700' it",
            path);
    return status;
}

static int home_check_file(const char *path, enum home_kind kind, struct error *err)
{
    struct stat info;
    if (kind == HOME_TEXT || lstat(path, &info) < 0)
        return 0; /* a missing file will be made; other errors are reported when the file is
                   * opened */
    int status = home_check_owner(path, &info, err);
    if (status < 0 || !S_ISLNK(info.st_mode))
        return status;
    if (kind == HOME_FILE)
        return error_set(err, -ELOOP,
                         "%s is a link, and phased would write where it leads: remove it", path);
    status = home_check_way(path, 0, err);
    return status == 0 && stat(path, &info) == 0 ? home_check_entry(path, &info, err) : status;
}

int home_check(const struct home *home, struct error *err)
{
    struct stat info;
    int status = home_check_way(home->path, 0, err);
    if (status < 0)
        return status;
    if (stat(home->path, &info) < 0)
        return error_set(err, -errno, "cannot open the home %s: %s", home->path, strerror(errno));
    status = home_check_entry(home->path, &info, err);
#define X(member, name, kind)                                                                      \
    if (status == 0)                                                                               \
        status = home_check_file(home->member, HOME_##kind, err);
    HOME_FILES(X)
#undef X
    return status;
}

int home_check_folder(const char *path, struct error *err)
{
    struct stat info;
    if (lstat(path, &info) < 0)
        return home_fail(path, err);
    if (!S_ISDIR(info.st_mode))
        return error_set(err, -ENOTDIR, "%s is not a folder: remove it", path);
    return home_check_owner(path, &info, err);
}

/* Removes the permissions of other users from an existing folder. */
static int home_close(const char *path, enum home_kind kind, struct error *err)
{
    struct stat info;
    if (kind == HOME_FOLDER && stat(path, &info) == 0 && (info.st_mode & 077) &&
        chmod(path, 0700) < 0)
        return error_set(err, -errno, "cannot close %s to other users: %s", path, strerror(errno));
    return 0;
}

int home_make(const struct home *home, struct error *err)
{
    int status = home_check_way(home->path, 0, err); /* before anything is made through another
                                                      * user's link */
    if (status == 0)
        status = file_make_folders(home->path, 0700, err);
    if (status == 0)
        status = home_check(home, err);
    if (status == 0)
        status = home_close(home->path, HOME_FOLDER, err);
#define X(member, name, kind)                                                                      \
    if (status == 0)                                                                               \
        status = home_close(home->member, HOME_##kind, err);
    HOME_FILES(X)
#undef X
    return status;
}

void home_choose_slurm(const struct home *home)
{
    const char *given = getenv("SLURM_CONF");
    if (given && given[0])
        return;
    if (access(home->slurm_conf, R_OK) == 0)
        (void)setenv("SLURM_CONF", home->slurm_conf, 1); /* fails only without memory */
    else
        (void)unsetenv("SLURM_CONF"); /* the name is good */
}

bool home_slurm_pretends(void)
{
    const char *conf = getenv("SLURM_CONF"), *slash = conf ? strrchr(conf, '/') : NULL;
    char *kind = NULL;
    if (!slash)
        return false;
    char *path = text_format("%.*s/kind", (int)(slash - conf), conf);
    bool pretends =
        file_read(path, HOME_KIND_MAX, &kind, NULL, NULL) == 0 && text_starts(kind, "pretend");
    free(kind);
    free(path);
    return pretends;
}

int home_is_locked(const struct home *home)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(home->lock, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    int is_locked = fcntl(fd, F_GETLK, &lock) < 0 ? -errno : lock.l_type != F_UNLCK;
    (void)close(fd); /* nothing was written */
    return is_locked;
}

int home_socket_address(struct home *home, char ret_address[HOME_SOCKET_ADDRESS_SIZE],
                        struct error *err)
{
    int status = home_check(home, err);
    if (status < 0)
        return status;
    if (strlen(home->socket) < HOME_SOCKET_ADDRESS_SIZE) {
        memcpy(ret_address, home->socket, strlen(home->socket) + 1);
        return 0;
    }
    if (home->folder < 0)
        home->folder = open(home->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (home->folder < 0) {
        status = -errno;
        return error_set(err, status, "cannot open the home %s: %s", home->path, strerror(-status));
    }
    (void)snprintf(ret_address, HOME_SOCKET_ADDRESS_SIZE, "/proc/self/fd/%d%s", home->folder,
                   home->socket + strlen(home->path)); /* far shorter than the limit */
    return 0;
}
