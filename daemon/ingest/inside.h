/* Inside daemon/ingest. Calls go down: ingest.c, lead.c, journal.c, then reading.c, notes.c and
 * posthumous.c, then entry.c. */
#ifndef PHASED_DAEMON_INGEST_INSIDE_H
#define PHASED_DAEMON_INGEST_INSIDE_H

#include "daemon/ingest/ingest.h"
#include "lib/map.h"
#include "lib/protocol/journal_file.h"
#include "lib/protocol/journal_order.h"
#include "lib/saved.h"

#include <stdbool.h>
#include <stddef.h>

struct core_effect;
struct folder;

struct ingest {
    struct loop *loop;
    struct map notes; /* by run id: struct notes */
    unsigned looks;
    bool has_told; /* in this turn: commands for leads have changed */
    void (*told)(void *arg);
    void *told_arg;
};

/* --- lead.c ----------------------------------------------------------------------------------- */

/* Carries out FX_SEAL, FX_TELL_STOP or FX_TELL_END, and FX_TELL_NEXT. */
int lead_seal(void *state, const struct core_effect *effect);
int lead_tell(void *state, const struct core_effect *effect);
int lead_tell_next(void *state, const struct core_effect *effect);
/* At the end of a turn: writes the files, and calls who listens. */
void lead_turned(void *state);
/* Reads the journals of silent runs. */
void lead_look(struct ingest *ingest);

/* --- journal.c -------------------------------------------------------------------------------- */

/* Takes what the folder of a run that goes on has and was never pushed. */
void journal_read(struct ingest *ingest, const struct run *run);

/* Takes what the run's folder has and was never pushed, then its outcome. Posts EV_RUN_ENDED or
 * EV_RUN_SILENT; or else returns false: the outcome counts entries that are not there, and may come
 * yet, as the job may be there, has just ended, or nobody knows. Once it is over for some seconds
 * they are lost. */
bool journal_read_outcome(struct ingest *ingest, struct run *run);

/* --- reading.c -------------------------------------------------------------------------------- */

/* The entries of a journal's file beyond those that were taken, in order. Lines that are no entries
 * are passed over. So is an entry in a wrong place (`order.stray`). */
struct reading {
    uint64_t taken;
    bool is_last;       /* an entry `lost` stands for entries that are missing before another one */
    json_t *entries;    /* of the last call of reading_next() */
    uint64_t last;      /* up to this number all entries were taken or returned */
    uint64_t gap_first; /* the first entries that are missing; 0: none */
    uint64_t gap_last;
    bool is_end;
    struct journal_order order;
    struct journal_file file;
};

void reading_open(struct reading *reading, const char *folder, const char *name, uint64_t taken,
                  bool is_last);
/* Reads the next `entries`, some thousand at most, which the caller takes over. False: there are no
 * more. */
bool reading_next(struct reading *reading);
void reading_close(struct reading *reading);

/* --- notes.c ---------------------------------------------------------------------------------- */

struct notes_node {
    char *name;
    uint64_t taken; /* the highest sequence number that was posted; commits follow */
    bool is_warned; /* people were told that its file cannot be right */
};

/* What is remembered of a run in memory, beside the core's model: how far its journals were taken.
 * It can be had again from the record. */
struct notes {
    uint64_t run;
    bool has_ended;    /* its end was posted */
    bool has_foreign;  /* people were told that another job has left an outcome in its folder */
    bool is_late;      /* its workers tell of it though its folder has a tombstone */
    json_t *outcome;   /* as the lead told it, while entries that it counts are missing */
    uint64_t heard_ms; /* of libuv's time: when its workers last spoke; 0: not since the start */
    unsigned written;  /* the number of the last command that lies in its folder */
    int64_t step;      /* the highest that was posted; -1: none */
    json_t *saved;     /* entries of checkpoints, which the record may not have yet */
    struct saved_limit suspect; /* the first that was told: the core may not know it yet */
    struct notes_node **nodes;
    size_t node_count;
};

/* The run's notes, which are made when they are first asked for. Borrowed until notes_forget(). */
struct notes *notes_get(struct ingest *ingest, uint64_t run);
void notes_forget(struct ingest *ingest, uint64_t run);
/* Forgets runs that are not in memory any more. A late one stays: people are told of it once. */
void notes_sweep(struct ingest *ingest);
void notes_fini(struct ingest *ingest);

/* How far the journal of this node was taken, from the record at first; at most NOTES_NODES_MAX
 * nodes (-E2BIG). Borrowed like the notes. */
enum { NOTES_NODES_MAX = 65536 };
int notes_node(struct ingest *ingest, struct notes *notes, const char *name,
               struct notes_node **ret_node, struct error *err);

/* --- posthumous.c ----------------------------------------------------------------------------- */

/* Looks into the folder of a run whose job is over and whose lead died without an outcome. True:
 * the journals of all nodes that the lead has named say that the node had done its part, and well,
 * and name nothing as suspect; the lead had not begun to stop the run; and the phase's `outputs`
 * are there. */
bool posthumous_is_success(const struct folder *folder);

#endif
