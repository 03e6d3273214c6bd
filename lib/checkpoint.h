/* The files of checkpoints: how large they are, and whether one is still as it was told. Daemon and
 * worker ask the same functions, so that neither believes what the other refuses. */
#ifndef PHASED_LIB_CHECKPOINT_H
#define PHASED_LIB_CHECKPOINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* What lies there. */
struct checkpoint_extent {
    uint64_t files;
    uint64_t bytes;
    int64_t newest_ns; /* when the file that was written last was; 0 without files */
};

bool checkpoint_extent_equal(const struct checkpoint_extent *a, const struct checkpoint_extent *b);

/* Adds a file, or all files in a folder and in the folders in it. What vanishes meanwhile is not
 * counted, nor what lies more than 64 folders deep. -errno where `path` is not there. */
int checkpoint_measure(const char *path, struct checkpoint_extent *extent);

enum { CHECKPOINT_NEAR_DEPTH = 2, CHECKPOINT_NEAR_FILES = 4096 };

/* Adds the files in a folder and in the folders in it, not deeper, and some CHECKPOINT_NEAR_FILES
 * at most. Whoever looks twice sees whether somebody writes a checkpoint there, under whatever
 * name. */
void checkpoint_measure_near(const char *folder, struct checkpoint_extent *extent);

/* Adds the files of a whole checkpoint, which is `paths` where it is several (else NULL). */
int checkpoint_measure_all(const char *path, const json_t *paths, struct checkpoint_extent *extent);

/* Whether all of a checkpoint is there: `paths` where it is several (else NULL), and as many bytes
 * as it had; negative: that is not known. */
bool checkpoint_is_whole(const char *path, const json_t *paths, int64_t bytes);

#endif
