/* The table of figures, and when a figure is enough. */
#include "worker/preflight/figures.h"

#include "lib/text.h"

const struct figure_kind figure_kinds[FIGURE_COUNT] = {
    [FIGURE_HBM_COPY] = {"hbm_copy_gbps", "copy", "GB/s", FIGURE_ROW_HBM},
    [FIGURE_HBM_TRIAD] = {"hbm_triad_gbps", "triad", "GB/s", FIGURE_ROW_HBM},
    [FIGURE_MATRIX] = {"matrix_tflops", "bf16", "TFLOP/s", FIGURE_ROW_MATRIX},
    [FIGURE_HOST_TO_DEVICE] = {"host_to_device_gbps", "to the GPU", "GB/s", FIGURE_ROW_COPIES},
    [FIGURE_DEVICE_TO_HOST] = {"device_to_host_gbps", "from the GPU", "GB/s", FIGURE_ROW_COPIES},
    [FIGURE_PEER] = {"peer_gbps", "copy", "GB/s", FIGURE_ROW_PEERS},
    [FIGURE_ALLREDUCE] = {"allreduce_gbps", "bus", "GB/s", FIGURE_ROW_ALLREDUCE},
};

const char *const figure_rows[FIGURE_ROW_COUNT] = {
    [FIGURE_ROW_HBM] = "hbm",
    [FIGURE_ROW_MATRIX] = "matrix",
    [FIGURE_ROW_COPIES] = "copies",
    [FIGURE_ROW_PEERS] = "peers",
    [FIGURE_ROW_ALLREDUCE] = "allreduce",
};

enum figure figure_of_name(const char *name)
{
    for (enum figure i = 0; i < FIGURE_COUNT; i++)
        if (text_equal(name, figure_kinds[i].name))
            return i;
    return FIGURE_COUNT;
}

enum figure_row figure_row_of_name(const char *name)
{
    for (enum figure_row i = 0; i < FIGURE_ROW_COUNT; i++)
        if (text_equal(name, figure_rows[i]))
            return i;
    return FIGURE_ROW_COUNT;
}

struct figure_least figure_least(struct fact threshold, struct fact baseline, struct fact percent)
{
    struct figure_least least = {.is_known = threshold.is_known, .value = (double)threshold.value};
    if (!baseline.is_known || !percent.is_known)
        return least;
    uint64_t tolerated = percent.value < 100 ? percent.value : 100;
    double value = (double)baseline.value * (double)(100 - tolerated) / 100;
    if (least.is_known && least.value >= value)
        return least;
    return (struct figure_least){.is_known = true, .value = value, .baseline = baseline};
}
