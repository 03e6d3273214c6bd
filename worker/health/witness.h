/* `phase-worker witness PID...`: asks the tools that know more of processes and GPUs than /proc
 * tells, where they are installed: py-spy, where the Python programs among those processes stand,
 * and nvidia-smi. It is for agents (worker/health/testimony.h), whose loop must not wait for
 * either, and for people. Prints one object, whose members are left out where nothing came:
 *
 *   {"python": [{"pid": 4711, "stacks": "..."}], "nvidia_smi": "..."}
 *
 * Bounded: the WITNESS_PYTHONS_MAX processes with most threads, of each as much as says where its
 * main thread stands and little more, WITNESS_DEADLINE_MS for all. A tool that hangs, as
 * nvidia-smi does with a wedged GPU, is left behind. */
#ifndef PHASED_WORKER_HEALTH_WITNESS_H
#define PHASED_WORKER_HEALTH_WITNESS_H

enum {
    WITNESS_PYTHONS_MAX = 8,
    WITNESS_STACKS_MAX = 4096, /* bytes of one process */
    WITNESS_GPUS_MAX = 8192,   /* and of nvidia-smi */
    WITNESS_DEADLINE_MS = 4000,
};

int witness_main(int argc, char **argv);

#endif
