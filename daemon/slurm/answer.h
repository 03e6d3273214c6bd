/* What Slurm's answers mean: its error numbers as outcomes, its job records as ours. */
#ifndef PHASED_DAEMON_SLURM_ANSWER_H
#define PHASED_DAEMON_SLURM_ANSWER_H

#include "daemon/slurm/cluster.h"
#include "daemon/slurm/versions.h"

/* Fills outcome and message after a call that failed with `slurm_error`. */
void answer_failure(struct cluster_result *result, int slurm_error);

/* Fills the jobs that carry a token, or only the one that carries `token` (not NULL); of several
 * with the same token the one that has not ended, otherwise the latest. */
void answer_jobs(struct cluster_result *result, const job_info_msg_t *loaded, const char *token);

/* Whether one of the jobs carries `token`. */
bool answer_has_token(const job_info_msg_t *loaded, const char *token);

/* A number that differs between lists of jobs that differ in anything that callers see. */
uint64_t answer_jobs_digest(const struct cluster_result *result);

#endif
