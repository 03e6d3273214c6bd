/* Prints the problems of a workflow file, one line each, to standard error. The daemon or phasectl
 * has found them. */
#ifndef PHASED_CLI_PROBLEMS_H
#define PHASED_CLI_PROBLEMS_H

#include <jansson.h>

struct spec_problems;

/* `problems` is an array of the API, or NULL. A problem without a file is one of `file`. A warning
 * may also be a string. */
void problems_print(const char *file, const json_t *problems);
void problems_print_all(const struct spec_problems *problems);

#endif
