/* The GPUs of a node as lines of gres.conf. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/text.h"
#include "tests/unit/folder.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/gres.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void a_type_is_short_and_the_same_for_all_variants(void **state)
{
    (void)state;
    static const struct {
        const char *name, *type;
    } cases[] = {
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA H100 PCIe", "h100"},
        {"NVIDIA H200", "h200"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"NVIDIA A100-SXM4-80GB", "a100"},
        {"NVIDIA L40S", "l40s"},
        {"NVIDIA L4", "l4"},
        {"NVIDIA A10G", "a10g"},
        {"NVIDIA GB10", "gb10"},
        {"Tesla V100-SXM2-16GB", "v100"},
        {"NVIDIA RTX A6000", "a6000"},
        {"NVIDIA GeForce RTX 4090", "rtx4090"},
        {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx4070tisuper"},
        {"NVIDIA GeForce RTX 4090 Laptop GPU", "rtx4090"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx6000ada"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000"},
        {"Quadro RTX 8000", "rtx8000"},
        {"NVIDIA TITAN RTX", "titanrtx"},
        {"NVIDIA TITAN V", "titanv"},
        {"NVIDIA", ""},
        {" - ", ""},
        {"", ""},
        {"X/1;Y", "x1y"}, /* no character has a meaning in gres.conf */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char type[GRES_TYPE_SIZE];
        gres_type(cases[i].name, type);
        assert_string_equal(type, cases[i].type);
    }
    char type[GRES_TYPE_SIZE], name[200];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    gres_type(name, type);
    assert_int_equal(strlen(type), GRES_TYPE_SIZE - 1);
}

static struct facts node;

/* Makes a node with two GPUs, whose devices are nvidia5 and nvidia0. */
static int make_node(void **state)
{
    static const struct fact five = {true, 5}, zero = {true, 0};
    char path[64];
    node = (struct facts){.driver = FACTS_DRIVER_WORKS, .gpu_count = 2};
    node.gpus[0] = (struct fact_gpu){.index = 0, .name = "NVIDIA H200", .minor = five};
    node.gpus[1] = (struct fact_gpu){.index = 1, .name = "NVIDIA L4", .minor = zero};
    if (folder_make(state) < 0)
        return -1;
    (void)snprintf(path, sizeof path, "%s/nvidia5", folder);
    int status = symlink("/dev/null", path);
    (void)snprintf(path, sizeof path, "%s/nvidia0", folder);
    return status < 0 || symlink("/dev/zero", path) < 0 ? -1 : 0;
}

static void each_gpu_is_a_line_in_the_order_of_the_bus(void **state)
{
    (void)state;
    struct text text = {0};
    struct error err;
    char wanted[160];
    assert_int_equal(gres_text(&node, folder, &text, &err), 0);
    (void)snprintf(wanted, sizeof wanted,
                   "Name=gpu Type=h200 File=%s/nvidia5\nName=gpu Type=l4 File=%s/nvidia0\n", folder,
                   folder);
    assert_string_equal(text_string(&text), wanted);
    text_fini(&text);
    node.gpus[0].name[0] = '\0';
    assert_int_equal(gres_text(&node, folder, &text, &err), 0);
    (void)snprintf(wanted, sizeof wanted,
                   "Name=gpu File=%s/nvidia5\nName=gpu Type=l4 File=%s/nvidia0\n", folder, folder);
    assert_string_equal(text_string(&text), wanted);
    text_fini(&text);
}

static void refused(int code, const char *message)
{
    struct text text = {0};
    struct error err;
    assert_int_equal(gres_text(&node, folder, &text, &err), code);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    text_fini(&text);
}

static void a_node_without_gpus_is_told_from_a_driver_that_fails(void **state)
{
    (void)state;
    node.gpu_count = 0;
    refused(-ENODEV, "the driver has no GPU");
    (void)snprintf(node.driver_trouble, sizeof node.driver_trouble, "said so");
    node.driver = FACTS_DRIVER_ABSENT;
    refused(-ENODEV, "said so");
    node.driver = FACTS_DRIVER_SILENT;
    refused(-EIO, "the driver: said so");
    node.driver = FACTS_DRIVER_FAILS;
    refused(-EIO, "the driver: said so");
}

static void a_gpu_that_no_job_could_use_is_refused(void **state)
{
    (void)state;
    node.gpus[1].minor.value = 7;
    refused(-EIO, "GPU 1 has no device /tmp/phased-test-");
    node.gpus[1].minor.is_known = false;
    refused(-EIO, "GPU 1: the driver does not say which device it is");
    node.gpus[1].mig_mode = (struct fact){true, 1};
    refused(-EIO, "GPU 1 is split by MIG");
    node.gpus[1].is_lost = true;
    (void)snprintf(node.gpus[1].trouble, sizeof node.gpus[1].trouble, "GPU is lost");
    refused(-EIO, "GPU 1 does not answer: GPU is lost");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_is_short_and_the_same_for_all_variants),
        cmocka_unit_test_setup_teardown(each_gpu_is_a_line_in_the_order_of_the_bus, make_node,
                                        folder_remove),
        cmocka_unit_test_setup_teardown(a_node_without_gpus_is_told_from_a_driver_that_fails,
                                        make_node, folder_remove),
        cmocka_unit_test_setup_teardown(a_gpu_that_no_job_could_use_is_refused, make_node,
                                        folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
