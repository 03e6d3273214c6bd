/* A checkpoint as journals, `resume` in run.json, and lists of checkpoints tell it. A message has
 * only some of the members. */
#ifndef PHASED_LIB_PROTOCOL_TOLD_CHECKPOINT_H
#define PHASED_LIB_PROTOCOL_TOLD_CHECKPOINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct told_checkpoint {
    const char *path; /* the first path; NULL: this is not a checkpoint */
    int64_t step;     /* -1: unknown */
    int64_t bytes;    /* of all files; -1: unknown */
    json_t *paths;    /* if there are several paths: a list of all; otherwise NULL */
    bool is_suspect;  /* it was begun after a guard had failed or NaN had come */
    bool is_unseen;   /* no agent has seen it become whole */
    double time;      /* when it was told or written, in seconds since 1970; 0: unknown */
};

/* A new reference; NULL: a path is not UTF-8. */
json_t *told_checkpoint_to_json(const struct told_checkpoint *told);
/* Reads a checkpoint, which may be any JSON. The result borrows from it. */
struct told_checkpoint told_checkpoint_read(const json_t *json);

/* The two members of `resume`, {"path", "step"}. A new reference; NULL: the path is not UTF-8. */
json_t *told_checkpoint_reference(const char *path, int64_t step);

void told_checkpoint_mark(json_t *checkpoint, bool is_suspect);

#endif
