/* What is worth a warning about the driver of the GPUs. This module is pure: it gets the time and
 * what was heard.
 *
 * Silence is counted from look to look. If more than NEWS_GAP_MS pass between two looks, Slurm has
 * suspended the agent, and the sampler with it. Then only NEWS_GAP_MS counts. */
#ifndef PHASED_WORKER_TELEMETRY_NEWS_H
#define PHASED_WORKER_TELEMETRY_NEWS_H

#include <stdint.h>

enum { NEWS_GAP_MS = 2000 }; /* twice the time between two looks */

struct news {
    int64_t looked_ms, silent_ms;
};

void news_init(struct news *news, int64_t now_ms);
/* The sampler has told something. */
void news_hear(struct news *news);
/* Looks every second. Returns how long the sampler has been silent. */
int64_t news_silence_ms(struct news *news, int64_t now_ms);

#endif
