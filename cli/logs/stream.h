/* The log of one rank, which may be several files: rank-N.first.log, rank-N.previous.log and
 * rank-N.log (doc/protocol.md). A full file is renamed, also while somebody reads it. Here they are
 * one stream. */
#ifndef PHASED_CLI_LOGS_STREAM_H
#define PHASED_CLI_LOGS_STREAM_H

#include "lib/protocol/log_files.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct error;
struct lines_filter;

struct stream {
    long long rank;
    char *paths[LOG_FILES]; /* the oldest first */
    int fd;                 /* -1: no part is open yet */
    struct text rest;       /* a line whose end has not come yet */
    bool has_gap;           /* the parts between the first and the previous one may be gone */
};

/* The files of the folder belong to the workers. Nothing is opened yet. */
void stream_init(struct stream *stream, const char *folder, long long rank);
void stream_fini(struct stream *stream);

/* Reads the next bytes. Returns 0 if there are no more bytes now: the log may still grow. */
ssize_t stream_read(struct stream *stream, char *buffer, size_t size, struct error *err);

/* Makes the next read see all that is there now. Without this, a file that is open may lack its
 * newest bytes for a minute: a client of NFS asks the server only when a file is opened. */
void stream_refresh(struct stream *stream);

/* Goes to the last `count` lines that pass the filter, before anything is read. */
int stream_seek_last(struct stream *stream, const struct lines_filter *filter, unsigned count,
                     struct error *err);

#endif
