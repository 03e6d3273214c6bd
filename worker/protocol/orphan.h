/* What an agent that has lost srun tells the lead.
 *
 * srun does not notice that the slurmstepd of a node was killed. It waits for the task of that node
 * without a limit. The agent there notices, because its standard input ends. It can no longer reach
 * srun, so it makes a file in the job's folder, and the lead looks for that file. If the lead
 * itself is gone, nobody reads the file, and the file does no harm. */
#ifndef PHASED_WORKER_PROTOCOL_ORPHAN_H
#define PHASED_WORKER_PROTOCOL_ORPHAN_H

/* Has the path of the file, for the agents. */
#define ORPHAN_VARIABLE "PHASED_ORPHAN"

/* Gives the file a name that no other lead of the folder uses, and puts its path into the
 * environment, which srun passes on. Returns the path; the caller frees it. */
char *orphan_name_file(const char *job_dir);

/* Tells that the agent of this node has lost srun. */
void orphan_tell(void);

/* Returns the node whose agent has lost srun, of several nodes the last. NULL: there is no such
 * node. The caller frees the name. */
char *orphan_read(const char *path);

#endif
