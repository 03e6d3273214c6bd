/* A text to train on that needs no file: sentences of words from lists. The text is the same on
 * every machine, and a shorter text is the beginning of a longer one, except its last byte. */
#ifndef PHASED_WORKER_MODEL_PROSE_H
#define PHASED_WORKER_MODEL_PROSE_H

#include <stddef.h>

struct text;

enum { PROSE_BYTES = 32768 }; /* what `phase-model train` takes without a file */

/* Adds `size` bytes of lines, at least 1. The last byte ends a line. */
void prose_add(struct text *text, size_t size);

/* The command `phase-model text`, with the words after "text". Returns the exit code. */
int prose_command(char **words);

#endif
