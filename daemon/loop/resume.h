/* Which checkpoint a run begins from.
 *
 * The core names the newest one that was told. When the run's folder is made, the files are looked
 * at: one that is not there any more, or has not its size any more, is passed over for the one
 * before; likewise one from which an earlier run made no step before its program failed. One that
 * is suspect, saved when a guard had broken or NaN had come, only a person can choose. What was
 * made before the phase was begun anew counts no more, however new its steps. What was
 * chosen stands in run.json, and the core learns it when the run starts. */
#ifndef PHASED_DAEMON_LOOP_RESUME_H
#define PHASED_DAEMON_LOOP_RESUME_H

#include <jansson.h>

struct error;
struct phase;
struct run;
struct store;

/* {"path", "step"}, or JSON's null: from the start; a new reference. Where the phase has
 * checkpoints and none of them will do, `ret_why` says so, the caller's to free(); else it is NULL.
 * Fails as the record does. */
int resume_choose(struct store *store, const struct run *run, json_t **ret_resume, char **ret_why,
                  struct error *err);

/* The newest checkpoint that the run has saved before step `since`, as the record has it or in the
 * list `more` of journal entries; JSON's null: there is none. Of a run that a person had begin with
 * a suspect one it may be a good one from before. A new reference. */
int resume_before(struct store *store, const struct run *run, int64_t since, const json_t *more,
                  json_t **ret_resume, struct error *err);

/* What the run, which is over, has left of a greater step than all that it has told, as the record
 * has it or in `more`: saved_left() in lib/saved.h. `phase_dir` holds the runs of its phase. */
int resume_left(struct store *store, const char *phase_dir, const struct run *run,
                const json_t *more, json_t **ret_left, struct error *err);

/* The whole checkpoint before the newest one that leads to where the phase is; JSON's null: there
 * is none before it. Where the newest is suspect, that is the newest one that is not. A new
 * reference. */
int resume_previous(struct store *store, const struct phase *phase, json_t **ret_resume,
                    struct error *err);

/* What a person means by `from`: "start", the step of a recorded checkpoint, or its path; likewise
 * a new reference, with an empty path for the start. -ENOENT: no such one is whole; the message
 * names those that are. */
int resume_find(struct store *store, const struct phase *phase, const char *from,
                json_t **ret_found, struct error *err);

#endif
