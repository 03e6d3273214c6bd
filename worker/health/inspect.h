/* `phase-worker inspect PID...`: asks the installed tools that know more about processes and GPUs
 * than /proc does. py-spy tells where the Python programs among the processes are, and nvidia-smi
 * tells about the GPUs. Agents use it (worker/node/watchdog.c), because their loop must not wait
 * for the tools. People may use it, too. It prints a told_inspection
 * (lib/protocol/told_evidence.h) without the members that have no answer:
 *
 *   {"nvidia_smi": "...", "python": [{"pid": 4711, "stacks": "..."}]}
 *
 * Its time and its output are bounded. It inspects the INSPECT_PYTHONS_MAX processes with most
 * threads. It prints the stacks of each process, cut, with the main thread first and without the
 * command line. It ends within INSPECT_DEADLINE_MS. A tool that hangs, such as nvidia-smi with a
 * wedged GPU, is left behind. */
#ifndef PHASED_WORKER_HEALTH_INSPECT_H
#define PHASED_WORKER_HEALTH_INSPECT_H

enum {
    INSPECT_PYTHONS_MAX = 8,
    INSPECT_STACKS_MAX = 4096, /* bytes of one process */
    INSPECT_GPUS_MAX = 8192,   /* bytes of nvidia-smi */
    INSPECT_DEADLINE_MS = 4000,
};

int inspect_main(int argc, char **argv);

#endif
