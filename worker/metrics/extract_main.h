/* `phase-worker extract < log`: prints what would be read from a log, one JSON object a line. */
#ifndef PHASED_WORKER_METRICS_EXTRACT_MAIN_H
#define PHASED_WORKER_METRICS_EXTRACT_MAIN_H

/* `words` are the arguments after "extract". Reads standard input, writes standard output. Returns
 * the exit code: 0; 1 if reading or writing failed; 2 for wrong usage. */
int extract_main(char **words);

#endif
