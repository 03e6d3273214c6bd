/* Counts silence, and remembers Xids. */
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

bool news_is_xid(struct news *news, int64_t gpu, int64_t number, int64_t now_ms)
{
    struct news_xid *oldest = news->xids;
    for (unsigned i = 0; i < news->xid_count; i++) {
        struct news_xid *xid = &news->xids[i];
        if (xid->gpu == gpu && xid->number == number && now_ms - xid->told_ms < NEWS_AGAIN_MS)
            return false;
        if (xid->told_ms < oldest->told_ms)
            oldest = xid;
    }
    if (news->xid_count < NEWS_XIDS_MAX)
        oldest = &news->xids[news->xid_count++];
    *oldest = (struct news_xid){gpu, number, now_ms};
    return true;
}
