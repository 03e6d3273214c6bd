/* The loop of training: rows, gradient, sum over the ranks, update, line, checkpoint. */
#include "worker/model/train.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/metrics/peak.h"
#include "worker/model/checkpoint.h"
#include "worker/model/data.h"
#include "worker/model/device.h"
#include "worker/model/kernels.h"
#include "worker/model/model.h"
#include "worker/model/options.h"
#include "worker/model/pass.h"
#include "worker/model/ranks.h"
#include "worker/model/saver.h"
#include "worker/model/stop.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EVALUATED_ROWS = 32 };

struct train {
    const struct options *options;
    struct kernels *kernels;
    struct model model;
    struct pass *pass;
    struct data data;
    struct ranks ranks;
    struct saver *saver;
    struct checkpoint_position position;
    uint8_t digest[CHECKPOINT_DIGEST]; /* of the resumed checkpoint, or zeros */
    float loop_weights[MODEL_LOOPS_MAX];
    uint32_t *ids, *targets;
    double operations, peak; /* of a token; of all GPUs in a second, 0: unknown */
    double busy_s;           /* spent in steps since the figures were measured */
    unsigned busy_steps;
};

/* The results of one step. */
struct train_figures {
    double loss, losses[MODEL_LOOPS_MAX];
    double gradient_norm, rate, seconds;
    size_t skipped;   /* steps since the last measure whose gradient was not finite */
    bool is_measured; /* losses, norm and `skipped` are known: they cost a wait */
    bool stop;        /* some rank was asked to stop */
};

static uint64_t rows_each_step(const struct train *train)
{
    return train->options->device_batch_size * train->options->grad_accum * train->ranks.size;
}

static int load(struct train *train, struct error *err)
{
    const char *path = train->options->resume;
    struct checkpoint_position found;
    int status = checkpoint_load(path, &train->model, &found, train->digest, err);
    if (status < 0)
        return status;
    if (found.seed != train->position.seed)
        return error_set(err, -EINVAL,
                         "cannot resume from %s: it has seed=%" PRIu64 ", not %" PRIu64, path,
                         found.seed, train->position.seed);
    if (memcmp(found.digest, train->data.vocabulary, sizeof found.digest) != 0)
        return error_set(err, -EINVAL, "cannot resume from %s: it has another vocabulary than %s",
                         path, train->data.name);
    if (memcmp(found.fingerprint, train->data.fingerprint, sizeof found.fingerprint) != 0)
        return error_set(err, -EINVAL,
                         "cannot resume from %s: it was trained on another text than %s", path,
                         train->data.name);
    train->position = found;
    return 0;
}

/* Makes the fingerprint of what all ranks must have in common: every number of the options, the
 * text, the checkpoint, and the kind of their numbers. Paths may differ from node to node. */
static void take_fingerprint(const struct train *train, uint8_t fingerprint[RANKS_FINGERPRINT])
{
    struct options numbers = *train->options;
    const uint8_t number_size = sizeof(kernel_number);
    numbers.data = numbers.out = numbers.resume = numbers.model = numbers.preset = NULL;
    numbers.device = numbers.precision = NULL;
    crypto_generichash_state state;
    /* These calls cannot fail for fixed sizes. */
    (void)crypto_generichash_init(&state, NULL, 0, RANKS_FINGERPRINT);
    (void)crypto_generichash_update(&state, (const uint8_t *)&numbers, sizeof numbers);
    (void)crypto_generichash_update(&state, train->data.fingerprint,
                                    sizeof train->data.fingerprint);
    (void)crypto_generichash_update(&state, &number_size, sizeof number_size);
    (void)crypto_generichash_update(&state, train->digest, sizeof train->digest);
    (void)crypto_generichash_final(&state, fingerprint, RANKS_FINGERPRINT);
}

/* Does everything that can fail before the ranks meet. */
static int prepare(struct train *train, const struct ranks_place *place, struct error *err)
{
    const struct options *options = train->options;
    int status =
        data_init(&train->data, options->data, options->sequence_length, options->seed, err);
    if (status < 0)
        return status;
    const struct model_shape shape = options_shape(options, train->data.tokens);
    if (options->tokens && train->data.tokens > options->tokens)
        return error_set(err, -EINVAL,
                         "cannot train on %s: its vocabulary has %u tokens; --tokens is %" PRIu64,
                         train->data.name, train->data.tokens, options->tokens);
    status = file_make_folders(options->out, 0777, err);
    if (status == 0 && place->rank == 0)
        status = checkpoint_clean(options->out, err);
    if (status < 0)
        return status;
    int device = device_number(err);
    if (device < 0)
        return device;
    train->kernels = kernels_new(device, err);
    if (!train->kernels)
        return err->code;
    status = options->is_fp8 ? kernels_use_fp8(train->kernels, err) : 0;
    if (status < 0)
        return status;
    const struct model_rank rank = {place->rank, place->size};
    status = model_init(&train->model, train->kernels, &shape, options->sequence_length,
                        MODEL_TRAINS, rank, err);
    if (status < 0)
        return status;
    train->pass = pass_new(&train->model, options->device_batch_size, err);
    if (!train->pass)
        return err->code;
    train->saver = saver_new(options->out, options->keep, &train->model);
    model_loop_weights(train->loop_weights, options->loops, options->weight_base);
    train->position.seed = options->seed;
    memcpy(train->position.fingerprint, train->data.fingerprint, sizeof train->data.fingerprint);
    memcpy(train->position.digest, train->data.vocabulary, sizeof train->data.vocabulary);
    size_t bytes = options->device_batch_size * options->sequence_length * sizeof(uint32_t);
    train->ids = xmalloc(bytes);
    train->targets = xmalloc(bytes);
    if (*options->resume)
        return load(train, err);
    model_draw(&train->model, options->seed);
    return 0;
}

static int meet(struct train *train, const struct ranks_place *place, struct error *err)
{
    const struct options *options = train->options;
    uint8_t fingerprint[RANKS_FINGERPRINT];
    take_fingerprint(train, fingerprint);
    int status =
        ranks_init(&train->ranks, place, fingerprint, (int)options->rendezvous_timeout_s * 1000,
                   (int)options->collective_timeout_s * 1000, err);
    if (status == 0)
        status = kernels_join(train->kernels, &train->ranks, err);
    train->operations = model_mfu_operations(&train->model.shape, options->sequence_length);
    train->peak = 1e12 * peak_tflops(kernels_device(train->kernels)) * train->ranks.size;
    return status;
}

/* Runs this rank's share of the rows forward and backward. The rows of a step are dealt in rounds,
 * so that the number of ranks does not change which rows a step has. */
static void learn(struct train *train)
{
    const struct options *options = train->options;
    size_t batch = options->device_batch_size;
    double tokens = (double)(rows_each_step(train) * options->sequence_length);
    float scales[MODEL_LOOPS_MAX];
    for (size_t i = 0; i < options->loops; i++)
        scales[i] = (float)(train->loop_weights[i] / tokens);
    model_clear_gradient(&train->model);
    pass_clear_losses(train->pass);
    for (size_t round = 0; round < options->grad_accum; round++) {
        uint64_t share = round * train->ranks.size + train->ranks.rank;
        uint64_t first = train->position.rows + share * batch;
        bool is_last = round + 1 == options->grad_accum;
        data_rows(&train->data, first, batch, train->ids, train->targets);
        data_expect(&train->data, first + rows_each_step(train), batch); /* of the next step */
        pass_learn(train->pass, train->ids, train->targets, batch, scales,
                   is_last ? PASS_LAST_ROUND : PASS_MORE_ROUNDS);
    }
}

/* A full disk must not end a training that may last longer than the problem, so a failure of a
 * checkpoint is only a warning, except at the end. */
static void warn_of_failure(struct train *train)
{
    struct error err;
    char message[sizeof err.message];
    if (saver_result(train->saver, &err) < 0)
        fprintf(stderr, "phase-model: %s\n", error_text(&err, message, sizeof message));
}

/* The ranks meet. If any rank was asked to stop, all ranks learn it in the same step. They also
 * learn whether all ranks have written their files of a checkpoint. */
static int agree(struct train *train, struct train_figures *figures, struct error *err)
{
    float sums[1 + SAVER_REPORT] = {stop_is_wanted()};
    saver_report(train->saver, sums + 1);
    int status = ranks_sum(&train->ranks, sums, 1 + SAVER_REPORT, err);
    if (status < 0)
        return status;
    figures->stop = sums[0] > 0;
    saver_hear(train->saver, sums + 1);
    warn_of_failure(train);
    return 0;
}

static bool is_due(uint64_t step, uint64_t every)
{
    return every && step % every == 0;
}

static bool is_last(const struct train *train, const struct train_figures *figures)
{
    return train->position.step == train->options->iterations || figures->stop;
}

/* Whether the figures of this step are printed, or decide about a checkpoint. */
static bool needs_figures(const struct train *train, const struct train_figures *figures)
{
    const struct options *options = train->options;
    uint64_t step = train->position.step;
    return is_due(step, options->log_every) || is_due(step, options->eval_every) ||
           is_due(step, options->save_every) || is_last(train, figures);
}

/* Waits for the kernels, and sums the losses over the ranks. */
static int measure(struct train *train, struct train_figures *figures, struct error *err)
{
    const struct options *options = train->options;
    float shared[MODEL_LOOPS_MAX];
    pass_losses(train->pass, figures->losses);
    figures->gradient_norm = model_norm(&train->model);
    figures->skipped = model_skipped(&train->model);
    for (size_t i = 0; i < options->loops; i++)
        shared[i] = (float)figures->losses[i];
    int status = kernels_status(train->kernels, err);
    if (status == 0)
        status = ranks_sum(&train->ranks, shared, options->loops, err);
    if (status < 0)
        return status;
    double tokens = (double)(rows_each_step(train) * options->sequence_length);
    for (size_t i = 0; i < options->loops; i++) {
        figures->losses[i] = (double)shared[i] / tokens;
        figures->loss += (double)train->loop_weights[i] * figures->losses[i];
    }
    figures->is_measured = true;
    return 0;
}

static int take_step(struct train *train, struct train_figures *ret_figures, struct error *err)
{
    const struct options *options = train->options;
    *ret_figures = (struct train_figures){0};
    double begin = clock_steady_s();
    learn(train);
    int status = agree(train, ret_figures, err);
    if (status == 0)
        status = model_measure(&train->model, err);
    if (status < 0)
        return status;
    uint64_t step = ++train->position.step;
    train->position.rows += rows_each_step(train);
    double warm = step < options->warmup ? (double)step / (double)options->warmup : 1;
    const struct model_rates rates = {
        .matrix = (float)(warm * options->matrix_lr),
        .embedding = (float)(warm * options->embedding_lr),
        .decay = (float)options->weight_decay,
        .clip = (float)options->grad_clip,
    };
    status = model_update(&train->model, step, &rates, err);
    ret_figures->rate = (double)rates.matrix;
    if (status == 0 && needs_figures(train, ret_figures))
        status = measure(train, ret_figures, err);
    train->busy_s += clock_steady_s() - begin;
    train->busy_steps++;
    if (ret_figures->is_measured) {
        ret_figures->seconds = train->busy_s / (double)train->busy_steps;
        train->busy_s = 0;
        train->busy_steps = 0;
    }
    return status;
}

/* Returns the loss of the last loop on the held-out text. */
static double evaluate(struct train *train)
{
    const struct options *options = train->options;
    size_t batch = options->device_batch_size;
    double losses[MODEL_LOOPS_MAX];
    pass_clear_losses(train->pass);
    for (size_t done = 0; done < EVALUATED_ROWS; done += batch) {
        size_t count = EVALUATED_ROWS - done < batch ? EVALUATED_ROWS - done : batch;
        data_held_out(&train->data, EVALUATED_ROWS, done, count, train->ids, train->targets);
        pass_evaluate(train->pass, train->ids, train->targets, count);
    }
    pass_losses(train->pass, losses);
    return losses[options->loops - 1] / (double)(EVALUATED_ROWS * options->sequence_length);
}

static void print_line(struct train *train, const struct train_figures *figures)
{
    const struct options *options = train->options;
    uint64_t step = train->position.step;
    bool evaluated = is_due(step, options->eval_every);
    if (train->ranks.rank != 0)
        return;
    if (!is_due(step, options->log_every) && !evaluated && !is_last(train, figures))
        return;
    printf("step %" PRIu64 "/%" PRIu64 " | loss %.6f", step, options->iterations, figures->loss);
    for (size_t i = 0; i < options->loops; i++)
        printf(" | step_%zu %.6f", i, figures->losses[i]);
    double tokens = (double)(rows_each_step(train) * options->sequence_length);
    printf(" | grad_norm %.4f | lr %.6g | dt %.2fms | tok/sec %.0f", figures->gradient_norm,
           figures->rate, 1e3 * figures->seconds, tokens / figures->seconds);
    if (train->peak > 0)
        printf(" | mfu %.2f", 100 * train->operations * tokens / figures->seconds / train->peak);
    printf(" | mem %.3fGiB", (double)kernels_memory_used(train->kernels) / (1 << 30));
    if (evaluated)
        printf(" | val_loss %.6f", evaluate(train));
    putchar('\n');
}

/* Begins a checkpoint. The checkpoint before is complete then. */
static int save(struct train *train, struct error *err)
{
    int status = saver_wait(train->saver, &train->ranks, err);
    if (status < 0)
        return status;
    warn_of_failure(train);
    return saver_start(train->saver, &train->position, err);
}

/* Saves the last checkpoint, which must succeed. */
static int save_last(struct train *train, struct error *err)
{
    int status = save(train, err);
    if (status == 0)
        status = saver_wait(train->saver, &train->ranks, err);
    return status < 0 ? status : saver_result(train->saver, err);
}

static void pause_ms(uint64_t time_ms)
{
    const struct timespec pause = {.tv_sec = (time_t)(time_ms / 1000),
                                   .tv_nsec = (long)(time_ms % 1000) * 1000000};
    if (time_ms > 0)
        (void)nanosleep(&pause, NULL); /* a signal ends the pause early: it asks to stop */
}

static int train_steps(struct train *train, struct error *err)
{
    const struct options *options = train->options;
    struct train_figures figures = {0};
    while (train->position.step < options->iterations && !figures.stop) {
        int status = take_step(train, &figures, err);
        if (status < 0)
            return status;
        print_line(train, &figures);
        if (figures.is_measured && !isfinite(figures.gradient_norm))
            return error_set(err, -EDOM, "the gradient of step %" PRIu64 " is not finite",
                             train->position.step);
        if (figures.skipped > 0 && train->ranks.rank == 0)
            fprintf(stderr,
                    "phase-model: step %" PRIu64 ": earlier steps without an update, because "
                    "their gradients were not finite: %zu\n",
                    train->position.step, figures.skipped);
        bool more = !is_last(train, &figures);
        if (more && is_due(train->position.step, options->save_every))
            status = save(train, err);
        if (status < 0)
            return status;
        if (more)
            pause_ms(options->pace_ms);
    }
    return 0;
}

static void print_begin(const struct train *train)
{
    const struct options *options = train->options;
    if (*options->resume)
        printf("resumed at step %" PRIu64 " from %s\n", train->position.step, options->resume);
    printf("training %zu parameters on %u rank%s, %" PRIu64 " rows of %" PRIu64
           " tokens a step, loops weighted",
           train->model.parameters, train->ranks.size, train->ranks.size == 1 ? "" : "s",
           rows_each_step(train), options->sequence_length);
    for (size_t i = 0; i < options->loops; i++)
        printf(" %.4f", (double)train->loop_weights[i]);
    putchar('\n');
    if (train->peak > 0)
        printf(
            "mfu is in percent of %.0f TFLOPS, dense bf16, of %u %s; a token takes %.4g GFLOP: 6 "
            "for each weight of a product, and 12 * depth * width * sequence for attention\n",
            train->peak / 1e12, train->ranks.size, kernels_device(train->kernels),
            train->operations / 1e9);
    /* The values that a remedy may change, by the names of their params: the log shows that the
     * change has arrived. */
    printf("device_batch_size: %" PRIu64 " iterations: %" PRIu64
           " matrix_lr: %.6g weight_base: %.6g\n",
           options->device_batch_size, options->iterations, options->matrix_lr,
           options->weight_base);
}

static int train_all(struct train *train, struct error *err)
{
    if (train->ranks.rank == 0)
        print_begin(train);
    int status = train_steps(train, err);
    if (status == 0)
        status = save_last(train, err);
    else if (status == -EDOM || train->ranks.size == 1)
        (void)saver_wait(train->saver, &train->ranks, NULL); /* the checkpoint before is good */
    if (status < 0 || train->ranks.rank != 0)
        return status;
    bool stopped = train->position.step < train->options->iterations;
    char *path = checkpoint_path(train->options->out, train->position.step);
    printf("%s at step %" PRIu64 ": %s %s\n", stopped ? "stopped" : "finished",
           train->position.step, stopped ? "checkpoint" : "model", path);
    free(path);
    return 0;
}

int train_run(const struct options *options, const struct ranks_place *place, struct error *err)
{
    struct train train = {.options = options};
    int status = prepare(&train, place, err);
    if (status < 0)
        goto out;
    status = meet(&train, place, err);
    if (status < 0 && stop_is_wanted()) {
        printf("stopped before the first step\n");
        status = 0;
    } else if (status == 0) {
        status = train_all(&train, err);
    }
out:
    if (status < 0 && train.kernels)
        kernels_abandon(train.kernels, err);
    ranks_fini(&train.ranks);
    saver_free(train.saver);
    pass_free(train.pass);
    model_fini(&train.model);
    kernels_free(train.kernels);
    data_fini(&train.data);
    free(train.ids);
    free(train.targets);
    return status;
}
