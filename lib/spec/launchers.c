/* Finding torchrun in a script by its words. */
#include "lib/spec/launchers.h"

#include "lib/spec/node.h"
#include "lib/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHERS_DIGITS_MAX = 9 };

/* Where the command that begins at `at` ends: lines may be continued. */
static const char *launchers_command_end(const char *at)
{
    while (*at && !strchr(";&|", *at) && (*at != '\n' || at[-1] == '\\'))
        at++;
    return at;
}

static bool launchers_is_comment(const char *script, const char *at)
{
    while (at > script && at[-1] != '\n')
        if (*--at == '#' && (at == script || isspace((unsigned char)at[-1])))
            return true;
    return false;
}

/* The next torchrun that is a command, at or after `at`; NULL when there is none. */
static const char *launchers_find(const char *script, const char *at)
{
    static const char word[] = "torchrun";
    for (; (at = strstr(at, word)); at++) {
        bool begins = at == script || strchr(" \t\n;&|(/", at[-1]);
        bool ends = isspace((unsigned char)at[sizeof(word) - 1]);
        if (begins && ends && !launchers_is_comment(script, at))
            return at;
    }
    return NULL;
}

/* The place after an option within a command; in its name - and _ are the same. */
static const char *launchers_option(const char *at, const char *end, const char *name)
{
    size_t size = strlen(name);
    for (; at + size <= end; at++) {
        size_t i = 0;
        while (i < size && (at[i] == name[i] || (name[i] == '_' && at[i] == '-')))
            i++;
        if (i == size && isspace((unsigned char)at[-1]))
            return at + size;
    }
    return NULL;
}

/* The whole number that stands after an option; -1 where that is something else. */
static int64_t launchers_number(const char *at)
{
    at += strspn(at, "= \t");
    size_t digits = strspn(at, "0123456789");
    bool is_number = digits && digits <= LAUNCHERS_DIGITS_MAX && strchr(" \t\n\\", at[digits]);
    return is_number ? strtoll(at, NULL, 10) : -1;
}

/* Says what is wrong with the torchrun at `at`; false where nothing is. */
static bool launchers_judge(struct spec_problems *problems, const struct node *run, const char *at,
                            const struct launchers_place *place)
{
    const char *end = launchers_command_end(at);
    const char *count = launchers_option(at, end, "--nproc_per_node");
    int64_t processes = count ? launchers_number(count) : -1;
    if (place->is_rank)
        node_key_warning(problems, run,
                         "torchrun starts a process for each GPU, and launch: rank starts it for "
                         "each of %" PRId64 " on a node: launch: node starts it once",
                         place->gpus);
    else if (place->nodes > 1 && launchers_option(at, end, "--standalone"))
        node_key_warning(problems, run,
                         "with --standalone each of the %" PRId64
                         " nodes trains for itself; without it torchrun spans all",
                         place->nodes);
    else if (processes >= 0 && processes != place->gpus)
        node_key_warning(problems, run,
                         "torchrun starts %" PRId64 " processes where there are %" PRId64 " GPUs",
                         processes, place->gpus);
    else
        return false;
    return true;
}

void launchers_check(struct spec_problems *problems, const struct node *run,
                     const struct launchers_place *place)
{
    bool has_warned = false;
    if (place->gpus == 0)
        return;
    for (const char *at = launchers_find(run->text, run->text); at && !has_warned;
         at = launchers_find(run->text, at + 1))
        has_warned = launchers_judge(problems, run, at, place);
}
