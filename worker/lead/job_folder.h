/* Two files in a job's folder (doc/protocol.md): `claim` names the job that serves the folder, and
 * `current.json` names the run that the job serves. */
#ifndef PHASED_WORKER_LEAD_JOB_FOLDER_H
#define PHASED_WORKER_LEAD_JOB_FOLDER_H

struct error;
struct phase_life;

/* Claims the folder for a job. A later life of the same job (the same id and token, and at least as
 * many restarts) finds its own claim. Returns -EBUSY if another job has the folder; `err` names
 * that job. Returns another negative errno if the folder could not be claimed and has no claim, for
 * example on a full disk. */
int job_folder_claim(const char *job_dir, const struct phase_life *life, struct error *err);

/* Checks that the run in `run_dir` belongs to this job folder. -EBUSY: the run belongs to another
 * job folder. This happens after the daemon has taken a lead for dead: it then sets aside the run
 * that the lead has begun there, or prepares the run for another job. A job is recognised by the
 * name of its folder. */
int job_folder_check_run(const char *job_dir, const char *run_dir, struct error *err);

/* Returns the folder of the run that the job serves now; the caller frees the path. -EBUSY: see
 * job_folder_check_run(). */
int job_folder_read_current(const char *job_dir, char **ret_run_dir, struct error *err);
int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err);

#endif
