/* Saving while something goes wrong: a program that is killed at any point leaves only whole
 * checkpoints, and a disk that fails costs one checkpoint. */
#include "tests/unit/folder.h"
#include "tests/unit/saved_model.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/text.h"
#include "worker/model/ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* --- A file system with faults ---------------------------------------------------------------- */

static atomic_int calls_until_kill;  /* 0: nothing kills */
static atomic_int writes_until_full; /* 0: the disk has room */
static int exchange_errno;           /* of renameat2(); 0: it works */
static int renames_until_failure;    /* 0: none fails */

/* Each change of the file system is a point at which the program may be killed. */
static void pass(void)
{
    if (calls_until_kill > 0 && atomic_fetch_sub(&calls_until_kill, 1) == 1)
        (void)raise(SIGKILL); /* ends the process */
}

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER;

/* These replace the functions of libc. */
ssize_t write(int fd, const void *data, size_t size)
{
    if (fd > 2) {
        (void)pthread_mutex_lock(&disk); /* cannot fail for this kind of mutex */
        (void)pthread_mutex_unlock(&disk);
    }
    pass();
    if (fd > 2 && writes_until_full > 0 && atomic_fetch_sub(&writes_until_full, 1) == 1) {
        errno = ENOSPC;
        return -1;
    }
    return syscall(SYS_write, fd, data, size);
}

int fsync(int fd)
{
    pass();
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    pass();
    if (renames_until_failure > 0 && --renames_until_failure == 0) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    pass();
    errno = exchange_errno;
    return exchange_errno ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int remove(const char *path)
{
    pass();
    int result = (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    return result < 0 && errno == EISDIR ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR)
                                         : result;
}

/* --- Clocks ----------------------------------------------------------------------------------- */

static bool is_day_ahead;     /* the clock of the day shows a time that it is going to lose */
static int steady_until_disk; /* readings of the steady clock until the disk works; 0: it works */
enum { AHEAD_S = 3600, HANG_S = 60 };

/* Replaces the function of libc. The test itself has locked the disk. */
int clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, ret_now);
    if (clock == CLOCK_REALTIME && is_day_ahead)
        ret_now->tv_sec += AHEAD_S;
    if (clock == CLOCK_MONOTONIC && steady_until_disk > 0 && --steady_until_disk == 0)
        (void)pthread_mutex_unlock(&disk); /* cannot fail for this kind of mutex */
    return result;
}

/* --- What is there ---------------------------------------------------------------------------- */

/* Loads all that has the name of a checkpoint, and returns the newest step. `is_clean`: there is
 * nothing else. */
static uint64_t look(bool is_clean)
{
    uint64_t newest = 0;
    DIR *listing = opendir(folder);
    assert_non_null(listing);
    struct dirent *entry;
    while ((entry = readdir(listing))) {
        if (!text_ends(entry->d_name, ".ckpt")) {
            if (is_clean && entry->d_name[0] != '.')
                fail_msg("%s is there", entry->d_name);
            continue;
        }
        struct model model;
        struct checkpoint_position found;
        struct error err;
        char *path = text_format("%s/%s", folder, entry->d_name);
        init_model(&model, 1, alone);
        if (checkpoint_load(path, &model, &found, NULL, &err) < 0)
            fail_msg("%s", err.message);
        assert_model(&model, found.step);
        newest = found.step > newest ? found.step : newest;
        model_fini(&model);
        free(path);
    }
    (void)closedir(listing); /* it was only read */
    return newest;
}

/* Saves in a child that is killed before its n-th change of the file system. Returns whether the
 * child was killed. */
static bool save_and_kill(int n, unsigned size, uint64_t step)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        calls_until_kill = n;
        save(size, step);
        calls_until_kill = 0;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
                (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void memory_for_the_copy_is_taken_at_once(void **state)
{
    (void)state;
    enum { BYTES = 64 << 20, PAGES_MAX = BYTES / 4096 };
    static unsigned char marks[PAGES_MAX];
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    char *memory = kernels_host_memory(kernels, BYTES);
    assert_non_null(memory);
    char *first = memory + (page - (uintptr_t)memory % page) % page; /* of the whole pages */
    size_t pages = BYTES / page - 1;
    assert_int_equal(mincore(first, pages * page, marks), 0);
    for (size_t i = 0; i < pages; i++)
        assert_true(marks[i] & 1);
    kernels_release_host(kernels, memory);
}

static void a_training_does_not_wait_for_the_disk(void **state)
{
    (void)state;
    struct saving saving;
    float report[SAVER_REPORT];
    assert_int_equal(pthread_mutex_lock(&disk), 0);
    saving_begin(&saving, 1, 150);
    saver_report(saving.savers[0], report);
    assert_true(report[SAVER_WRITTEN] + report[SAVER_FAILED] < 1);
    assert_int_equal(pthread_mutex_unlock(&disk), 0);
    saving_wait(&saving);
    assert_int_equal(look(true), 150);
    saving_end(&saving);
}

static void ranks_that_wait_for_a_slow_disk_meet_although_the_clock_is_set_back(void **state)
{
    (void)state;
    struct saving saving;
    struct ranks nobody = {.size = 1};
    struct error err;
    assert_int_equal(pthread_mutex_lock(&disk), 0);
    saving_begin(&saving, 1, 150);
    is_day_ahead = true;
    steady_until_disk = 2; /* the beginning of a wait, and of the meeting or of another wait */
    (void)alarm(HANG_S);   /* ends this program if the ranks wait until the disk is free */
    assert_int_equal(saver_wait(saving.savers[0], &nobody, &err), 0);
    (void)alarm(0);
    is_day_ahead = false;
    assert_int_equal(steady_until_disk, 0);
    assert_int_equal(look(true), 150);
    saving_end(&saving);
}

/* Old checkpoints are removed, too. */
static void assert_killed_at_any_point(unsigned size)
{
    bool is_killed = true;
    int n = 0;
    while (is_killed) {
        save(1, 50);
        save(1, 100);
        is_killed = save_and_kill(++n, size, 150);
        uint64_t newest = look(false);
        assert_true(newest == 150 || (is_killed && newest == 100));
        assert_int_equal(checkpoint_clean(folder, NULL), 0);
        assert_int_equal(look(true), newest);
        char *path = checkpoint_path(folder, 150);
        assert_int_equal(file_remove_tree(path, NULL), 0);
        free(path);
    }
    assert_true(n > 10);
}

static void a_program_killed_at_any_point_leaves_whole_checkpoints_and_the_newest(void **state)
{
    (void)state;
    assert_killed_at_any_point(1);
    assert_killed_at_any_point(3);
}

static void a_checkpoint_of_the_same_step_is_replaced_at_once_or_not_at_all(void **state)
{
    (void)state;
    bool is_killed = true;
    save(3, 150);
    for (int n = 1; is_killed; n++) {
        is_killed = save_and_kill(n, 2, 150);
        assert_int_equal(look(false), 150);
        assert_int_equal(checkpoint_clean(folder, NULL), 0);
        assert_int_equal(look(true), 150);
    }
}

static void a_file_system_that_cannot_exchange_names_loses_no_checkpoint(void **state)
{
    (void)state;
    exchange_errno = EINVAL;
    bool is_killed = true;
    save(1, 100);
    for (int n = 1; is_killed; n++) {
        save(1, 150);
        is_killed = save_and_kill(n, 1, 150);
        assert_in_range(look(false), 100, 150); /* the next run puts the name back */
        assert_int_equal(checkpoint_clean(folder, NULL), 0);
        assert_int_equal(look(true), 150);
    }
    exchange_errno = 0;
}

static void a_checkpoint_that_cannot_be_replaced_keeps_its_name(void **state)
{
    (void)state;
    struct error err;
    bool has_failed = true;
    exchange_errno = EINVAL;
    save(1, 150);
    for (int n = 1; has_failed; n++) {
        struct saving saving;
        renames_until_failure = n;
        saving_begin(&saving, 1, 150);
        saving_wait(&saving);
        has_failed = renames_until_failure == 0;
        renames_until_failure = 0;
        if (saver_result(saving.savers[0], &err) < 0) /* not if nothing had to be put back */
            assert_true(has_failed);
        assert_int_equal(look(true), 150);
        saving_end(&saving);
        assert_in_range(n, 1, 10);
    }
    exchange_errno = 0;
}

static void what_a_run_with_more_ranks_left_is_no_part_of_a_later_checkpoint(void **state)
{
    (void)state;
    save(2, 100);
    assert_true(save_and_kill(12, 4, 150));
    assert_int_equal(checkpoint_clean(folder, NULL), 0);
    save(2, 150);
    assert_int_equal(look(true), 150);
    char *path = text_format("%s/step_000150.ckpt/rank_2", folder);
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

static void a_full_disk_costs_one_checkpoint_and_no_room(void **state)
{
    (void)state;
    struct error err;
    save(2, 100);
    for (int n = 1; n <= 5; n++) { /* two files of numbers and a digest, and the marker */
        struct saving saving;
        writes_until_full = n;
        saving_begin(&saving, 2, 150);
        saving_wait(&saving);
        writes_until_full = 0;
        assert_true(saver_result(saving.savers[0], &err) < 0);
        assert_non_null(strstr(err.message, "no checkpoint of step 150: "));
        assert_int_equal(saver_result(saving.savers[0], &err), 0); /* told once */
        if (n < 5)
            assert_true(saver_result(saving.savers[1], &err) < 0);
        assert_int_equal(look(true), 100);
        saving_end(&saving);
    }
    save(2, 150);
    assert_int_equal(look(true), 150);
}

static void a_rank_whose_file_is_not_in_the_folder_of_rank_0_costs_the_checkpoint(void **state)
{
    (void)state;
    struct saving saving;
    struct error err;
    saving_begin(&saving, 1, 150);
    float report[SAVER_REPORT] = {0};
    while (report[SAVER_WRITTEN] < 1)
        saver_report(saving.savers[0], report);
    char *path = text_format("%s/step_000150.ckpt.tmp/rank_0", folder);
    assert_int_equal(unlink(path), 0);
    free(path);
    saving_wait(&saving);
    assert_int_equal(saver_result(saving.savers[0], &err), -ENOENT);
    assert_int_equal(look(true), 0);
    saving_end(&saving);
}

static void a_checkpoint_that_is_given_up_leaves_no_name_of_a_checkpoint(void **state)
{
    (void)state;
    struct saving saving;
    saving_begin(&saving, 2, 150);
    saving_end(&saving);
    assert_int_equal(look(false), 0);
    assert_int_equal(checkpoint_clean(folder, NULL), 0);
    assert_int_equal(look(true), 0);
}

static void a_folder_that_is_a_file_is_not_replaced(void **state)
{
    (void)state;
    struct saving saving;
    struct error err;
    char *path = checkpoint_path(folder, 150);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    saving_begin(&saving, 1, 150);
    saving_wait(&saving);
    assert_true(saver_result(saving.savers[0], &err) < 0);
    assert_non_null(strstr(err.message, "cannot replace "));
    saving_end(&saving);
    free(path);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
#define TEST(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        TEST(memory_for_the_copy_is_taken_at_once),
        TEST(a_training_does_not_wait_for_the_disk),
        TEST(ranks_that_wait_for_a_slow_disk_meet_although_the_clock_is_set_back),
        TEST(a_program_killed_at_any_point_leaves_whole_checkpoints_and_the_newest),
        TEST(a_checkpoint_of_the_same_step_is_replaced_at_once_or_not_at_all),
        TEST(a_file_system_that_cannot_exchange_names_loses_no_checkpoint),
        TEST(a_checkpoint_that_cannot_be_replaced_keeps_its_name),
        TEST(what_a_run_with_more_ranks_left_is_no_part_of_a_later_checkpoint),
        TEST(a_full_disk_costs_one_checkpoint_and_no_room),
        TEST(a_rank_whose_file_is_not_in_the_folder_of_rank_0_costs_the_checkpoint),
        TEST(a_checkpoint_that_is_given_up_leaves_no_name_of_a_checkpoint),
        TEST(a_folder_that_is_a_file_is_not_replaced),
    };
    return cmocka_run_group_tests_name("model saver", tests, open_kernels, close_kernels);
}
