/* Judges the settings of a Slurm that may harm phased's runs, from what scontrol and sinfo print.
 * Pure: nothing is asked here. */
#ifndef PHASED_CLI_DOCTOR_SETTINGS_H
#define PHASED_CLI_DOCTOR_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

/* A partition, from a paragraph of `scontrol show partition`. */
struct setting_partition {
    char name[64];
    bool is_up;
    long tier;
    char preemption[64]; /* PreemptMode: OFF, REQUEUE, CANCEL, SUSPEND, ... */
    long grace_s;
    char max_time[32];
    char gpus[128]; /* such as "8 x gpu:h100:8"; empty: none */
    bool has_gpus;
    size_t nodes, away; /* of `sinfo` */
    char *nodelist;     /* the names of its nodes, such as "n[1-4]" */
};

/* Trial submissions to the partitions that are up. */
struct setting_trials {
    size_t tried;    /* Slurm has answered */
    size_t taken;    /* of `tried`: Slurm would take the job */
    size_t silent;   /* Slurm has not answered in time */
    size_t left_out; /* not tried, because the trials before took too long */
};

/* Copies the value of a line "KEY   = VALUE" of `scontrol show config`, without a unit such as
 * " sec". Empty if the release of Slurm does not have the key, or if the value is (null). */
void setting_value(const char *config, const char *key, char *ret_value, size_t size);

/* Judges the settings of the whole cluster. */
void setting_judge(const char *config, json_t *findings);

/* Compares the Slurm of phased's module to the controller's: texts such as "24.11.5". */
void setting_judge_version(const char *built, const char *controller, json_t *findings);

/* Reads the texts of `scontrol show partition` and of `sinfo -h -o %R|%G|%F`. Returns the number of
 * partitions. The caller frees the list with setting_free_partitions(). */
size_t setting_read_partitions(const char *partitions, const char *nodes,
                               struct setting_partition **ret_list);
void setting_free_partitions(struct setting_partition *list, size_t count);

/* Judges one partition, but not whether the user may use it. */
void setting_judge_partition(const char *config, const struct setting_partition *list, size_t count,
                             size_t index, json_t *findings);

/* Judges whether the user may use the partitions. */
void setting_judge_trials(const struct setting_trials *trials, json_t *findings);

#endif
