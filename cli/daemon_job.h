/* The daemon as a job of Slurm: `phasectl daemon start --as-job`. The script `daemon-job` does the
 * work, in the job too. */
#ifndef PHASED_CLI_DAEMON_JOB_H
#define PHASED_CLI_DAEMON_JOB_H

#include <stdbool.h>

struct cli;
struct error;

/* Whether somebody has started the daemon of this home as a job, and not stopped it. */
bool daemon_job_is_wanted(const struct cli *cli);

/* Marks the home again as served by a job, after a `stop` that has failed. */
int daemon_job_want(const struct cli *cli, struct error *err);

/* Submits the job with these options of sbatch, which end with NULL and may be NULL. `ret_job` is
 * the number of the job; the caller frees it. */
int daemon_job_start(const struct cli *cli, char **options, char **ret_job, struct error *err);

/* Ends the daemon and all jobs of the home. */
int daemon_job_stop(const struct cli *cli, struct error *err);

/* Says which jobs the home has, in one line without its end, or "" if it has no job. `serving` is
 * the job in which the daemon runs, or "". The caller frees the line. */
int daemon_job_describe(const struct cli *cli, const char *serving, char **ret_line,
                        struct error *err);

#endif
