/* Reading notify. */
#include "lib/spec/notify.h"

#include "lib/spec/keys.h"
#include "lib/spec/node.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/text.h"

/* A phase has all kinds but the last. */
static const char *const notify_kinds[] = {"held", "failed", "succeeded", "budget", NULL};

enum { NOTIFY_KINDS = sizeof notify_kinds / sizeof notify_kinds[0] - 1 };

static void notify_add_kind(struct scope *scope, const struct node *node, bool is_phase,
                            json_t *kinds)
{
    const char *kind = scalar_choice(scope, node, notify_kinds);
    if (kind && is_phase && text_equal(kind, "budget"))
        node_problem(scope->problems, node,
                     "the budget belongs to the workflow: use the notify of the workflow");
    else if (kind)
        (void)json_array_append_new(kinds, json_string(kind));
}

/* Reads one kind or a list. Without the key, returns all kinds. */
static json_t *notify_read_kinds(struct scope *scope, const struct node *node, bool is_phase)
{
    json_t *kinds = json_array();
    size_t count = is_phase ? NOTIFY_KINDS - 1 : NOTIFY_KINDS;
    for (size_t i = 0; !node && i < count; i++)
        (void)json_array_append_new(kinds, json_string(notify_kinds[i]));
    if (node && node->kind == NODE_SCALAR)
        notify_add_kind(scope, node, is_phase, kinds);
    else if (node && node->kind != NODE_LIST)
        node_problem(scope->problems, node, "must be a list of held, failed, succeeded%s",
                     is_phase ? "" : " and budget");
    for (size_t i = 0; node && node->kind == NODE_LIST && i < node->count; i++)
        notify_add_kind(scope, node->items[i], is_phase, kinds);
    return kinds;
}

/* The text stays as it is written: its variables are those of the shell. */
static void notify_read_text(struct scope *scope, const struct node *map, const char *key,
                             json_t *notify)
{
    const struct node *node = node_get(map, key);
    if (!node)
        return;
    if (node->kind != NODE_SCALAR || !*node->text)
        node_problem(scope->problems, node, "must be a text");
    else
        (void)json_object_set_new(notify, key, json_string(node->text));
}

bool notify_is_webhook(const char *text)
{
    return (text_starts(text, "https://") || text_starts(text, "http://")) &&
           text_is_plain(text, "");
}

bool notify_is_command(const char *text)
{
    return text_is_plain(text, "\t\n");
}

json_t *notify_read(struct scope *scope, const struct node *node, bool is_phase)
{
    if (!keys_read_map(scope->problems, node, KEYS_NOTIFY,
                       "a map, such as {on: [held, failed], command: mail me@example.org}"))
        return NULL;
    json_t *notify = json_object();
    (void)json_object_set_new(notify, "on",
                              notify_read_kinds(scope, node_get(node, "on"), is_phase));
    notify_read_text(scope, node, "command", notify);
    notify_read_text(scope, node, "webhook", notify);
    const char *webhook = json_string_value(json_object_get(notify, "webhook"));
    const char *command = json_string_value(json_object_get(notify, "command"));
    if (webhook && !notify_is_webhook(webhook))
        node_problem(scope->problems, node_get(node, "webhook"),
                     text_is_plain(webhook, "")
                         ? "must be an address, such as https://example.org/hook"
                         : "an address has no control characters");
    if (command && !notify_is_command(command))
        node_problem(scope->problems, node_get(node, "command"),
                     "a command has no control characters but tabs and ends of lines");
    if (!node_get(node, "command") && !node_get(node, "webhook"))
        node_problem(scope->problems, node, "needs a command or a webhook");
    return notify;
}
