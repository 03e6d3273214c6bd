/* How people write amounts: durations (`90s`, `1h30m`, `2d`), memory (`256G`) and GPUs
 * (`h100:8`, `8`).
 *
 * A bare number is no duration and no memory: Slurm reads `--time=30` as minutes and most others as
 * seconds, and a job that ends after 30 seconds at night helps nobody. Only `0` needs no unit. */
#ifndef PHASED_LIB_UNITS_H
#define PHASED_LIB_UNITS_H

#include <stddef.h>
#include <stdint.h>

struct error;

enum {
    UNITS_DURATION_MAX_S = 366 * 86400, /* fits Slurm's 32-bit minutes and seconds with room */
    UNITS_GPUS_MAX = 1024,              /* per node; far above any machine, far below overflow */
    UNITS_GPU_TYPE_SIZE = 64,
};

/* Days, hours, minutes and seconds in this order, each at most once, whole numbers. The longest is
 * UNITS_DURATION_MAX_S. */
int units_parse_duration(const char *text, uint32_t *ret_seconds, struct error *err);

/* A stretch of the day, `20:00-08:00`, as minutes from midnight; the two differ. */
int units_parse_window(const char *text, unsigned *ret_from, unsigned *ret_to, struct error *err);

/* A whole number with K, M, G or T (powers of 1024, as in Slurm; a `B` or `iB` may follow), in MiB,
 * rounded up. */
int units_parse_memory(const char *text, uint64_t *ret_mb, struct error *err);

/* `TYPE:COUNT` or `COUNT`; without a type `ret_type` becomes empty. */
int units_parse_gpus(const char *text, char ret_type[UNITS_GPU_TYPE_SIZE], uint32_t *ret_count,
                     struct error *err);

#endif
