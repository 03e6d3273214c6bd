/* phasectl logs --follow while no daemon runs: runs that follow each other, and the last words of a
 * run on NFS. The clock goes on only while phasectl waits. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "cli/cli.h"
#include "cli/reader/reader.h"
#include "cli/verbs.h"
#include "lib/address.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/http.h"
#include "lib/text.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FDS = 64, RUNS = 3 };
#define LONGEST_S 1000.0

/* A run prints `first` when it begins, and `last` just before it ends. */
struct run {
    double begin_s, end_s;
    const char *first, *last;
    bool has_begun, has_ended;
};

static struct run runs[RUNS];
static uint32_t queued; /* runs up to this one are known, although they may not have begun */
static double clock_s;
static bool is_nfs;
static off_t known_sizes[FDS]; /* of open files, from the time when they were opened */

/* --- The world -------------------------------------------------------------------------------- */

static void print(size_t index, const char *words)
{
    char *path = text_format("%s/runs/1/only/%zu/log/rank-0.log", folder, index + 1);
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(words, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void go_on(void)
{
    for (size_t i = 0; i < RUNS; i++) {
        struct run *run = &runs[i];
        if (run->first && !run->has_begun && clock_s >= run->begin_s) {
            folder_put("", "runs/1/only/%zu/log/rank-0.log", i + 1);
            print(i, run->first);
            run->has_begun = true;
        }
        if (run->has_begun && !run->has_ended && clock_s >= run->end_s) {
            print(i, run->last);
            run->has_ended = true;
        }
    }
}

/* These stand in for the functions of libc, for phasectl too. */
int clock_gettime(clockid_t id, struct timespec *ret_time)
{
    (void)id;
    ret_time->tv_sec = (time_t)clock_s;
    ret_time->tv_nsec = 0;
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *ret_rest)
{
    (void)ret_rest;
    clock_s += (double)time->tv_sec + (double)time->tv_nsec / 1e9;
    if (clock_s > LONGEST_S)
        fail_msg("phasectl still follows");
    go_on();
    return 0;
}

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    struct stat info;
    va_list args;
    va_start(args, flags);
    if (flags & O_CREAT)
        mode = va_arg(args, mode_t);
    va_end(args);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (fd >= 0 && fd < FDS && fstat(fd, &info) == 0)
        known_sizes[fd] = info.st_size;
    return fd;
}

/* A client of NFS may know the size that a file had when it was opened, and no other. */
ssize_t read(int fd, void *data, size_t size)
{
    off_t at = is_nfs && fd < FDS ? lseek(fd, 0, SEEK_CUR) : -1;
    if (at >= 0) {
        size_t left = at < known_sizes[fd] ? (size_t)(known_sizes[fd] - at) : 0;
        size = size < left ? size : left;
    }
    return (ssize_t)syscall(SYS_read, fd, data, size);
}

/* The question after the ping finds no daemon. */
int reader_ping(struct cli *cli, struct error *err)
{
    (void)cli, (void)err;
    return 0;
}

/* These read the folders, as the reader does while no daemon runs. */
int reader_find_run(struct cli *cli, struct address *address, struct error *err)
{
    (void)cli, (void)err;
    bool is_run = address_kind(address) == ADDRESS_RUN;
    for (uint32_t i = 0; !is_run && i < RUNS && (i < queued || runs[i].has_begun); i++)
        address->attempt = i + 1;
    return 0;
}

int reader_has_ended(struct cli *cli, const struct address *run, struct error *err)
{
    (void)cli, (void)err;
    return runs[run->attempt - 1].has_ended;
}

/* --- Following -------------------------------------------------------------------------------- */

static int world_make(void **state)
{
    memset(runs, 0, sizeof runs);
    clock_s = 100;
    queued = 0;
    is_nfs = false;
    return folder_make(state);
}

/* Sends what is printed to a file. Returns a copy of `fd`. */
static int redirect(int fd, const char *name)
{
    char *path = text_format("%s/%s", folder, name);
    int before = dup(fd), file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(before >= 0 && file >= 0);
    assert_int_equal(fflush(NULL), 0);
    assert_int_equal(dup2(file, fd), fd);
    assert_int_equal(close(file), 0);
    free(path);
    return before;
}

static void restore(int fd, int before)
{
    assert_int_equal(fflush(NULL), 0);
    assert_int_equal(dup2(before, fd), fd);
    assert_int_equal(close(before), 0);
}

/* Prints the logs of the address until phasectl ends. */
static int print_logs(char *option, char *address)
{
    static const struct verb verb = {.name = "logs"};
    char no_time[] = "--no-time";
    char *words[] = {no_time, option, address, NULL};
    struct cli cli = {.verb = &verb};
    assert_int_equal(home_init(&cli.home, folder, NULL), 0);
    go_on();
    int out = redirect(STDOUT_FILENO, "out"), err = redirect(STDERR_FILENO, "err");
    int exit_code = logs_verb(&cli, words);
    restore(STDOUT_FILENO, out);
    restore(STDERR_FILENO, err);
    http_client_free(cli.client);
    home_fini(&cli.home);
    return exit_code;
}

static int follow(char *address)
{
    char option[] = "--follow";
    return print_logs(option, address);
}

static void assert_file(const char *name, const char *expected)
{
    char *path = text_format("%s/%s", folder, name), *text = NULL;
    assert_int_equal(file_read(path, 100000, &text, NULL, NULL), 0);
    assert_string_equal(text, expected);
    free(text);
    free(path);
}

/* No wait for a run is longer than two minutes. All of them together are. */
static void many_runs_are_followed_while_no_daemon_runs(void **state)
{
    (void)state;
    runs[0] = (struct run){0, 110, "one\n", "", false, false};
    runs[1] = (struct run){200, 210, "two\n", "", false, false};
    runs[2] = (struct run){300, 310, "three\n", "", false, false};
    char address[] = "1/only";
    assert_int_equal(follow(address), CLI_FAILED);
    char *said = text_format("phasectl: now 1/only#2\nphasectl: now 1/only#3\n"
                             "phasectl: stopped following: no daemon is running for %s; start it "
                             "with 'phasectl daemon start'\n",
                             folder);
    assert_file("err", said);
    assert_file("out", "one\ntwo\nthree\n");
    free(said);
}

static void the_last_words_of_a_run_are_printed_on_nfs(void **state)
{
    (void)state;
    is_nfs = true;
    runs[0] = (struct run){0, 110, "one\n", "two\nthree", false, false};
    char address[] = "1/only#1";
    assert_int_equal(follow(address), CLI_OK);
    assert_file("out", "one\ntwo\nthree\n");
    assert_file("err", "");
}

/* Runs 1 and 2 were preempted. Run 3 waits in the queue, and begins later. */
static void preempt(void)
{
    queued = 3;
    runs[0] = (struct run){0, 50, "one\n", "", false, false};
    runs[1] = (struct run){60, 90, "two\n", "", false, false};
    runs[2] = (struct run){200, 210, "three\n", "", false, false};
}

static void the_newest_run_with_logs_is_printed_while_the_next_run_waits(void **state)
{
    (void)state;
    char all[] = "--rank=all", address[] = "1/only", run[] = "1/only#3";
    preempt();
    assert_int_equal(print_logs(all, address), CLI_OK);
    assert_file("err", "phasectl: 1/only#3 has no logs yet; showing the logs of 1/only#2\n");
    assert_file("out", "[0] two\n");
    assert_int_equal(print_logs(all, run), CLI_FAILED);
    assert_file("err", "phasectl: 1/only#3 has no logs yet\n");
}

static void a_run_that_waits_is_followed_after_the_run_before_it(void **state)
{
    (void)state;
    char address[] = "1/only";
    preempt();
    assert_int_equal(follow(address), CLI_FAILED);
    char *said = text_format("phasectl: 1/only#3 has no logs yet; showing the logs of 1/only#2\n"
                             "phasectl: now 1/only#3\n"
                             "phasectl: stopped following: no daemon is running for %s; start it "
                             "with 'phasectl daemon start'\n",
                             folder);
    assert_file("err", said);
    assert_file("out", "two\nthree\n");
    free(said);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_runs_are_followed_while_no_daemon_runs, world_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(the_last_words_of_a_run_are_printed_on_nfs, world_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(
            the_newest_run_with_logs_is_printed_while_the_next_run_waits, world_make,
            folder_remove),
        cmocka_unit_test_setup_teardown(a_run_that_waits_is_followed_after_the_run_before_it,
                                        world_make, folder_remove),
    };
    return cmocka_run_group_tests_name("logs_follow", tests, NULL, NULL);
}
