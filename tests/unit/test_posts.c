/* An event that was posted does not need the texts of its sender. */
#include "tests/unit/unit.h"

#include "daemon/loop/loop.h"
#include "daemon/loop/posts.h"

#include <stdio.h>
#include <string.h>

static void every_text_of_an_event_is_copied(void **state)
{
    char texts[8][8];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        (void)snprintf(texts[i], sizeof texts[i], "text %zu", i);
    const struct core_event event = {
        .seen = {.reason = texts[0], .nodes = texts[1]},
        .node = texts[2],
        .path = texts[3],
        .token = texts[4],
        .message = texts[5],
        .checks = texts[6],
        .hold_reason = texts[7],
    };
    struct post *post = post_new(NULL, &event);
    memset(texts, 'x', sizeof texts);
    assert_string_equal(post->event.seen.reason, "text 0");
    assert_string_equal(post->event.seen.nodes, "text 1");
    assert_string_equal(post->event.node, "text 2");
    assert_string_equal(post->event.path, "text 3");
    assert_string_equal(post->event.token, "text 4");
    assert_string_equal(post->event.message, "text 5");
    assert_string_equal(post->event.checks, "text 6");
    assert_string_equal(post->event.hold_reason, "text 7");
    post_free(post);
}

static void missing_texts_stay_missing(void **state)
{
    (void)state;
    struct post *post = post_new(NULL, &(struct core_event){.kind = EV_TIME});
    assert_null(post->event.token);
    assert_null(post->event.seen.reason);
    post_free(post);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_of_an_event_is_copied),
        cmocka_unit_test(missing_texts_stay_missing),
    };
    return cmocka_run_group_tests_name("posts", tests, NULL, NULL);
}
