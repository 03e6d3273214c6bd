/* The commands by which each runtime starts a rank: golden files in tests/unit/container. */
#include "tests/unit/folder.h"
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/spec/container.h"
#include "lib/text.h"
#include "worker/node/container.h"
#include "worker/node/groups.h"
#include "worker/node/rank_environment.h"
#include "worker/process/environment.h"
#include "worker/protocol/assignment.h"

#include <glob.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

static const char *const mounts[] = {
    "/home/ada/.phased/runs/7/train:/home/ada/.phased/runs/7/train", "/scratch/cache:/cache",
    "/sets:/sets:ro", NULL};
static const char *const exports[] = {"PATH", NULL}, *const none[] = {NULL};
static const char *const names[] = {"RANK", "PHASED_EXPORT_PATH", NULL};

/* With WRITE=1, the golden file is written. */
static void assert_golden(const struct container_order *order, const char *name)
{
    const char *source = getenv("SRC");
    char *path = text_format("%s/tests/unit/container/%s.txt", source ? source : ".", name);
    char *script = container_script(order), *golden = NULL;
    if (getenv("WRITE"))
        assert_int_equal(file_replace(path, script, strlen(script), 0644, NULL), 0);
    assert_int_equal(file_read(path, 1 << 16, &golden, NULL, NULL), 0);
    assert_string_equal(script, golden);
    free(golden);
    free(script);
    free(path);
}

static void each_runtime_has_its_command(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum container_runtime runtime;
        const char *image;
        bool is_bare; /* without GPUs, InfiniBand and workdir; as root; another stop signal */
    } rows[] = {
        {"apptainer_file", CONTAINER_APPTAINER, "/images/it's.sif", false},
        {"apptainer_name", CONTAINER_APPTAINER, "nvcr.io/nvidia/pytorch:25.06-py3", true},
        {"enroot_file", CONTAINER_ENROOT, "/images/train.sqsh", false},
        {"enroot_name", CONTAINER_ENROOT, "docker://nvcr.io/nvidia/pytorch:25.06-py3", true},
        {"enroot_hub", CONTAINER_ENROOT, "pytorch/pytorch:2.7.0", true},
        {"podman_file", CONTAINER_PODMAN, "/images/train.tar", false},
        {"podman_name", CONTAINER_PODMAN, "nvcr.io/nvidia/pytorch:25.06-py3", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct container_order order = {
            .runtime = rows[i].runtime,
            .image = rows[i].image,
            .store = "/tmp/phased-image-x",
            .mounts = mounts,
            .names = names,
            .exports = rows[i].is_bare ? none : exports,
            .workdir = rows[i].is_bare ? NULL : "/home/ada/my code",
            .script = "/home/ada/.phased/runs/7/train/1/run.sh",
            .stop_signal = rows[i].is_bare ? "USR1" : "TERM",
            .stop_number = rows[i].is_bare ? SIGUSR1 : SIGTERM,
            .has_gpus = !rows[i].is_bare,
            .has_fabric = !rows[i].is_bare,
            .is_root = rows[i].is_bare,
        };
        assert_golden(&order, rows[i].name);
    }
}

static void a_runtime_reads_its_own_files_and_all_names(void **state)
{
    (void)state;
    static const struct {
        const char *image;
        bool reads[3]; /* apptainer, enroot, podman */
    } rows[] = {
        {"/a/b.sif", {true, false, false}},   {"/a/b.sqsh", {true, true, false}},
        {"/a/b.tar", {false, false, true}},   {"ubuntu:24.04", {true, true, true}},
        {"docker://a/b", {true, true, true}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = CONTAINER_APPTAINER; k <= CONTAINER_PODMAN; k++)
            assert_int_equal(
                container_reads(container_runtime_name((enum container_runtime)k), rows[i].image),
                rows[i].reads[k]);
}

/* The loop has ended, and with it the removal. */
static void assert_no_image(void)
{
    char *pattern = text_format("%s/phased-image-*", folder);
    glob_t images = {0};
    assert_int_equal(glob(pattern, 0, NULL, &images), GLOB_NOMATCH);
    globfree(&images);
    free(pattern);
}

/* Every user of the node can read the arguments of a process. */
static void values_of_env_reach_the_container_and_no_argument(void **state)
{
    (void)state;
    struct environment environment = {0};
    struct container *container;
    struct error err;
    uv_loop_t loop;
    char *program = text_format("%s/podman", folder), *run_dir = text_format("%s/train/1", folder);
    assert_int_equal(file_replace(program, "", 0, 0700, NULL), 0);
    struct assignment assignment = {
        .spec = json_pack("{s:{s:s, s:s}, s:{s:s, s:s, s:s, s:s}}", "container", "image",
                          "ubuntu:24.04", "runtime", "auto", "env", "HOME", "(secret)", "LD_KEY",
                          "(secret)", "MINE", "yes", "TMPDIR", "/in/the/image"),
        .secrets = json_pack("{s:[s, s]}", "HOME", "/in/the/image", "/at/the/node"),
        .file = {.run_dir = run_dir,
                 .out_dir = folder,
                 .environment = json_pack("{s:s, s:s}", "HOME", "(secret 2)", "TMPDIR", "/login")},
        .stop_signal_name = "TERM",
        .stop_signal = SIGTERM,
    };
    uv_loop_init(&loop);
    (void)setenv("TMPDIR", folder, 1); /* as Slurm sets it for the agent */
    environment_set(&environment, "PATH", folder);
    environment_set(&environment, "TMPDIR", "/in/the/image");
    environment_set(&environment, "HOME", "/in/the/image"); /* without LD_KEY, which is missing */
    environment_set(&environment, "MINE", "yes");
    assert_int_equal(container_new(&assignment, &environment, &loop, &container, &err), 0);
    assert_string_equal(environment_get(&environment, "HOME"), "/at/the/node");
    assert_string_equal(environment_get(&environment, "PHASED_EXPORT_HOME"), "/in/the/image");
    assert_string_equal(environment_get(&environment, "TMPDIR"), folder);
    assert_string_equal(environment_get(&environment, "PHASED_EXPORT_TMPDIR"), "/in/the/image");
    char *script = container_start(container, "/run.sh");
    assert_non_null(strstr(script, "--env 'PHASED_EXPORT_HOME'"));
    assert_non_null(
        strstr(script, "export HOME=\"$PHASED_EXPORT_HOME\"; unset PHASED_EXPORT_HOME\n"));
    assert_null(strstr(script, "/in/the/image"));
    assert_null(strstr(script, "LD_KEY"));
    free(script);
    container_free(container);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_no_image();
    assert_int_equal(uv_loop_close(&loop), 0);
    environment_fini(&environment);
    json_decref((json_t *)assignment.spec);
    json_decref(assignment.secrets);
    json_decref((json_t *)assignment.file.environment);
    free(program);
    free(run_dir);
}

/* Fails if the container does not get a variable that a rank of its own has. */
static void assert_named(const struct environment *common, const struct environment *environment,
                         const char *script)
{
    for (size_t i = 0; i < environment->count; i++) {
        const char *entry = environment->entries[i];
        char *name = text_format("%.*s", (int)strcspn(entry, "="), entry);
        char *option = text_format("--env '%s'", name);
        const char *before = environment_get(common, name);
        if ((!before || strcmp(before, strchr(entry, '=') + 1) != 0) && !strstr(script, option))
            fail_msg("%s does not reach the container", name);
        free(option);
        free(name);
    }
}

/* Podman and enroot are told the names of all variables before those of a rank are set. */
static void check_names(enum assignment_launch launch, char *run_dir)
{
    struct environment environment = {0}, common = {0};
    struct container *container;
    struct groups *groups = NULL;
    struct error err;
    uv_loop_t loop;
    const struct assignment assignment = {
        .spec =
            json_pack("{s:{s:s, s:s}}", "container", "image", "ubuntu:24.04", "runtime", "podman"),
        .file = {.run_dir = run_dir,
                 .out_dir = folder,
                 .gpu_first = RUN_FILE_NO_PART,
                 .environment = json_pack("{s:s, s:s}", "PATH", folder, "TMPDIR", folder)},
        .launch = launch,
        .parallel = {.tensor = 2, .pipeline = 1, .data = 2},
        .gpus = 4,
        .stop_signal_name = "TERM",
        .stop_signal = SIGTERM,
    };
    struct rank_place place = {.nodes = 1,
                               .ranks_per_node = assignment_ranks_per_node(&assignment),
                               .address = "n1",
                               .channel = "/channel"};
    char *job[] = {"CUDA_VISIBLE_DEVICES=4,5,6,7", "ROCR_VISIBLE_DEVICES=0,1,2,3", NULL};
    uv_loop_init(&loop);
    rank_environment_build(&environment, &assignment, &place, job);
    rank_environment_build(&common, &assignment, &place, job);
    if (launch == ASSIGNMENT_LAUNCH_GROUP)
        assert_int_equal(groups_new(&assignment, &environment, &groups, &err), 0);
    place.groups = groups;
    assert_int_equal(container_new(&assignment, &environment, &loop, &container, &err), 0);
    rank_environment_set_rank(&environment, &assignment, &place, 1);
    char *script = container_start(container, "/run.sh");
    assert_named(&common, &environment, script);
    free(script);
    container_free(container);
    groups_free(groups);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_no_image();
    assert_int_equal(uv_loop_close(&loop), 0);
    environment_fini(&environment);
    environment_fini(&common);
    json_decref((json_t *)assignment.spec);
    json_decref((json_t *)assignment.file.environment);
}

static void the_variables_of_a_rank_reach_the_container(void **state)
{
    (void)state;
    char *program = text_format("%s/podman", folder), *run_dir = text_format("%s/train/1", folder);
    assert_int_equal(file_replace(program, "", 0, 0700, NULL), 0);
    check_names(ASSIGNMENT_LAUNCH_RANK, run_dir);
    check_names(ASSIGNMENT_LAUNCH_NODE, run_dir);
    check_names(ASSIGNMENT_LAUNCH_GROUP, run_dir);
    free(program);
    free(run_dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runtime_has_its_command),
        cmocka_unit_test(a_runtime_reads_its_own_files_and_all_names),
        cmocka_unit_test_setup_teardown(values_of_env_reach_the_container_and_no_argument,
                                        folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(the_variables_of_a_rank_reach_the_container, folder_make,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
