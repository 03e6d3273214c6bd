/* Reading a journal's file line by line, in bounded memory. A file system that was full or has
 * crashed may leave holes in it, which have no line ends: they are passed over. */
#ifndef PHASED_DAEMON_LOOP_JOURNAL_FILE_H
#define PHASED_DAEMON_LOOP_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    JOURNAL_LINE_MAX = 8 << 20,    /* bytes: no push of a worker has more */
    JOURNAL_PASSED_MAX = 64 << 20, /* of longer lines of a file: what follows is not read */
};

struct journal_file {
    FILE *stream;
    char *line;  /* the current one, NUL-terminated, with its end */
    size_t size; /* of it */
    size_t passed;
    bool is_inside; /* of a longer line */
    int failed;     /* errno of opening and reading; EFBIG: a longer line was passed over */
};

void journal_file_open(struct journal_file *file, const char *path);
/* False: there is no further whole line, or none can be read. */
bool journal_file_next(struct journal_file *file);
void journal_file_close(struct journal_file *file);

#endif
