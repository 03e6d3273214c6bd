/* The home: which folder it is, its files, and a socket in a deep one. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/home.h"
#include "lib/text.h"

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

/* Listens at the home's socket and connects to it, both by its address. */
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
    char folder[] = "/tmp/phased-test-XXXXXX";
    assert_non_null(mkdtemp(folder));
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
    assert_int_equal(rmdir(folder), 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_chooses_the_home),
        cmocka_unit_test(a_relative_home_becomes_absolute),
        cmocka_unit_test(a_home_of_any_depth_has_a_socket),
        cmocka_unit_test(a_deep_home_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests_name("home", tests, NULL, NULL);
}
