/* Making a file once, with hard links and without them. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The error that the file system returns; 0: it does the work. */
static int link_errno, rename_errno;
static bool is_answer_lost; /* link() works, and says EEXIST */

/* Replaces the function of libc that lib/file.c calls. */
int link(const char *from, const char *to)
{
    int result = link_errno ? -1 : (int)syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
    if (link_errno || is_answer_lost)
        errno = link_errno ? link_errno : EEXIST;
    return is_answer_lost ? -1 : result;
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    errno = rename_errno;
    return rename_errno ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static char *path;

static int reset(void **state)
{
    link_errno = rename_errno = 0;
    is_answer_lost = false;
    int result = folder_make(state);
    path = text_format("%s/claim", folder);
    return result;
}

static int clear(void **state)
{
    free(path);
    return folder_remove(state);
}

static int create(const char *text)
{
    return file_create_once(path, text, strlen(text), 0640, NULL);
}

static void holds(const char *wanted)
{
    char *text = NULL;
    assert_int_equal(file_read(path, 100, &text, NULL, NULL), 0);
    assert_string_equal(text, wanted);
    free(text);
}

static unsigned count_files(void)
{
    unsigned count = 0;
    struct dirent *entry;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    while ((entry = readdir(directory)))
        count += entry->d_name[0] != '.';
    (void)closedir(directory);
    return count;
}

static void a_file_is_made_once_with_links_and_without(void **state)
{
    static const int reasons[] = {0, EPERM, EOPNOTSUPP, ENOSYS};
    (void)state;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        struct stat status;
        link_errno = reasons[i];
        assert_int_equal(create("first"), 0);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0640);
        assert_int_equal(create("second"), -EEXIST);
        holds("first");
        assert_int_equal(count_files(), 1);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_link_whose_answer_was_lost_counts_as_made(void **state)
{
    (void)state;
    is_answer_lost = true;
    assert_int_equal(create("first"), 0);
    assert_int_equal(create("second"), -EEXIST);
    holds("first");
    assert_int_equal(count_files(), 1);
}

static void the_message_names_a_file_system_without_hard_links(void **state)
{
    struct error err;
    (void)state;
    link_errno = EPERM;
    rename_errno = EINVAL;
    assert_int_equal(file_create_once(path, "a", 1, 0600, &err), -EOPNOTSUPP);
    assert_non_null(strstr(err.message, "its file system has no hard links"));
    assert_int_equal(count_files(), 0);
    rename_errno = EPERM; /* not because the function is missing: nobody may make files there */
    assert_int_equal(file_create_once(path, "a", 1, 0600, &err), -EPERM);
    link_errno = EIO;
    rename_errno = 0;
    assert_int_equal(file_create_once(path, "a", 1, 0600, &err), -EIO);
    assert_int_equal(count_files(), 0);
}

static void folders_are_made_unless_a_file_is_in_the_way(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int status;
    } rows[] = {{"a/b", 0},           {"a/b/", 0},          {"link/c", 0},
                {"link", 0},          {"file", -ENOTDIR},   {"file/", -ENOTDIR},
                {"file/a", -ENOTDIR}, {"dangling", -EEXIST}};
    char *file = text_format("%s/file", folder), *link = text_format("%s/link", folder);
    char *dangling = text_format("%s/dangling", folder);
    assert_int_equal(file_replace(file, "x", 1, 0600, NULL), 0);
    assert_int_equal(symlink("a", link), 0);
    assert_int_equal(symlink("nowhere", dangling), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct error err;
        char *wanted = text_format("%s/%s", folder, rows[i].name);
        if (file_make_folders(wanted, 0700, &err) != rows[i].status)
            fail_msg("%s", rows[i].name);
        free(wanted);
    }
    free(file);
    free(link);
    free(dangling);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset, clear)

static void a_file_that_is_written_in_pieces_appears_whole_at_the_end(void **state)
{
    (void)state;
    struct file_change change;
    assert_int_equal(create("old"), 0);
    assert_int_equal(file_change_begin(&change, path, 0640, NULL), 0);
    assert_int_equal(file_change_write(&change, "new ", 4, NULL), 0);
    assert_int_equal(file_change_write(&change, "text", 4, NULL), 0);
    holds("old");
    assert_int_equal(file_change_end(&change, 0, NULL), 0);
    holds("new text");
    assert_int_equal(count_files(), 1);
}

static void a_change_that_failed_leaves_the_old_file_and_no_other(void **state)
{
    (void)state;
    struct file_change change;
    assert_int_equal(create("old"), 0);
    assert_int_equal(file_change_begin(&change, path, 0640, NULL), 0);
    assert_int_equal(file_change_write(&change, "new", 3, NULL), 0);
    assert_int_equal(file_change_end(&change, -ENOSPC, NULL), -ENOSPC);
    holds("old");
    assert_int_equal(count_files(), 1);
}

static void a_mapped_file_has_the_bytes_and_an_empty_file_has_no_data(void **state)
{
    (void)state;
    struct file_map map;
    assert_int_equal(create("text"), 0);
    assert_int_equal(file_map(path, &map, NULL), 0);
    assert_int_equal(map.size, 4);
    assert_memory_equal(map.data, "text", 4);
    file_unmap(&map);
    assert_int_equal(file_replace(path, "", 0, 0640, NULL), 0);
    assert_int_equal(file_map(path, &map, NULL), 0);
    assert_null(map.data);
    assert_int_equal(map.size, 0);
    file_unmap(&map);
    assert_int_equal(file_map(folder, &map, NULL), -EISDIR);
    assert_int_equal(file_map("/dev/zero", &map, NULL), -EINVAL);
    assert_int_equal(file_map("/nowhere", &map, NULL), -ENOENT);
}

static void a_path_is_below_a_folder_only_after_a_slash(void **state)
{
    (void)state;
    assert_string_equal(file_below("/a/b/c", "/a"), "b/c");
    assert_string_equal(file_below("/a/b", "/a/"), "b");
    assert_string_equal(file_below("/a", "/a"), "");
    assert_string_equal(file_below("/a", "/"), "a");
    assert_string_equal(file_below("/", "/"), "");
    assert_null(file_below("/ab", "/a"));
    assert_null(file_below("/", "/a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(folders_are_made_unless_a_file_is_in_the_way),
        TEST(a_file_is_made_once_with_links_and_without),
        TEST(a_link_whose_answer_was_lost_counts_as_made),
        TEST(the_message_names_a_file_system_without_hard_links),
        TEST(a_file_that_is_written_in_pieces_appears_whole_at_the_end),
        TEST(a_change_that_failed_leaves_the_old_file_and_no_other),
        TEST(a_mapped_file_has_the_bytes_and_an_empty_file_has_no_data),
        TEST(a_path_is_below_a_folder_only_after_a_slash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
