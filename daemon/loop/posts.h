/* What was posted, in order: an event, an item, or both. */
#ifndef PHASED_DAEMON_LOOP_POSTS_H
#define PHASED_DAEMON_LOOP_POSTS_H

#include "daemon/core/core.h"

#include <stdbool.h>

struct loop_item;

enum { POST_TEXTS = 8 }; /* the most texts in an event */

struct post {
    struct post *next;
    struct loop_item *item;
    struct core_event event;
    bool has_event;
    char *texts[POST_TEXTS]; /* owned copies: the event's pointers point to them */
};

/* A queue, which owns what is in it. */
struct posts {
    struct post *first, **end;
};

struct post *post_new(struct loop_item *item, const struct core_event *event);
void post_free(struct post *post);

void posts_init(struct posts *posts);
void posts_add(struct posts *posts, struct post *post);
void posts_add_first(struct posts *posts, struct post *post);
struct post *posts_take(struct posts *posts); /* the oldest; NULL: empty */
void posts_free(struct posts *posts);

#endif
