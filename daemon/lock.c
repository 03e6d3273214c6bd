/* The lock is a lock of fcntl(). It works on NFS, too, where clusters have their homes, if NFS is
 * mounted with locks. */
#include "daemon/lock.h"

#include "lib/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int lock_refuse(int fd, const char *path, int cause, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (cause != EAGAIN && cause != EACCES)
        return error_set(err, -cause, "could not lock %s: %s", path, strerror(cause));
    /* The text in the file is for people: fcntl() does not know the process ids of other hosts. */
    char pid[32] = "";
    ssize_t size = pread(fd, pid, sizeof pid - 1, 0);
    pid[size > 0 ? strcspn(pid, "\n") : 0] = '\0';
    if (!pid[0] && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        (void)snprintf(pid, sizeof pid, "%d", (int)lock.l_pid);
    return error_set(err, -EBUSY, "another daemon serves this home: process %s holds %s", pid,
                     path);
}

/* Whether the descriptor is of the file at `path`. */
static bool lock_is_of(int fd, const char *path)
{
    struct stat own, file;
    return fd >= 0 && fstat(fd, &own) == 0 && lstat(path, &file) == 0 &&
           own.st_dev == file.st_dev && own.st_ino == file.st_ino;
}

int lock_take(const char *path, int kept, struct error *err)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd =
        lock_is_of(kept, path) ? kept : open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, -errno, "could not open %s: %s", path, strerror(errno));
    if (fcntl(fd, F_SETLK, &lock) < 0) {
        int status = lock_refuse(fd, path, errno, err);
        (void)close(fd); /* nothing was written */
        return status;
    }
    char pid[32];
    int size = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
    /* The disk may be full. The lock holds nevertheless, and the record reports the full disk. */
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)size, 0) < 0)
        (void)0;
    return fd;
}
