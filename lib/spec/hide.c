/* Finds the secrets of a workflow file where they are written, and replaces them there. */
#include "lib/spec/hide.h"

#include "lib/error.h"
#include "lib/secrets.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HIDE_COPIES_MAX = 32, /* secrets that are looked for in the rest of the file */
    HIDE_COPY_MIN = 8,    /* bytes of a secret that is looked for: short texts may mean anything */
};

/* One walk over the file. */
struct hide {
    const struct yaml_node *named; /* the value of the key `secrets`; or NULL */
    /* Called for each secret in the order of the file. */
    int (*found)(struct hide *hide, const struct yaml_node *node, struct error *err);
    json_t *secrets; /* the secrets that were found */
    /* When marks are put into the text: */
    const char *data;
    size_t copied; /* bytes of `data` */
    struct text *text;
    /* When the file is checked: */
    struct spec_problems *problems;
};

static bool hide_is_named(const struct yaml_node *named, const char *name)
{
    for (size_t i = 0; named && i < named->count; i++)
        if (named->items[i]->text && text_equal(named->items[i]->text, name))
            return true;
    return false;
}

/* Whether `node` is a map of variables. A phase, a variant or a check may have the name env. */
static bool hide_is_env(const struct yaml_node *node)
{
    static const char *const others[] = {"phases", "variants", "gate", "guards", "metrics"};
    const char *parent = node->parent ? node->parent->key : NULL;
    return node->kind == YAML_MAP && node->key && text_equal(node->key, "env") &&
           !(parent && text_is_one_of(parent, others, sizeof others / sizeof *others));
}

/* Whether the item of a map of variables is a secret. */
static bool hide_is_secret(const struct hide *hide, const struct yaml_node *item)
{
    return item->kind == YAML_SCALAR &&
           (hide_is_named(hide->named, item->key) || secrets_is(item->key, item->text));
}

static int hide_walk(struct hide *hide, const struct yaml_node *node, struct error *err)
{
    bool is_env = hide_is_env(node);
    int status = 0;
    for (size_t i = 0; status == 0 && i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        bool is_secret = is_env && item->text[0] && hide_is_secret(hide, item);
        status = is_secret ? hide->found(hide, item, err) : hide_walk(hide, item, err);
    }
    return status;
}

/* --- Putting marks into the text -------------------------------------------------------------- */

/* The bytes of a block scalar (`|` or `>`) begin after its header. Returns where the header is. */
static size_t hide_header(const char *data, size_t begin)
{
    size_t line = begin - 1;
    while (line > 0 && data[line - 1] != '\n')
        line--;
    for (size_t at = line; at < begin; at++) {
        if ((data[at] != '|' && data[at] != '>') || (at > 0 && !strchr(" \t:", data[at - 1])))
            continue;
        size_t rest = at + 1 + strspn(data + at + 1, "+-123456789");
        rest += strspn(data + rest, " \t\r");
        if (data[rest] == '\n' || data[rest] == '#')
            return at;
    }
    return begin;
}

static int hide_replace(struct hide *hide, const struct yaml_node *node, struct error *err)
{
    struct text value = {0};
    bool is_whole = scope_text_plain(node->text, &value);
    if (is_whole && secrets_is_mark(node->text)) {
        text_fini(&value);
        return error_set(err, -EINVAL,
                         "line %u: %s stands for a value of %s that is not recorded: write the "
                         "value, or remove the variable and export it in your shell",
                         node->line, node->text, node->key);
    }
    if (is_whole) {
        char *mark = secrets_add(hide->secrets, node->key, text_string(&value));
        char before = node->begin ? hide->data[node->begin - 1] : ' ';
        bool is_quoted = !node->is_plain && (before == '"' || before == '\'');
        bool is_block = !node->is_plain && !is_quoted;
        size_t begin = is_block ? hide_header(hide->data, node->begin) : node->begin;
        text_add_bytes(hide->text, hide->data + hide->copied, begin - hide->copied);
        text_addf(hide->text, is_quoted ? "%s" : is_block ? "\"%s\"\n" : "\"%s\"", mark);
        hide->copied = node->end;
        while (is_block && hide->copied > node->begin && hide->data[hide->copied - 1] != '\n' &&
               strchr(" \t", hide->data[hide->copied - 1]))
            hide->copied--; /* the indentation of the next line */
        free(mark);
    }
    text_fini(&value);
    return 0;
}

int hide_secrets(const char *data, size_t size, json_t *secrets, json_t **ret_names,
                 struct text *ret_text, struct error *err)
{
    struct yaml_arena arena = {0};
    struct spec_problems problems = {0};
    struct yaml_node *root = NULL;
    int status = 0;
    json_t *names = json_array();
    if (yaml_read(&arena, data, size, &problems, &root) == 0) {
        struct hide hide = {.named = yaml_get(root, "secrets"),
                            .found = hide_replace,
                            .secrets = secrets,
                            .data = data,
                            .text = ret_text};
        for (size_t i = 0; hide.named && i < hide.named->count; i++)
            if (hide.named->items[i]->text)
                (void)json_array_append_new(names, json_string(hide.named->items[i]->text));
        status = hide_walk(&hide, root, err);
        data += hide.copied;
        size -= hide.copied;
    }
    text_add_bytes(ret_text, data, size);
    spec_problems_fini(&problems);
    yaml_arena_fini(&arena);
    if (status < 0)
        json_decref(names);
    else
        *ret_names = names;
    return status;
}

/* --- Checking a file -------------------------------------------------------------------------- */

static int hide_note(struct hide *hide, const struct yaml_node *node, struct error *err)
{
    struct text value = {0};
    (void)err;
    if (!scope_text_plain(node->text, &value))
        yaml_warning_at(hide->problems, node, 0,
                        "looks like a secret, but refers to params, so its value is recorded");
    else if (!secrets_is_mark(node->text))
        free(secrets_add(hide->secrets, node->key, text_string(&value)));
    text_fini(&value);
    return 0;
}

/* Warns if the text of `node` has one of the secrets. */
static void hide_look_for_copy(const struct hide *hide, const struct yaml_node *node)
{
    const char *name;
    json_t *values, *value;
    size_t index, count = 0;
    json_object_foreach(hide->secrets, name, values)
    {
        json_array_foreach(values, index, value)
        {
            if (json_string_length(value) < HIDE_COPY_MIN || ++count > HIDE_COPIES_MAX)
                continue;
            if (strstr(node->text, json_string_value(value)))
                yaml_warning_at(hide->problems, node, 0,
                                "has the value of %s, and is recorded: use $%s in `run` instead",
                                name, name);
        }
    }
}

static void hide_look_for_copies(const struct hide *hide, const struct yaml_node *node)
{
    bool is_env = hide_is_env(node);
    if (node->kind == YAML_SCALAR)
        hide_look_for_copy(hide, node);
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        if (!is_env || !hide_is_secret(hide, item))
            hide_look_for_copies(hide, item);
    }
}

void hide_check(const struct yaml_node *root, struct spec_problems *problems)
{
    struct hide hide = {.named = yaml_get(root, "secrets"),
                        .found = hide_note,
                        .secrets = json_object(),
                        .problems = problems};
    (void)hide_walk(&hide, root, NULL); /* hide_note() does not fail */
    if (json_object_size(hide.secrets))
        hide_look_for_copies(&hide, root);
    json_decref(hide.secrets);
}
