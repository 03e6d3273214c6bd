/* Checkpoints in the folder of a test. */
#ifndef PHASED_TESTS_CHECKPOINT_FILES_H
#define PHASED_TESTS_CHECKPOINT_FILES_H

#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/node/checkpoints.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes `size` bytes to a file below the folder, and makes the folder of the file. */
void put(const char *name, size_t size);
bool is_there(const char *name);
/* Adds "500 12 model_500.pt; " to the text `context`: step, bytes and name of a checkpoint. */
void note(void *context, const struct saved *checkpoint, bool is_suspect, bool is_unseen);
/* Takes the first look for this pattern below the folder. `found` notes what is reported. */
struct checkpoints *begin(const char *pattern, unsigned keep, struct text *found);

/* The time of the next look, CHECKPOINTS_PAUSE_MS after the last call. */
int64_t later(void);

#endif
