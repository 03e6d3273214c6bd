/* The files in the folder of a job that say what it serves: current.json, {"run_dir"}, names the
 * run, and guests.json, {"job_dirs"}, the folders of phases that share the job. */
#ifndef PHASED_LIB_PROTOCOL_JOB_FILES_H
#define PHASED_LIB_PROTOCOL_JOB_FILES_H

#include <jansson.h>

struct error;

/* The name of a job's folder, borrowed from the path. The name has the token of the job. Two paths
 * of the folder may differ, such as by a symbolic link. */
const char *job_folder_name(const char *job_dir);

/* The caller frees the path of the run's folder. */
int current_read(const char *job_dir, char **ret_run_dir, struct error *err);
/* A new reference; NULL: the path is not UTF-8. */
json_t *current_to_json(const char *run_dir);

/* The list of paths, a new reference. NULL: the job has no guests. */
json_t *guests_read(const char *job_dir);
/* Takes over the reference to the list of paths. A new reference. */
json_t *guests_to_json(json_t *job_dirs);

#endif
