/* The checkpoints in a folder, found by the pattern of the spec.
 *
 * The pattern is a path with shell wildcards and backslashes, and `{step}` in place of the step's
 * number: /out/model_{step}*. All files and folders that match with the same step are one
 * checkpoint. Names that look temporary are ignored.
 *
 * Before the ranks of a run start, the first node of the run notes the existing checkpoints in the
 * run's folder: checkpoints.json. The checkpoints that the run has left can then be found after its
 * end, even if its agents died. These are the checkpoints that exist now or existed when the next
 * run began, and that did not exist before. An agent that lives until the end of its run also notes
 * the checkpoints that it did not consider whole, so that nobody considers them whole later. */
#ifndef PHASED_LIB_SAVED_H
#define PHASED_LIB_SAVED_H

#include "lib/checkpoint.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct saved_pattern;

/* One checkpoint: all files and folders of one step. */
struct saved {
    int64_t step;
    struct checkpoint_extent extent;
    char **paths; /* sorted by name */
    size_t path_count;
};

struct saved_list {
    struct saved *items;
    size_t count;
};

/* -EINVAL: the text has no {step}, or is not a pattern. */
int saved_pattern_new(const char *text, struct saved_pattern **ret_pattern, struct error *err);
void saved_pattern_free(struct saved_pattern *pattern);

/* Lists the existing checkpoints of steps after `after`. Returns -EIO if some may be missing in the
 * list, because a folder cannot be read now. */
int saved_look(const struct saved_pattern *pattern, int64_t after, struct saved_list *ret_list);
/* All paths of a checkpoint, because a resume needs all of them: a new reference. NULL: the
 * checkpoint has only one path. */
json_t *saved_paths(const struct saved *saved);
void saved_fini(struct saved *saved);
void saved_list_fini(struct saved_list *list);

/* Notes the existing checkpoints before a run starts. */
int saved_note(const char *run_dir, const struct saved_pattern *pattern,
               const struct saved_list *there, struct error *err);

/* Adds to the notes the checkpoints that may not be whole at the end, because their writer was cut
 * off. */
int saved_note_left_out(const char *run_dir, const struct saved_list *left_out, struct error *err);

/* Returns the least number of bytes that a whole checkpoint may have if another whole checkpoint
 * has this size. It is a hundredth less, because numbers in the files get more digits with the
 * steps. */
double saved_near_bytes(double whole);

/* The limit of the checkpoints that were saved before a guard failed. They have smaller steps, and
 * were last written before this time. A program may number its checkpoints by epochs, so the step
 * alone says too little. */
struct saved_limit {
    int64_t step, time_ms;
};

extern const struct saved_limit saved_no_limit;

/* Lowers the limit. A value above the present value changes nothing. */
void saved_limit_lower(struct saved_limit *limit, int64_t step, int64_t time_ms);

/* Lists the checkpoints that a run has left, of steps after `after` and within the limit: a new
 * reference. Each is {"path", "step", "bytes", "files", "time"}, where "time" is the last write,
 * and "paths" if the checkpoint has several: the form that journals use. The list is empty if there
 * are no notes: no rank was started. `phase_dir` holds the runs by their attempts.
 *
 * Nobody has seen these checkpoints become whole. `told` lists checkpoints of one run that agents
 * have seen whole, the newest last. A checkpoint is torn, and left out, if it has
 *   - fewer paths than the newest of `told`,
 *   - fewer files than the newest of `told` that is unchanged,
 *   - more than a hundredth fewer bytes than the smallest of `told`; or any fewer, if `told` has
 *     three or more, and all have the same size,
 *   - less than nine tenths of the bytes of the newest of `told`; or, if `told` is empty or NULL,
 *     of the largest that the run has left.
 * A checkpoint that the agent did not consider whole is left out, too, unless somebody has written
 * to it since. */
json_t *saved_left(const char *phase_dir, unsigned attempt, int64_t after,
                   const struct saved_limit *limit, const json_t *told);

#endif
