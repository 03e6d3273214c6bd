/* Lists of nodes as Slurm abbreviates them: "n[1-3,7],gpu[01-04]-ib". */
#ifndef PHASED_DAEMON_STORE_NODES_H
#define PHASED_DAEMON_STORE_NODES_H

#include <jansson.h>

enum { NODES_COUNT_MAX = 10000 }; /* names in one list; further names are left out */

/* A new array of names. A part that is not a list of nodes is one name, as it is. */
json_t *nodes_expand(const char *list);

#endif
