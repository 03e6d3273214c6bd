/* Extending, ordering and bounding the phases. */
#include "lib/spec/phases.h"

#include "lib/memory.h"
#include "lib/spec/keys.h"
#include "lib/spec/matrix.h"
#include "lib/spec/scope.h"
#include "lib/spec/spec.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum phases_state { PHASES_NEW, PHASES_MERGING, PHASES_MERGED };

/* What one merging of all phases needs. */
struct phases_merge {
    struct phases *phases;
    struct yaml_arena *arena;
    struct spec_problems *problems;
    struct yaml_node *common; /* slurm and env of the file, which lie below its defaults */
    size_t nodes, bytes;      /* of all merged phases */
    bool is_too_large;
};

void phases_fini(struct phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        free(phases->entries[i].after);
        free(phases->entries[i].is_before);
    }
    free(phases->entries);
    free(phases->order);
    *phases = (struct phases){0};
}

static void *phases_allocate(size_t count, size_t size)
{
    return xcalloc(count + 1, size);
}

/* The phase that the scalar `node` names; NULL after a problem. */
static struct phases_entry *phases_refer(const struct phases *phases, const struct yaml_node *node,
                                         struct spec_problems *problems)
{
    if (node->kind != YAML_SCALAR) {
        yaml_problem(problems, node, "must be the name of a phase");
        return NULL;
    }
    size_t count = phases->written_count; /* no key can name a member of a matrix */
    for (size_t i = 0; i < count; i++) {
        if (text_equal(phases->entries[i].name, node->text))
            return &phases->entries[i];
    }
    const char **names = phases_allocate(count, sizeof *names);
    for (size_t i = 0; i < count; i++)
        names[i] = phases->entries[i].name;
    const char *nearest = spec_problems_nearest(problems, node->text, names, count);
    if (nearest)
        yaml_problem(problems, node, "no phase is called %.64s (did you mean %s?)", node->text,
                     nearest);
    else
        yaml_problem(problems, node, "no phase is called %.64s", node->text);
    free(names);
    return NULL;
}

static int phases_list(struct phases *phases, const struct yaml_node *root,
                       struct spec_problems *problems)
{
    const struct yaml_node *node = yaml_get_any(root, "phases");
    if (!node && keys_is_misspelt(root, KEYS_WORKFLOW, "phases"))
        return -EINVAL;
    if (!node) {
        yaml_missing(problems, root, "phases", "missing");
        return -EINVAL;
    }
    if (node->kind != YAML_MAP || node->count == 0) {
        yaml_problem(problems, node, "must be a map of phases by name");
        return -EINVAL;
    }
    phases->entries = phases_allocate(node->count, sizeof *phases->entries);
    for (size_t i = 0; i < node->count; i++) {
        struct yaml_node *phase = node->items[i];
        (void)scope_check_name(problems, phase); /* a problem is reported */
        if (phase->kind != YAML_MAP)
            yaml_problem(problems, phase, "must be a map: a phase has at least run and resources");
        else
            phases->entries[phases->count++] =
                (struct phases_entry){.name = phase->key, .written = phase};
    }
    phases->written_count = phases->count;
    return phases->count ? 0 : -EINVAL;
}

/* --- Merging ---------------------------------------------------------------------------------- */

static struct yaml_node *phases_common(struct yaml_arena *arena, const struct yaml_node *root,
                                       struct spec_problems *problems)
{
    const struct key *key;
    struct yaml_node *common = yaml_new(arena, YAML_MAP);
    struct yaml_node *defaults = yaml_get(root, "defaults");
    for (key = keys_next(KEYS_WORKFLOW, NULL); key; key = keys_next(KEYS_WORKFLOW, key)) {
        struct yaml_node *node = key->merge == KEY_COMMON ? yaml_get_any(root, key->name) : NULL;
        if (node)
            yaml_append(arena, common, node);
    }
    /* Nothing lies below slurm and env of the file. */
    common = yaml_merge(arena, yaml_new(arena, YAML_MAP), common, problems);
    if (!yaml_map(problems, defaults, "a map of what all phases share"))
        return common;
    defaults = yaml_copy_map(arena, defaults);
    for (key = keys_next(KEYS_PHASE, NULL); key; key = keys_next(KEYS_PHASE, key)) {
        bool is_own = key->merge == KEY_OWN || key->merge == KEY_OF_MATRIX;
        const struct yaml_node *node = is_own ? yaml_get_any(defaults, key->name) : NULL;
        if (node)
            yaml_key_problem(problems, node, "not for all phases: it belongs in a phase");
        if (is_own)
            yaml_remove(defaults, key->name);
    }
    return yaml_merge(arena, common, defaults, problems);
}

static void phases_report_extends_cycle(struct phases_merge *merge,
                                        const struct phases_entry *entry)
{
    struct text chain = {0};
    const struct phases_entry *at = entry;
    text_add(&chain, entry->name);
    do {
        at = phases_refer(merge->phases, yaml_get(at->written, "extends"), merge->problems);
        assert(at); /* it is part of a cycle */
        text_addf(&chain, " -> %s", at->name);
    } while (at != entry && chain.size < 400);
    yaml_problem(merge->problems, yaml_get(entry->written, "extends"), "extends itself: %s",
                 text_string(&chain));
    text_fini(&chain);
}

/* The keys that a phase takes from the phase that it extends. */
static struct yaml_node *phases_inherit(struct phases_merge *merge, const struct phases_entry *base)
{
    struct yaml_node *inherited = yaml_copy_map(merge->arena, base->node);
    for (const struct key *key = keys_next(KEYS_PHASE, NULL); key;
         key = keys_next(KEYS_PHASE, key)) {
        if (key->merge >= KEY_INHERITED)
            continue;
        yaml_remove(inherited, key->name);
        struct yaml_node *shared = yaml_get(merge->common, key->name);
        if (shared)
            yaml_append(merge->arena, inherited, shared);
    }
    return inherited;
}

/* A small file can make a large workflow when each phase extends the phase before, so the size is
 * bounded. */
static void phases_measure(struct phases_merge *merge, const struct phases_entry *entry)
{
    yaml_measure(entry->node, &merge->nodes, &merge->bytes);
    if (merge->nodes <= YAML_COUNT_MAX && merge->bytes <= SPEC_RESOLVED_SIZE_MAX)
        return;
    yaml_key_problem(merge->problems, entry->written,
                     "too much: what extends and defaults make of this file has more than %d "
                     "values or %d MiB",
                     YAML_COUNT_MAX, SPEC_RESOLVED_SIZE_MAX >> 20);
    merge->is_too_large = true;
}

static void phases_merge_entry(struct phases_merge *merge, struct phases_entry *entry)
{
    struct yaml_node *below = merge->common;
    const struct yaml_node *extends = yaml_get(entry->written, "extends");
    entry->state = PHASES_MERGING;
    struct phases_entry *base =
        extends ? phases_refer(merge->phases, extends, merge->problems) : NULL;
    entry->lacks_base = extends && !base;
    if (base && base->state == PHASES_NEW)
        phases_merge_entry(merge, base);
    if (merge->is_too_large)
        return;
    if (base && base->state == PHASES_MERGING) {
        phases_report_extends_cycle(merge, entry);
        entry->lacks_base = true;
    } else if (base) {
        below = phases_inherit(merge, base);
        entry->lacks_base = base->lacks_base;
    }
    entry->node = yaml_merge(merge->arena, below, entry->written, merge->problems);
    entry->state = PHASES_MERGED;
    phases_measure(merge, entry);
}

static int phases_merge_all(struct phases *phases, struct yaml_arena *arena,
                            const struct yaml_node *root, struct spec_problems *problems)
{
    struct phases_merge merge = {.phases = phases, .arena = arena, .problems = problems};
    merge.common = phases_common(arena, root, problems);
    for (size_t i = 0; i < phases->count && !merge.is_too_large; i++) {
        if (phases->entries[i].state == PHASES_NEW)
            phases_merge_entry(&merge, &phases->entries[i]);
    }
    return merge.is_too_large ? -EINVAL : 0;
}

/* --- after ------------------------------------------------------------------------------------ */

static void phases_add_after(struct phases *phases, struct phases_entry *entry,
                             const struct yaml_node *node, struct spec_problems *problems)
{
    const struct phases_entry *other = phases_refer(phases, node, problems);
    if (!other) {
        entry->lacks_before = true;
        return;
    }
    size_t index = (size_t)(other - phases->entries);
    if (other == entry) {
        yaml_problem(problems, node, "a phase cannot wait for itself");
        return;
    }
    for (size_t i = 0; i < entry->after_count; i++) {
        if (entry->after[i] == index) {
            yaml_problem(problems, node, "given twice");
            return;
        }
    }
    entry->after[entry->after_count++] = index;
}

static void phases_read_after(struct phases *phases, struct phases_entry *entry,
                              struct spec_problems *problems)
{
    const struct yaml_node *after = yaml_get(entry->node, "after");
    bool is_list = after && after->kind == YAML_LIST;
    entry->after =
        phases_allocate((is_list ? after->count : 1) + entry->member_count, sizeof *entry->after);
    entry->is_before = phases_allocate(phases->count, sizeof *entry->is_before);
    for (size_t i = 0; is_list && i < after->count; i++)
        phases_add_after(phases, entry, after->items[i], problems);
    if (after && !is_list)
        phases_add_after(phases, entry, after, problems);
    for (size_t i = 0; i < entry->member_count;
         i++) /* entries from after_count on give an order, but are not edges */
        entry->after[entry->after_count + i] = entry->member_first + i;
}

/* --- Side by side ----------------------------------------------------------------------------- */

static bool phases_waits_for(const struct phases_entry *entry, size_t index)
{
    for (size_t i = 0; i < entry->after_count; i++) {
        if (entry->after[i] == index)
            return true;
    }
    return false;
}

static bool phases_is_same_after(const struct phases_entry *a, const struct phases_entry *b)
{
    for (size_t i = 0; i < a->after_count; i++) {
        if (!phases_waits_for(b, a->after[i]))
            return false;
    }
    return a->after_count == b->after_count; /* each phase is there only once */
}

static void phases_copy_after(struct phases_entry *entry, const struct phases_entry *other)
{
    free(entry->after);
    entry->after = phases_allocate(other->after_count, sizeof *entry->after);
    if (other->after_count)
        memcpy(entry->after, other->after, other->after_count * sizeof *entry->after);
    entry->after_count = other->after_count;
    entry->lacks_before = other->lacks_before;
}

static void phases_find_beside_for(const struct phases *phases, struct phases_entry *entry,
                                   const struct yaml_node *node, struct spec_problems *problems)
{
    const struct phases_entry *other = phases_refer(phases, node, problems);
    if (!other)
        return;
    size_t own = (size_t)(entry - phases->entries), index = (size_t)(other - phases->entries);
    const struct yaml_node *chain = yaml_get(other->node, "colocate");
    if (other == entry)
        yaml_problem(problems, node, "a phase cannot run beside itself");
    else if (yaml_get(entry->node, "matrix") || entry->matrix || other->member_count > 0)
        yaml_problem(problems, node, "a matrix shares its allocations with no other phase");
    else if (chain && chain->kind == YAML_SCALAR)
        yaml_problem(problems, node, "%.64s itself runs beside %.64s: name %.64s", other->name,
                     chain->text, chain->text);
    else if (phases_waits_for(entry, index))
        yaml_problem(problems, node, "%.64s is before this phase: they cannot run side by side",
                     other->name);
    else if (phases_waits_for(other, own))
        yaml_problem(problems, node, "%.64s waits for this phase: they cannot run side by side",
                     other->name);
    else if (yaml_get(entry->node, "after") && !phases_is_same_after(entry, other))
        yaml_problem(
            problems, yaml_get(entry->node, "after"),
            "must be the same as in %.64s: phases side by side begin together (without after, "
            "this phase takes it from %.64s)",
            other->name, other->name);
    else
        entry->beside = other;
}

static void phases_find_beside(struct phases *phases, struct spec_problems *problems)
{
    for (size_t i = 0; i < phases->count; i++) {
        struct phases_entry *entry = &phases->entries[i];
        const struct yaml_node *node = yaml_get(entry->node, "colocate");
        if (!node)
            continue;
        phases_find_beside_for(phases, entry, node, problems);
        if (!entry->beside)
            entry->lacks_base = true;
        else if (!yaml_get(entry->node, "after"))
            phases_copy_after(entry, entry->beside);
    }
}

/* --- Order ------------------------------------------------------------------------------------ */

/* Returns how many phases come before the phase in the order: the phases that it waits for, and the
 * members of a matrix. */
static size_t phases_before_count(const struct phases_entry *entry)
{
    return entry->after_count + entry->member_count;
}

/* Puts a phase at its place in the order. The phases that it waits for have their places, so it
 * also comes after all that is before them. */
static void phases_place(struct phases *phases, size_t index, size_t place)
{
    struct phases_entry *entry = &phases->entries[index];
    for (size_t i = 0; i < phases_before_count(entry); i++) {
        const struct phases_entry *before = &phases->entries[entry->after[i]];
        entry->is_before[entry->after[i]] = true;
        for (size_t j = 0; j < phases->count; j++)
            entry->is_before[j] = entry->is_before[j] || before->is_before[j];
    }
    phases->order[place] = index;
}

static bool phases_is_ready(const struct phases *phases, size_t index, const bool *is_placed)
{
    const struct phases_entry *entry = &phases->entries[index];
    for (size_t i = 0; i < phases_before_count(entry); i++) {
        if (!is_placed[entry->after[i]])
            return false;
    }
    return !entry->beside || is_placed[entry->beside - phases->entries];
}

/* Walks back from a phase that could not be placed, always to another phase that could not be
 * placed. The first phase that comes twice is part of a cycle. */
static void phases_report_after_cycle(const struct phases *phases, const bool *is_placed,
                                      struct spec_problems *problems)
{
    size_t at = 0;
    while (is_placed[at])
        at++;
    bool *is_seen = phases_allocate(phases->count, sizeof *is_seen);
    struct text chain = {0};
    const struct phases_entry *first = NULL;
    for (;;) {
        const struct phases_entry *entry = &phases->entries[at];
        if (is_seen[at] && !first) { /* the second round is reported */
            first = entry;
            text_add(&chain, entry->name);
        } else if (first && chain.size < 400) {
            text_addf(&chain, " -> %s", entry->name);
        }
        if (first == entry && chain.size > strlen(entry->name))
            break;
        is_seen[at] = true;
        size_t i = 0;
        while (is_placed[entry->after[i]])
            i++;
        at = entry->after[i];
    }
    yaml_problem(problems, yaml_get(first->node, "after"), "waits for itself: %s",
                 text_string(&chain));
    text_fini(&chain);
    free(is_seen);
}

static void phases_sort(struct phases *phases, struct spec_problems *problems)
{
    bool *is_placed = phases_allocate(phases->count, sizeof *is_placed);
    size_t placed = 0, placed_before;
    phases->order = phases_allocate(phases->count, sizeof *phases->order);
    do {
        placed_before = placed;
        for (size_t i = 0; i < phases->count; i++) {
            if (is_placed[i] || !phases_is_ready(phases, i, is_placed))
                continue;
            phases_place(phases, i, placed++);
            is_placed[i] = true;
        }
    } while (placed > placed_before);
    if (placed < phases->count)
        phases_report_after_cycle(phases, is_placed, problems);
    for (size_t i = 0; i < phases->count; i++) {
        if (!is_placed[i])
            phases->order[placed++] = i; /* so that they are checked too */
    }
    free(is_placed);
}

int phases_init(struct phases *phases, struct yaml_arena *arena, const struct yaml_node *root,
                bool is_rehearsal, struct spec_problems *problems)
{
    *phases = (struct phases){0};
    int status = phases_list(phases, root, problems);
    if (status == 0)
        status = phases_merge_all(phases, arena, root, problems);
    if (status < 0)
        return status;
    matrix_expand(phases, arena, is_rehearsal, problems);
    for (size_t i = 0; i < phases->count; i++)
        phases_read_after(phases, &phases->entries[i], problems);
    phases_find_beside(phases, problems);
    phases_sort(phases, problems);
    return 0;
}
