/* The home: which folder it is, its files, and a socket in a deep home. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/home.h"
#include "lib/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void the_environment_chooses_the_home(void **state)
{
    (void)state;
    struct home home;
    assert_int_equal(setenv("HOME", "/nowhere/anna", 1), 0);
    assert_int_equal(unsetenv("PHASED_HOME"), 0);
    assert_int_equal(home_init(&home, NULL, NULL), 0);
    assert_string_equal(home.socket, "/nowhere/anna/.phased/phased.sock");
    assert_string_equal(home.slurm_conf, "/nowhere/anna/.phased/sandbox/slurm.conf");
    home_fini(&home);

    assert_int_equal(setenv("PHASED_HOME", "/elsewhere///", 1), 0);
    assert_int_equal(home_init(&home, NULL, NULL), 0);
    assert_string_equal(home.path, "/elsewhere");
    home_fini(&home);

    assert_int_equal(home_init(&home, "/given", NULL), 0);
    assert_string_equal(home.path, "/given");
    home_fini(&home);
}

static void the_private_slurm_of_the_home_is_used_unless_another_is_named(void **state)
{
    (void)state;
    struct home home;
    assert_int_equal(home_init(&home, folder, NULL), 0);
    assert_int_equal(setenv("SLURM_CONF", "", 1), 0);
    home_choose_slurm(&home);
    assert_null(getenv("SLURM_CONF")); /* the home has no private Slurm */
    assert_int_equal(setenv("SLURM_CONF", "", 1), 0);
    folder_put("", "sandbox/slurm.conf");
    home_choose_slurm(&home);
    assert_string_equal(getenv("SLURM_CONF"), home.slurm_conf);
    assert_int_equal(unsetenv("SLURM_CONF"), 0);
    home_choose_slurm(&home);
    assert_string_equal(getenv("SLURM_CONF"), home.slurm_conf);
    assert_int_equal(setenv("SLURM_CONF", "/etc/slurm.conf", 1), 0);
    home_choose_slurm(&home);
    assert_string_equal(getenv("SLURM_CONF"), "/etc/slurm.conf");
    home_fini(&home);
}

static void a_relative_home_becomes_absolute(void **state)
{
    (void)state;
    struct home home;
    char *here = getcwd(NULL, 0);
    char *expected = text_format("%s/here", here);
    assert_int_equal(home_init(&home, "here", NULL), 0);
    assert_string_equal(home.path, expected);
    home_fini(&home);
    free(expected);
    free(here);
}

static void a_relative_home_needs_a_current_folder(void **state)
{
    (void)state;
    struct home home;
    struct error err;
    char *here = getcwd(NULL, 0), *gone = text_format("%s/gone", folder);
    assert_int_equal(mkdir(gone, 0700), 0);
    assert_int_equal(chdir(gone), 0);
    assert_int_equal(rmdir(gone), 0);
    assert_int_equal(home_init(&home, "here", &err), -ENOENT);
    assert_string_equal(err.message, "the current folder is gone");
    home_fini(&home);
    assert_int_equal(chdir(here), 0);
    free(gone);
    free(here);
}

/* Listens at the socket of the home and connects to it, both by its address. */
static void reach_yourself(struct home *home)
{
    struct error err;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_int_equal(home_make(home, &err), 0);
    assert_int_equal(home_socket_address(home, address.sun_path, &err), 0);
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server, 1), 0);
    assert_int_equal(access(home->socket, F_OK), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    (void)close(server);
    (void)close(client);
    assert_int_equal(unlink(home->socket), 0);
}

static void a_home_of_any_depth_has_a_socket(void **state)
{
    (void)state;
    char name[101];
    memset(name, 'd', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char *paths[] = {text_format("%s/short", folder), text_format("%s/%s", folder, name)};
    for (size_t i = 0; i < 2; i++) {
        struct home home;
        assert_int_equal(home_init(&home, paths[i], NULL), 0);
        reach_yourself(&home);
        home_fini(&home);
        struct stat status;
        assert_int_equal(stat(paths[i], &status), 0);
        assert_int_equal(status.st_mode & 0777, 0700);
        assert_int_equal(rmdir(paths[i]), 0);
        free(paths[i]);
    }
}

static void a_deep_home_that_is_not_there_is_an_error(void **state)
{
    (void)state;
    struct home home;
    struct error err;
    char address[HOME_SOCKET_ADDRESS_SIZE], path[201];
    memset(path, 'd', sizeof path - 1);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(home_init(&home, path, NULL), 0);
    assert_true(home_socket_address(&home, address, &err) < 0);
    assert_non_null(strstr(err.message, "cannot open the home /ddd"));
    home_fini(&home);
    home_fini(&home);
}

static void a_home_with_a_path_that_is_not_plain_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *path, *visible;
    } rows[] = {
        {"/a\nb", "the home /a^Jb: "},
        {"/caf\xe9", "the home /caf<E9>: "},
        {"/\xe2\x80\xaetxt", "the home /<U+202E>txt: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct home home;
        struct error err;
        assert_int_equal(home_init(&home, rows[i].path, &err), -EINVAL);
        assert_non_null(strstr(err.message, rows[i].visible));
        home_fini(&home);
    }
    struct home home;
    assert_int_equal(home_init(&home, "/caf\xc3\xa9 \xe5\xae\xb6", NULL), 0);
    home_fini(&home);
}

/* --- Who else may write there ----------------------------------------------------------------- */

/* Returns the result of home_make() for a home below the folder; `name` may be "". */
static int make(const char *name, struct error *err)
{
    struct home home;
    char *path = text_format("%s/%s", folder, name);
    assert_int_equal(home_init(&home, path, NULL), 0);
    int result = home_make(&home, err);
    home_fini(&home);
    free(path);
    return result;
}

static char *at(const char *name)
{
    return text_format("%s/%s", folder, name);
}

static void make_folder(const char *name, mode_t mode)
{
    char *path = at(name);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
    free(path);
}

static void make_link(const char *target, const char *name)
{
    char *path = at(name);
    assert_int_equal(symlink(target, path), 0);
    free(path);
}

static mode_t mode_of(const char *name)
{
    struct stat status;
    char *path = at(name);
    assert_int_equal(stat(path, &status), 0);
    free(path);
    return status.st_mode & 07777;
}

static void assert_refused(const char *name, const char *why)
{
    struct error err;
    assert_true(make(name, &err) < 0);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
}

static void a_home_that_others_can_read_is_closed_to_them(void **state)
{
    (void)state;
    make_folder("home", 0755);
    make_folder("home/runs", 0755);
    make_folder("home/sandbox", 0711);
    assert_int_equal(make("home", NULL), 0);
    assert_int_equal(mode_of("home"), 0700);
    assert_int_equal(mode_of("home/runs"), 0700);
    assert_int_equal(mode_of("home/sandbox"), 0700);
}

static void a_home_that_others_can_write_to_is_refused(void **state)
{
    (void)state;
    make_folder("home", 0777);
    assert_refused("home", "others may write to");
    assert_int_equal(mode_of("home"), 0777); /* nothing in it was touched */
    assert_refused("home/in/it", "others may write to");
}

static void a_folder_above_the_home_may_be_open_with_a_sticky_bit_only(void **state)
{
    (void)state;
    make_folder("above", 0777);
    assert_refused("above/home", "put another home in place of yours");
    make_link("above/home", "link");
    assert_refused("link", "put another home in place of yours");
    char *path = at("above");
    assert_int_equal(chmod(path, 01777), 0);
    free(path);
    assert_int_equal(make("above/home", NULL), 0);
    assert_int_equal(make("link", NULL), 0);
}

static void files_that_phased_writes_must_not_be_links(void **state)
{
    (void)state;
    static const char *const names[] = {"phased.log", "phased.lock", "phased.db", "daemon.json",
                                        "phased.sock"};
    make_folder("home", 0700);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *name = text_format("home/%s", names[i]), *path = at(name);
        make_link("../elsewhere", name);
        assert_refused("home", "is a link, and phased would write where it leads");
        assert_int_equal(unlink(path), 0);
        free(path);
        free(name);
    }
    make_folder("scratch", 0700);
    make_link("../scratch", "home/runs");
    make_link("../elsewhere.yaml", "home/limits.yaml");
    assert_int_equal(make("home", NULL), 0);
    char *path = at("scratch");
    assert_int_equal(chmod(path, 0777), 0);
    assert_refused("home", "others may write to");
    free(path);
}

static void a_home_of_another_user_is_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    char *home = at("home"), *runs = at("home/runs"), *link = at("link");
    make_folder("home", 0700);
    assert_int_equal(chown(home, 65534, 0), 0);
    assert_refused("home", "use a home of your own");
    assert_int_equal(chown(home, 0, 0), 0);
    make_folder("home/runs", 0700);
    assert_int_equal(chown(runs, 65534, 0), 0);
    assert_refused("home", "runs belongs to ");
    assert_int_equal(chown(runs, 0, 0), 0);
    make_link("home", "link");
    assert_int_equal(lchown(link, 65534, 0), 0);
    assert_refused("link", "who could change it");
    free(home);
    free(runs);
    free(link);
}

/* The owner of a folder may rename its entries, even if the sticky bit keeps others from that. */
static void a_folder_above_the_home_belongs_to_the_user_or_to_root(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can give files away */
    static const mode_t modes[] = {0755, 01777};
    char *above = at("above");
    make_folder("above", 0755);
    make_folder("above/home", 0700);
    make_link("above/home", "link");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chown(above, 65534, 0), 0);
        assert_int_equal(chmod(above, modes[i]), 0);
        assert_refused("above/home", "above belongs to ");
        assert_refused("link", "above belongs to ");
        assert_int_equal(chown(above, 0, 0), 0);
        assert_int_equal(make("above/home", NULL), 0);
    }
    free(above);
}

static void a_lock_that_cannot_be_opened_is_not_free(void **state)
{
    (void)state;
    struct home home;
    assert_int_equal(home_init(&home, folder, NULL), 0);
    assert_int_equal(home_is_locked(&home), 0); /* there is no file */
    assert_int_equal(mkdir(home.lock, 0700), 0);
    assert_int_equal(home_is_locked(&home), -EISDIR);
    assert_int_equal(rmdir(home.lock), 0);
    assert_int_equal(symlink("elsewhere", home.lock), 0);
    assert_int_equal(home_is_locked(&home), -ELOOP);
    home_fini(&home);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_chooses_the_home),
        cmocka_unit_test_setup_teardown(
            the_private_slurm_of_the_home_is_used_unless_another_is_named, folder_make,
            folder_remove),
        cmocka_unit_test(a_relative_home_becomes_absolute),
        cmocka_unit_test_setup_teardown(a_relative_home_needs_a_current_folder, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_home_of_any_depth_has_a_socket, folder_make,
                                        folder_remove),
        cmocka_unit_test(a_deep_home_that_is_not_there_is_an_error),
        cmocka_unit_test(a_home_with_a_path_that_is_not_plain_text_is_refused),
        cmocka_unit_test_setup_teardown(a_home_that_others_can_read_is_closed_to_them, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_home_that_others_can_write_to_is_refused, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_folder_above_the_home_may_be_open_with_a_sticky_bit_only,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(files_that_phased_writes_must_not_be_links, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_lock_that_cannot_be_opened_is_not_free, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_home_of_another_user_is_refused, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_folder_above_the_home_belongs_to_the_user_or_to_root,
                                        folder_make, folder_remove),
    };
    return cmocka_run_group_tests_name("home", tests, NULL, NULL);
}
