/* Reading a journal's file line by line, in bounded memory. Longer lines than lib/journal_line.h
 * allows are passed over. */
#ifndef PHASED_DAEMON_LOOP_JOURNAL_FILE_H
#define PHASED_DAEMON_LOOP_JOURNAL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    JOURNAL_PASSED_MAX = 64 << 20, /* bytes of longer lines of a file: what follows is not read */
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
