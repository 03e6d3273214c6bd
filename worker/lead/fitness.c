/* Counts the verdicts of preflights. */
#include "worker/lead/fitness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fitness_fini(struct fitness *fitness)
{
    text_fini(&fitness->failures);
    text_fini(&fitness->doubts);
    text_fini(&fitness->nodes);
    *fitness = (struct fitness){0};
}

enum preflight_outcome fitness_parse(const char *word)
{
    int outcome = preflight_outcome_parse(word);
    return outcome < 0 ? PREFLIGHT_UNKNOWN : (enum preflight_outcome)outcome;
}

void fitness_add(struct fitness *fitness, const char *node, enum preflight_outcome outcome,
                 const char *reason)
{
    bool has_failed = outcome == PREFLIGHT_FAILED;
    struct text *list = has_failed ? &fitness->failures : &fitness->doubts;
    fitness->heard++;
    if (outcome == PREFLIGHT_PASSED)
        return;
    unsigned count = has_failed ? ++fitness->failed : ++fitness->unknown;
    if (has_failed)
        text_addf(&fitness->nodes, "%s%s", count > 1 ? "," : "", node);
    if (count <= FITNESS_NAMED_MAX)
        text_addf(list, "%s%s: %s", count > 1 ? "; " : "", node, reason);
}

/* Returns "n3: reason", or "5 nodes: n3: reason; ...", with `begin` before the node or the number
 * of nodes, and `what` after it. Both may be empty. */
static char *fitness_say(const char *begin, const char *what, unsigned count,
                         const struct text *list)
{
    const char *reasons = text_string(list);
    if (count > 1)
        return text_format("%s%u nodes%s: %s%s", begin, count, what, reasons,
                           count > FITNESS_NAMED_MAX ? "; ..." : "");
    const char *colon = strchr(reasons, ':'); /* after the node's name */
    return text_format("%s%.*s%s%s", begin, (int)(colon - reasons), reasons, what, colon);
}

char *fitness_failure(const struct fitness *fitness)
{
    return fitness_say("", "", fitness->failed, &fitness->failures);
}

char *fitness_note(const struct fitness *fitness)
{
    if (fitness->failed)
        return fitness_say("", " failed preflight, which is only observed", fitness->failed,
                           &fitness->failures);
    if (fitness->unknown == 0)
        return NULL;
    char *doubts = fitness_say("preflight could not tell whether ",
                               fitness->unknown > 1 ? " are fit" : " is fit", fitness->unknown,
                               &fitness->doubts);
    bool tells_nothing = fitness->unknown == fitness->heard;
    char *note = text_format("%s%s", doubts,
                             tells_nothing ? "; `preflight: off` leaves the preflight out" : "");
    free(doubts);
    return note;
}

void fitness_blame(const struct fitness *fitness, char *ret_nodes, size_t size)
{
    const char *nodes = text_string(&fitness->nodes);
    size_t length = fitness->nodes.size;
    if (length >= size) {
        length = size - 1;
        while (length && nodes[length] != ',')
            length--;
    }
    (void)snprintf(ret_nodes, size, "%.*s", (int)length, nodes); /* it fits */
}
