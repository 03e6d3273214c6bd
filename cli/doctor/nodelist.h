/* Lists of nodes as Slurm writes them: n[1-4,7],gpu-a[01-16],login. */
#ifndef PHASED_CLI_DOCTOR_NODELIST_H
#define PHASED_CLI_DOCTOR_NODELIST_H

#include <stdbool.h>

/* Whether two lists have a node in common. True also if a list has names that cannot be compared,
 * such as r[1-2]n[1-8]. */
bool nodelist_may_share(const char *left, const char *right);

#endif
