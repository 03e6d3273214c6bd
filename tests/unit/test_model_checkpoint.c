/* Checkpoints: what is saved can be loaded, damaged and foreign files are refused, old files are
 * removed. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/checkpoint.h"
#include "worker/model/model.h"
#include "worker/model/ranks.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct model_shape shape = {
    .vocabulary = 256, .width = 8, .depth = 1, .heads = 2, .kv_heads = 1, .hidden = 12, .loops = 2};
static const struct model_rank alone = {0, 1};
static struct kernels *kernels;
static const struct checkpoint_position position = {
    .step = 150, .rows = 2400, .seed = 7, .fingerprint = {1, 2, 3}, .digest = {4, 5}};

struct place {
    char folder[64];
    char *path;
};

static void init_model(struct model *model, uint64_t seed)
{
    struct error err;
    assert_int_equal(model_init(model, kernels, &shape, 4, MODEL_TRAINS, alone, &err), 0);
    model_draw(model, seed);
    for (size_t i = 0; i < model->parameters; i++) {
        model->moment1[i] = (float)i;
        model->moment2[i] = (float)i * (float)seed;
    }
}

/* A folder with the checkpoint of a model drawn from seed 1. */
static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(place);
    memcpy(place->folder, "/tmp/phased-test-XXXXXX", sizeof "/tmp/phased-test-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    struct model model;
    struct ranks ranks = {.size = 1};
    struct error err;
    init_model(&model, 1);
    assert_int_equal(checkpoint_save(place->folder, &model, &ranks, &position, &place->path, &err),
                     0);
    model_fini(&model);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    (void)unlink(place->path); /* a test may have removed it */
    assert_int_equal(rmdir(place->folder), 0);
    free(place->path);
    free(place);
    return 0;
}

static void a_saved_checkpoint_loads_the_same(void **state)
{
    struct place *place = *state;
    struct model saved, loaded;
    struct checkpoint_position found;
    struct error err;
    init_model(&saved, 1);
    init_model(&loaded, 2);
    assert_true(text_ends(place->path, "/step_000150.ckpt"));
    assert_int_equal(checkpoint_load(place->path, &loaded, &found, NULL, &err), 0);
    size_t size = saved.parameters * sizeof(float);
    assert_memory_equal(saved.master, loaded.master, size);
    assert_memory_equal(saved.moment1, loaded.moment1, size);
    assert_memory_equal(saved.moment2, loaded.moment2, size);
    assert_memory_equal(&found, &position, sizeof found);
    model_fini(&saved);
    model_fini(&loaded);
}

/* Loads `size` bytes of `data`, which must be refused with `reason` and must not change the
 * model. */
static void assert_refused(struct place *place, const char *data, size_t size, const char *reason)
{
    struct model model, untouched;
    struct checkpoint_position found;
    struct error err;
    assert_int_equal(file_replace(place->path, data, size, 0600, &err), 0);
    init_model(&model, 2);
    init_model(&untouched, 2);
    assert_int_equal(checkpoint_load(place->path, &model, &found, NULL, &err), -EINVAL);
    if (!strstr(err.message, reason))
        fail_msg("'%s' does not say '%s'", err.message, reason);
    assert_memory_equal(model.master, untouched.master, model.parameters * sizeof(float));
    model_fini(&model);
    model_fini(&untouched);
}

static void a_damaged_checkpoint_is_refused(void **state)
{
    struct place *place = *state;
    struct error err;
    char *data;
    size_t size;
    assert_int_equal(file_read(place->path, (size_t)1 << 30, &data, &size, &err), 0);
    assert_refused(place, data, 0, "not a checkpoint");
    assert_refused(place, data, 20, "not a checkpoint");
    assert_refused(place, data, 150, "bytes instead of");
    assert_refused(place, data, size - 1, "bytes instead of");
    const struct {
        size_t offset;
        const char *reason;
    } rows[] = {
        {0, "not a checkpoint"},
        {8, "it is a checkpoint of version 3, and this program reads version 2"},
        {12, "its tokens is"},
        {16, "its width is"},
        {28, "its kv-heads is"},
        {36, "its loops is"},
        {40, "its tied is"},
        {44, "checksum"},
        {48, "its parameters is"},
        {56, "checksum"},
        {106, "checksum"},
        {140, "checksum"},
        {sizeof(struct checkpoint_header) + 1000, "checksum"},
        {size - 1, "checksum"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        data[rows[i].offset] ^= 1;
        assert_refused(place, data, size, rows[i].reason);
        data[rows[i].offset] ^= 1;
    }
    free(data);
}

/* As phase-model wrote them before its blocks became those of modern decoders. */
static void a_checkpoint_of_the_first_version_is_refused_with_its_version(void **state)
{
    struct place *place = *state;
    struct error err;
    char *data;
    size_t size;
    assert_int_equal(file_read(place->path, (size_t)1 << 30, &data, &size, &err), 0);
    data[8] = 1;
    assert_refused(place, data, size, "it is a checkpoint of version 1, and this program reads");
    free(data);
}

static void a_model_for_decoding_gets_the_shape_and_the_weights(void **state)
{
    struct place *place = *state;
    struct model saved, loaded;
    struct model_shape found;
    size_t sequence;
    uint8_t digest[32];
    struct error err;
    init_model(&saved, 1);
    assert_int_equal(checkpoint_shape(place->path, &found, &sequence, digest, &err), 0);
    assert_memory_equal(digest, position.digest, sizeof digest);
    assert_memory_equal(&found, &shape, sizeof found);
    assert_int_equal(sequence, 4);
    assert_int_equal(model_init(&loaded, kernels, &found, 9, MODEL_DECODES, alone, &err), 0);
    assert_int_equal(checkpoint_load_weights(place->path, &loaded, &err), 0);
    assert_memory_equal(saved.master, loaded.master, saved.parameters * sizeof(float));
    model_fini(&saved);
    model_fini(&loaded);
}

static void a_checkpoint_with_rows_of_no_tokens_is_refused(void **state)
{
    const struct place *place = *state;
    struct model_shape found;
    size_t size, sequence;
    uint8_t digest[32];
    struct error err;
    char *data;
    assert_int_equal(file_read(place->path, (size_t)1 << 30, &data, &size, &err), 0);
    memset(data + offsetof(struct checkpoint_header, sequence), 0, sizeof(uint32_t));
    size_t summed = size - CHECKPOINT_CHECKSUM;
    (void)crypto_generichash((uint8_t *)data + summed, CHECKPOINT_CHECKSUM, (const uint8_t *)data,
                             summed, NULL, 0);
    assert_int_equal(file_replace(place->path, data, size, 0600, &err), 0);
    assert_int_equal(checkpoint_shape(place->path, &found, &sequence, digest, &err), -ERANGE);
    free(data);
}

static void a_missing_checkpoint_is_named(void **state)
{
    struct place *place = *state;
    struct model model;
    struct checkpoint_position found;
    struct error err;
    init_model(&model, 2);
    assert_int_equal(unlink(place->path), 0);
    assert_int_equal(checkpoint_load(place->path, &model, &found, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.message, place->path));
    assert_int_equal(checkpoint_load(place->folder, &model, &found, NULL, &err), -EISDIR);
    model_fini(&model);
}

static bool is_there(const struct place *place, const char *name)
{
    char *path = text_format("%s/%s", place->folder, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static void pruning_keeps_the_newest_and_those_of_other_runs(void **state)
{
    struct place *place = *state;
    static const struct {
        const char *name;
        bool stays;
    } rows[] = {
        {"step_000010.ckpt", false}, {"step_000090.ckpt", false}, {"step_000100.ckpt", true},
        {"step_000200.ckpt", true},  {"step_10.ckpt", true},      {"step_000010.ckpt.old", true},
        {"xstep_000010.ckpt", true}, {"notes.txt", true},
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    struct error err;
    for (size_t i = 0; i < COUNT; i++) {
        char *path = text_format("%s/%s", place->folder, rows[i].name);
        assert_int_equal(file_replace(path, "x", 1, 0600, &err), 0);
        free(path);
    }
    assert_int_equal(checkpoint_prune(place->folder, 150, 2, &err), 0);
    assert_true(is_there(place, "step_000150.ckpt"));
    for (size_t i = 0; i < COUNT; i++) {
        if (is_there(place, rows[i].name) != rows[i].stays)
            fail_msg("%s %s", rows[i].name, rows[i].stays ? "is gone" : "is still there");
        char *path = text_format("%s/%s", place->folder, rows[i].name);
        (void)unlink(path); /* some are gone, as they should be */
        free(path);
    }
    assert_int_equal(checkpoint_prune("/nowhere", 150, 2, &err), -ENOENT);
}

static int open_kernels(void **state)
{
    (void)state;
    struct error err;
    kernels = kernels_new(0, &err);
    return kernels ? 0 : -1;
}

static int close_kernels(void **state)
{
    (void)state;
    kernels_free(kernels);
    return 0;
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_saved_checkpoint_loads_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_damaged_checkpoint_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_checkpoint_of_the_first_version_is_refused_with_its_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_model_for_decoding_gets_the_shape_and_the_weights, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_checkpoint_with_rows_of_no_tokens_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_missing_checkpoint_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pruning_keeps_the_newest_and_those_of_other_runs, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("model checkpoint", tests, open_kernels, close_kernels);
}
