/* Layouts and lists of ranks, and questions about them. */
#include "worker/preflight/groups.h"

#include "lib/error.h"
#include "lib/text.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int groups_begin(unsigned nodes, unsigned gpus, struct groups *groups, struct error *err)
{
    if (!nodes || !gpus || gpus > GROUPS_RANKS_MAX / nodes)
        return error_set(err, -EINVAL, "groups of %u GPUs on %u nodes: at most %d are known", gpus,
                         nodes, GROUPS_RANKS_MAX);
    groups->rank_count = nodes * gpus;
    groups->rank_count_of_node = gpus;
    groups->round_count = 0;
    return 0;
}

static struct groups_round *groups_add_round(struct groups *groups, const char *name)
{
    assert(groups->round_count < GROUPS_ROUNDS_MAX);
    struct groups_round *round = &groups->rounds[groups->round_count++];
    (void)snprintf(round->name, sizeof round->name, "%s", name);
    round->group_count = 0;
    for (unsigned rank = 0; rank < GROUPS_RANKS_MAX; rank++)
        round->group[rank] = GROUPS_NONE;
    return round;
}

/* Reads a number of at most `most` at `*at` and moves behind it. Returns whether there is one. */
static bool groups_number(const char **at, unsigned long most, unsigned *ret_number)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    unsigned long number = strtoul(*at, &end, 10);
    if (errno || number > most)
        return false;
    *at = end;
    *ret_number = (unsigned)number;
    return true;
}

/* Adds the groups of one dimension, which has `size` steps of `stride`. The ranks that differ only
 * in this dimension are a group. */
static void groups_add_dimension(struct groups *groups, const char *name, unsigned size,
                                 unsigned stride)
{
    if (size < 2)
        return;
    struct groups_round *round = groups_add_round(groups, name);
    round->group_count = groups->rank_count / size;
    for (unsigned rank = 0; rank < groups->rank_count; rank++)
        round->group[rank] = (uint16_t)(rank / (size * stride) * stride + rank % stride);
}

int groups_of_layout(const char *layout, unsigned nodes, unsigned gpus, struct groups *ret_groups,
                     struct error *err)
{
    static const char *const names[] = {"tensor", "pipeline", "data"};
    unsigned sizes[3] = {1, 1, 0};
    int status = groups_begin(nodes, gpus, ret_groups, err);
    if (status < 0)
        return status;
    for (const char *at = layout; at && *at;) {
        size_t length = strcspn(at, "="), i = 0;
        while (i < 3 && (strlen(names[i]) != length || strncmp(at, names[i], length) != 0))
            i++;
        at += length + (at[length] == '=');
        if (i == 3 || !groups_number(&at, GROUPS_RANKS_MAX, &sizes[i]) || !sizes[i] ||
            (*at && *at != ',') || (*at == ',' && !at[1]))
            return error_set(err, -EINVAL, "layout %s: must be like tensor=4,pipeline=1,data=2",
                             layout);
        at += *at == ',';
    }
    unsigned ranks = ret_groups->rank_count, of_group = sizes[0] * sizes[1];
    if (!sizes[2])
        sizes[2] = ranks / of_group;
    if ((unsigned long)of_group * sizes[2] != ranks)
        return error_set(err, -EINVAL,
                         "layout %s: tensor %u x pipeline %u x data %u are not the %u GPUs of %u "
                         "nodes with %u",
                         layout, sizes[0], sizes[1], sizes[2], ranks, nodes, gpus);
    if (!layout)
        groups_add_dimension(ret_groups, "all", ranks, 1);
    else {
        groups_add_dimension(ret_groups, "tensor", sizes[0], 1);
        groups_add_dimension(ret_groups, "data", sizes[2], sizes[0]);
    }
    return 0;
}

/* Adds the ranks of "0,2" or "0-3" at `*at` to group `group` of `round`. Moves `*at` to the
 * character behind. */
static bool groups_read_one(const char **at, const struct groups *groups,
                            struct groups_round *round, uint16_t group)
{
    for (;;) {
        unsigned first, last;
        if (!groups_number(at, groups->rank_count - 1, &first))
            return false;
        last = first;
        if (**at == '-' && (++*at, !groups_number(at, groups->rank_count - 1, &last)))
            return false;
        for (unsigned rank = first; rank <= last; rank++) {
            if (round->group[rank] != GROUPS_NONE)
                return false;
            round->group[rank] = group;
        }
        if (last < first)
            return false;
        if (**at != ',')
            return true;
        ++*at;
    }
}

static bool groups_read_round(const char **at, struct groups *groups)
{
    char name[GROUPS_NAME_SIZE];
    size_t length = strspn(*at, "abcdefghijklmnopqrstuvwxyz");
    if (length >= sizeof name || (length && (*at)[length] != ':'))
        return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)length, *at);
    *at += length ? length + 1 : 0;
    if (groups->round_count == GROUPS_ROUNDS_MAX)
        return false;
    struct groups_round *round = groups_add_round(groups, length ? name : "given");
    for (;;) {
        if (!groups_read_one(at, groups, round, (uint16_t)round->group_count))
            return false;
        round->group_count++;
        if (**at != '/')
            return true;
        ++*at;
    }
}

int groups_of_text(const char *list, unsigned nodes, unsigned gpus, struct groups *ret_groups,
                   struct error *err)
{
    int status = groups_begin(nodes, gpus, ret_groups, err);
    for (const char *at = list; status == 0;) {
        bool is_read = groups_read_round(&at, ret_groups);
        if (is_read && !*at)
            return 0;
        if (!is_read || *at++ != ';')
            status = error_set(
                err, -EINVAL,
                "groups %s: must be like 0-3/4-7;data:0,4/1,5, with each of the %u GPUs at "
                "most once in a round",
                list, ret_groups->rank_count);
    }
    return status;
}

void groups_text_of_one(const struct groups *groups, unsigned round, unsigned group,
                        struct text *text)
{
    const uint16_t *of = groups->rounds[round].group;
    const char *separator = "";
    for (unsigned rank = 0; rank < groups->rank_count; rank++) {
        if (of[rank] != group)
            continue;
        unsigned last = rank;
        while (last + 1 < groups->rank_count && of[last + 1] == group)
            last++;
        text_addf(text, "%s%u", separator, rank);
        if (last > rank)
            text_addf(text, "-%u", last);
        separator = ",";
        rank = last;
    }
}

void groups_text(const struct groups *groups, struct text *text)
{
    for (unsigned round = 0; round < groups->round_count; round++) {
        text_addf(text, "%s%s:", round ? ";" : "", groups->rounds[round].name);
        for (unsigned group = 0; group < groups->rounds[round].group_count; group++) {
            text_add(text, group ? "/" : "");
            groups_text_of_one(groups, round, group, text);
        }
    }
}

unsigned groups_size(const struct groups *groups, unsigned round, unsigned group)
{
    unsigned size = 0;
    for (unsigned rank = 0; rank < groups->rank_count; rank++)
        size += groups->rounds[round].group[rank] == group;
    return size;
}

bool groups_is_on(const struct groups *groups, unsigned round, unsigned group, unsigned node)
{
    unsigned first = node * groups->rank_count_of_node;
    for (unsigned i = 0; i < groups->rank_count_of_node; i++)
        if (groups->rounds[round].group[first + i] == group)
            return true;
    return false;
}

unsigned groups_nodes(const struct groups *groups, unsigned round, unsigned group)
{
    unsigned nodes = 0;
    for (unsigned node = 0; node < groups->rank_count / groups->rank_count_of_node; node++)
        nodes += groups_is_on(groups, round, group, node);
    return nodes;
}

unsigned groups_place(const struct groups *groups, unsigned round, unsigned rank)
{
    const uint16_t *of = groups->rounds[round].group;
    unsigned place = 0;
    for (unsigned other = 0; other < rank; other++)
        place += of[other] == of[rank];
    return place;
}
