/* Reading notify. */
#include "lib/spec/notify.h"

#include "lib/protocol/words.h"
#include "lib/spec/keys.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

static void notify_add_kind(struct scope *scope, const struct yaml_node *node, bool is_phase,
                            json_t *kinds)
{
    const char *kind = scalar_choice(scope, node, notice_kind_names);
    if (kind && is_phase && notice_kind_parse(kind) == NOTICE_BUDGET)
        yaml_problem(scope->problems, node,
                     "the budget belongs to the workflow: use the notify of the workflow");
    else if (kind)
        (void)json_array_append_new(kinds, json_string(kind));
}

/* Reads one kind or a list. Without the key, returns all kinds. */
static json_t *notify_read_kinds(struct scope *scope, const struct yaml_node *node, bool is_phase)
{
    json_t *kinds = json_array();
    size_t count = is_phase ? NOTICE_BUDGET : NOTICE_KIND_COUNT;
    struct text list = {0};
    text_add_list(&list, notice_kind_names, count, is_phase ? ", " : " and ");
    for (size_t i = 0; !node && i < count; i++)
        (void)json_array_append_new(kinds, json_string(notice_kind_names[i]));
    if (node && node->kind == YAML_SCALAR)
        notify_add_kind(scope, node, is_phase, kinds);
    else if (node && node->kind != YAML_LIST)
        yaml_problem(scope->problems, node, "must be a list of %s", text_string(&list));
    for (size_t i = 0; node && node->kind == YAML_LIST && i < node->count; i++)
        notify_add_kind(scope, node->items[i], is_phase, kinds);
    text_fini(&list);
    return kinds;
}

/* The text stays as it is written: the shell replaces its variables. */
static void notify_read_text(struct scope *scope, const struct yaml_node *map, const char *key,
                             json_t *notify)
{
    const struct yaml_node *node = yaml_get(map, key);
    if (!node)
        return;
    if (node->kind != YAML_SCALAR || !*node->text)
        yaml_problem(scope->problems, node, "must be a text");
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

json_t *notify_read(struct scope *scope, const struct yaml_node *node, bool is_phase)
{
    if (!keys_read_map(scope->problems, node, KEYS_NOTIFY,
                       "a map, such as {on: [held, failed], command: mail me@example.org}"))
        return NULL;
    json_t *notify = json_object();
    (void)json_object_set_new(notify, "on",
                              notify_read_kinds(scope, yaml_get(node, "on"), is_phase));
    notify_read_text(scope, node, "command", notify);
    notify_read_text(scope, node, "webhook", notify);
    const char *webhook = json_string_value(json_object_get(notify, "webhook"));
    const char *command = json_string_value(json_object_get(notify, "command"));
    if (webhook && !notify_is_webhook(webhook))
        yaml_problem(scope->problems, yaml_get(node, "webhook"),
                     text_is_plain(webhook, "")
                         ? "must be an address, such as https://example.org/hook"
                         : "an address has no control characters");
    if (command && !notify_is_command(command))
        yaml_problem(scope->problems, yaml_get(node, "command"),
                     "a command has no control characters but tabs and ends of lines");
    if (!yaml_get(node, "command") && !yaml_get(node, "webhook"))
        yaml_problem(scope->problems, node, "needs a command or a webhook");
    return notify;
}
