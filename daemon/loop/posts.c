/* A post copies the texts of its event: the caller may free its texts before the core gets the
 * event. */
#include "daemon/loop/posts.h"

#include "daemon/loop/loop.h"
#include "lib/memory.h"

#include <stddef.h>
#include <stdlib.h>

/* All texts of an event. */
static const size_t texts[POST_TEXTS] = {
    offsetof(struct core_event, seen.reason), offsetof(struct core_event, seen.nodes),
    offsetof(struct core_event, node),        offsetof(struct core_event, path),
    offsetof(struct core_event, token),       offsetof(struct core_event, message),
    offsetof(struct core_event, checks),      offsetof(struct core_event, hold_reason),
};

static void own_texts(struct post *post)
{
    for (size_t i = 0; i < POST_TEXTS; i++) {
        const char **text = (const char **)(void *)((char *)&post->event + texts[i]);
        post->texts[i] = xstrdup_or_null(*text);
        *text = post->texts[i];
    }
}

struct post *post_new(struct loop_item *item, const struct core_event *event)
{
    struct post *post = xcalloc(1, sizeof *post);
    post->item = item;
    if (!event)
        return post;
    post->has_event = true;
    post->event = *event;
    own_texts(post);
    return post;
}

void post_free(struct post *post)
{
    if (post->item && post->item->free)
        post->item->free(post->item);
    for (size_t i = 0; i < POST_TEXTS; i++)
        free(post->texts[i]);
    free(post);
}

struct post *posts_take(struct posts *posts)
{
    struct post *post = STAILQ_FIRST(posts);
    if (post)
        STAILQ_REMOVE_HEAD(posts, link);
    return post;
}

void posts_free(struct posts *posts)
{
    struct post *post;
    while ((post = posts_take(posts)))
        post_free(post);
}
