/* The options of sbatch that the map `slurm:` of a spec may have, under sbatch's long names.
 * daemon/slurm puts each into the description of a job.
 *
 * Names are written with '_'; sbatch's spelling with '-' is accepted too. Options that have a key
 * of their own in the spec (nodes, gpus, time, output, requeue, signal ...) are not in this
 * list. */
#ifndef PHASED_LIB_SPEC_SLURM_OPTIONS_H
#define PHASED_LIB_SPEC_SLURM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

struct error;

/* {symbol, name, type}, in the order of their names. */
#define SLURM_OPTIONS(X)                                                                           \
    X(ACCOUNT, "account", STRING)                                                                  \
    X(ACCTG_FREQ, "acctg_freq", STRING)                                                            \
    X(BB, "bb", STRING)                                                                            \
    X(BEGIN, "begin", TIME)                                                                        \
    X(COMMENT, "comment", STRING)                                                                  \
    X(CONSTRAINT, "constraint", STRING)                                                            \
    X(CONTIGUOUS, "contiguous", FLAG)                                                              \
    X(CORE_SPEC, "core_spec", SHORT)                                                               \
    X(DEADLINE, "deadline", TIME)                                                                  \
    X(DEPENDENCY, "dependency", STRING)                                                            \
    X(EXCLUDE, "exclude", STRING)                                                                  \
    X(EXCLUSIVE, "exclusive", FLAG)                                                                \
    X(GPU_FREQ, "gpu_freq", STRING)                                                                \
    X(GRES, "gres", STRING)                                                                        \
    X(LICENSES, "licenses", STRING)                                                                \
    X(MAIL_TYPE, "mail_type", MAIL)                                                                \
    X(MAIL_USER, "mail_user", STRING)                                                              \
    X(MCS_LABEL, "mcs_label", STRING)                                                              \
    X(MEM, "mem", MEMORY)                                                                          \
    X(MEM_PER_CPU, "mem_per_cpu", MEMORY)                                                          \
    X(MEM_PER_GPU, "mem_per_gpu", MEMORY)                                                          \
    X(NETWORK, "network", STRING)                                                                  \
    X(NICE, "nice", NICE)                                                                          \
    X(NODELIST, "nodelist", STRING)                                                                \
    X(OVERSUBSCRIBE, "oversubscribe", FLAG)                                                        \
    X(PARTITION, "partition", STRING)                                                              \
    X(PREFER, "prefer", STRING)                                                                    \
    X(PRIORITY, "priority", INTEGER)                                                               \
    X(QOS, "qos", STRING)                                                                          \
    X(RESERVATION, "reservation", STRING)                                                          \
    X(SWITCHES, "switches", SWITCHES)                                                              \
    X(THREADS_PER_CORE, "threads_per_core", SHORT)                                                 \
    X(TIME_MIN, "time_min", DURATION)                                                              \
    X(TMP, "tmp", MEMORY)                                                                          \
    X(WCKEY, "wckey", STRING)

enum slurm_option {
#define X(symbol, name, type) SLURM_OPTION_##symbol,
    SLURM_OPTIONS(X)
#undef X
        SLURM_OPTION_COUNT,
};

/* The largest number of 16 bits. Higher values are Slurm's marks for "none" and "no limit". */
enum { SLURM_SHORT_MAX = UINT16_MAX - 2 };

enum slurm_option_type {
    SLURM_VALUE_STRING,   /* not empty */
    SLURM_VALUE_SHORT,    /* 0 to SLURM_SHORT_MAX */
    SLURM_VALUE_INTEGER,  /* 0 to 4294967293 */
    SLURM_VALUE_NICE,     /* -2147483645 to 2147483645 */
    SLURM_VALUE_MEMORY,   /* in MiB: 256G, 4000; K, M, G, T are powers of 1024, as in sbatch */
    SLURM_VALUE_FLAG,     /* 0 or 1: true or false */
    SLURM_VALUE_DURATION, /* in minutes: 1h30m, or as in sbatch 90, 1:30:00, 2-12:00 */
    SLURM_VALUE_TIME,     /* in s since 1970: 2026-01-31T18:00, 18:00, tomorrow, now+90minutes */
    SLURM_VALUE_MAIL,     /* a bit for each enum slurm_mail: END,FAIL */
    SLURM_VALUE_SWITCHES, /* COUNT or COUNT@TIME: the minutes * 2^32 + the count */
};

/* The words of --mail-type. ARRAY_TASKS has no effect: phased submits each task as its own job. */
#define SLURM_MAILS(X)                                                                             \
    X(NONE)                                                                                        \
    X(BEGIN)                                                                                       \
    X(END)                                                                                         \
    X(FAIL)                                                                                        \
    X(REQUEUE)                                                                                     \
    X(STAGE_OUT)                                                                                   \
    X(ALL)                                                                                         \
    X(INVALID_DEPEND)                                                                              \
    X(TIME_LIMIT)                                                                                  \
    X(TIME_LIMIT_90)                                                                               \
    X(TIME_LIMIT_80)                                                                               \
    X(TIME_LIMIT_50)                                                                               \
    X(ARRAY_TASKS)

enum slurm_mail {
#define X(name) SLURM_MAIL_##name,
    SLURM_MAILS(X)
#undef X
        SLURM_MAIL_COUNT,
};

const char *slurm_option_name(enum slurm_option option);
enum slurm_option_type slurm_option_type(enum slurm_option option);
/* Returns the name with `_` where sbatch has `-`. The caller frees it. */
char *slurm_option_spell(const char *name);
/* Returns the option called `name`. -ENOENT: there is no such option; `err` has the nearest
 * name. */
int slurm_option_find(const char *name, struct error *err);
/* Reads `value` by the type of the option. Relative times start from `now`. `ret_number`, which may
 * be NULL, gets the number in the unit named above, or 0 for a string. Returns -EINVAL if the value
 * is wrong. */
int slurm_option_read(enum slurm_option option, const char *value, int64_t now, int64_t *ret_number,
                      struct error *err);

#endif
