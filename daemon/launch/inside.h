/* Inside daemon/launch. Calls go down: launch.c, then answers.c, prepare.c and job_order.c, then
 * search.c, then resume.c and folder.c. */
#ifndef PHASED_DAEMON_LAUNCH_INSIDE_H
#define PHASED_DAEMON_LAUNCH_INSIDE_H

#include "daemon/core/core.h"
#include "daemon/launch/launch.h"
#include "lib/map.h"

#include <stdint.h>
#include <sys/stat.h>

enum {
    CHANGE_RETRY_MS = 5000, /* nobody answered; a call to a controller that is away took 18 s */
    FOLDER_RETRY_MS = 1000,
    POLL_BUSY_MS = 2000,
};

/* When Slurm expects to start a job that waits. */
struct expected_start {
    uint32_t slurm_id;
    int64_t time_s; /* since 1970 */
};

struct launch {
    struct loop *loop;
    /* What is known of failures, as it goes into run.json: what is built in and, before it, the
     * user's own file in the home, which is read again when it has changed. */
    json_t *failures; /* NULL: not read yet */
    struct stat failures_seen;
    /* Orders that leave nodes out. Slurm may refuse one that would be taken without that. */
    struct map excluding; /* jobs whose order under way leaves nodes out, by id */
    struct map anywhere;  /* jobs of which Slurm has refused such an order */
    /* Polls: */
    bool is_polling;
    struct map begun;     /* jobs that Slurm was asked to begin after the poll under way, by id */
    bool has_put_off;     /* Slurm lets some requeued job wait */
    uint64_t busy_due_ms; /* of libuv's time: when the next poll is, if something starts or ends */
    uint64_t idle_due_ms; /* of libuv's time: when the next poll is, if nothing is going on */
    struct expected_start *starts; /* as the newest poll had them, by id */
    size_t start_count;
};

/* --- answers.c -------------------------------------------------------------------------------- */

/* Polls when that is due: every 2 s while something starts or ends. Otherwise every 30 s is enough,
 * since the workers tell what is new. */
void poll_look(void *state);
/* Polls at once if a turn has begun or ended something and no poll was made for 2 s. */
void poll_turned(void *state);
int poll_answer(void *state, const struct core_effect *effect, const struct cluster_result *result);
int submit_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result);
int lookup_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result);
/* Of FX_CANCEL_JOB and FX_BEGIN_JOB. */
int change_answer(void *state, const struct core_effect *effect,
                  const struct cluster_result *result);

/* --- prepare.c -------------------------------------------------------------------------------- */

/* Writes the secret of a run that will begin, with its effect. */
int secret_write(void *state, const struct core_effect *effect, struct error *err);
/* Makes the run's folder. `ret_launch` is the caller's to store_launch_fini() on success. */
int prepare(struct launch *launch, const struct run *run, const struct folder *folder,
            struct store_launch *ret_launch, bool *ret_is_begun, struct error *err);

/* --- resume.c --------------------------------------------------------------------------------- */

/* What a run begins from. */
struct resume {
    json_t *from; /* a reference, or JSON's null: the start */
    char *why;    /* the phase has checkpoints, and none of them will do; NULL: not so */
    bool is_open; /* the lead may take a newer checkpoint: the run before may still save one */
    int64_t known_step; /* the highest step of a checkpoint that the record has; -1: it has none */
};

/* Fails as the record does. `ret_resume` is the caller's to resume_fini() on success. */
int resume_choose(struct store *store, const struct run *run, struct resume *ret_resume,
                  struct error *err);
void resume_fini(struct resume *resume);
/* What the run, which is over, has left of a greater step than all that it has told, as the record
 * has it or in `more`: saved_left() in lib/saved.h. `phase_dir` holds the runs of its phase. */
int resume_left(struct store *store, const char *phase_dir, const struct run *run,
                const json_t *more, const struct saved_limit *limit, json_t **ret_left,
                struct error *err);

/* --- folder.c --------------------------------------------------------------------------------- */

/* As folder_init(), for one of several jobs of the run. */
void folder_init_job(struct folder *folder, const struct home *home, const struct run *run,
                     const struct allocation *job);
/* Makes the run's folder: run.json, which has `resume` and the catalogue of `failures`, and the
 * secret. Where the lead of its job has begun the run
 * already, `ret_is_begun`, the folder is taken over, and what the run resumes from stays as it is.
 * What the lead of some other job has begun in this place is set aside. */
int folder_make_run(const struct folder *folder, const struct home *home, const struct run *run,
                    const struct store_launch *launch, const json_t *failures, const char *secret,
                    const struct resume *resume, bool *ret_is_begun, struct error *err);
/* Makes the folder of a job that is to begin with this run. `script` is the batch script. */
int folder_make_job(const struct folder *folder, const char *script, struct error *err);
/* Makes the folder of a job that is to begin with this run in the allocation of its host, and tells
 * that one's batch script who its guests are. */
int folder_join_job(const struct folder *folder, const struct run *run, struct error *err);

#endif
