/* The differences between the releases of Slurm that phased can be built with, 22.05 to 26.05.
 *
 * Every file here includes this header instead of libslurm's own headers. `build-slurm features`
 * checks for each feature, not for a version: sites and distributions patch their Slurm. */
#ifndef PHASED_DAEMON_SLURM_VERSIONS_H
#define PHASED_DAEMON_SLURM_VERSIONS_H

#include "daemon/slurm/features.h"

#include <stdint.h>

/* Since 26.05 calls take a structure instead of a job's number. With this macro calls take both. */
#define SLURM_BACKWARD_COMPAT 1

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* Since 26.05 the error is named after its one cause, a full cluster (MaxJobCount). */
#ifndef HAVE_ESLURM_MAX_JOB_COUNT
#define ESLURM_MAX_JOB_COUNT ESLURM_ERROR_ON_DESC_TO_RECORD_COPY
#endif

/* Renamed in 26.05. */
#ifndef HAVE_SLURM_FREE_CONF
#define slurm_free_conf slurm_free_ctl_conf
#endif

/* Since 25.11 the number of a job is part of its step id. */
static inline void job_desc_set_id(job_desc_msg_t *job, uint32_t id)
{
#ifdef HAVE_JOB_DESC_MSG_T_JOB_ID
    job->job_id = id;
#else
    job->step_id.job_id = id;
#endif
}

static inline uint32_t submit_response_id(const submit_response_msg_t *response)
{
#ifdef HAVE_SUBMIT_RESPONSE_MSG_T_JOB_ID
    return response->job_id;
#else
    return response->step_id.job_id;
#endif
}

/* libslurm exports this function, but no public header declares it. It was renamed in 24.05. The
 * name that libslurm does not have is NULL. */
const char *slurm_job_state_reason_string(enum job_state_reason reason) __attribute__((weak));
char *slurm_job_reason_string(enum job_state_reason reason) __attribute__((weak));

static inline const char *reason_string(enum job_state_reason reason)
{
    if (slurm_job_state_reason_string)
        return slurm_job_state_reason_string(reason);
    return slurm_job_reason_string ? slurm_job_reason_string(reason) : NULL;
}

/* libslurm exports this function, and the manual names it, but no header declares it. */
void slurm_free_will_run_response_msg(will_run_response_msg_t *response);

#endif
