/* Counts lines and copies parts. */
#include "worker/node/split.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPLIT_BUFFER_SIZE = 1 << 20 };

/* Reads at `offset`. Returns 0 at the end of the file. */
static ssize_t split_read(int fd, char *buffer, size_t size, uint64_t offset,
                          const atomic_bool *is_cancelled, struct error *err)
{
    ssize_t count;
    if (atomic_load(is_cancelled))
        return error_set(err, -ECANCELED, "splitting was given up");
    do {
        count = pread(fd, buffer, size, (off_t)offset);
    } while (count < 0 && errno == EINTR);
    return count < 0 ? error_set(err, -errno, "could not be read: %s", strerror(errno)) : count;
}

/* A walk through the lines of a file. It counts the lines and notes where some lines begin. */
struct split_walk {
    int fd;
    const atomic_bool *is_cancelled;
    const uint64_t *starts; /* the numbers of these lines, rising; NULL: only count */
    uint64_t *offsets;
    unsigned count, found;
    uint64_t lines, size; /* until now */
    bool is_within;       /* the current line has not ended */
};

/* A line begins at `offset`, or the file ends there. */
static void split_begin(struct split_walk *walk, uint64_t offset)
{
    while (walk->found < walk->count && walk->starts[walk->found] == walk->lines)
        walk->offsets[walk->found++] = offset;
}

static void split_walk_buffer(struct split_walk *walk, const char *buffer, size_t size)
{
    const char *at = buffer, *end = buffer + size;
    while (at < end) {
        if (!walk->is_within)
            split_begin(walk, walk->size + (uint64_t)(at - buffer));
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        walk->is_within = newline == NULL;
        walk->lines += newline != NULL;
        at = newline ? newline + 1 : end;
    }
    walk->size += size;
}

static int split_walk_file(struct split_walk *walk, char *buffer, struct error *err)
{
    ssize_t size = 1;
    bool is_wanted = true;
    while (size > 0 && is_wanted) {
        size = split_read(walk->fd, buffer, SPLIT_BUFFER_SIZE, walk->size, walk->is_cancelled, err);
        if (size > 0)
            split_walk_buffer(walk, buffer, (size_t)size);
        is_wanted = !walk->starts || walk->found < walk->count;
    }
    if (size < 0)
        return (int)size;
    if (size == 0) {
        walk->lines += walk->is_within;
        walk->is_within = false;
        split_begin(walk, walk->size);
    }
    return 0;
}

int split_find(int fd, unsigned total, unsigned first, unsigned count,
               const atomic_bool *is_cancelled, struct split_part *ret_parts, struct error *err)
{
    struct split_walk all = {.fd = fd, .is_cancelled = is_cancelled};
    uint64_t *starts = xcalloc(2 * ((size_t)count + 1), sizeof *starts);
    uint64_t *offsets = starts + count + 1;
    char *buffer = xmalloc(SPLIT_BUFFER_SIZE);
    int status = split_walk_file(&all, buffer, err);
    for (unsigned i = 0; i <= count; i++)
        starts[i] = (uint64_t)((unsigned __int128)all.lines * (first + i) / total);
    struct split_walk walk = {
        .fd = fd,
        .is_cancelled = is_cancelled,
        .starts = starts,
        .offsets = offsets,
        .count = count + 1,
    };
    if (status == 0)
        status = split_walk_file(&walk, buffer, err);
    if (status == 0 && walk.found < walk.count)
        status = error_set(err, -EIO, "was changed while it was read");
    for (unsigned i = 0; i < count && status == 0; i++)
        ret_parts[i] = (struct split_part){.begin = offsets[i], .end = offsets[i + 1]};
    free(starts);
    free(buffer);
    return status;
}

int split_copy(int fd, const struct split_part *part, int output, const atomic_bool *is_cancelled,
               crypto_generichash_state *hash, struct error *err)
{
    char *buffer = xmalloc(SPLIT_BUFFER_SIZE);
    int status = 0;
    for (uint64_t at = part->begin; at < part->end && status == 0;) {
        uint64_t left = part->end - at;
        size_t wanted = left < SPLIT_BUFFER_SIZE ? (size_t)left : SPLIT_BUFFER_SIZE;
        ssize_t size = split_read(fd, buffer, wanted, at, is_cancelled, err);
        if (size == 0)
            size = error_set(err, -EIO, "was changed while it was read");
        if (size < 0) {
            status = (int)size;
            break;
        }
        (void)crypto_generichash_update(hash, (const unsigned char *)buffer,
                                        (unsigned long long)size); /* cannot fail */
        if (output >= 0)
            status = file_write(output, buffer, (size_t)size);
        if (status < 0)
            (void)error_set(err, status, "could not be written: %s", strerror(-status));
        at += (uint64_t)size;
    }
    free(buffer);
    return status;
}
