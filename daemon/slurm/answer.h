/* Translates Slurm's answers: error numbers into outcomes, job records into cluster jobs. */
#ifndef PHASED_DAEMON_SLURM_ANSWER_H
#define PHASED_DAEMON_SLURM_ANSWER_H

#include "daemon/slurm/cluster.h"
#include "daemon/slurm/versions.h"

/* Fills the outcome and the message after a call that failed with `slurm_error`. */
void answer_failure(struct cluster_result *result, int slurm_error);

/* Fills the jobs that carry a token, or only the job that carries `token` (if not NULL). If several
 * jobs have the same token, takes the job that has not ended, or else the latest. */
void answer_jobs(struct cluster_result *result, const job_info_msg_t *loaded, const char *token);

/* Whether any job carries `token`. */
bool answer_has_token(const job_info_msg_t *loaded, const char *token);

#endif
