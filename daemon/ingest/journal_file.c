/* Reading journals in bounded memory. */
#include "daemon/ingest/inside.h"

#include "lib/journal_line.h"
#include "lib/memory.h"

#include <errno.h>
#include <stdlib.h>

void journal_file_open(struct journal_file *file, const char *path)
{
    *file = (struct journal_file){.stream = fopen(path, "re")};
    if (!file->stream) {
        file->failed = errno;
        return;
    }
    file->line = xmalloc(JOURNAL_LINE_MAX + 1);
}

/* Reads to the line's end, or as much of it as `line` holds. True at the line's end. */
static bool journal_file_read(struct journal_file *file)
{
    int byte = 0;
    file->size = 0;
    while (byte != '\n' && file->size < JOURNAL_LINE_MAX &&
           (byte = getc_unlocked(file->stream)) != EOF)
        file->line[file->size++] = (char)byte;
    file->line[file->size] = '\0';
    return byte == '\n';
}

bool journal_file_next(struct journal_file *file)
{
    while (file->stream && file->passed < JOURNAL_PASSED_MAX) {
        bool is_end = journal_file_read(file), was_inside = file->is_inside;
        file->is_inside = !is_end;
        if (is_end && !was_inside)
            return true;
        if (!is_end && file->size < JOURNAL_LINE_MAX) /* the file's end: it may be written yet */
            break;
        file->passed += file->size;
        file->failed = EFBIG;
    }
    if (file->stream && ferror(file->stream))
        file->failed = EIO;
    return false;
}

void journal_file_close(struct journal_file *file)
{
    if (file->stream)
        (void)fclose(file->stream); /* it was only read */
    free(file->line);
}
