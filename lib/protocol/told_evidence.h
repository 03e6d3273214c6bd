/* The entry `evidence` of the journal: what a node saw when the run seemed to hang. A pointer that
 * is absent is NULL. */
#ifndef PHASED_LIB_PROTOCOL_TOLD_EVIDENCE_H
#define PHASED_LIB_PROTOCOL_TOLD_EVIDENCE_H

#include <jansson.h>
#include <stdint.h>

struct told_evidence {
    double seconds;    /* between the two looks at the processes */
    int64_t omitted;   /* how many processes are not in the list */
    json_t *processes; /* a list of told_process */
    const char *nccl;  /* what the RAS service of NCCL answered */
    json_t *python;    /* a list of told_stacks */
    const char *nvidia_smi;
    json_t *gpus;  /* a sample (sampler_line.h) of the newest second */
    double silent; /* how long the run has shown nothing, in seconds */
    const char *summary;
};

/* A process at the second look. */
struct told_process {
    int64_t pid, parent;
    const char *state;        /* the letter of /proc/PID/stat */
    double cpu;               /* of one processor */
    int64_t threads, sockets; /* how many the process has */
    int64_t rank, group;      /* of a phase with `launch: rank` or `launch: group`; -1: absent */
    const char *does;         /* sleeps, spins or stuck (waits uninterruptibly) */
    const char *name, *command;
    const char *call; /* the system call: "futex" */
    const char *wait; /* the kernel function in which the thread sleeps: "futex_wait_queue" */
};

/* What `phase-worker inspect` prints. */
struct told_inspection {
    const char *nvidia_smi;
    json_t *python; /* a list of told_stacks */
};

/* What py-spy says of a Python program. */
struct told_stacks {
    int64_t pid;
    const char *stacks;
};

/* Each reads any JSON, and borrows from it. The others return a new reference; NULL: a text is not
 * UTF-8. */
struct told_evidence told_evidence_read(const json_t *json);
json_t *told_evidence_to_json(const struct told_evidence *evidence);
struct told_process told_process_read(const json_t *json);
json_t *told_process_to_json(const struct told_process *process);
struct told_inspection told_inspection_read(const json_t *json);
json_t *told_inspection_to_json(const struct told_inspection *inspection);
struct told_stacks told_stacks_read(const json_t *json);
json_t *told_stacks_to_json(const struct told_stacks *stacks);

#endif
