/* What the program on the GPUs does without a GPU: it reads lists of processors, and finds other
 * nodes through files. */
#include "tests/unit/unit.h"

#include "lib/clock.h"
#include "lib/error.h"
#include "lib/text.h"
#include "worker/preflight/gpu/meeting.h"
#include "worker/preflight/gpu/nearby.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void lists_of_processors_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int count;
        size_t first, last;
    } cases[] = {
        {"0-15,32-47\n", 32, 0, 47},
        {"3\n", 1, 3, 3},
        {"0-0", 1, 0, 0},
        {"1,5,9", 3, 1, 9},
        {"", 0, 0, 0},
        {"\n", 0, 0, 0},
        {"a", 0, 0, 0},
        {"3-1", 0, 0, 0},
        {"0-99999", 0, 0, 0},
        {"1,", 0, 0, 0},
        {"1-", 0, 0, 0},
        {"1;2", 0, 0, 0},
        {"-1", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cpu_set_t set;
        assert_int_equal(nearby_read(cases[i].list, &set), cases[i].count);
        if (cases[i].count) {
            assert_true(CPU_ISSET(cases[i].first, &set));
            assert_true(CPU_ISSET(cases[i].last, &set));
            assert_int_equal(CPU_COUNT(&set), cases[i].count);
        }
    }
    assert_false(nearby_go("no:such:address"));
}

static char folder[] = "/tmp/phased-test-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void forget(unsigned round, unsigned group)
{
    char *path = text_format("%s/group-%u-%u", folder, round, group);
    assert_int_equal(unlink(path), 0);
    free(path);
}

static void a_node_waits_for_the_id_that_another_publishes(void **state)
{
    (void)state;
    char id[128], got[128];
    struct error err;
    memset(id, 0x17, sizeof id);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int rc = meeting_await(folder, 1, 2, got, sizeof got, clock_steady_ms() + 120000, &err);
        _exit(rc == 0 && memcmp(got, id, sizeof id) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(meeting_publish(folder, 1, 2, id, sizeof id, &err), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    forget(1, 2);
}

static void a_folder_that_was_used_before_is_refused(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(meeting_publish(folder, 0, 0, "x", 1, &err), 0);
    assert_int_equal(meeting_publish(folder, 0, 0, "y", 1, &err), -EEXIST);
    assert_non_null(strstr(err.message, "the folder must be new"));
    forget(0, 0);
}

static void the_wait_ends_in_time_and_half_an_id_is_no_id(void **state)
{
    (void)state;
    char got[4];
    struct error err;
    assert_int_equal(meeting_await(folder, 0, 1, got, 4, clock_steady_ms() + 30, &err), -ETIMEDOUT);
    assert_int_equal(meeting_publish(folder, 0, 1, "ab", 2, &err), 0);
    assert_int_equal(meeting_await(folder, 0, 1, got, 4, clock_steady_ms() + 30, &err), -EINVAL);
    forget(0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_processors_are_read),
        cmocka_unit_test(a_node_waits_for_the_id_that_another_publishes),
        cmocka_unit_test(a_folder_that_was_used_before_is_refused),
        cmocka_unit_test(the_wait_ends_in_time_and_half_an_id_is_no_id),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
