/* What only the machine on which a file is checked can tell: whether bash takes its scripts, and
 * whether the paths that it names are there. The parser asks nobody by itself; phasectl does, the
 * daemon does not. */
#ifndef PHASED_LIB_SPEC_PROBE_H
#define PHASED_LIB_SPEC_PROBE_H

#include <jansson.h>
#include <stdbool.h>

struct node;
struct spec_problems;

struct spec_probe {
    /* What bash says of the script's grammar, the caller's, and the line, from 1; NULL: nothing is
     * wrong, or there is no bash. */
    char *(*script)(void *context, const char *script, unsigned *ret_line);
    /* Why the path is of no use here, borrowed; NULL: it is. */
    const char *(*path)(void *context, const char *path, bool is_folder);
    void *context;
};

/* Adds what is wrong with scripts, and warnings of paths that are not here: they may be on the
 * nodes. `phase` is merged, `json` resolved; a NULL `probe` is asked nothing. */
void probe_phase(const struct spec_probe *probe, struct spec_problems *problems,
                 const struct node *phase, const json_t *json);

#endif
