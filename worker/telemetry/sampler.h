/* `phase-worker gpus`: prints what the GPUs do, a line of JSON a second. For the agent
 * (worker/telemetry/watch.h), and for people.
 *
 *   {"pid": 4711}                         when detached, before the driver is asked anything
 *   {"devices": {...}}                    as reader_devices()
 *   {"time": ..., "gpus": [...], ...}     a second (worker/telemetry/second.h)
 *   {"lost": 3, "why": "GPU is lost"}
 *   {"xid": 79, "gpu": 3}
 *   {"absent": "..."}, {"trouble": "..."}  there is no driver; it fails: the last line */
#ifndef PHASED_WORKER_TELEMETRY_SAMPLER_H
#define PHASED_WORKER_TELEMETRY_SAMPLER_H

/* `words` are those after "gpus". With --detach the process goes on as a child of nobody, ignores
 * the signals of the step, and ends when its standard input ends. Returns the exit status: 0, 1
 * without GPUs, 2 for wrong usage. */
int sampler_main(char **words);

#endif
