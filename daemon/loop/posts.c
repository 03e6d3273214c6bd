/* A post copies its event's texts, since the poster's may be gone when it is stepped. */
#include "daemon/loop/posts.h"

#include "daemon/loop/loop.h"
#include "lib/text.h"

#include <stdlib.h>

static const char *own(char **ret_copy, const char *text)
{
    *ret_copy = text ? text_format("%s", text) : NULL;
    return *ret_copy;
}

struct post *post_new(struct loop_item *item, const struct core_event *event)
{
    struct post *post = calloc(1, sizeof *post);
    if (!post)
        abort();
    post->item = item;
    if (!event)
        return post;
    post->has_event = true;
    post->event = *event;
    post->event.path = own(&post->texts[0], event->path);
    post->event.message = own(&post->texts[1], event->message);
    post->event.seen.reason = own(&post->texts[2], event->seen.reason);
    post->event.seen.nodes = own(&post->texts[3], event->seen.nodes);
    post->event.node = own(&post->texts[4], event->node);
    post->event.checks = own(&post->texts[5], event->checks);
    return post;
}

void post_free(struct post *post)
{
    if (post->item && post->item->free)
        post->item->free(post->item);
    for (size_t i = 0; i < sizeof post->texts / sizeof *post->texts; i++)
        free(post->texts[i]);
    free(post);
}

void posts_init(struct posts *posts)
{
    posts->first = NULL;
    posts->end = &posts->first;
}

void posts_add(struct posts *posts, struct post *post)
{
    *posts->end = post;
    posts->end = &post->next;
}

struct post *posts_take(struct posts *posts)
{
    struct post *post = posts->first;
    if (!post)
        return NULL;
    posts->first = post->next;
    if (!posts->first)
        posts->end = &posts->first;
    post->next = NULL;
    return post;
}

void posts_free(struct posts *posts)
{
    struct post *post;
    while ((post = posts_take(posts)))
        post_free(post);
}
