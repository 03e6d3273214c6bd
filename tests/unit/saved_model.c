/* The model and the ranks of tests/unit/saved_model.h. */
#include "tests/unit/saved_model.h"
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "worker/model/ranks.h"

#include <string.h>

const struct model_shape shape = {
    .vocabulary = 256, .width = 8, .depth = 1, .heads = 2, .kv_heads = 1, .hidden = 12, .loops = 2};
const struct model_rank alone = {0, 1};
const struct checkpoint_position position = {
    .rows = 2400, .seed = 7, .fingerprint = {1, 2, 3}, .digest = {4, 5}};
struct kernels *kernels;

int open_kernels(void **state)
{
    (void)state;
    struct error err;
    kernels = kernels_new(0, &err);
    return kernels ? 0 : -1;
}

int close_kernels(void **state)
{
    (void)state;
    kernels_free(kernels);
    return 0;
}

enum kind { WEIGHT, MOMENT1, MOMENT2 };

/* Each number of the state is another one. */
static float value(enum kind kind, size_t i, uint64_t step)
{
    return (float)((uint64_t)kind * 10000000 + step * 20000 + i);
}

void init_model(struct model *model, uint64_t step, struct model_rank rank)
{
    struct error err;
    assert_int_equal(model_init(model, kernels, &shape, 4, MODEL_TRAINS, rank, &err), 0);
    for (size_t i = 0; i < model->parameters; i++)
        model->master[i] = value(WEIGHT, i, step);
    for (size_t b = 0; b < model->bucket_count; b++) {
        const struct model_bucket *bucket = &model->buckets[b];
        for (size_t i = 0; i < bucket->own_count; i++) {
            model->moment1[bucket->state + i] = value(MOMENT1, bucket->own_first + i, step);
            model->moment2[bucket->state + i] = value(MOMENT2, bucket->own_first + i, step);
        }
    }
}

void assert_weights(const struct model *model, uint64_t step)
{
    for (size_t i = 0; i < model->parameters; i++)
        if (model->weights[i] < value(WEIGHT, i, step) ||
            model->weights[i] > value(WEIGHT, i, step))
            fail_msg("weight %zu is %f", i, (double)model->weights[i]);
}

void assert_model(const struct model *model, uint64_t step)
{
    struct model wanted;
    init_model(&wanted, step, model->rank);
    assert_weights(model, step);
    assert_memory_equal(model->moment1, wanted.moment1, model->state * sizeof(float));
    assert_memory_equal(model->moment2, wanted.moment2, model->state * sizeof(float));
    model_fini(&wanted);
}

void saving_begin(struct saving *saving, unsigned size, uint64_t step)
{
    struct checkpoint_position at = position;
    struct error err;
    at.step = step;
    saving->size = size;
    for (unsigned rank = 0; rank < size; rank++) {
        init_model(&saving->models[rank], step, (struct model_rank){rank, size});
        saving->savers[rank] = saver_new(folder, KEPT, &saving->models[rank]);
        assert_int_equal(saver_start(saving->savers[rank], &at, &err), 0);
        /* Training goes on. */
        memset(saving->models[rank].master, 0, saving->models[rank].parameters * sizeof(float));
    }
}

void saving_wait(struct saving *saving)
{
    struct ranks nobody = {.size = 1};
    float ended;
    do {
        float sums[SAVER_REPORT] = {0};
        for (unsigned rank = 0; rank < saving->size; rank++) {
            float report[SAVER_REPORT];
            saver_report(saving->savers[rank], report);
            sums[SAVER_WRITTEN] += report[SAVER_WRITTEN];
            sums[SAVER_FAILED] += report[SAVER_FAILED];
        }
        for (unsigned rank = 0; rank < saving->size; rank++)
            saver_hear(saving->savers[rank], sums);
        ended = sums[SAVER_WRITTEN] + sums[SAVER_FAILED];
    } while (ended < (float)saving->size);
    assert_int_equal(saver_wait(saving->savers[0], &nobody, NULL), 0); /* for the marker */
}

void saving_end(struct saving *saving)
{
    for (unsigned rank = 0; rank < saving->size; rank++) {
        saver_free(saving->savers[rank]);
        model_fini(&saving->models[rank]);
    }
}

void save(unsigned size, uint64_t step)
{
    struct saving saving;
    struct error err;
    saving_begin(&saving, size, step);
    saving_wait(&saving);
    for (unsigned rank = 0; rank < size; rank++)
        if (saver_result(saving.savers[rank], &err) < 0)
            fail_msg("%s", err.message);
    saving_end(&saving);
}
