/* Reports the checkpoints that a program writes. lib/saved.h finds their files.
 *
 * A checkpoint is whole when two looks, CHECKPOINTS_PAUSE_MS apart, find the same files with the
 * same sizes and times. A checkpoint that exists at the first look belongs to an earlier run. It is
 * not reported, unless it changes. A look may miss checkpoints, because the file system hides a
 * folder for a moment. A checkpoint that was there or was reported, and that comes back unchanged,
 * is not new.
 *
 * `keep` counts the checkpoints of the phase over all its runs. After a run has saved one, the
 * checkpoints beyond the newest `keep` (at least two) are removed. The newest checkpoint that
 * guards vouch for always stays, because all others may turn out to be suspect. Checkpoints of
 * earlier runs count only if they were reported. Such a checkpoint takes no place among the newest
 * `keep` if it does not lead to this run, is not whole or is suspect. Only files below the phase's
 * own folder are removed. */
#ifndef PHASED_WORKER_NODE_CHECKPOINTS_H
#define PHASED_WORKER_NODE_CHECKPOINTS_H

#include "lib/saved.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct checkpoints;
struct error;
struct space_look;

enum { CHECKPOINTS_PAUSE_MS = 2000 };

/* A checkpoint has become whole; borrowed during the call. `is_suspect`: it was saved after a guard
 * had failed, or after NaN. `is_unseen`: it has become smaller than it was. Then it may be torn,
 * and counts as a checkpoint that nobody saw become whole. It takes no place among the newest
 * `keep`. */
typedef void checkpoint_found(void *context, const struct saved *checkpoint, bool is_suspect,
                              bool is_unseen);

/* Takes the first look. `keep` 0 keeps all checkpoints. Fails if the pattern is wrong or has no
 * {step}, or if a folder of the pattern cannot be read now. */
int checkpoints_new(const char *pattern, const char *out_dir, unsigned keep,
                    checkpoint_found *found, void *context, struct checkpoints **ret_checkpoints,
                    struct error *err);
void checkpoints_free(struct checkpoints *checkpoints);

/* Notes in the run's folder what exists at the first look (lib/saved.h). */
int checkpoints_note(const struct checkpoints *checkpoints, const char *run_dir, struct error *err);

/* The run resumes from the checkpoint at `path`, which is whole. Until this run has saved a
 * checkpoint, this size says how large checkpoints should be. Call it after the first look. */
void checkpoints_resume(struct checkpoints *checkpoints, const char *path);

/* Takes what earlier runs of the phase have reported, as lineage_saved() returns it: for the first
 * path of each checkpoint, whether it leads to this run, is whole and is not suspect. Call it after
 * the first look. */
void checkpoints_inherit(struct checkpoints *checkpoints, const json_t *saved);

/* `now_ms`, here and below: of a steady clock. */
void checkpoints_look(struct checkpoints *checkpoints, int64_t now_ms);

/* How often a look found a new or changed checkpoint. A change shows that somebody writes. */
uint64_t checkpoints_changes(const struct checkpoints *checkpoints);

/* What the checkpoints take on their file system. */
void checkpoints_space(const struct checkpoints *checkpoints, struct space_look *ret_look);

/* Lists the checkpoints that `keep: 2` would remove, the largest first: a new array of borrowed
 * checkpoints. The caller frees the array. */
const struct saved **checkpoints_spare(const struct checkpoints *checkpoints, size_t *ret_count);

/* Guards vouch for the checkpoints of this run before this step, because later metrics cannot make
 * them suspect. Without a call, guards vouch for all checkpoints. */
void checkpoints_vouch(struct checkpoints *checkpoints, int64_t step);

/* From now on, checkpoints of step `since` and later are suspect, and also all checkpoints that
 * were not begun yet. A second call changes nothing. */
void checkpoints_suspect(struct checkpoints *checkpoints, int64_t since, int64_t now_ms);

enum checkpoints_end {
    CHECKPOINTS_ENDED_WELL, /* all writers ended by themselves, so all checkpoints are whole */
    CHECKPOINTS_CUT_OFF,    /* a writer was killed, so its checkpoint may be torn */
};

/* Takes the last look, when no process writes any more. If a writer was cut off, a checkpoint
 * counts as whole if a look at least CHECKPOINTS_PAUSE_MS ago saw the same files, or if it has as
 * many files and bytes as a whole checkpoint. */
void checkpoints_look_last(struct checkpoints *checkpoints, enum checkpoints_end end,
                           int64_t now_ms);

/* Notes in the run's folder the checkpoints that the last look did not take as whole (lib/saved.h),
 * so that no run begins from them. Some are not noted: they count as checkpoints that nobody saw
 * become whole, and the next run tries them once. These are
 * - the checkpoints that are at most a hundredth smaller than a whole one,
 * - all checkpoints of a phase without a whole one. Such a phase would begin anew otherwise. */
int checkpoints_note_left_out(const struct checkpoints *checkpoints, const char *run_dir,
                              struct error *err);

#endif
