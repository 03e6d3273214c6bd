/* Amounts as people write them: durations (`90s`, `1h30m`, `2d`), memory (`256G`) and GPUs
 * (`h100:8`, `8`); and times (`14:05`).
 *
 * A duration or an amount of memory needs a unit, except `0`. Slurm reads `--time=30` as minutes
 * and most other programs as seconds, and a job that ends after 30 seconds at night helps
 * nobody. */
#ifndef PHASED_LIB_UNITS_H
#define PHASED_LIB_UNITS_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct error;

enum {
    UNITS_DURATION_MAX_S = 366 * 86400, /* fits into Slurm's 32-bit minutes and seconds */
    UNITS_GPUS_MAX = 1024,              /* per node; far above any machine, far below an overflow */
    UNITS_GPU_TYPE_SIZE = 64,
};

/* Reads days, hours, minutes and seconds in this order: whole numbers, each unit at most once. The
 * maximum is UNITS_DURATION_MAX_S. */
int units_parse_duration(const char *text, uint32_t *ret_seconds, struct error *err);

/* Reads a period of the day, such as `20:00-08:00`, as minutes from midnight. Begin and end
 * differ. */
int units_parse_window(const char *text, unsigned *ret_from, unsigned *ret_to, struct error *err);

/* Reads a time by the local clock: 14:05, 14:05:30, 2026-11-01, and a date with a time of day,
 * between them a space or `T`. A time of day is the last one before `now`, which counts, too.
 * Returns -EINVAL for any other text. */
int units_parse_time(const char *text, time_t now, time_t *ret_time);

/* Reads a whole number with K, M, G or T (powers of 1024, as in Slurm; `B` or `iB` may follow). The
 * result is in MiB, rounded up. */
int units_parse_memory(const char *text, uint64_t *ret_mb, struct error *err);

/* Reads `TYPE:COUNT` or `COUNT`. Without a type `ret_type` becomes empty. */
int units_parse_gpus(const char *text, char ret_type[UNITS_GPU_TYPE_SIZE], uint32_t *ret_count,
                     struct error *err);

#endif
