/* The folders of workflows, jobs and runs below $PHASED_HOME/runs; doc/protocol.md has their
 * contents.
 *
 * What is written here can all be made again from the record, so nothing is synced to disk: after a
 * power failure a job that starts may find an empty file and fail, and its run is repeated. Each
 * file appears whole, by rename where somebody may be reading. What runs write (journal/, log/,
 * out/) their workers make. */
#ifndef PHASED_DAEMON_LOOP_FOLDER_H
#define PHASED_DAEMON_LOOP_FOLDER_H

struct error;
struct home;
struct run;
struct store_launch;

struct folder {
    char *workflow, *job, *phase, *out, *run;
};

void folder_init(struct folder *folder, const struct home *home, const struct run *run);
void folder_fini(struct folder *folder);

/* Makes the run's folder: run.json and the secret. */
int folder_make_run(const struct folder *folder, const struct home *home, const struct run *run,
                    const struct store_launch *launch, const char *secret, struct error *err);
/* Makes the folder of a job that is to begin with this run. `script` is the batch script. */
int folder_make_job(const struct folder *folder, const char *script, struct error *err);

#endif
