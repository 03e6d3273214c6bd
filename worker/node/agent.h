/* `phase-worker node JOB_DIR`: the agent of one node, which the task there of the lead's srun step
 * has started (task.h). It lives as long as the job and serves its runs one after another, so that
 * the next run starts at once.
 *
 * The lead speaks through srun's broadcast standard input, a command a line:
 *
 *   start RUN_DIR      begin this run; the one before has ended
 *   go                 all nodes are fit: start the ranks that wait for it
 *   stop SECONDS       stop by the ladder, KILL after so many seconds
 *   relay SECONDS      the same, but for steps of the ranks: Slurm signals those itself
 *   expect SECONDS     the same, and Slurm signals the ranks, too
 *   kill               KILL now
 *   examine            the run may hang: look, and report
 *   testify            it hangs: put what was found into the journal
 *   join               all groups have succeeded: the first node joins what they have made
 *   finish             the run is gone on all nodes: tell its end
 *   end                leave
 *
 * The agent answers on its standard output with JSON lines: node_run.h's reports, and
 *
 *   {"report": "ready", "node": "n1", "index": 0}
 *   {"report": "superseded"}                        the run was ended without this node, or another
 *                                                   job has claimed its phase
 *   {"report": "terminated"}                        Slurm has sent SIGTERM to the step;
 *                                                   "all": true: to all its processes
 *
 * each with "node" and "index". When standard input ends without `end` the lead is gone: the agent
 * stops what runs and leaves, as when it finds its run superseded. When the task is killed, the
 * agent kills what runs. */
#ifndef PHASED_WORKER_NODE_AGENT_H
#define PHASED_WORKER_NODE_AGENT_H

enum {
    AGENT_ORPHAN_S = 10,  /* for a run whose lead is gone */
    AGENT_LOOK_MS = 5000, /* between looks for whether a run was ended without this node */
    /* A run was ended, and its agent may not have been told: then nothing of it is left. */
    AGENT_UNTOLD_MS = AGENT_LOOK_MS + AGENT_ORPHAN_S * 1000 + 1000,
};

/* Returns the exit status. */
int agent_main(const char *job_dir);

#endif
