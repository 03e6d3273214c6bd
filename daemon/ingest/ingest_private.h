/* Inside daemon/ingest. Calls go down: ingest.c, lead.c, journal.c, then reading.c, notes.c and
 * posthumous.c, then entry.c. */
#ifndef PHASED_DAEMON_INGEST_PRIVATE_H
#define PHASED_DAEMON_INGEST_PRIVATE_H

#include "daemon/ingest/ingest.h"
#include "lib/map.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/journal_order.h"
#include "lib/saved.h"

#include <stdbool.h>
#include <stddef.h>

struct core_effect;
struct folder;

/* The most entries that are read from files in one turn. They are in memory until they are
 * committed, and take 1 to 2 KiB each. */
enum { INGEST_READ_MAX = 16384 };

struct ingest {
    struct loop *loop;
    size_t read;      /* entries that were read from files in this turn */
    struct map notes; /* by run id: struct notes */
    unsigned looks;
    bool has_told;  /* commands for leads have changed in this turn */
    bool has_saved; /* notes have checkpoints that may not be in the record yet */
    void (*told)(void *context);
    void *told_context;
};

/* Whether the rest of the files must wait for another turn. */
static inline bool ingest_is_full(const struct ingest *ingest)
{
    return ingest->read >= INGEST_READ_MAX;
}

/* --- lead.c ----------------------------------------------------------------------------------- */

/* Carries out FX_SEAL, FX_TELL_STOP or FX_TELL_END, and FX_TELL_NEXT. */
int lead_seal(void *state, const struct core_effect *effect);
int lead_tell(void *state, const struct core_effect *effect);
int lead_tell_next(void *state, const struct core_effect *effect);
/* At the end of a turn: writes the files, and calls the listener. */
void lead_turned(struct ingest *ingest);
/* Reads the journals of silent runs. */
void lead_read_silent(struct ingest *ingest);

/* --- journal.c -------------------------------------------------------------------------------- */

/* Takes entries that are in the folder of a run that goes on, and were never pushed. */
void journal_catch_up(struct ingest *ingest, const struct run *run);

/* Takes entries that are in the run's folder and were never pushed, then the outcome. Posts
 * EV_RUN_ENDED or EV_RUN_SILENT and returns true. Returns false if the outcome counts entries that
 * are missing but may still come: the job may still run, has just ended, or its state is unknown.
 * Once the job has been over for some seconds, missing entries are lost. Also returns false if
 * ingest_is_full(), and for some minutes if outcome.json or a journal is there and cannot be read.
 */
bool journal_read_outcome(struct ingest *ingest, struct run *run);

/* --- reading.c -------------------------------------------------------------------------------- */

/* The entries of a journal's file that were not taken yet, in order. Lines that are not entries are
 * skipped. An entry in a wrong place is skipped, too (`order.stray`). */
struct reading {
    uint64_t taken;
    bool is_last;       /* a `lost` entry is put in the place of missing entries */
    json_t *entries;    /* from the last call of reading_next() */
    uint64_t last;      /* all entries up to this number were taken or returned */
    uint64_t gap_first; /* the first gap; 0: no gap */
    uint64_t gap_last;
    bool is_end;
    struct journal_order order;
    struct journal_file file;
};

/* Where a later reading of the file may begin. Zero-initialised: at the beginning. */
struct reading_mark {
    ino_t inode;
    off_t offset;
    uint64_t last; /* the number of the last entry before the offset */
    bool is_last;  /* nobody wrote to the file any more */
};

void reading_open(struct reading *reading, const char *folder, const char *name, uint64_t taken,
                  bool is_last);
/* Passes over what an earlier reading has read. False: the file is another file, or shorter. */
bool reading_skip(struct reading *reading, const struct reading_mark *mark);
/* Reads the next `entries`, at most some thousands. The caller takes them over. False: there are no
 * more entries. */
bool reading_next(struct reading *reading);
/* Sets the mark to the end of what was read, if no entry before the end is missing, and all were
 * taken. */
void reading_set_mark(const struct reading *reading, uint64_t taken, struct reading_mark *mark);
void reading_close(struct reading *reading);

/* --- notes.c ---------------------------------------------------------------------------------- */

struct notes_node {
    char *name;
    uint64_t taken; /* the highest sequence number that was posted; it may not be committed yet */
    bool is_warned; /* people were told that the node's file is wrong */
    struct reading_mark mark;
};

/* What the daemon remembers of a run beside the core's model: how far the journals of the run were
 * taken. The record has it, too. */
struct notes {
    uint64_t run;
    bool has_ended;     /* its end was posted */
    bool has_foreign;   /* people were told that the folder has another job's outcome */
    bool is_warned;     /* people were told that outcome.json cannot be read */
    bool is_late;       /* workers still tell of the run, although its folder has a tombstone */
    json_t *outcome;    /* from the lead, while entries that the outcome counts are missing */
    uint64_t heard_ms;  /* in libuv's time: when its workers last spoke; 0: not since the start */
    uint64_t unread_ms; /* in libuv's time: since when a file cannot be read; 0: all files can be */
    unsigned written;   /* the number of the last command in the run's folder */
    int64_t step;       /* the highest step that was posted; -1: no step */
    json_t *saved;      /* checkpoint entries that may not be in the record yet */
    struct saved_limit suspect; /* the first limit that was told; the core may not know it yet */
    struct notes_node **nodes;
    size_t node_count;
};

/* The notes of the run. They are made on the first call. Borrowed until notes_forget(). */
struct notes *notes_get(struct ingest *ingest, uint64_t run);
void notes_forget(struct ingest *ingest, uint64_t run);
/* Forgets the notes of runs that are not in memory any more. Notes of a late run stay, so that
 * people are told of the run only once. */
void notes_sweep(struct ingest *ingest);
/* Everything that was posted is in the record: forgets the checkpoints that may have been
 * missing there. */
void notes_committed(struct ingest *ingest);
void notes_fini(void *state); /* of the room */

/* How far the journal of this node was taken. The record says so at first. -E2BIG: the run has more
 * than NOTES_NODES_MAX nodes. Borrowed like the notes. */
enum { NOTES_NODES_MAX = 65536 };
int notes_node(struct ingest *ingest, struct notes *notes, const char *name,
               struct notes_node **ret_node, struct error *err);

/* --- posthumous.c ----------------------------------------------------------------------------- */

/* Whether a run without an outcome has succeeded. The job of the run is over, and its lead died.
 * True if all of this holds: the journals of all nodes that the lead has named say that the node
 * had done its part successfully, and name nothing as suspect; the lead had not begun to stop the
 * run; and the `outputs` of the phase exist. */
bool posthumous_is_success(const struct folder *folder);
/* Reads the last line that the batch script printed: often the reason why the script could not even
 * begin. */
void posthumous_words(const struct folder *folder, char *ret_words, size_t size);

#endif
