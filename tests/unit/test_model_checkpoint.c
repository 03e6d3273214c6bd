/* Checkpoints: what some ranks have saved can be loaded by any number of ranks, damaged and foreign
 * checkpoints are refused, old checkpoints are removed. test_model_saver.c has what happens if a
 * program that saves fails or is killed. */
#include "tests/unit/folder.h"
#include "tests/unit/saved_model.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"
#include "worker/model/checkpoint.h"
#include "worker/model/model.h"

#include <errno.h>
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With nine ranks, the last rank owns nothing: parts are whole multiples of 64 numbers. */
static void what_some_ranks_have_saved_loads_with_any_number_of_ranks(void **state)
{
    (void)state;
    struct checkpoint_position found;
    struct error err;
    for (unsigned saved = 1; saved <= 9; saved += saved < 5 ? 1 : 4) {
        save(saved, 150);
        char *path = checkpoint_path(folder, 150);
        for (unsigned size = 1; size <= 5; size++)
            for (unsigned rank = 0; rank < size; rank++) {
                struct model model;
                init_model(&model, 2, (struct model_rank){rank, size});
                assert_int_equal(checkpoint_load(path, &model, &found, NULL, &err), 0);
                assert_model(&model, 150);
                assert_int_equal(found.step, 150);
                assert_int_equal(found.rows, position.rows);
                assert_int_equal(found.seed, position.seed);
                assert_memory_equal(found.fingerprint, position.fingerprint, 32);
                assert_memory_equal(found.digest, position.digest, 32);
                model_fini(&model);
            }
        free(path);
    }
}

static void the_same_state_of_one_rank_makes_the_same_bytes(void **state)
{
    (void)state;
    char *first, *second, *path = text_format("%s/step_000150.ckpt/rank_0", folder);
    size_t size, again;
    save(1, 150);
    assert_int_equal(file_read(path, SIZE_MAX, &first, &size, NULL), 0);
    save(1, 150);
    assert_int_equal(file_read(path, SIZE_MAX, &second, &again, NULL), 0);
    assert_int_equal(size, again);
    assert_memory_equal(first, second, size);
    free(first);
    free(second);
    free(path);
}

/* Loads step 150, which must be refused with `reason` and must not change the model. */
static void assert_refused(const char *reason)
{
    struct model model, untouched;
    struct checkpoint_position found;
    struct error err;
    char *path = checkpoint_path(folder, 150);
    init_model(&model, 2, alone);
    init_model(&untouched, 2, alone);
    assert_true(checkpoint_load(path, &model, &found, NULL, &err) < 0);
    if (!strstr(err.message, reason) || !strstr(err.message, "step_000150.ckpt"))
        fail_msg("'%s' does not say '%s'", err.message, reason);
    assert_memory_equal(model.master, untouched.master, model.parameters * sizeof(float));
    model_fini(&model);
    model_fini(&untouched);
    free(path);
}

struct damage {
    const char *name;
    char *path, *data;
    size_t size;
};

static struct damage damage_begin(const char *name)
{
    struct damage damage = {.path = text_format("%s/step_000150.ckpt/%s", folder, name)};
    assert_int_equal(file_read(damage.path, SIZE_MAX, &damage.data, &damage.size, NULL), 0);
    return damage;
}

static void damage_write(const struct damage *damage, const char *data, size_t size)
{
    assert_int_equal(file_replace(damage->path, data, size, 0600, NULL), 0);
}

static void damage_end(struct damage *damage)
{
    damage_write(damage, damage->data, damage->size);
    free(damage->path);
    free(damage->data);
}

static void a_damaged_marker_is_refused(void **state)
{
    (void)state;
    save(2, 150);
    struct damage damage = damage_begin("marker");
    static const struct {
        size_t offset;
        const char *reason;
    } rows[] = {
        {0, "not a checkpoint"},
        {8, "it is a checkpoint of version 2, and this program reads version 3"},
        {12, "its marker is damaged"},
        {80, "its marker is damaged"},
        {sizeof(struct checkpoint_header), "its marker is damaged"},
        {sizeof(struct checkpoint_header) + 95, "its marker is damaged"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        damage.data[rows[i].offset] ^= 1;
        damage_write(&damage, damage.data, damage.size);
        assert_refused(rows[i].reason);
        damage.data[rows[i].offset] ^= 1;
    }
    damage_write(&damage, damage.data, damage.size - 1);
    assert_refused("its marker is damaged");
    damage_write(&damage, damage.data, 20);
    assert_refused("not a checkpoint");
    damage_write(&damage, "", 0);
    assert_refused("not a checkpoint");
    assert_int_equal(unlink(damage.path), 0);
    assert_refused("not a checkpoint: it is not a folder with a marker");
    damage_end(&damage);
}

static void a_file_of_a_rank_that_is_damaged_or_missing_is_refused(void **state)
{
    (void)state;
    save(2, 150);
    struct damage damage = damage_begin("rank_1");
    const size_t offsets[] = {0, damage.size / 2, damage.size - 1};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        damage.data[offsets[i]] ^= 1;
        damage_write(&damage, damage.data, damage.size);
        if (offsets[i] + 1 < damage.size)
            assert_refused("the digest of rank_1 is wrong");
        damage.data[offsets[i]] ^= 1;
    }
    damage_write(&damage, damage.data, damage.size - 1);
    assert_refused("bytes instead of");
    damage_write(&damage, "", 0);
    assert_refused("bytes instead of");
    assert_int_equal(unlink(damage.path), 0);
    assert_refused("rank_1: No such file");
    damage_end(&damage);
}

/* Both files are whole, but one of them is of another step. */
static void files_of_two_checkpoints_are_refused(void **state)
{
    (void)state;
    save(2, 100);
    save(2, 150);
    char *other = text_format("%s/step_000100.ckpt/rank_1", folder);
    char *path = text_format("%s/step_000150.ckpt/rank_1", folder);
    assert_int_equal(rename(other, path), 0);
    assert_refused("the digest of rank_1 is wrong");
    free(other);
    free(path);
}

static void a_checkpoint_of_another_shape_is_refused_by_its_name(void **state)
{
    (void)state;
    struct model model;
    struct checkpoint_position found;
    struct error err;
    save(2, 150);
    char *path = checkpoint_path(folder, 150);
    const struct model_shape shapes[] = {
        {300, 8, 1, 2, 1, 12, 2, 0}, {256, 16, 1, 2, 1, 12, 2, 0}, {256, 8, 1, 2, 2, 12, 2, 0},
        {256, 8, 1, 2, 1, 12, 3, 0}, {256, 8, 1, 2, 1, 12, 2, 1},
    };
    static const char *const names[] = {"tokens", "width", "kv-heads", "loops", "tied"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(model_init(&model, kernels, &shapes[i], 4, MODEL_TRAINS, alone, &err), 0);
        assert_int_equal(checkpoint_load(path, &model, &found, NULL, &err), -EINVAL);
        char *reason = text_format(": it has %s=", names[i]);
        assert_non_null(strstr(err.message, reason));
        free(reason);
        model_fini(&model);
    }
    free(path);
}

static void a_model_for_decoding_gets_the_shape_and_the_weights(void **state)
{
    (void)state;
    struct model loaded;
    struct model_shape found;
    size_t sequence;
    uint8_t digest[32];
    struct error err;
    save(3, 150);
    char *path = checkpoint_path(folder, 150);
    assert_int_equal(checkpoint_shape(path, &found, &sequence, digest, &err), 0);
    assert_memory_equal(digest, position.digest, sizeof digest);
    assert_memory_equal(&found, &shape, sizeof found);
    assert_int_equal(sequence, 4);
    assert_int_equal(model_init(&loaded, kernels, &found, 9, MODEL_DECODES, alone, &err), 0);
    assert_int_equal(checkpoint_load_weights(path, &loaded, &err), 0);
    assert_weights(&loaded, 150);
    model_fini(&loaded);
    free(path);
}

static void a_checkpoint_with_rows_of_no_tokens_is_refused(void **state)
{
    (void)state;
    struct model_shape found;
    size_t sequence;
    uint8_t digest[32];
    struct error err;
    save(1, 150);
    char *path = checkpoint_path(folder, 150);
    struct damage damage = damage_begin("marker");
    memset(damage.data + offsetof(struct checkpoint_header, sequence), 0, sizeof(uint32_t));
    size_t summed = damage.size - CHECKPOINT_DIGEST;
    (void)crypto_generichash((uint8_t *)damage.data + summed, CHECKPOINT_DIGEST,
                             (const uint8_t *)damage.data, summed, NULL, 0);
    damage_write(&damage, damage.data, damage.size);
    assert_int_equal(checkpoint_shape(path, &found, &sequence, digest, &err), -ERANGE);
    damage_end(&damage);
    free(path);
}

static void a_path_that_is_no_checkpoint_is_named(void **state)
{
    (void)state;
    struct model model;
    struct checkpoint_position found;
    struct error err;
    char *path = checkpoint_path(folder, 150);
    init_model(&model, 2, alone);
    assert_int_equal(checkpoint_load(path, &model, &found, NULL, &err), -ENOENT);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(checkpoint_load(folder, &model, &found, NULL, &err), -EINVAL);
    assert_int_equal(file_replace(path, "x", 1, 0600, &err), 0);
    assert_int_equal(checkpoint_load(path, &model, &found, NULL, &err), -EINVAL);
    assert_non_null(strstr(err.message, "not a checkpoint"));
    model_fini(&model);
    free(path);
}

static bool is_there(const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    bool there = access(path, F_OK) == 0;
    free(path);
    return there;
}

static void make(const char *name)
{
    char *path = text_format("%s/%s/marker", folder, name), *parent = file_parent(path);
    assert_int_equal(file_make_folders(parent, 0777, NULL), 0);
    assert_int_equal(file_replace(path, "x", 1, 0600, NULL), 0);
    free(path);
    free(parent);
}

static void pruning_keeps_the_newest_and_those_of_other_runs(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool stays;
    } rows[] = {
        {"step_000010.ckpt", false},  {"step_000090.ckpt", false}, {"step_000100.ckpt", true},
        {"step_000150.ckpt", true},   {"step_000200.ckpt", true},  {"step_10.ckpt", true},
        {"step_000010.ckpt.x", true}, {"xstep_000010.ckpt", true}, {"notes", true},
    };
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        make(rows[i].name);
    assert_int_equal(checkpoint_prune(folder, 150, 2, &err), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (is_there(rows[i].name) != rows[i].stays)
            fail_msg("%s %s", rows[i].name, rows[i].stays ? "is gone" : "is still there");
    assert_false(is_there("step_000010.ckpt.tmp"));
    assert_int_equal(checkpoint_prune("/nowhere", 150, 2, &err), -ENOENT);
}

static void what_earlier_runs_have_left_unfinished_is_removed(void **state)
{
    (void)state;
    make("step_000150.ckpt.tmp");
    make("step_000100.ckpt.tmp.old");
    make("step_000100.ckpt");
    make("notes.tmp");
    assert_int_equal(checkpoint_clean(folder, NULL), 0);
    assert_false(is_there("step_000150.ckpt.tmp"));
    assert_false(is_there("step_000100.ckpt.tmp.old"));
    assert_true(is_there("step_000100.ckpt"));
    assert_true(is_there("notes.tmp"));
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
#define TEST(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(what_some_ranks_have_saved_loads_with_any_number_of_ranks),
        TEST(the_same_state_of_one_rank_makes_the_same_bytes),
        TEST(a_damaged_marker_is_refused),
        TEST(a_file_of_a_rank_that_is_damaged_or_missing_is_refused),
        TEST(files_of_two_checkpoints_are_refused),
        TEST(a_checkpoint_of_another_shape_is_refused_by_its_name),
        TEST(a_model_for_decoding_gets_the_shape_and_the_weights),
        TEST(a_checkpoint_with_rows_of_no_tokens_is_refused),
        TEST(a_path_that_is_no_checkpoint_is_named),
        TEST(pruning_keeps_the_newest_and_those_of_other_runs),
        TEST(what_earlier_runs_have_left_unfinished_is_removed),
    };
    return cmocka_run_group_tests_name("model checkpoint", tests, open_kernels, close_kernels);
}
