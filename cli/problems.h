/* What is wrong with a workflow file, as the daemon lists it or as it was found here: a line each
 * on standard error. */
#ifndef PHASED_CLI_PROBLEMS_H
#define PHASED_CLI_PROBLEMS_H

#include <jansson.h>

struct spec_problems;

/* `problems` is the API's array, or NULL; a member without a file means `file`. A warning may also
 * be a mere string. */
void problems_print(const char *file, const json_t *problems);
void problems_print_all(const struct spec_problems *problems);

#endif
