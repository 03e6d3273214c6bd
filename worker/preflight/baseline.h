/* A site's own baseline: the figures of a good node, in the form of etc/preflight.yaml. */
#ifndef PHASED_WORKER_PREFLIGHT_BASELINE_H
#define PHASED_WORKER_PREFLIGHT_BASELINE_H

struct speed;
struct text;

/* Adds a file with the lowest figure of each kind, rounded down to whole numbers. Returns how many
 * figures the file has. Pure. */
unsigned baseline_text(const struct speed *speed, const char *node, struct text *text);

#endif
