/* Reads catalogues with the reader of workflow files, which reports line and column. */
#include "lib/failures/catalogue.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/protocol/words.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

static const char *const catalogue_keys[] = {"title", "pattern", "cause",
                                             "blame", "tells",   "advice"};
static const char *const catalogue_tells[] = {"cause", "sign", "consequence"};

enum { WHY_SIZE = 160 }; /* of a message about a pattern */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* --- One entry -------------------------------------------------------------------------------- */

/* Returns the text at `key`, or `otherwise` if the key is absent. NULL: a problem was added. */
static const char *catalogue_text(const struct yaml_node *entry, const char *key, size_t size_max,
                                  const char *otherwise, struct spec_problems *problems)
{
    const struct yaml_node *node = yaml_get(entry, key);
    if (!node)
        return otherwise;
    if (node->kind != YAML_SCALAR || !node->text[0])
        yaml_problem(problems, node, "must be a text");
    else if (strlen(node->text) > size_max)
        yaml_problem(problems, node, "longer than %zu bytes", size_max);
    else
        return node->text;
    return NULL;
}

static const char *catalogue_word(const struct yaml_node *entry, const char *key,
                                  const char *const *words, size_t count, const char *otherwise,
                                  struct spec_problems *problems)
{
    const char *word = catalogue_text(entry, key, 64, otherwise, problems);
    struct text list = {0};
    if (!word || text_is_one_of(word, words, count))
        return word;
    text_add_list(&list, words, count, " or ");
    yaml_problem(problems, yaml_get(entry, key), "must be %s", text_string(&list));
    text_fini(&list);
    return NULL;
}

/* NULL: the pattern is wrong, and `ret_why` says why. */
static pcre2_code *catalogue_compile(const char *pattern, size_t *ret_at, char ret_why[WHY_SIZE])
{
    int code;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                         PCRE2_NEVER_BACKSLASH_C, &code, ret_at, NULL);
    if (!compiled) /* a cut message is fine */
        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)ret_why, WHY_SIZE);
    return compiled;
}

static bool catalogue_compiles(const char *pattern)
{
    size_t at;
    char why[WHY_SIZE];
    pcre2_code *compiled = catalogue_compile(pattern, &at, why);
    pcre2_code_free(compiled);
    return compiled != NULL;
}

/* Returns whether the pattern refers to its own groups, as in (.)\1. */
static bool catalogue_check_pattern(const struct yaml_node *node, struct spec_problems *problems)
{
    size_t at;
    uint32_t references = 0;
    char why[WHY_SIZE];
    if (node->kind != YAML_SCALAR || !node->text[0]) {
        yaml_problem(problems, node, "must be a text");
        return false;
    }
    pcre2_code *compiled = catalogue_compile(node->text, &at, why);
    if (!compiled) {
        yaml_problem_at(problems, node, at, "the pattern is wrong: %s", why);
        return false;
    }
    (void)pcre2_pattern_info(compiled, PCRE2_INFO_BACKREFMAX, &references); /* cannot fail */
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
    bool fits_all = pcre2_match(compiled, (PCRE2_SPTR) "", 0, 0, 0, match, NULL) >= 0;
    if (fits_all)
        yaml_problem(problems, node, "the pattern matches an empty line, and so every line");
    pcre2_match_data_free(match);
    pcre2_code_free(compiled);
    return references > 0;
}

/* Adds one pattern of a list as a group. A comment after (?x) goes on to the end of the line. */
static void catalogue_add_pattern(struct text *text, const char *pattern)
{
    char *group = text_format("(?:%s)", pattern);
    if (catalogue_compiles(group))
        text_add(text, group);
    else
        text_addf(text, "(?:%s\n)", pattern);
    free(group);
}

/* Joins patterns to one. Two patterns may have groups of the same name: (?J:...). If a pattern
 * refers to its groups, the groups of each pattern are numbered from 1: (?|...). Then equal numbers
 * must have equal names. */
static void catalogue_join(const struct yaml_node *list, struct text *text,
                           struct spec_problems *problems)
{
    size_t error_count = problems->error_count, at;
    bool has_references = false;
    char why[WHY_SIZE];
    for (size_t i = 0; i < list->count; i++)
        has_references |= catalogue_check_pattern(list->items[i], problems);
    if (!list->count || problems->error_count != error_count)
        return;
    text_add(text, has_references ? "(?|" : "(?J:");
    for (size_t i = 0; i < list->count; i++) {
        text_add(text, i ? "|" : "");
        catalogue_add_pattern(text, list->items[i]->text);
    }
    text_add(text, ")");
    pcre2_code *compiled = catalogue_compile(text_string(text), &at, why);
    if (!compiled)
        yaml_problem(problems, list, "the patterns cannot be alternatives of one pattern: %s", why);
    pcre2_code_free(compiled);
}

/* Reads one pattern, or a list of alternative patterns. Returns a new reference. NULL: a problem
 * was added. */
static json_t *catalogue_pattern(const struct yaml_node *entry, struct spec_problems *problems)
{
    const struct yaml_node *node = yaml_get(entry, "pattern");
    size_t error_count = problems->error_count;
    struct text text = {0};
    if (!node)
        yaml_missing(problems, entry, "pattern",
                     "missing: the pattern that recognises the failure");
    if (node && node->kind == YAML_LIST)
        catalogue_join(node, &text, problems);
    if (node && node->kind != YAML_LIST) {
        (void)catalogue_check_pattern(node, problems);
        text_add(&text, node->kind == YAML_SCALAR ? node->text : "");
    }
    if (node && text.size > CATALOGUE_PATTERN_MAX)
        yaml_problem(problems, node, "longer than %d bytes", CATALOGUE_PATTERN_MAX);
    else if (node && !text.size && problems->error_count == error_count)
        yaml_problem(problems, node, "must be a text");
    json_t *pattern = problems->error_count == error_count ? json_string(text_string(&text)) : NULL;
    text_fini(&text);
    return pattern;
}

static void catalogue_check_keys(const struct yaml_node *entry, struct spec_problems *problems)
{
    for (size_t i = 0; i < entry->count; i++) {
        const char *key = entry->items[i]->key;
        if (text_is_one_of(key, catalogue_keys, COUNT(catalogue_keys)))
            continue;
        const char *near =
            spec_problems_nearest(problems, key, catalogue_keys, COUNT(catalogue_keys));
        if (near)
            yaml_key_problem(problems, entry->items[i], "unknown key; did you mean %s?", near);
        else
            yaml_key_problem(problems, entry->items[i], "unknown key");
    }
}

/* phased excludes nodes for these causes only. */
static void catalogue_check_blame(const struct yaml_node *entry, const char *cause,
                                  const char *blame, struct spec_problems *problems)
{
    int parsed = run_cause_parse(cause);
    bool is_by_node = parsed == CAUSE_NODE_FAIL || parsed == CAUSE_LAUNCH;
    if (failure_blame_parse(blame) == BLAME_NODE && !is_by_node)
        yaml_problem(problems, yaml_get(entry, "blame"),
                     "node is only for the causes node_fail and launch");
}

static json_t *catalogue_entry(const struct yaml_node *node, struct spec_problems *problems)
{
    size_t error_count = problems->error_count;
    (void)scope_check_name(problems, node); /* a problem is counted below */
    if (!yaml_map(problems, node, "a map with pattern, cause, blame and advice"))
        return NULL;
    catalogue_check_keys(node, problems);
    json_t *pattern = catalogue_pattern(node, problems);
    const char *title = catalogue_text(node, "title", CATALOGUE_TITLE_MAX, node->key, problems);
    const char *advice = catalogue_text(node, "advice", CATALOGUE_ADVICE_MAX, "", problems);
    const char *causes[CAUSE_COUNT];
    size_t cause_count = run_cause_list(run_cause_is_printed, causes);
    const char *cause =
        catalogue_word(node, "cause", causes, cause_count, run_cause_name(CAUSE_EXIT), problems);
    const char *blame =
        catalogue_word(node, "blame", failure_blame_names, BLAME_COUNT, "none", problems);
    const char *tells =
        catalogue_word(node, "tells", catalogue_tells, COUNT(catalogue_tells), "cause", problems);
    if (cause && blame)
        catalogue_check_blame(node, cause, blame, problems);
    if (problems->error_count != error_count) {
        json_decref(pattern);
        return NULL;
    }
    return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s}", "name", node->key, "title", title,
                     "pattern", pattern, "cause", cause, "blame", blame, "tells", tells, "advice",
                     advice);
}

/* --- Files ------------------------------------------------------------------------------------ */

/* Whether a valid entry of the user's file replaces this entry. An entry with a problem replaces
 * nothing. */
static bool catalogue_is_replaced(const json_t *catalogue, const struct yaml_node *own,
                                  const char *name)
{
    const struct yaml_node *node = own ? yaml_get_any(own, name) : NULL;
    const json_t *entry;
    size_t i;
    if (!node || node->kind == YAML_NULL)
        return node != NULL;
    json_array_foreach(catalogue, i, entry)
    {
        if (text_equal(json_string_value(json_object_get(entry, "name")), name))
            return true;
    }
    return false;
}

/* Adds the entries of `map` that `own` does not replace, until the catalogue has `count_max`
 * entries. An entry with the value null only removes the built-in entry. */
static void catalogue_add(json_t *catalogue, const struct yaml_node *map,
                          const struct yaml_node *own, size_t count_max,
                          struct spec_problems *problems)
{
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *node = map->items[i];
        if (node->kind == YAML_NULL || catalogue_is_replaced(catalogue, own, node->key))
            continue;
        json_t *entry = catalogue_entry(node, problems);
        if (entry && json_array_size(catalogue) >= count_max) {
            yaml_key_problem(problems, node, "more than %zu failures", count_max);
            json_decref(entry);
            return;
        }
        if (entry)
            (void)json_array_append_new(catalogue, entry);
    }
}

static struct yaml_node *catalogue_parse(struct yaml_arena *arena, const char *data, size_t size,
                                         struct spec_problems *problems)
{
    struct yaml_node *root = NULL;
    if (yaml_is_blank(data, size) || yaml_read(arena, data, size, problems, &root) < 0)
        return NULL;
    if (root->kind == YAML_MAP)
        return root;
    yaml_problem(problems, root, "must be a map of failures by name");
    return NULL;
}

json_t *catalogue_read(const char *own, size_t own_size, struct spec_problems *problems)
{
    struct yaml_arena arena = {0};
    json_t *catalogue = json_array();
    const struct yaml_node *first = own ? catalogue_parse(&arena, own, own_size, problems) : NULL;
    if (first)
        catalogue_add(catalogue, first, NULL, CATALOGUE_ENTRIES_MAX, problems);
    struct spec_problems builtin_problems = {0};
    size_t size = strlen(catalogue_builtin_text);
    const struct yaml_node *builtin =
        catalogue_parse(&arena, catalogue_builtin_text, size, &builtin_problems);
    if (!builtin)
        abort(); /* a unit test reads the built-in catalogue */
    catalogue_add(catalogue, builtin, first, SIZE_MAX, &builtin_problems);
    spec_problems_fini(&builtin_problems);
    yaml_arena_fini(&arena);
    spec_problems_sort(problems);
    return catalogue;
}

json_t *catalogue_load(const char *path, struct spec_problems *problems)
{
    char *data = NULL;
    size_t size = 0;
    struct error err;
    int status = file_read(path, CATALOGUE_FILE_MAX, &data, &size, &err);
    if (status < 0 && status != -ENOENT)
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "%s", err.message);
    if (status == 0 && !problems->file)
        problems->file = xstrdup(path);
    json_t *catalogue = catalogue_read(status == 0 ? data : NULL, size, problems);
    free(data);
    return catalogue;
}
