/* `phase-worker node JOB_DIR`: the agent of one node. The task in the lead's job step has started
 * it (task.h). The agent lives as long as the job and serves its runs one after another, so that
 * the next run starts at once.
 *
 * The lead sends commands through the standard input of srun, one command a line:
 *
 *   start RUN_DIR      begin this run; the run before it has ended
 *   go                 all nodes are fit: start the waiting ranks
 *   stop SECONDS       stop by the ladder, with KILL after this time
 *   relay SECONDS      like stop, but Slurm itself signals the job steps of the ranks
 *   expect SECONDS     like relay, and Slurm also signals the ranks
 *   kill               send KILL now
 *   examine            the run may hang: look at it, and report
 *   evidence           the run hangs: put the evidence into the journal
 *   suspect            from now on, new checkpoints are suspect
 *   numbered           the daemon has given the run a number: open the link
 *   join               all groups have succeeded: the first node joins their output
 *   finish             the run is gone on all nodes: report its end
 *   end                leave
 *
 * The agent answers on its standard output with reports (lib/protocol/report.h). If standard input
 * ends without `end`, the lead is gone. Then the agent stops the run and leaves. It does the same
 * when its run is superseded. If the task is killed, the agent kills all processes. */
#ifndef PHASED_WORKER_NODE_AGENT_H
#define PHASED_WORKER_NODE_AGENT_H

enum {
    AGENT_ORPHAN_S = 10,  /* to stop a run whose lead is gone */
    AGENT_LOOK_MS = 5000, /* between two looks whether the run was ended without this node */
    /* An agent may not be told of the end of its run. After this time it has noticed the end, and
     * has stopped its processes. */
    AGENT_UNTOLD_MS = AGENT_LOOK_MS + AGENT_ORPHAN_S * 1000 + 1000,
};

/* Returns the exit code. */
int agent_main(const char *job_dir);

#endif
