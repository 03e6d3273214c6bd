/* One job's description in libslurm's form, with all the memory that it points to.
 *
 * The caller's thread makes the submission, so that wrong options are refused at once, and hands it
 * to the Slurm thread. Making a submission calls no function of libslurm. */
#ifndef PHASED_DAEMON_SLURM_SUBMISSION_H
#define PHASED_DAEMON_SLURM_SUBMISSION_H

#include "daemon/slurm/versions.h"

#include <stdbool.h>
#include <stdint.h>

struct cluster_description;
struct error;
struct text;

struct submission {
    job_desc_msg_t job;
    bool can_chain;
    const char *excluded; /* the last part of job.exc_nodes (see cluster.h), or NULL */
    char **environment;
    char *strings[128]; /* the memory of `job`, without the environment; NULL-terminated */
};

/* `defaults` is the result of slurm_init_job_desc_msg(). -EINVAL: `err` names what no cluster can
 * take. The caller frees the result. */
int submission_new(const job_desc_msg_t *defaults, const struct cluster_description *description,
                   struct submission **ret_submission, struct error *err);
/* Fits the time into a partition's limit (UINT32_MAX: no limit). A job that can go on in another
 * job gets the limit as its time. Any other job is refused, because Slurm would let it wait
 * forever. A job with a QOS is not changed, because the QOS may allow more. */
int submission_fit(struct submission *submission, uint32_t limit_minutes, struct error *err);
/* Drops the excluded nodes that do not exist, and appends their names to `dropped`, with commas
 * between. Returns whether any node was dropped. */
bool submission_drop_nodes(struct submission *submission,
                           bool (*is_node)(void *context, const char *name), void *context,
                           struct text *dropped);
void submission_free(struct submission *submission);

#endif
