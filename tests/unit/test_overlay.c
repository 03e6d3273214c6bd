/* Which entry of by_gpu is for a GPU, and what the phase is with it. */
#include "tests/unit/unit.h"

#include "lib/spec/overlay.h"
#include "lib/text.h"
#include "worker/lead/hardware.h"

#include <stdlib.h>

static void a_gpu_is_known_by_the_words_of_its_name_or_by_its_memory(void **state)
{
    (void)state;
    static const struct {
        const char *name, *model;
        double memory_gib;
        bool is_for;
    } rows[] = {
        {"h100", "NVIDIA H100 80GB HBM3", 79.6, true},
        {"H100 80GB", "NVIDIA H100 80GB HBM3", 79.6, true},
        {"h100_pcie", "NVIDIA H100 PCIe", 79.6, true},
        {"h100_pcie", "NVIDIA H100 80GB HBM3", 79.6, false},
        {"h100", "NVIDIA GH100", 95, false},
        {"h100", "nvidia_h100_80gb_hbm3", 0, true}, /* a type that Slurm made itself */
        {"h100", "h100", 0, true},
        {"h10", "h100", 0, false},
        {"rtx4090", "NVIDIA GeForce RTX 4090", 23.99, true},
        {"rtx 4090", "rtx4090", 0, true},
        {"rtx409", "NVIDIA GeForce RTX 4090", 23.99, false},
        {"force rtx4090", "NVIDIA GeForce RTX 4090", 23.99, false},
        {"a100", "NVIDIA A100X", 80, false},
        {"80GB", "NVIDIA H100 80GB HBM3", 79.6, true}, /* 81559 MiB */
        {"80GB", "NVIDIA A100-SXM4-80GB", 80, true},
        {"141GB", "NVIDIA H200", 140.4, true}, /* 143771 MiB */
        {"94GB", "NVIDIA H100 NVL", 93.6, true},
        {"80GB", "NVIDIA H100 NVL", 93.6, false},
        {"24GB", "NVIDIA L4", 22.5, true}, /* with ECC */
        {"40GB", "NVIDIA A100-SXM4-80GB", 80, false},
        {"80G", "NVIDIA A100-SXM4-80GB", 80, true},
        {"80GiB", "NVIDIA A100-SXM4-80GB", 80, true},
        {"80GB", "nvidia_a100_80gb_pcie", 0, true}, /* Slurm knows no memory */
        {"80GB", "h100", 0, false},
        {"h100", NULL, 0, false},
        {"80GB", NULL, 79.6, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct overlay_gpu gpu = {rows[i].model, rows[i].memory_gib};
        if (overlay_is_for(rows[i].name, &gpu) != rows[i].is_for)
            fail_msg("%s: %s", rows[i].name, rows[i].model ? rows[i].model : "(no model)");
    }
}

static void an_entry_may_fit_a_type_that_contains_its_words(void **state)
{
    static const struct {
        const char *name, *type;
        bool may_fit;
    } rows[] = {
        {"4090", "rtx4090", true}, /* NVIDIA GeForce RTX 4090 */
        {"rtx 4090", "RTX4090", true},    {"rtx 4090", "rtx_4090", true},
        {"6000 ada", "rtx6000ada", true}, {"h100", "gpuh100-80g", true},
        {"h100-sxm5", "h100", true}, /* Slurm does not say the form */
        {"a100", "3g.20gb", true},   /* a part of a GPU (MIG) */
        {"a100", "large", true},          {"tesla", "v100", true},
        {"80GB", "a100", true},           {"h10", "h100", false},
        {"h10", "h100.h10", true},        {"090", "rtx4090", false},
        {"4090", "rtx4080", false},       {"2080ti", "rtx2080", false},
        {"a100", "h100", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (overlay_may_fit_type(rows[i].name, rows[i].type) != rows[i].may_fit)
            fail_msg("%s: %s", rows[i].name, rows[i].type);
}

static void the_first_entry_that_fits_is_put_over_the_phase(void **state)
{
    (void)state;
    json_t *phase =
        json_pack("{s:s, s:{s:i}, s:s, s:[{s:s, s:{}}, {s:s, s:{s:{s:i}}}, {s:s, s:{}}]}", "name",
                  "train", "params", "batch", 16, "run", "x", "by_gpu", "match", "a100", "phase",
                  "match", "141GB", "phase", "params", "batch", 128, "match", "h200", "phase");
    const struct overlay_gpu h200 = {"NVIDIA H200", 140.4}, other = {"NVIDIA L4", 22.5};
    const char *name = overlay_choose(phase, &h200);
    assert_string_equal(name, "141GB");
    assert_null(overlay_choose(phase, &other));
    json_t *laid = overlay_apply(phase, name), *plain = overlay_apply(phase, NULL);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(laid, "params"), "batch")),
                     128);
    assert_string_equal(json_string_value(json_object_get(laid, "run")), "x");
    assert_ptr_equal(plain, phase);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(phase, "params"), "batch")),
                     16);
    assert_true(overlay_exists(phase));
    json_decref(laid);
    json_decref(plain);
    json_decref(phase);
}

static void a_phase_of_an_older_version_has_no_entries(void **state)
{
    (void)state;
    json_t *phase = json_pack("{s:s}", "name", "train");
    json_t *laid = overlay_apply(phase, "h100");
    assert_false(overlay_exists(phase));
    assert_ptr_equal(laid, phase);
    json_decref(laid);
    json_decref(phase);
}

static void slurm_gives_the_type_of_the_first_node(void **state)
{
    (void)state;
    static const struct {
        const char *line, *type;
    } rows[] = {
        {"     Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:h200:2(IDX:0-1)\n", "h200"},
        {"   JOB_GRES=gpu:h100:2\n     Nodes=n[1-2] CPU_IDs=0 Mem=0 GRES=gpu:a100_80:2(IDX:0-1)\n",
         "a100_80"},
        {"     Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)\n", NULL}, /* without types */
        {"     Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:8\n", NULL},
        {"     Nodes=n2 CPU_IDs=0 Mem=0 GRES=\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *type = hardware_slurm_type(rows[i].line);
        if ((type || rows[i].type) && !text_equal(type, rows[i].type))
            fail_msg("%s: %s", rows[i].line, type ? type : "none");
        free(type);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_known_by_the_words_of_its_name_or_by_its_memory),
        cmocka_unit_test(an_entry_may_fit_a_type_that_contains_its_words),
        cmocka_unit_test(the_first_entry_that_fits_is_put_over_the_phase),
        cmocka_unit_test(a_phase_of_an_older_version_has_no_entries),
        cmocka_unit_test(slurm_gives_the_type_of_the_first_node),
    };
    return cmocka_run_group_tests_name("overlay", tests, NULL, NULL);
}
