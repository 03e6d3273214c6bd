/* The limit on the length of a line in a journal, for writers and readers. A file system that was
 * full or has crashed may leave holes in a file, which have no line ends. */
#ifndef PHASED_LIB_JOURNAL_LINE_H
#define PHASED_LIB_JOURNAL_LINE_H

enum {
    /* Bytes, with the line end. One push of a worker has at most as many. Readers skip longer
     * lines. */
    JOURNAL_LINE_MAX = 8 << 20,
};

#endif
