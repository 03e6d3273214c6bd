/* One job's description in libslurm's form, with all the memory that it points to.
 *
 * It is made where the request is made, so that wrong options are refused at once, and handed to
 * the Slurm thread: making one calls nothing of libslurm. */
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
    const char *excluded; /* the end of job.exc_nodes, or NULL: see cluster.h */
    char **environment;
    char *strings[128]; /* what `job` points to beside the environment; NULL-terminated */
};

/* `defaults` is what slurm_init_job_desc_msg() makes; `now` is what relative times start from.
 * -EINVAL names what cannot be submitted anywhere. The result is the caller's. */
int submission_new(const job_desc_msg_t *defaults, const struct cluster_description *description,
                   int64_t now, struct submission **ret_submission, struct error *err);
/* Fits the time into a partition's limit (UINT32_MAX: none): a job that is continued by another
 * asks for no more, any other is refused, since Slurm would let it wait for ever. A job with a QOS
 * is left alone, as that may have the right to more. */
int submission_fit(struct submission *submission, uint32_t limit_minutes, struct error *err);
/* Drops those of the excluded nodes that are none, and appends their names, with commas between, to
 * `dropped`. Returns whether there was one. */
bool submission_drop_nodes(struct submission *submission,
                           bool (*is_node)(void *context, const char *name), void *context,
                           struct text *dropped);
void submission_free(struct submission *submission);

#endif
