/* Putting variants over a file. */
#include "lib/spec/variants.h"

#include "lib/memory.h"
#include "lib/spec/keys.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml_node.h"
#include "lib/text.h"

#include <stdlib.h>

/* Which map is merged. In the map of phases, null removes a whole phase. */
enum variants_map { VARIANTS_ROOT, VARIANTS_PHASES, VARIANTS_INNER };

/* Checks all variants of the file, including those that are not asked for. */
static void variants_check(const struct yaml_node *variants, struct spec_problems *problems)
{
    variants = yaml_map(problems, variants, "a map of variants by name");
    for (size_t i = 0; variants && i < variants->count; i++) {
        const struct yaml_node *variant = variants->items[i];
        (void)scope_check_name(problems, variant); /* a problem is reported */
        (void)keys_read_map(problems, variant, KEYS_VARIANT,
                            "a map of what this variant changes in the file");
    }
}

/* Marks a null that has removed a value. Otherwise it would look like a forgotten value when the
 * phase is merged with its base. */
static struct yaml_node *variants_null(struct yaml_arena *arena, const struct yaml_node *null)
{
    struct yaml_node *copy = yaml_new(arena, YAML_NULL);
    *copy = *null;
    copy->takes_away = true;
    return copy;
}

/* Whether the name of a phase in a variant is misspelt: the file does not have the phase, and the
 * variant does not make the phase complete. */
static bool variants_is_misspelt(const struct yaml_node *phases, const struct yaml_node *item)
{
    const struct yaml_node *defaults = yaml_get(phases->parent, "defaults");
    return item->kind == YAML_MAP && !yaml_get(item, "run") && !yaml_get(item, "extends") &&
           !yaml_get(defaults, "run");
}

static void variants_report_phase(const struct yaml_node *phases, const struct yaml_node *item,
                                  struct spec_problems *problems)
{
    const char **names = xcalloc(phases->count + 1, sizeof *names);
    for (size_t i = 0; i < phases->count; i++)
        names[i] = phases->items[i]->key;
    const char *nearest = spec_problems_nearest(problems, item->key, names, phases->count);
    yaml_key_problem(problems, item, "there is no such phase%s%s%s",
                     nearest ? " (did you mean " : ", and a new phase needs run",
                     nearest ? nearest : "", nearest ? "?)" : "");
    free(names);
}

static struct yaml_node *variants_merge(struct yaml_arena *arena, struct yaml_node *base,
                                        const struct yaml_node *overlay, enum variants_map map,
                                        struct spec_problems *problems)
{
    struct yaml_node *merged = yaml_copy_map(arena, base);
    for (size_t i = 0; i < overlay->count; i++) {
        struct yaml_node *item = overlay->items[i], *old = yaml_get(base, item->key);
        if (item->kind == YAML_NULL && map == VARIANTS_PHASES) {
            if (!old)
                yaml_key_problem(problems, item, "there is no such phase to remove");
            yaml_remove(merged, item->key);
            continue;
        }
        if (map == VARIANTS_PHASES && !old && variants_is_misspelt(base, item)) {
            variants_report_phase(base, item, problems);
            continue;
        }
        enum variants_map inner = VARIANTS_INNER;
        if (map == VARIANTS_ROOT && text_equal(item->key, "phases"))
            inner = VARIANTS_PHASES;
        const struct key *key = map == VARIANTS_ROOT ? keys_find(KEYS_VARIANT, item->key) : NULL;
        const struct yaml_node *any =
            yaml_get_any(base, item->key); /* an earlier variant may have removed it */
        if (item->kind == YAML_NULL && any && (old || any->takes_away))
            item = variants_null(arena, item);
        else if (item->kind == YAML_MAP && old && old->kind == YAML_MAP &&
                 !(key && key->merge == KEY_REPLACED))
            item = variants_merge(arena, old, item, inner, problems);
        yaml_replace(arena, merged, item);
    }
    return merged;
}

static void variants_report(const struct yaml_node *variants, const char *name,
                            struct spec_problems *problems)
{
    size_t count = variants && variants->kind == YAML_MAP ? variants->count : 0;
    const char **names = xcalloc(count + 1, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = variants->items[i]->key;
    const char *nearest = spec_problems_nearest(problems, name, names, count);
    spec_problems_add(problems, SPEC_ERROR, 0, 0, "--with", "no variant is called %.64s%s%s%s",
                      name, nearest ? " (did you mean " : "", nearest ? nearest : "",
                      nearest ? "?)" : "");
    free(names);
}

static bool variants_is_repeated(const json_t *names, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (json_equal(json_array_get(names, i), json_array_get(names, index)))
            return true;
    return false;
}

struct yaml_node *variants_apply(struct yaml_arena *arena, struct yaml_node *root,
                                 const json_t *names, struct spec_problems *problems)
{
    const struct yaml_node *variants = yaml_get(root, "variants");
    struct yaml_node *merged = yaml_copy_map(arena, root);
    variants_check(variants, problems);
    yaml_remove(merged, "variants");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const struct yaml_node *variant = yaml_get_any(variants, name);
        if (!variant)
            variants_report(variants, name, problems);
        else if (variants_is_repeated(names, i))
            spec_problems_add(problems, SPEC_ERROR, 0, 0, "--with", "%.64s is given twice", name);
        else if (variant->kind == YAML_MAP)
            merged = variants_merge(arena, merged, variant, VARIANTS_ROOT, problems);
    }
    return merged;
}

const char *variants_name(const struct yaml_node *node)
{
    const struct yaml_node *variant = NULL;
    while (node->parent && node->parent->parent) {
        variant = node;
        node = node->parent;
    }
    bool is_variant = variant && text_equal(node->key, "variants");
    return is_variant ? variant->key : NULL;
}
