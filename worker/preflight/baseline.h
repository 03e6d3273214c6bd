/* A site's own baseline: what a good node measured, in the form of etc/preflight.yaml. */
#ifndef PHASED_WORKER_PREFLIGHT_BASELINE_H
#define PHASED_WORKER_PREFLIGHT_BASELINE_H

struct speed;
struct text;

/* Adds a file with the lowest figure of each kind, in whole numbers rounded down. Returns how many
 * figures it has. Pure. */
unsigned baseline_text(const struct speed *speed, const char *node, struct text *text);

#endif
