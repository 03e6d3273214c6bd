/* Inside daemon/launch. Calls go down: launch.c, then answers.c, prepare.c and job_order.c, then
 * search.c and secrets.c, then resume.c and folder.c. */
#ifndef PHASED_DAEMON_LAUNCH_PRIVATE_H
#define PHASED_DAEMON_LAUNCH_PRIVATE_H

#include "daemon/core/core.h"
#include "daemon/launch/launch.h"
#include "lib/map.h"

#include <stdint.h>
#include <sys/stat.h>

enum {
    CHANGE_RETRY_MS = 5000, /* after a request that Slurm did not answer; it may take 18 s */
    FOLDER_RETRY_MS = 1000,
    UNBOUND_RETRY_MS = 500, /* until the cluster of the record has answered */
    POLL_BUSY_MS = 2000,
};

/* When Slurm expects to start a waiting job. */
struct expected_start {
    uint32_t slurm_id;
    int64_t time_s; /* seconds since 1970 */
};

struct launch {
    struct loop *loop;
    /* The catalogue of known failures, as it goes into run.json. The user's own file in the home
     * comes before the built-in catalogue, and is read again when it has changed. */
    json_t *failures; /* NULL: not read yet */
    struct stat failures_seen;
    /* Orders that leave nodes out. Slurm may refuse such an order although it would take the order
     * without the exclusions. */
    struct map excluding; /* by id: jobs whose order leaves nodes out and is not answered yet */
    struct map anywhere;  /* by id: jobs whose order was refused because it left nodes out */
    /* Polls: */
    bool is_polling;
    struct map begun;     /* by id: jobs that Slurm was asked to begin during the current poll */
    bool has_put_off;     /* Slurm makes a requeued job wait */
    uint64_t busy_due_ms; /* in libuv's time: when the next poll is, if something starts or ends */
    uint64_t idle_due_ms; /* in libuv's time: when the next poll is, if nothing starts or ends */
    struct expected_start *starts; /* by id, from the newest poll */
    size_t start_count;
};

/* --- answers.c -------------------------------------------------------------------------------- */

/* Polls when a poll is due: every 2 s while something starts or ends, and otherwise every 30 s.
 * More often is not needed, since workers report by themselves. */
void poll_look(void *state);
/* Polls at once if a turn has begun or ended something, unless the last poll is less than 2 s old.
 */
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

/* Writes the secret of a run that will begin, in the transaction of the effect that begins the run.
 */
int secret_write(void *state, const struct core_effect *effect, struct error *err);
/* Makes the run's folder. On success the caller frees `ret_launch` with store_launch_fini().
 * If a secret that the run needs was removed, prepare() fails, and the phase is held. */
int prepare(struct launch *launch, const struct run *run, const struct folder *folder,
            struct store_launch *ret_launch, bool *ret_is_begun, struct error *err);

/* --- resume.c --------------------------------------------------------------------------------- */

/* What a run begins from. */
struct resume {
    json_t *from;       /* a reference, or NULL: the start */
    char *why;          /* why none of the phase's checkpoints will do; NULL: no such reason */
    bool is_open;       /* the run before may still save a checkpoint, and the lead may take it */
    int64_t known_step; /* the highest step of a recorded checkpoint; -1: no checkpoint */
};

/* Fails only if the record fails. On success the caller frees `ret_resume` with resume_fini(). */
int resume_choose(struct store *store, const struct run *run, struct resume *ret_resume,
                  struct error *err);
void resume_fini(struct resume *resume);
/* Finds checkpoints that a run which is over has left and nobody has told. A checkpoint counts only
 * if its step is greater than all steps told in the record or in `more`. See saved_left() in
 * lib/saved.h. `phase_dir` holds the runs of the phase. */
int resume_left(struct store *store, const char *phase_dir, const struct run *run,
                const json_t *more, const struct saved_limit *limit, json_t **ret_left,
                struct error *err);

/* --- folder.c --------------------------------------------------------------------------------- */

/* Does what folder_init() does, for one of several jobs of the run. */
void folder_init_job(struct folder *folder, const struct home *home, const struct run *run,
                     const struct allocation *allocation);
/* Makes the run's folder with run.json and the secret. run.json has `resume` and the catalogue of
 * `failures`. If the lead of the run's job has begun the run already (`ret_is_begun`), the folder
 * is taken over, and what the run resumes from stays as it is. If the lead of another job has begun
 * something in this place, that folder is set aside. */
int folder_make_run(const struct folder *folder, const struct home *home, const struct run *run,
                    const struct store_launch *launch, const json_t *failures, const char *secret,
                    const struct resume *resume, bool *ret_is_begun, struct error *err);
/* Makes the folder of a job that is to begin with this run. `script` is the batch script. If a lead
 * has claimed the folder, the run that it serves stays. */
int folder_make_job(const struct folder *folder, const char *script, struct error *err);
/* Makes the folder of a job that is to begin with this run in the allocation of a host, unless the
 * folder exists. Tells the batch script of the host which folders may need a lead. */
int folder_join_job(const struct folder *folder, const struct run *run, struct error *err);

#endif
