/* The folders of workflows, jobs and runs below $PHASED_HOME/runs; doc/protocol.md has their
 * contents.
 *
 * What is written here can all be made again from the record, so nothing is synced to disk: after a
 * power failure a job that starts may find an empty file and fail, and its run is repeated. A run's
 * folder appears whole, by rename, since a lead that goes on alone makes the same one: whoever
 * comes second finds it. Files that somebody may be reading are replaced by rename. What runs write
 * (journal/, log/, out/) their workers make. */
#ifndef PHASED_DAEMON_LOOP_FOLDER_H
#define PHASED_DAEMON_LOOP_FOLDER_H

#include <jansson.h>
#include <stdbool.h>

struct error;
struct home;
struct allocation;
struct run;
struct store_launch;

struct folder {
    char *workflow, *job, *phase, *out, *run;
    char *own; /* of the job itself, for its log; of a candidate it is another than `job` */
};

void folder_init(struct folder *folder, const struct home *home, const struct run *run);
/* The same for one of several jobs of the run. */
void folder_init_job(struct folder *folder, const struct home *home, const struct run *run,
                     const struct allocation *job);
void folder_fini(struct folder *folder);

/* Makes the run's folder: run.json, which resumes from `resume` (JSON's null: from the start) and
 * holds the catalogue of `failures`, and the secret. Where the lead of its job has begun the run
 * already, `ret_is_begun`, the folder is taken over, and what the run resumes from stays as it is.
 * What the lead of some other job has begun in this place is set aside. */
int folder_make_run(const struct folder *folder, const struct home *home, const struct run *run,
                    const struct store_launch *launch, const json_t *failures, const char *secret,
                    const json_t *resume, bool *ret_is_begun, struct error *err);
/* What the run that is made there resumes from: an object, or JSON's null; NULL when that cannot be
 * read. A new reference. */
json_t *folder_resume(const struct folder *folder);
/* Puts a tombstone into the run's folder, synced: no lead begins the run any more. Where there is
 * no such folder, or it is of another job, there is nothing to do. */
int folder_seal(const struct folder *folder, const struct run *run, struct error *err);
/* Whether there is one. */
bool folder_is_sealed(const struct folder *folder);
/* Makes the folder of a job that is to begin with this run. `script` is the batch script. */
int folder_make_job(const struct folder *folder, const char *script, struct error *err);
/* Makes the folder of a job that is to begin with this run in the allocation of its host, and tells
 * that one's batch script who its guests are. */
int folder_join_job(const struct folder *folder, const struct run *run, struct error *err);

#endif
