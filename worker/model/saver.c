/* The copy of the state, and the thread that writes it. */
#include "worker/model/saver.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "worker/model/checkpoint.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    PIECE = 4 << 20, /* bytes that are written at once */
    MEETING_S = 1,   /* while ranks wait for a slow disk, they meet so often */
};

enum state {
    STATE_IDLE,
    STATE_WRITES,    /* some rank may still write its file */
    STATE_COMPLETES, /* in rank 0: all files are written, the marker is not */
};

struct saver {
    const char *folder;
    size_t keep;
    const struct model *model;
    char *memory; /* of the host, for the whole state of this rank or for a piece */
    size_t bytes; /* of the state */
    bool has_copy;
    enum state state;
    struct checkpoint_position position;
    bool is_running;
    pthread_t thread;
    void (*work)(struct saver *saver); /* of the thread */
    pthread_mutex_t lock;
    pthread_cond_t worked;
    bool has_worked; /* under the lock */
    atomic_bool is_cancelled;
    /* The thread writes these, if it runs. */
    int status;
    struct error err;
    /* Of the last checkpoint, until saver_result() is called. */
    int failure;
    struct error failure_err;
};

static size_t share(const struct saver *saver, size_t bucket)
{
    const struct model *model = saver->model;
    return checkpoint_share(&model->buckets[bucket], model->rank.rank, model->rank.size);
}

struct saver *saver_new(const char *folder, size_t keep, const struct model *model)
{
    struct saver *saver = xcalloc(1, sizeof *saver);
    pthread_condattr_t steady;
    (void)pthread_mutex_init(&saver->lock, NULL); /* these cannot fail with these arguments */
    (void)pthread_condattr_init(&steady);
    (void)pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&saver->worked, &steady);
    (void)pthread_condattr_destroy(&steady);
    saver->folder = folder;
    saver->keep = keep;
    saver->model = model;
    for (size_t i = 0; i < model->bucket_count; i++)
        saver->bytes += CHECKPOINT_ARRAYS * share(saver, i) * sizeof(float);
    saver->memory = kernels_host_memory(model->kernels, saver->bytes ? saver->bytes : 1);
    saver->has_copy = saver->memory;
    if (!saver->has_copy) {
        saver->memory = xmalloc(PIECE);
        fprintf(stderr,
                "phase-model: the host has no %zu MiB for a copy of the state: the training waits "
                "while checkpoints are written\n",
                saver->bytes >> 20);
    }
    return saver;
}

/* --- Work of the thread ----------------------------------------------------------------------- */

/* Copies the state to `memory`, or piece by piece to the file of this rank, if `part` is not NULL.
 */
static int take_state(struct saver *saver, struct checkpoint_part *part, struct error *err)
{
    const struct model *model = saver->model;
    const float *const arrays[CHECKPOINT_ARRAYS] = {model->master, model->moment1, model->moment2};
    char *to = saver->memory;
    for (size_t a = 0; a < CHECKPOINT_ARRAYS; a++)
        for (size_t i = 0; i < model->bucket_count; i++) {
            const struct model_bucket *bucket = &model->buckets[i];
            const char *from = (const char *)(arrays[a] + (a ? bucket->state : bucket->own_first));
            size_t bytes = share(saver, i) * sizeof(float), size = bytes;
            for (size_t done = 0; done < bytes; done += size) {
                size = part && bytes - done > PIECE ? PIECE : bytes - done;
                kernels_get(model->kernels, to, from + done, size);
                if (!part)
                    to += size;
                else if (checkpoint_part_write(part, to, size, err) < 0)
                    return err->code;
            }
        }
    return kernels_status(model->kernels, err);
}

static int write_copy(struct saver *saver, struct checkpoint_part *part)
{
    for (size_t done = 0; done < saver->bytes; done += PIECE) {
        size_t left = saver->bytes - done;
        if (saver->is_cancelled)
            return error_set(&saver->err, -ECANCELED, "the training has failed");
        int status = checkpoint_part_write(part, saver->memory + done, left < PIECE ? left : PIECE,
                                           &saver->err);
        if (status < 0)
            return status;
    }
    return 0;
}

static void write_part(struct saver *saver)
{
    struct checkpoint_part part;
    saver->status = checkpoint_part_begin(&part, saver->folder, saver->position.step,
                                          saver->model->rank.rank, &saver->err);
    if (saver->status == 0) {
        int status =
            saver->has_copy ? write_copy(saver, &part) : take_state(saver, &part, &saver->err);
        saver->status = checkpoint_part_end(&part, status, &saver->err);
    }
}

/* A checkpoint that cannot be removed is only a warning. */
static void complete(struct saver *saver)
{
    struct error err;
    char message[sizeof err.message];
    saver->status = checkpoint_complete(saver->folder, saver->model, saver->model->rank.size,
                                        &saver->position, &saver->err);
    if (saver->status == 0 &&
        checkpoint_prune(saver->folder, saver->position.step, saver->keep, &err) < 0)
        fprintf(stderr, "phase-model: %s\n", error_text(&err, message, sizeof message));
}

static void *run_thread(void *context)
{
    struct saver *saver = context;
    saver->work(saver);
    (void)pthread_mutex_lock(&saver->lock); /* these cannot fail for this kind of mutex */
    saver->has_worked = true;
    (void)pthread_cond_signal(&saver->worked);
    (void)pthread_mutex_unlock(&saver->lock);
    return NULL;
}

/* Signals go to the main thread, which waits for them. If there is no thread, the work is done at
 * once. */
static void begin(struct saver *saver, void (*work)(struct saver *saver))
{
    sigset_t all, before;
    saver->work = work;
    saver->has_worked = false;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* fails only for wrong numbers */
    saver->is_running = pthread_create(&saver->thread, NULL, run_thread, saver) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* the same */
    if (!saver->is_running)
        work(saver);
}

enum wait { WAIT_NOT, WAIT_A_MOMENT, WAIT_LONG };

/* Returns whether the thread has ended. */
static bool has_ended(struct saver *saver, enum wait wait)
{
    struct timespec until = {0};
    int code = 0;
    if (!saver->is_running)
        return true;
    if (wait == WAIT_A_MOMENT) {
        (void)clock_gettime(CLOCK_MONOTONIC, &until); /* the clock exists */
        until.tv_sec += MEETING_S;
    }
    (void)pthread_mutex_lock(&saver->lock); /* these cannot fail for this kind of mutex */
    while (wait != WAIT_LONG && !saver->has_worked && code == 0)
        code = pthread_cond_timedwait(&saver->worked, &saver->lock, &until);
    bool must_join = wait == WAIT_LONG || saver->has_worked;
    (void)pthread_mutex_unlock(&saver->lock);
    if (!must_join)
        return false;
    (void)pthread_join(saver->thread, NULL); /* the thread exists */
    saver->is_running = false;
    return true;
}

/* --- Checkpoints ------------------------------------------------------------------------------ */

int saver_start(struct saver *saver, const struct checkpoint_position *position, struct error *err)
{
    saver->position = *position;
    saver->state = STATE_WRITES;
    if (!saver->has_copy) {
        write_part(saver);
        return kernels_status(saver->model->kernels, err);
    }
    int status = take_state(saver, NULL, err);
    if (status == 0)
        begin(saver, write_part);
    return status;
}

void saver_report(struct saver *saver, float ret_report[SAVER_REPORT])
{
    bool has_written = saver->state == STATE_WRITES && has_ended(saver, WAIT_NOT);
    ret_report[SAVER_WRITTEN] = has_written && saver->status == 0;
    ret_report[SAVER_FAILED] = has_written && saver->status < 0;
}

static void end(struct saver *saver)
{
    saver->state = STATE_IDLE;
    if (saver->status == 0)
        return;
    saver->failure = saver->status;
    saver->failure_err = saver->err;
    (void)error_prefix(&saver->failure_err, "no checkpoint of step %" PRIu64, saver->position.step);
    if (saver->model->rank.rank == 0) /* a disk that is full needs the room */
        (void)checkpoint_drop(saver->folder, saver->position.step, NULL); /* else it stays */
}

void saver_hear(struct saver *saver, const float sums[SAVER_REPORT])
{
    unsigned size = saver->model->rank.size;
    if (saver->state == STATE_COMPLETES && has_ended(saver, WAIT_NOT))
        end(saver);
    if (saver->state != STATE_WRITES || sums[SAVER_WRITTEN] + sums[SAVER_FAILED] < (float)size)
        return;
    if (sums[SAVER_FAILED] > 0 && saver->status == 0)
        saver->status = error_set(&saver->err, -EIO, "%.0f of %u ranks could not write their files",
                                  (double)sums[SAVER_FAILED], size);
    if (saver->status < 0 || saver->model->rank.rank != 0) {
        end(saver);
    } else {
        saver->state = STATE_COMPLETES;
        begin(saver, complete);
    }
}

int saver_wait(struct saver *saver, struct ranks *ranks, struct error *err)
{
    while (saver->state == STATE_WRITES) {
        (void)has_ended(saver, WAIT_A_MOMENT); /* the report tells */
        float sums[SAVER_REPORT];
        saver_report(saver, sums);
        int status = ranks_sum(ranks, sums, SAVER_REPORT, err);
        if (status < 0)
            return status;
        saver_hear(saver, sums);
    }
    if (saver->state == STATE_COMPLETES) {
        (void)has_ended(saver, WAIT_LONG);
        end(saver);
    }
    return 0;
}

int saver_result(struct saver *saver, struct error *err)
{
    int failure = saver->failure;
    saver->failure = 0;
    if (failure < 0)
        *err = saver->failure_err;
    return failure;
}

void saver_free(struct saver *saver)
{
    if (!saver)
        return;
    saver->is_cancelled = true;
    (void)has_ended(saver, WAIT_LONG);
    (void)pthread_cond_destroy(&saver->worked); /* nobody waits */
    (void)pthread_mutex_destroy(&saver->lock);
    if (saver->has_copy)
        kernels_release_host(saver->model->kernels, saver->memory);
    else
        free(saver->memory);
    free(saver);
}
