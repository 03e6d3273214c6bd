/* Reads the journal of one writer, line by line, in bounded memory.
 *
 * A file system that was full or has crashed may leave holes in a file, which have no line ends. So
 * the size of a line is limited. Each part of a longer line is returned as an empty line. */
#ifndef PHASED_LIB_PROTOCOL_JOURNAL_FILE_H
#define PHASED_LIB_PROTOCOL_JOURNAL_FILE_H

#include "lib/protocol/entry.h"
#include "lib/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    JOURNAL_LINE_MAX = 8 << 20, /* bytes, with the line end; the limit of a worker's push, too */
    JOURNAL_CHUNK = 65536,
};

/* The path of a writer's journal: of a node, or of "lead". The caller frees it. */
char *journal_path(const char *run_dir, const char *writer);
/* The names of the nodes that have a journal, sorted. A new reference. */
json_t *journal_nodes(const char *run_dir);

/* Callers read the members from `line` to `failed`. The other members are private. */
struct journal_file {
    const char *line; /* the current line, without its end */
    size_t size;
    off_t offset;   /* behind the current line */
    size_t passed;  /* bytes of lines that were too long */
    bool is_inside; /* the current line is too long, and has not ended */
    int failed;     /* errno of opening or reading; EFBIG: a line was too long */
    bool is_own;
    int fd;
    struct text text;
    char chunk[JOURNAL_CHUNK];
    size_t begin, end; /* the part of `chunk` that was not read yet */
};

void journal_file_open(struct journal_file *file, const char *path);
/* The inode of the open file; 0: the file could not be opened. */
ino_t journal_file_inode(const struct journal_file *file);
/* Begins at `offset` instead, if this is the same file and it has not become shorter. False: it
 * begins at the beginning. */
bool journal_file_skip(struct journal_file *file, ino_t inode, off_t offset);
/* Reads from `offset` on, and does not close `fd`. */
void journal_file_borrow(struct journal_file *file, int fd, off_t offset);
/* False: there is no other whole line, or the file cannot be read. */
bool journal_file_next(struct journal_file *file);
void journal_file_close(struct journal_file *file);

/* Returns the number at the beginning of a line, without parsing the rest of the line. Each writer
 * begins its lines with the number. 0: the line is not an entry. */
uint64_t journal_line_sequence(const char *line);

/* The entry is borrowed during the call. */
typedef void journal_entry_found(void *context, const struct entry *entry);

/* Visits the whole entries of one type in the file at `path`, in order. -1: entries of all types. A
 * file that does not exist has no entries. */
void journal_visit(const char *path, int type, journal_entry_found *found, void *context);

#endif
