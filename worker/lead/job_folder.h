/* The files in a job's folder that say who serves it and what: `claim` and `current.json`
 * (doc/protocol.md). */
#ifndef PHASED_WORKER_LEAD_JOB_FOLDER_H
#define PHASED_WORKER_LEAD_JOB_FOLDER_H

struct error;
struct phase_life;

/* Claims the folder for a job. A later life of the same job (id and token, and no fewer restarts)
 * finds its own claim. Returns -EBUSY when another job has it, whose id is told in `err`; another
 * negative errno when it could be neither claimed nor found claimed, as on a full disk. */
int job_folder_claim(const char *job_dir, const struct phase_life *life, struct error *err);

/* -EBUSY: the run in `run_dir` is that of another job folder: the daemon has set aside what a lead
 * that was believed gone had begun there. Jobs are known by the names of their folders. */
int job_folder_check_run(const char *job_dir, const char *run_dir, struct error *err);

/* The folder of the run that the job serves now, the caller's to free(). -EBUSY: as above. */
int job_folder_read_current(const char *job_dir, char **ret_run_dir, struct error *err);
int job_folder_replace_current(const char *job_dir, const char *run_dir, struct error *err);

#endif
