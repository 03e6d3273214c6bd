/* Counts what processes do, and finds the outlier. */
#include "worker/health/outlier.h"

#include "lib/json.h"
#include "lib/protocol/told_evidence.h"
#include "lib/text.h"

#include <stdbool.h>

enum { OUTLIER_LIKE_MIN = 3 }; /* fewer processes cannot have an outlier */

static const struct {
    const char *does, *verb, *verbs;
} outlier_kinds[] = {
    {"sleeps", "sleeps", "sleep"},
    {"spins", "spins", "spin"},
    {"stuck", "waits uninterruptibly", "wait uninterruptibly"},
};

enum { OUTLIER_KINDS = sizeof outlier_kinds / sizeof *outlier_kinds };

static char *outlier_who(const struct told_process *process)
{
    struct text text = {0};
    text_add(&text, process->name ? process->name : "a process");
    if (process->rank >= 0)
        text_addf(&text, " of rank %lld", (long long)process->rank);
    if (process->group >= 0)
        text_addf(&text, " of group %lld", (long long)process->group);
    text_addf(&text, " (pid %lld)", (long long)process->pid);
    return text_steal(&text);
}

static void outlier_add(json_t *counts, const struct told_process *process)
{
    json_t *kind = process->does ? json_object_get(counts, process->does) : NULL;
    if (!process->does)
        return;
    if (kind) {
        json_object_set_new(kind, "count", json_integer(json_member_integer(kind, "count") + 1));
        return;
    }
    char *who = outlier_who(process);
    kind = json_pack("{s:i, s:s, s:I}", "count", 1, "who", who, "pid", (json_int_t)process->pid);
    if (process->rank >= 0)
        json_object_set_new(kind, "rank", json_integer(process->rank));
    json_object_set_new(counts, process->does, kind);
    free(who);
}

json_t *outlier_count(const json_t *evidence)
{
    const json_t *processes = told_evidence_read(evidence).processes, *json;
    json_t *counts = json_object();
    int64_t most = 0;
    size_t i;
    json_array_foreach(processes, i, json)
    {
        struct told_process process = told_process_read(json);
        most = process.threads > most ? process.threads : most;
    }
    json_array_foreach(processes, i, json)
    {
        struct told_process process = told_process_read(json);
        if (2 * process.threads >= most)
            outlier_add(counts, &process);
    }
    return counts;
}

char *outlier_find(const struct outlier_node *nodes, size_t count,
                   struct outlier_process *ret_process)
{
    json_int_t sums[OUTLIER_KINDS] = {0}, total = 0;
    size_t rare = 0, common = 0, first = count;
    *ret_process = (struct outlier_process){.pid = 0, .rank = -1};
    for (size_t kind = 0; kind < OUTLIER_KINDS; kind++) {
        for (size_t i = 0; i < count; i++)
            sums[kind] += json_member_integer(
                json_object_get(nodes[i].counts, outlier_kinds[kind].does), "count");
        total += sums[kind];
        if (sums[kind] && (!sums[rare] || sums[kind] < sums[rare]))
            rare = kind;
        if (sums[kind] > sums[common])
            common = kind;
    }
    json_int_t others = total - sums[rare];
    bool is_rare = sums[rare] == 1 || 4 * sums[rare] <= total;
    if (total < OUTLIER_LIKE_MIN || !is_rare || !others || 3 * sums[common] < 2 * total)
        return NULL;
    for (size_t i = count; i-- > 0;)
        if (json_object_get(nodes[i].counts, outlier_kinds[rare].does))
            first = i;
    const json_t *kind = json_object_get(nodes[first].counts, outlier_kinds[rare].does);
    const char *who = json_string_value(json_object_get(kind, "who"));
    struct text text = {0};
    ret_process->pid = (int)json_member_integer(kind, "pid");
    if (json_is_integer(json_object_get(kind, "rank")))
        ret_process->rank = (int)json_member_integer(kind, "rank");
    text_addf(&text, "unlike %lld others, %s on %s", (long long)others, who ? who : "a process",
              nodes[first].name);
    if (sums[rare] > 1)
        text_addf(&text, " and %lld more %s", (long long)sums[rare] - 1, outlier_kinds[rare].verbs);
    else
        text_addf(&text, " %s", outlier_kinds[rare].verb);
    return text_steal(&text);
}
