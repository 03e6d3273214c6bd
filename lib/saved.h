/* The checkpoints that lie in a folder, found by the pattern of the spec.
 *
 * The pattern is a path with shell wildcards and `{step}` where the number of the step stands:
 * /out/model_{step}*. All that matches with one step is one checkpoint, files and folders alike;
 * names that look temporary are passed over.
 *
 * Before the ranks of a run start, its first node notes in the run's folder what is there already:
 * checkpoints.json. When the run is over, whatever has become of its agents, what it has left is
 * what lies there now, or lay there when the next run began, and did not before. An agent that has
 * lived to its run's end adds what it did not believe: nobody takes that for whole later. */
#ifndef PHASED_LIB_SAVED_H
#define PHASED_LIB_SAVED_H

#include "lib/checkpoint.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct saved_pattern;

/* All of one step. */
struct saved {
    int64_t step;
    struct checkpoint_extent extent;
    char **paths; /* in order of their names */
    size_t path_count;
};

struct saved_list {
    struct saved *items;
    size_t count;
};

/* -EINVAL: it has no {step}, or is no pattern. */
int saved_pattern_new(const char *text, struct saved_pattern **ret_pattern, struct error *err);
void saved_pattern_free(struct saved_pattern *pattern);

/* What is there now of a step greater than `after`. */
void saved_look(const struct saved_pattern *pattern, int64_t after, struct saved_list *ret_list);
void saved_fini(struct saved *saved);
void saved_list_fini(struct saved_list *list);

/* Notes what is there before a run starts. */
int saved_note(const char *run_dir, const struct saved_pattern *pattern,
               const struct saved_list *there, struct error *err);

/* Adds to the notes what was there at the end and is not known to be whole, as its writer was cut
 * off. */
int saved_note_left_out(const char *run_dir, const struct saved_list *left_out, struct error *err);

/* What a run that is over has left of a step greater than `after`: a list of {"path", "step",
 * "bytes", "files", "time"} (when it was written last), and "paths" where they are several, as
 * journals tell checkpoints; a new reference. Empty also where nothing was noted: no rank was
 * started. `phase_dir` holds the runs by their attempts.
 *
 * Nobody has seen these checkpoints become whole. `told` are such objects that agents have seen
 * whole, of one run, the newest last. A checkpoint is torn, and left out, if it has
 *   - fewer paths than the newest of `told`,
 *   - fewer files than the newest of `told` that is still as it was told,
 *   - more than a hundredth fewer bytes than the smallest of `told`,
 *   - less than nine tenths of the bytes of the newest of `told`; or, if `told` is empty or NULL,
 *     of the largest that the run has left.
 * A checkpoint that the agent did not believe is left out too, unless somebody has written it
 * since. */
json_t *saved_left(const char *phase_dir, unsigned attempt, int64_t after, const json_t *told);

#endif
