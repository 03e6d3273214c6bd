/* The commands by which each runtime starts a rank: golden files in tests/unit/container. */
#include "tests/unit/unit.h"

#include "lib/file.h"
#include "lib/spec/container.h"
#include "lib/text.h"
#include "worker/node/container.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const mounts[] = {
    "/home/ada/.phased/runs/7/train:/home/ada/.phased/runs/7/train", "/scratch/cache:/cache",
    "/sets:/sets:ro", NULL};
static const char *const exports[] = {"PATH=/opt/my tools:/bin", NULL}, *const none[] = {NULL};
static const char *const names[] = {"RANK", "PHASED_OUT", NULL};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runtime_has_its_command),
        cmocka_unit_test(a_runtime_reads_its_own_files_and_all_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
