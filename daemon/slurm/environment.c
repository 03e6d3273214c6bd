/* Copies the captured environment without the variables of other jobs, and adds sbatch's
 * variables. */
#include "daemon/slurm/environment.h"

#include "daemon/slurm/cluster.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The variables that sbatch adds, without the limits, and the NULL. */
enum { ENVIRONMENT_ADDED_MAX = 8 };

struct list {
    char **strings;
    uint32_t count;
};

static void list_add(struct list *list, char *string)
{
    list->strings[list->count++] = string;
}

static size_t strings_count(const char *const *strings)
{
    size_t count = 0;
    while (strings && strings[count])
        count++;
    return count;
}

/* Whether Slurm or one of its commands set the variable, for the job or shell of the capture. */
static bool is_of_slurm(const char *variable)
{
    return text_starts(variable, "SLURM_") || text_starts(variable, "SLURMD_") ||
           text_starts(variable, "SBATCH_") || text_starts(variable, "SRUN_") ||
           text_starts(variable, "SALLOC_");
}

static char *submit_host(const struct cluster_description *description)
{
    char name[HOST_NAME_MAX + 1] = "localhost";
    if (!description->submit_host)
        (void)gethostname(name, sizeof name - 1); /* if the name is too long, "localhost" stays */
    return text_format("SLURM_SUBMIT_HOST=%s",
                       description->submit_host ? description->submit_host : name);
}

/* Reads the umask from /proc. umask() can read it only by setting it, for the whole process. */
static unsigned own_umask(void)
{
    unsigned mask = S_IWGRP | S_IWOTH;
    char line[128];
    FILE *status = fopen("/proc/self/status", "re");
    while (status && fgets(line, sizeof line, status)) {
        if (sscanf(line, "Umask: %o", &mask) == 1)
            break;
    }
    if (status)
        (void)fclose(status); /* it was only read */
    return mask;
}

char **environment_new(const struct cluster_description *description, uint32_t *ret_count)
{
    size_t captured = strings_count(description->environment);
    size_t limits = strings_count(description->limits);
    struct list list = {0};
    list.strings = xcalloc(captured + limits + ENVIRONMENT_ADDED_MAX, sizeof *list.strings);

    for (size_t i = 0; i < captured; i++) {
        if (!is_of_slurm(description->environment[i]))
            list_add(&list, xstrdup(description->environment[i]));
    }
    for (size_t i = 0; i < limits; i++)
        list_add(&list, text_format("SLURM_RLIMIT_%s", description->limits[i]));
    list_add(&list, text_format("SLURM_UMASK=0%03o", description->umask >= 0
                                                         ? (unsigned)description->umask & 0777
                                                         : own_umask()));
    list_add(&list,
             text_format("SLURM_SUBMIT_DIR=%s", description->submit_dir ? description->submit_dir
                                                                        : description->work_dir));
    list_add(&list, submit_host(description));
    list_add(&list, text_format("SLURM_JOB_NAME=%s", description->name));
    list_add(&list, text_format("SLURM_PRIO_PROCESS=0"));
    /* The job's own srun must find the cluster that the daemon found. */
    const char *conf = getenv("SLURM_CONF");
    if (conf)
        list_add(&list, text_format("SLURM_CONF=%s", conf));
    *ret_count = list.count;
    return list.strings;
}

void environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}
