/* What differs between the releases of Slurm that phased is built with, 22.05 to 26.05.
 *
 * Every file here includes this instead of libslurm's own headers. configure looks for each thing
 * by itself, not for a version: sites patch their Slurm, and distributions too. */
#ifndef PHASED_DAEMON_SLURM_VERSIONS_H
#define PHASED_DAEMON_SLURM_VERSIONS_H

#include "config.h"

#include <stdint.h>

/* Since 26.05 calls take a structure where they took a job's number. With this they take both. */
#define SLURM_BACKWARD_COMPAT 1

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* Since 26.05 the error has the name of its one cause, a cluster that is full (MaxJobCount). */
#if !HAVE_DECL_ESLURM_MAX_JOB_COUNT
#define ESLURM_MAX_JOB_COUNT ESLURM_ERROR_ON_DESC_TO_RECORD_COPY
#endif

/* Renamed in 26.05. */
#if !HAVE_DECL_SLURM_FREE_CONF
#define slurm_free_conf slurm_free_ctl_conf
#endif

/* Since 25.11 a job's number is a part of a step's. */
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

/* Exported, but in no public header, and renamed in 24.05. NULL where libslurm has neither. */
#if defined HAVE_SLURM_JOB_STATE_REASON_STRING
const char *slurm_job_state_reason_string(enum job_state_reason reason);
#elif defined HAVE_SLURM_JOB_REASON_STRING
char *slurm_job_reason_string(enum job_state_reason reason);
#endif

static inline const char *reason_string(enum job_state_reason reason)
{
#if defined HAVE_SLURM_JOB_STATE_REASON_STRING
    return slurm_job_state_reason_string(reason);
#elif defined HAVE_SLURM_JOB_REASON_STRING
    return slurm_job_reason_string(reason);
#else
    (void)reason;
    return NULL;
#endif
}

/* Exported and named as the way to free, but declared nowhere. */
void slurm_free_will_run_response_msg(will_run_response_msg_t *response);

#endif
