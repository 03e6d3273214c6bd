/* Counts silence. */
#include "worker/telemetry/news.h"

void news_init(struct news *news, int64_t now_ms)
{
    *news = (struct news){.looked_ms = now_ms};
}

void news_hear(struct news *news)
{
    news->silent_ms = 0;
}

int64_t news_silence_ms(struct news *news, int64_t now_ms)
{
    int64_t passed_ms = now_ms - news->looked_ms;
    news->looked_ms = now_ms;
    news->silent_ms += passed_ms < NEWS_GAP_MS ? passed_ms : NEWS_GAP_MS;
    return news->silent_ms;
}
