/* How far a program is, by the progress bar or the epoch of a line. Internal to lib/metrics. */
#ifndef PHASED_LIB_METRICS_PROGRESS_H
#define PHASED_LIB_METRICS_PROGRESS_H

#include <stdbool.h>

struct line_memory;
struct values;

/* Reads the progress bar, "45%|####    | 120/266 [", of the line that begins at `at`. Sets the step
 * that it counts. Returns where the bar ends; `at` if the line has no bar. */
const char *progress_read_bar(struct line_memory *memory, struct values *values, const char *at,
                              const char *end);

/* Call it when a line has been read: metrics show which bar is the training. Only the names that
 * every trainer uses count, because a program may also print its settings. */
void progress_note_metrics(struct line_memory *memory, struct values *values, bool has_bar);

/* If `at` has an epoch and how far the program is in the epoch: adds the epoch, counts the step
 * that follows from both, and returns the end. Otherwise returns NULL. Counts no step if the word
 * before `at` means an evaluation; the line begins at `begin`.
 *
 *   Epoch [1/10], Step [100/600]     | epoch 1 | 200/2983 batches |
 *   Epoch: [0][10/100]               Train Epoch: 1 [640/60000 (1%)]
 *
 * Does not read `Epoch 2 step 50/1000`: this step may count the whole run. */
const char *progress_read_epoch(struct values *values, const char *begin, const char *at,
                                const char *end);

#endif
