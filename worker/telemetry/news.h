/* What is worth a warning about the driver of the GPUs. This module is pure: it gets the time and
 * what was heard.
 *
 * Silence is counted from look to look. If more than NEWS_GAP_MS pass between two looks, Slurm has
 * suspended the agent, and the sampler with it. Then only NEWS_GAP_MS counts.
 *
 * A program's mistake may make the driver report the same Xid many times a second. An Xid of a GPU
 * is news once a minute. */
#ifndef PHASED_WORKER_TELEMETRY_NEWS_H
#define PHASED_WORKER_TELEMETRY_NEWS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NEWS_GAP_MS = 2000, /* twice the time between two looks */
    NEWS_AGAIN_MS = 60000,
    NEWS_XIDS_MAX = 64, /* that are remembered */
};

struct news_xid {
    int64_t gpu, number, told_ms;
};

struct news {
    int64_t looked_ms, silent_ms;
    struct news_xid xids[NEWS_XIDS_MAX];
    unsigned xid_count;
};

void news_init(struct news *news, int64_t now_ms);
/* The sampler has told something. */
void news_hear(struct news *news);
/* Looks every second. Returns how long the sampler has been silent. */
int64_t news_silence_ms(struct news *news, int64_t now_ms);

/* Whether an Xid that the driver has just reported is news. */
bool news_is_xid(struct news *news, int64_t gpu, int64_t number, int64_t now_ms);

#endif
