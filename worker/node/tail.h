/* Follows a file that another process appends to. The file may appear later, be cut, or be
 * replaced; then it is read from its beginning. This module looks only when asked, because
 * notifications are not reliable on the file systems of clusters. */
#ifndef PHASED_WORKER_NODE_TAIL_H
#define PHASED_WORKER_NODE_TAIL_H

#include <stddef.h>
#include <sys/types.h>

struct tail {
    char *path;
    int fd;
    dev_t device;
    ino_t inode;
    off_t offset;
};

typedef void tail_found(void *context, const char *data, size_t size);

/* Skips the present content of the file. */
void tail_init(struct tail *tail, const char *path);
void tail_fini(struct tail *tail);

/* Opens the file again and keeps the place: only an open makes NFS ask the server for the size of
 * the file at once. */
void tail_refresh(struct tail *tail);

/* Gives the new data to `found`. */
void tail_look(struct tail *tail, tail_found *found, void *context);

#endif
