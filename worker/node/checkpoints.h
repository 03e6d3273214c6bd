/* Tells the checkpoints that a program writes, as lib/saved.h finds them.
 *
 * One is whole when two looks find the same files with the same sizes and times. What is there at
 * the first look belongs to an earlier run and is not told, unless it changes.
 *
 * `keep` counts what the phase has, over all its runs: once a run has saved one, those beyond the
 * newest `keep` (two at least) are removed, if they lie below the phase's own folder; but for the
 * newest that guards vouch for, since all others may turn out to be suspect. Of earlier runs only
 * what they have told counts; what does not lead to this run, is not whole any more or is suspect
 * is not kept for its own sake. Nothing else is ever removed. */
#ifndef PHASED_WORKER_NODE_CHECKPOINTS_H
#define PHASED_WORKER_NODE_CHECKPOINTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoints;
struct error;

struct checkpoint {
    const char *path; /* of several files the first by name */
    int64_t step;
    uint64_t bytes;     /* of all its files */
    char *const *paths; /* of several files all; NULL otherwise */
    size_t path_count;
    bool is_suspect; /* what saved it had broken a guard by then, or told NaN */
};

/* A checkpoint became whole; borrowed during the call. */
typedef void checkpoint_found(void *context, const struct checkpoint *checkpoint);

/* `keep` 0 keeps all. Fails when the pattern has no {step} or is none. Takes the first look. */
int checkpoints_new(const char *pattern, const char *out_dir, unsigned keep,
                    checkpoint_found *found, void *context, struct checkpoints **ret_checkpoints,
                    struct error *err);
void checkpoints_free(struct checkpoints *checkpoints);

/* Notes in the run's folder what is there at the first look: lib/saved.h. */
int checkpoints_note(const struct checkpoints *checkpoints, const char *run_dir, struct error *err);

/* What earlier runs of the phase have told, as lineage_saved() gives it: by the first path of each
 * whether it leads to this run, is whole, and not suspect. After the first look. */
void checkpoints_inherit(struct checkpoints *checkpoints, const json_t *saved);

void checkpoints_look(struct checkpoints *checkpoints);

/* How often a look found one that is new or has changed: somebody writes. */
uint64_t checkpoints_changes(const struct checkpoints *checkpoints);

/* Guards vouch for those of this run below this step, as far as its metrics have come: what is told
 * next cannot make them suspect. Without a call they vouch for all. */
void checkpoints_vouch(struct checkpoints *checkpoints, int64_t step);

/* From now on those of step `since` and later are suspect, and all that were not begun yet. A
 * second call changes nothing. */
void checkpoints_suspect(struct checkpoints *checkpoints, int64_t since);

enum checkpoints_end {
    CHECKPOINTS_ENDED_WELL, /* every writer ended by itself: what is there is whole */
    CHECKPOINTS_CUT_OFF,    /* one was killed: what it was writing may be half */
};

/* The last look, when no process writes any more. Of a writer that was cut off, a checkpoint is
 * believed when an earlier look saw the same, or when it has as many files and bytes as one that is
 * known to be whole. */
void checkpoints_look_last(struct checkpoints *checkpoints, enum checkpoints_end end);
/* Notes in the run's folder what the last look did not believe, but for checkpoints that are less
 * than a hundredth smaller than one that is known to be whole: lib/saved.h. */
int checkpoints_note_left_out(const struct checkpoints *checkpoints, const char *run_dir,
                              struct error *err);

#endif
