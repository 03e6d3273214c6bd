/* Finds the ranks that NCCL's RAS service names as missing, dead or behind. */
#include "worker/health/ras_status.h"

#include "lib/memory.h"
#include "lib/text.h"
#include "worker/health/ras.h"

#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STATUS_GROUPS_MAX = 64, /* rows of the table of communicators */
    STATUS_LINE_SIZE = 192, /* the longest line that names a process has about 130 bytes */
    STATUS_PIDS_MAX = 4,    /* the report has little room */
};

struct named {
    int rank, of; /* the rank, or -1, and the size of its communicator, or 0 */
    int pid;      /* 0: unknown */
    char node[INET6_ADDRSTRLEN];
};

struct names {
    struct named *items;
    size_t count;
};

enum section {
    SECTION_OTHER,
    SECTION_TABLE, /* of all communicators, in groups of one size */
    /* Sections from here on name processes or ranks. */
    SECTION_PROCESSES, /* that are dead or do not answer */
    SECTION_MISSING,   /* ranks that do not answer */
    SECTION_COUNTS,    /* operations of one kind */
};

struct status {
    enum section section;
    int sizes[STATUS_GROUPS_MAX]; /* ranks per communicator */
    bool has_table, has_warnings;
    bool is_open;  /* the end of a section that may name processes was not read */
    bool is_vague; /* RAS counts processes that it cannot name */
    int of;        /* the size of the current communicator; 0: unknown */
    /* The lowest count of operations so far, and the count that the current lines are about.
     * ULLONG_MAX: no line has said it. */
    unsigned long long least, current;
    struct names names; /* of the current communicator */
    size_t ended;       /* names in sections whose end was read */
    struct names all;
};

/* --- Names ------------------------------------------------------------------------------------ */

static bool named_equal(const struct named *a, const struct named *b)
{
    if (a->pid && b->pid)
        return a->pid == b->pid && text_equal(a->node, b->node);
    return a->rank >= 0 && a->rank == b->rank && a->of == b->of;
}

/* A process may be named as a process first, and then as a rank. The first rank stays, because NCCL
 * begins with the largest communicators. */
static void names_add(struct names *names, const struct named *named)
{
    for (size_t i = 0; i < names->count; i++) {
        struct named *known = &names->items[i];
        if (!named_equal(known, named))
            continue;
        if (known->rank < 0)
            *known = *named;
        return;
    }
    names->items = xreallocarray(names->items, names->count + 1, sizeof *names->items);
    names->items[names->count++] = *named;
}

static char *named_who(const struct named *named)
{
    struct text text = {0};
    if (named->rank >= 0)
        text_addf(&text, "rank %d", named->rank);
    if (named->rank >= 0 && named->of)
        text_addf(&text, " of %d", named->of);
    if (named->pid)
        text_addf(&text, named->rank >= 0 ? " (pid %d on %s)" : "pid %d on %s", named->pid,
                  named->node);
    return text_steal(&text);
}

/* --- The text --------------------------------------------------------------------------------- */

/* Ends a communicator, or a list of processes. */
static void status_end_names(struct status *status)
{
    bool is_all = status->of && status->ended >= (size_t)status->of;
    for (size_t i = 0; i < status->ended && !is_all; i++)
        names_add(&status->all, &status->names.items[i]);
    status->names.count = status->ended = 0;
    status->of = 0;
    status->section = SECTION_OTHER;
}

/* "#0-1 (cf264af53edbe986) MISMATCH" */
static void status_begin_communicator(struct status *status, const char *line)
{
    int group;
    status_end_names(status);
    if (sscanf(line, "#%9d-", &group) == 1 && group >= 0 && group < STATUS_GROUPS_MAX)
        status->of = status->sizes[group];
    if (text_ends(line, ") INCOMPLETE"))
        status->section = SECTION_MISSING;
}

/* "  Process 4711 on node 10.0.0.2 managing GPU 3"
 * "  Rank 3 -- GPU 3 managed by process 4711 on node 10.0.0.2"
 * "  Rank 3 -- [process information not found]" */
static void status_add(struct status *status, const char *line, int rank)
{
    struct named named = {.rank = rank, .of = status->of};
    const char *at = strstr(line, rank < 0 ? "Process " : "process ");
    if (!at ||
        sscanf(at + 1, "rocess %9d on node %45[0-9A-Za-z.:%-]", &named.pid, named.node) != 2 ||
        named.pid < 0)
        named.pid = 0;
    if (named.pid || rank >= 0)
        names_add(&status->names, &named);
}

static void status_read_counts(struct status *status, const char *line, int rank)
{
    unsigned long long value = 0;
    int ranks;
    if (sscanf(line, "  Rank %*9d has launched up to operation %18llu", &value) == 1 ||
        sscanf(line, "  %9d ranks have launched up to operation %18llu", &ranks, &value) == 2 ||
        strstr(line, " not launched any operations")) {
        status->current = value;
        if (value < status->least) {
            status->least = value;
            status->names.count = status->ended; /* the ranks of this section were not last */
        }
    }
    if (rank >= 0 && status->current == status->least && status->least != ULLONG_MAX)
        status_add(status, line, rank);
}

/* A line inside of a section. */
static void status_read_row(struct status *status, const char *line)
{
    int group, size, rank;
    if (sscanf(line, "  Rank %9d", &rank) != 1 || rank < 0 || (status->of && rank >= status->of))
        rank = -1;
    if (status->section == SECTION_PROCESSES || (status->section == SECTION_MISSING && rank >= 0))
        status_add(status, line, status->section == SECTION_PROCESSES ? -1 : rank);
    else if (status->section == SECTION_COUNTS)
        status_read_counts(status, line, rank);
    else if (status->section == SECTION_TABLE &&
             sscanf(line, "%9d %*9d %*9d %*15s %9d", &group, &size) == 2 && group >= 0 &&
             group < STATUS_GROUPS_MAX && size > 0) {
        status->sizes[group] = size;
        status->has_table = true;
    }
}

static void status_read_line(struct status *status, const char *line)
{
    if (!line[0]) {
        status->ended = status->names.count;
        status->is_open = false;
        return;
    } else if (line[0] == '#') {
        status_begin_communicator(status, line);
    } else if (text_equal(line, "INCOMPLETE") || text_equal(line, "DEAD")) {
        status_end_names(status);
        status->section = SECTION_PROCESSES;
    } else if (text_equal(line, "Warnings")) {
        status_end_names(status);
        status->has_warnings = true;
    } else if (text_starts(line, "    #  in group")) {
        status->section = SECTION_TABLE;
    } else if (text_starts(line, "  Communicator ranks have different ")) {
        status->least = status->current = ULLONG_MAX;
        status->section = SECTION_COUNTS; /* without counts, if their states differ */
    } else {
        status->is_vague |= strstr(line, "[could not find information on ") != NULL;
        status_read_row(status, line);
    }
    status->is_open = status->section >= SECTION_PROCESSES;
}

json_t *ras_status_read(const char *text)
{
    size_t size = text ? strnlen(text, RAS_TEXT_MAX) : 0;
    struct status status = {.least = ULLONG_MAX, .current = ULLONG_MAX};
    json_t *result = NULL;
    for (size_t at = 0; at < size;) {
        const char *end = memchr(text + at, '\n', size - at);
        char line[STATUS_LINE_SIZE];
        if (!end)
            break; /* the line is cut */
        (void)snprintf(line, sizeof line, "%.*s", (int)(end - text - (ptrdiff_t)at), text + at);
        status_read_line(&status, line);
        at = (size_t)(end - text) + 1;
    }
    status_end_names(&status);
    bool is_whole = status.has_table && status.has_warnings && !status.is_open &&
                    !status.is_vague && size < RAS_TEXT_MAX && text[size - 1] == '\n';
    if (status.all.count || is_whole) {
        json_t *pids = json_array();
        result = json_pack("{s:I, s:o}", "count", (json_int_t)status.all.count, "pids", pids);
        for (size_t i = 0; i < status.all.count && json_array_size(pids) < STATUS_PIDS_MAX; i++)
            if (status.all.items[i].pid)
                json_array_append_new(pids, json_integer(status.all.items[i].pid));
    }
    if (status.all.count) {
        char *who = named_who(&status.all.items[0]);
        json_object_set_new(result, "who", json_string(who));
        free(who);
    }
    free(status.names.items);
    free(status.all.items);
    return result;
}

/* --- The comparison --------------------------------------------------------------------------- */

/* Whether an answer, which may be any JSON, names this process. */
static bool status_has(const json_t *answer, json_int_t pid)
{
    const json_t *pids = json_object_get(answer, "pids"), *value;
    size_t i;
    if (!json_is_integer(json_object_get(answer, "count")))
        return false;
    json_array_foreach(pids, i, value)
    {
        if (pid > 0 && json_integer_value(value) == pid)
            return true;
    }
    return false;
}

char *ras_status_compare(const json_t *const *answers, size_t count,
                         const struct outlier_process *outlier)
{
    const json_t *best = NULL;
    struct text text = {0};
    bool is_same = false;
    json_int_t named = -1;
    for (size_t i = 0; i < count && !is_same; i++) {
        const json_t *number = json_object_get(answers[i], "count");
        is_same = status_has(answers[i], outlier->pid);
        if (json_is_integer(number) && (is_same || json_integer_value(number) > named)) {
            best = answers[i];
            named = json_integer_value(number);
        }
    }
    if (!best)
        return NULL;
    const char *who = json_string_value(json_object_get(best, "who"));
    text_add(&text, "NCCL's RAS names ");
    if (is_same && outlier->rank >= 0)
        text_addf(&text, "rank %d as well", outlier->rank);
    else if (is_same)
        text_addf(&text, "pid %d as well", outlier->pid);
    else
        text_add(&text, named > 0 && who ? who : "no rank");
    if (named > 1)
        text_addf(&text, ", and %lld more", (long long)named - 1);
    return text_steal(&text);
}
