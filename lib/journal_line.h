/* How long a line of a run's journal may be, for who writes journals and for all who read them. A
 * file system that was full or has crashed may leave holes in a file, which have no line ends. */
#ifndef PHASED_LIB_JOURNAL_LINE_H
#define PHASED_LIB_JOURNAL_LINE_H

enum {
    /* Bytes, with the line's end: no push of a worker has more. Readers pass over longer lines. */
    JOURNAL_LINE_MAX = 8 << 20,
};

#endif
