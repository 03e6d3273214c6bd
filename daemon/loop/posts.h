/* What was posted, in order: an event, an item, or both. */
#ifndef PHASED_DAEMON_LOOP_POSTS_H
#define PHASED_DAEMON_LOOP_POSTS_H

#include "daemon/core/core.h"

#include <stdbool.h>
#include <sys/queue.h>

struct loop_item;

enum { POST_TEXTS = 8 }; /* the most texts in an event */

struct post {
    STAILQ_ENTRY(post) link;
    struct loop_item *item;
    struct core_event event;
    bool has_event;
    char *texts[POST_TEXTS]; /* owned copies: the event's pointers point to them */
};

/* A queue, which owns what is in it. */
STAILQ_HEAD(posts, post);

struct post *post_new(struct loop_item *item, const struct core_event *event);
void post_free(struct post *post);

struct post *posts_take(struct posts *posts); /* the oldest; NULL: empty */
void posts_free(struct posts *posts);

#endif
