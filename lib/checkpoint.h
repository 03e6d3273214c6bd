/* The files of checkpoints: their size, and whether a checkpoint is still complete. Daemon and
 * worker use the same functions, so that both come to the same answer. */
#ifndef PHASED_LIB_CHECKPOINT_H
#define PHASED_LIB_CHECKPOINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The size of a checkpoint on disk. */
struct checkpoint_extent {
    uint64_t files;
    uint64_t bytes;
    int64_t newest_ns; /* when the newest file was written; 0 without files */
};

bool checkpoint_extent_equal(const struct checkpoint_extent *a, const struct checkpoint_extent *b);

/* Adds a file, or all files in a folder and its subfolders. A file that vanishes meanwhile, or that
 * lies more than 64 folders deep, is not counted. Returns -errno if `path` does not exist. */
int checkpoint_measure(const char *path, struct checkpoint_extent *extent);

enum { CHECKPOINT_NEAR_DEPTH = 2, CHECKPOINT_NEAR_FILES = 4096 };

/* Adds the files in a folder and its direct subfolders, about CHECKPOINT_NEAR_FILES at most. Two
 * calls show whether somebody writes a checkpoint there, under any name. */
void checkpoint_measure_near(const char *folder, struct checkpoint_extent *extent);

/* Adds all files of a checkpoint: those of `paths`, or of `path` if `paths` is NULL. */
int checkpoint_measure_all(const char *path, const json_t *paths, struct checkpoint_extent *extent);

/* Whether all of a checkpoint is on disk. `paths` is NULL if the checkpoint has one path. `bytes`
 * is the expected size; negative: the size is not known. */
bool checkpoint_is_whole(const char *path, const json_t *paths, int64_t bytes);

#endif
