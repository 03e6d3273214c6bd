/* Follows a growing file. */
#include "worker/node/tail.h"

#include "lib/memory.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the file if it exists and is not the open file. */
static void tail_reopen(struct tail *tail)
{
    struct stat info;
    if (stat(tail->path, &info) < 0 || !S_ISREG(info.st_mode))
        return;
    bool is_same = tail->fd >= 0 && info.st_dev == tail->device && info.st_ino == tail->inode;
    if (is_same) {
        if (info.st_size < tail->offset)
            tail->offset = 0;
        return;
    }
    int fd = open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (tail->fd >= 0)
        close(tail->fd);
    tail->fd = fd;
    tail->device = info.st_dev;
    tail->inode = info.st_ino;
    tail->offset = 0;
}

void tail_init(struct tail *tail, const char *path)
{
    struct stat info;
    *tail = (struct tail){.path = xstrdup(path), .fd = -1};
    tail_reopen(tail);
    if (tail->fd >= 0 && fstat(tail->fd, &info) == 0)
        tail->offset = info.st_size;
}

void tail_fini(struct tail *tail)
{
    if (tail->path && tail->fd >= 0)
        close(tail->fd);
    free(tail->path);
    *tail = (struct tail){.fd = -1};
}

void tail_refresh(struct tail *tail)
{
    struct stat info;
    int fd = tail->fd < 0 ? -1 : open(tail->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    bool is_same =
        fstat(fd, &info) == 0 && info.st_dev == tail->device && info.st_ino == tail->inode;
    close(is_same ? tail->fd : fd); /* tail_look() takes a file that has replaced this one */
    tail->fd = is_same ? fd : tail->fd;
}

static void tail_read(struct tail *tail, tail_found *found, void *context)
{
    char chunk[65536];
    ssize_t size;
    while (tail->fd >= 0 && (size = pread(tail->fd, chunk, sizeof chunk, tail->offset)) > 0) {
        tail->offset += size;
        found(context, chunk, (size_t)size);
    }
}

void tail_look(struct tail *tail, tail_found *found, void *context)
{
    /* What was written before the file was replaced is read first. */
    tail_read(tail, found, context);
    tail_reopen(tail);
    tail_read(tail, found, context);
}
