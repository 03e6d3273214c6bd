/* What this machine knows about a spec: whether bash can read its scripts, and its paths exist. */
#ifndef PHASED_CLI_PROBE_H
#define PHASED_CLI_PROBE_H

#include "lib/spec/spec.h"

struct source;
struct spec_overrides;

/* Returns a probe for lib/spec; probe_end() frees it. It tries each script once, because phases
 * that extend each other share their scripts. */
struct spec_probe probe_begin(void);
void probe_end(struct spec_probe *probe);

/* Prints what only this machine can check; the daemon checks the rest. Returns false for an error,
 * true for warnings. */
bool probe_print(const struct source *source, const struct spec_overrides *overrides);

#endif
