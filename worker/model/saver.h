/* Saves checkpoints while the training goes on.
 *
 * At a checkpoint each rank copies the state that it owns into memory of the host, and a thread
 * writes the copy to the disk (checkpoint.h). A checkpoint is complete when all ranks have written
 * their files and rank 0 has written the marker. The ranks tell each other about their files when
 * they meet in each step anyway, so the training waits for the disk only if the next checkpoint is
 * due, or at its end.
 *
 * If a rank has no memory for the copy, it writes its state at once, and the training waits. */
#ifndef PHASED_WORKER_MODEL_SAVER_H
#define PHASED_WORKER_MODEL_SAVER_H

#include <stddef.h>

struct checkpoint_position;
struct error;
struct model;
struct ranks;
struct saver;

/* Takes the memory for the copy, so call it before the first step. `folder` and `model` are
 * borrowed. `keep` checkpoints are kept. */
struct saver *saver_new(const char *folder, size_t keep, const struct model *model);
/* A checkpoint that is not complete yet is given up. */
void saver_free(struct saver *saver);

/* Begins a checkpoint. The checkpoint before must have ended. All ranks of a training call this in
 * the same step. Waits for the kernels and for the copy. Returns 0 or a failure of the backend. */
int saver_start(struct saver *saver, const struct checkpoint_position *position, struct error *err);

enum { SAVER_WRITTEN, SAVER_FAILED, SAVER_REPORT };
/* Says for one rank whether it has written its file, and whether it could not. Sums over the ranks
 * count the ranks. */
void saver_report(struct saver *saver, float ret_report[SAVER_REPORT]);
/* Takes the sums over the ranks. All ranks call it in the same step. */
void saver_hear(struct saver *saver, const float sums[SAVER_REPORT]);

/* Waits until all ranks have written their files, and until rank 0 has written the marker. All
 * ranks call it in the same step. Only a lost connection is an error. */
int saver_wait(struct saver *saver, struct ranks *ranks, struct error *err);

/* Returns the failure of a checkpoint, once. Ranks other than 0 do not learn that rank 0 could not
 * write the marker. */
int saver_result(struct saver *saver, struct error *err);

#endif
