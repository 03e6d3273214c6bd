/* What this machine tells of a spec: bash -n of its scripts, and whether its paths are here. */
#ifndef PHASED_CLI_PROBE_H
#define PHASED_CLI_PROBE_H

#include "lib/spec/spec.h"

struct source;
struct spec_overrides;

/* For lib/spec. Each script is tried once, as phases that extend each other share theirs; ended by
 * probe_end(). */
struct spec_probe probe_begin(void);
void probe_end(struct spec_probe *probe);

/* Prints what this machine alone can tell of the file; the daemon tells the rest. Returns false
 * when something of it is wrong, rather than doubtful. */
bool probe_print(const struct source *source, const struct spec_overrides *overrides);

#endif
