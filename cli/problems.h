/* What is wrong with a workflow file, as the daemon lists it: a line each on standard error. */
#ifndef PHASED_CLI_PROBLEMS_H
#define PHASED_CLI_PROBLEMS_H

#include <jansson.h>

/* `problems` is the API's array, or NULL; a member without a file means `file`. A warning may also
 * be a mere string. */
void problems_print(const char *file, const json_t *problems);

#endif
