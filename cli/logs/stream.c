/* Parts of a log as one stream. */
#include "cli/logs/stream.h"

#include "cli/logs/lines.h"
#include "lib/error.h"
#include "lib/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    STREAM_LAST_BYTES = 65536, /* first, the last lines are looked for in this many bytes */
    STREAM_LAST_GROWTH = 8,    /* then in 8 times as many bytes, and so on */
};

void stream_init(struct stream *stream, const char *folder, long long rank)
{
    *stream = (struct stream){.rank = rank, .fd = -1};
    for (size_t i = 0; i < LOG_FILES; i++)
        stream->paths[i] = log_file_path(folder, rank, (enum log_file)i);
}

void stream_fini(struct stream *stream)
{
    for (size_t i = 0; i < LOG_FILES; i++)
        free(stream->paths[i]);
    if (stream->fd >= 0)
        (void)close(stream->fd); /* it was only read */
    text_fini(&stream->rest);
    *stream = (struct stream){.fd = -1};
}

static int stream_error(const char *path, const char *what, struct error *err)
{
    int status = -errno;
    return error_set(err, status, "could not %s %s: %s", what, path, strerror(-status));
}

/* Which part is open. LOG_FILES: the open part is gone, because a newer part has taken its
 * name. */
static size_t stream_part(const struct stream *stream)
{
    struct stat open_part, part;
    if (fstat(stream->fd, &open_part) < 0)
        return LOG_FILES;
    for (size_t i = 0; i < LOG_FILES; i++)
        if (stat(stream->paths[i], &part) == 0 && part.st_ino == open_part.st_ino &&
            part.st_dev == open_part.st_dev)
            return i;
    return LOG_FILES;
}

/* Opens the first part that exists, from `part` on. Returns 1, or 0 if no such part exists. */
static int stream_open(struct stream *stream, size_t part, struct error *err)
{
    for (; part < LOG_FILES; part++) {
        int fd = open(stream->paths[part], O_RDONLY | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0)
            return stream_error(stream->paths[part], "open", err);
        if (stream->fd >= 0)
            (void)close(stream->fd); /* it was only read */
        stream->fd = fd;
        stream->has_gap |= part == 1;
        return 1;
    }
    return 0;
}

ssize_t stream_read(struct stream *stream, char *buffer, size_t size, struct error *err)
{
    int opened = stream->fd < 0 ? stream_open(stream, 0, err) : 1;
    while (opened > 0) {
        size_t part = stream_part(stream);
        /* stream_part() comes before the read, so the end of an older part is its real end. */
        ssize_t got = read(stream->fd, buffer, size);
        if (got < 0)
            return stream_error(stream->paths[part < LOG_FILES ? part : LOG_FILES - 1], "read",
                                err);
        if (got > 0 || part == LOG_FILES - 1)
            return got;
        /* A part that is gone was the previous or the newest part. */
        opened = stream_open(stream, part < LOG_FILES ? part + 1 : 1, err);
    }
    return opened;
}

/* Opens all parts, so that the client of NFS asks for the names again, too. */
void stream_refresh(struct stream *stream)
{
    struct stat open_part, part;
    off_t at = stream->fd < 0 ? -1 : lseek(stream->fd, 0, SEEK_CUR);
    if (at < 0 || fstat(stream->fd, &open_part) < 0)
        return; /* the next read opens a part, or reports the error */
    for (size_t i = 0; i < LOG_FILES; i++) {
        int fd = open(stream->paths[i], O_RDONLY | O_CLOEXEC), other = fd;
        if (fd >= 0 && fstat(fd, &part) == 0 && part.st_ino == open_part.st_ino &&
            part.st_dev == open_part.st_dev && lseek(fd, at, SEEK_SET) == at) {
            other = stream->fd;
            stream->fd = fd;
        }
        if (other >= 0)
            (void)close(other); /* it was only read */
    }
}

/* --- The last lines --------------------------------------------------------------------------- */

/* The places where the newest lines begin: a ring. */
struct stream_last {
    off_t *begins;
    size_t capacity, count;
};

/* Looks through the lines of the open part from `begin` on. The line at `begin` may be cut, unless
 * `begin` is the beginning of the part. */
static int stream_scan(const struct stream *stream, const struct lines_filter *filter, off_t begin,
                       struct stream_last *last, struct error *err)
{
    int fd = dup(stream->fd);
    FILE *lines = fd < 0 ? NULL : fdopen(fd, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    int status = 0;
    if (!lines || fseeko(lines, begin, SEEK_SET) < 0)
        status = stream_error("the log", "read", err);
    last->count = 0;
    for (off_t at = begin; status == 0 && (size = getline(&line, &capacity, lines)) > 0;
         at += size) {
        bool is_cut = at == begin && begin > 0;
        size_t length = (size_t)size - (line[size - 1] == '\n');
        if (!is_cut && lines_pass(filter, line, length))
            last->begins[last->count++ % last->capacity] = at;
    }
    free(line);
    if (lines)
        (void)fclose(lines); /* it was only read */
    else if (fd >= 0)
        (void)close(fd);
    return status;
}

/* Finds the last `count` lines of the open part. Sets `ret_begin` to the place of the first of
 * these lines, and `ret_found` to their number. */
static int stream_seek_part(const struct stream *stream, const struct lines_filter *filter,
                            size_t count, off_t *ret_begin, size_t *ret_found, struct error *err)
{
    struct stream_last last = {.begins = xcalloc(count + 1, sizeof(off_t)), .capacity = count};
    off_t end = lseek(stream->fd, 0, SEEK_END), window = STREAM_LAST_BYTES;
    int status = 0;
    for (; count; window *= STREAM_LAST_GROWTH) {
        off_t begin = end > window ? end - window : 0;
        status = stream_scan(stream, filter, begin, &last, err);
        if (status < 0 || begin == 0 || last.count >= count)
            break;
    }
    *ret_found = last.count < count ? last.count : count;
    *ret_begin = !count ? end : last.count >= count ? last.begins[last.count % count] : 0;
    free(last.begins);
    return status;
}

int stream_seek_last(struct stream *stream, const struct lines_filter *filter, unsigned count,
                     struct error *err)
{
    size_t wanted = count;
    for (size_t part = LOG_FILES; part-- > 0;) {
        off_t begin = 0;
        size_t found = 0;
        if (access(stream->paths[part], F_OK) < 0)
            continue;
        int status = stream_open(stream, part, err);
        if (status > 0)
            status = stream_seek_part(stream, filter, wanted, &begin, &found, err);
        if (status < 0)
            return status;
        if (stream->fd >= 0 && lseek(stream->fd, begin, SEEK_SET) < 0)
            return stream_error(stream->paths[part], "read", err);
        wanted -= found;
        if (wanted == 0)
            break;
    }
    stream->has_gap = false;
    return 0;
}
