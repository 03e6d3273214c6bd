/* The file by which an agent that has lost srun tells its lead. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "worker/protocol/orphan.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void the_lead_reads_which_node_has_lost_srun(void **state)
{
    char *path = orphan_name_file(folder);
    (void)state;
    assert_null(orphan_read(path));
    (void)setenv("SLURMD_NODENAME", "n1", 1);
    orphan_tell();
    (void)setenv("SLURMD_NODENAME", "n2", 1);
    orphan_tell();
    char *node = orphan_read(path);
    assert_string_equal(node, "n2");
    free(node);
    free(path);
}

static void what_was_told_to_another_lead_of_the_folder_does_not_count(void **state)
{
    (void)state;
    (void)setenv("SLURMD_NODENAME", "n1", 1);
    pid_t other = fork();
    if (other == 0) {
        free(orphan_name_file(folder));
        orphan_tell();
        _exit(0);
    }
    char *path = orphan_name_file(folder);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_null(orphan_read(path));
    free(path);
}

static void an_agent_without_a_lead_tells_nothing(void **state)
{
    char *path = orphan_name_file(folder);
    (void)state;
    (void)unsetenv(ORPHAN_VARIABLE);
    orphan_tell();
    assert_null(orphan_read(path));
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_lead_reads_which_node_has_lost_srun, folder_make,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(what_was_told_to_another_lead_of_the_folder_does_not_count,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(an_agent_without_a_lead_tells_nothing, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
