/* Telling GPUs apart by the words of their names and by their memory. */
#include "lib/spec/overlay.h"

#include "lib/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { OVERLAY_MEMORY_MAX = 100000 };

/* A card that is sold as 80 GB reports 79.6 GiB. ECC takes a sixteenth of the memory of some cards,
 * so 22.5 of 24 GiB are left. */
static const double overlay_least = 0.93, overlay_most = 1.02;

/* Returns the amount in a key such as 80GB or 141GB, in GB; 0: the key is not an amount. */
static unsigned overlay_memory(const char *name)
{
    static const char *const units[] = {"G", "GB", "GiB"};
    char *end;
    if (!isdigit((unsigned char)name[0]))
        return 0;
    unsigned long amount = strtoul(name, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcasecmp(end, units[i]) == 0 && amount <= OVERLAY_MEMORY_MAX)
            return (unsigned)amount;
    return 0;
}

/* Finds the next word of letters and digits. Returns false if there is no other word. */
static bool overlay_word(const char **at, const char **ret_word, size_t *ret_size)
{
    const char *begin = *at;
    while (*begin && !isalnum((unsigned char)*begin))
        begin++;
    const char *end = begin;
    while (isalnum((unsigned char)*end))
        end++;
    *ret_word = begin;
    *ret_size = (size_t)(end - begin);
    *at = end;
    return end > begin;
}

/* Whether the letters and digits of `name` stand at `at` in the name of a model, up to the end of a
 * word. Words may be joined in one name and apart in the other: rtx4090, RTX 4090. */
static bool overlay_begins_with(const char *at, const char *name)
{
    for (; *name; name++) {
        if (!isalnum((unsigned char)*name))
            continue;
        while (*at && !isalnum((unsigned char)*at))
            at++;
        if (tolower((unsigned char)*at) != tolower((unsigned char)*name))
            return false;
        at++;
    }
    return !isalnum((unsigned char)*at);
}

static bool overlay_has_words(const char *model, const char *name)
{
    const char *at = model, *word;
    size_t size;
    while (overlay_word(&at, &word, &size))
        if (overlay_begins_with(word, name))
            return true;
    return false;
}

bool overlay_is_for(const char *name, const struct overlay_gpu *gpu)
{
    unsigned memory = overlay_memory(name);
    if (memory && gpu->memory_gib > 0)
        return gpu->memory_gib >= overlay_least * memory &&
               gpu->memory_gib <= overlay_most * memory;
    /* The name of a model may contain its memory: nvidia_a100_80gb_pcie. */
    return gpu->model && overlay_has_words(gpu->model, name);
}

/* As overlay_word(), for words with a digit, which tell one model from another. */
static bool overlay_number_word(const char **at, const char **ret_word, size_t *ret_size)
{
    while (overlay_word(at, ret_word, ret_size)) {
        if (strcspn(*ret_word, "0123456789") < *ret_size)
            return true;
    }
    return false;
}

/* Whether the type contains the word, and not as a part of a longer number. */
static bool overlay_type_has(const char *type, const char *word, size_t size)
{
    for (const char *at = type; *at; at++) {
        if (strncasecmp(at, word, size) != 0)
            continue;
        bool is_tail = isdigit((unsigned char)*word) && at > type && isdigit((unsigned char)at[-1]);
        bool is_head = isdigit((unsigned char)word[size - 1]) && isdigit((unsigned char)at[size]);
        if (!is_tail && !is_head)
            return true;
    }
    return false;
}

bool overlay_may_fit_type(const char *name, const char *type)
{
    const char *word;
    size_t size;
    bool has_words = false;
    if (overlay_memory(name) || isdigit((unsigned char)*type) || !strpbrk(type, "0123456789"))
        return true;
    while (overlay_number_word(&name, &word, &size)) {
        has_words = true;
        if (overlay_type_has(type, word, size))
            return true;
    }
    return !has_words;
}

bool overlay_exists(const json_t *phase)
{
    return json_array_size(json_object_get(phase, "by_gpu")) > 0;
}

const char *overlay_choose(const json_t *phase, const struct overlay_gpu *gpu)
{
    size_t i;
    json_t *member;
    json_array_foreach(json_object_get(phase, "by_gpu"), i, member)
    {
        const char *name = json_string_value(json_object_get(member, "match"));
        if (name && overlay_is_for(name, gpu))
            return name;
    }
    return NULL;
}

json_t *overlay_apply(const json_t *phase, const char *name)
{
    size_t i;
    json_t *member;
    json_array_foreach(json_object_get(phase, "by_gpu"), i, member)
    {
        const char *match = json_string_value(json_object_get(member, "match"));
        if (!name || !match || !text_equal(match, name))
            continue;
        json_t *whole = json_copy((json_t *)phase); /* the members stay shared */
        if (!whole || json_object_update(whole, json_object_get(member, "phase")) < 0)
            abort();
        return whole;
    }
    return json_incref((json_t *)phase);
}
