/* What was read of a node, before it is judged. The rows (worker/preflight/rows.h) are pure
 * functions of these facts. A value that could not be read is absent, never zero: each value has a
 * flag. The struct has no pointers, so that a child can write it into a pipe. */
#ifndef PHASED_WORKER_PREFLIGHT_FACTS_H
#define PHASED_WORKER_PREFLIGHT_FACTS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    FACTS_GPUS_MAX = 32,
    FACTS_PROCESSES_MAX = 16, /* of one GPU; others are counted but not listed */
    FACTS_XIDS_MAX = 128,
    FACTS_LINKS_MAX = 18, /* NVLinks of a Hopper GPU */
    FACTS_TEXT_SIZE = 96,
};

/* A value that may be absent. */
struct fact {
    bool is_known;
    uint64_t value;
};

/* An address on the PCI bus as one number. The function of a GPU is always 0. */
static inline uint64_t fact_place(unsigned domain, unsigned bus, unsigned device)
{
    return (uint64_t)domain << 16 | (uint64_t)(bus & 0xff) << 8 | (device & 0xff);
}

struct fact_gpu {
    unsigned index; /* NVML's number, in the order of the PCI bus */
    bool is_lost;   /* it fell off the bus, or gave no handle */
    char name[FACTS_TEXT_SIZE];
    char uuid[FACTS_TEXT_SIZE];
    struct fact place;             /* on the PCI bus, as fact_place() gives it */
    char trouble[FACTS_TEXT_SIZE]; /* why the GPU is lost */
    struct fact minor;             /* N of /dev/nvidiaN */
    struct fact mig_mode;          /* 1: the GPU is split into MIG devices */
    struct fact memory_total_mib, memory_used_mib;
    struct fact process_count;
    unsigned processes[FACTS_PROCESSES_MAX]; /* pids */
    struct fact ecc_uncorrected;             /* since the driver was loaded */
    struct fact remap_pending, remap_failed;
    struct fact recovery_action; /* NVML field 230 */
    struct fact links_active, links_inactive;
};

enum facts_driver {
    FACTS_DRIVER_ABSENT, /* no libnvidia-ml.so.1, or no driver below it */
    FACTS_DRIVER_WORKS,
    FACTS_DRIVER_FAILS,  /* the library answers with an error */
    FACTS_DRIVER_SILENT, /* it did not answer in time, which is the sign of a wedged GPU */
};

struct facts {
    enum facts_driver driver;
    char driver_trouble[FACTS_TEXT_SIZE];
    unsigned gpu_count; /* entries of `gpus` */
    struct fact_gpu gpus[FACTS_GPUS_MAX];

    bool is_kernel_log_read;
    char kernel_log_trouble[FACTS_TEXT_SIZE];
    unsigned xid_count;
    struct { /* the last of each kind on each GPU */
        unsigned number;
        double age_s;
        char device[32];   /* PCI address as the kernel writes it */
        struct fact place; /* the PCI address as a number */
    } xids[FACTS_XIDS_MAX];

    struct fact scratch_free_mib;
    char scratch_path[256];
    char scratch_trouble[FACTS_TEXT_SIZE];

    struct fact clock_error_us; /* the kernel's bound; unknown if the clock is not synchronised */
};

#endif
