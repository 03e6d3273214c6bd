/* The sampled values of a GPU: the columns of telemetry. Journals, the record and answers use the
 * same columns. A value that the driver does not give is absent, never zero.
 *
 * {symbol, name, how the samples of several seconds are combined, dcgm-exporter's name, the help of
 * /metrics}. The values of the last three columns are percent, but /metrics gives them as shares of
 * 1, as dcgm-exporter does. */
#ifndef PHASED_LIB_GPU_COLUMNS_H
#define PHASED_LIB_GPU_COLUMNS_H

#define GPU_COLUMNS(X)                                                                             \
    X(UTIL, util, MEAN, "DCGM_FI_DEV_GPU_UTIL", "percent of the time in which a kernel ran")       \
    X(MEMORY_UTIL, memory_util, MEAN, "DCGM_FI_DEV_MEM_COPY_UTIL",                                 \
      "percent of the time in which memory was read or written")                                   \
    X(MEMORY, memory_mib, MAX, "DCGM_FI_DEV_FB_USED", "memory in use, MiB")                        \
    X(POWER, power_w, MEAN, "DCGM_FI_DEV_POWER_USAGE", "power, W")                                 \
    X(TEMPERATURE, temperature_c, MAX, "DCGM_FI_DEV_GPU_TEMP",                                     \
      "temperature of the GPU, degrees Celsius")                                                   \
    X(MEMORY_TEMPERATURE, memory_temperature_c, MAX, "DCGM_FI_DEV_MEMORY_TEMP",                    \
      "temperature of the memory, degrees Celsius")                                                \
    X(SM_CLOCK, sm_clock_mhz, MEAN, "DCGM_FI_DEV_SM_CLOCK", "clock of the processors, MHz")        \
    X(MEMORY_CLOCK, memory_clock_mhz, MEAN, "DCGM_FI_DEV_MEM_CLOCK", "clock of the memory, MHz")   \
    X(CLOCK_REASONS, clock_reasons, BITS, "DCGM_FI_DEV_CLOCKS_EVENT_REASONS",                      \
      "why the clocks were held back, bits of NVML")                                               \
    X(ECC_CORRECTED, ecc_corrected, LAST, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL",                         \
      "corrected errors of memory since the driver was loaded")                                    \
    X(ECC_UNCORRECTED, ecc_uncorrected, LAST, "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",                     \
      "uncorrected errors of memory since the driver was loaded")                                  \
    X(XID, xid, LAST, "DCGM_FI_DEV_XID_ERRORS", "newest XID of the driver since sampling began")   \
    X(SM_ACTIVE, sm_active, MEAN, "DCGM_FI_PROF_SM_ACTIVE",                                        \
      "share of cycles in which the processors had work, 0 to 1 (from Hopper on)")                 \
    X(TENSOR_ACTIVE, tensor_active, MEAN, "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",                       \
      "share of cycles in which the tensor cores had work, 0 to 1 (from Hopper on)")               \
    X(DRAM_ACTIVE, dram_active, MEAN, "DCGM_FI_PROF_DRAM_ACTIVE",                                  \
      "share of cycles in which the memory had work, 0 to 1 (from Hopper on)")

enum gpu_column {
#define X(symbol, name, kind, dcgm, what) GPU_##symbol,
    GPU_COLUMNS(X)
#undef X
        GPU_COLUMN_COUNT
};

#endif
