/* `phase-worker gpus`: prints what the GPUs do, a line of JSON each second
 * (lib/protocol/sampler_line.h). The agent uses it (worker/telemetry/watch.h), and people may, too.
 */
#ifndef PHASED_WORKER_TELEMETRY_SAMPLER_H
#define PHASED_WORKER_TELEMETRY_SAMPLER_H

/* `words` are the arguments after "gpus". With --detach the sampler continues as nobody's child,
 * ignores the signals of the step, and ends at the end of its standard input. Returns the exit
 * code: 0; 1 without GPUs; 2 for wrong usage. */
int sampler_main(char **words);

#endif
