/* Finds new checkpoints, reports them and removes old ones. */
#include "worker/node/checkpoints.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "worker/node/space.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHECKPOINTS_KEEP_MIN = 2,
    CHECKPOINTS_FIRST_LOOKS = 3, /* at most, until one sees all folders */
};

/* All files of one step, and what is known about them. */
struct group {
    struct saved saved;
    int64_t since_ms;       /* the look that first found it as it is */
    bool was_there;         /* before this run, and has not changed */
    bool is_told;           /* is whole, and was reported */
    bool is_settled;        /* has not changed for CHECKPOINTS_PAUSE_MS */
    bool is_good;           /* is of a step before the first suspect step */
    bool is_of_earlier_run; /* was there, and an earlier run of the phase reported it */
    bool is_good_before;    /* is of an earlier run, and good */
    bool was_cut;           /* is smaller than it was, and may be torn */
};

struct checkpoints {
    struct saved_pattern *pattern;
    char *folder; /* only files below it may be removed */
    unsigned keep;
    checkpoint_found *found;
    void *context;
    struct group *groups; /* of the last look */
    size_t group_count;
    struct group *settled; /* as last seen, without paths; a look may miss some of them */
    size_t settled_count;
    uint64_t changes;
    unsigned told;                  /* how many were reported, also if they were removed since */
    int64_t vouched_step;           /* guards vouch for checkpoints of this run before this step */
    bool is_suspect;                /* checkpoints that are begun from now on */
    struct checkpoint_extent whole; /* the size of the last reported or resumed checkpoint */
};

static void groups_free(struct group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        saved_fini(&groups[i].saved);
    free(groups);
}

static struct group *groups_find(struct group *groups, size_t count, int64_t step)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i].saved.step == step)
            return &groups[i];
    return NULL;
}

/* Lists the present files by step. Returns -EIO if some may be missing. */
static int checkpoints_list(const struct checkpoints *checkpoints, struct group **ret_groups,
                            size_t *ret_count)
{
    struct saved_list list;
    int status = saved_look(checkpoints->pattern, -1, &list);
    struct group *groups = xcalloc(list.count + 1, sizeof *groups);
    for (size_t i = 0; i < list.count; i++)
        groups[i].saved = list.items[i];
    *ret_count = list.count;
    free(list.items); /* the groups own the content now */
    *ret_groups = groups;
    return status;
}

static void checkpoints_tell(struct checkpoints *checkpoints, struct group *group)
{
    group->is_told = true;
    checkpoints->found(checkpoints->context, &group->saved,
                       checkpoints->is_suspect && !group->is_good, group->was_cut);
    if (group->was_cut)
        return;
    checkpoints->told++;
    checkpoints->whole = group->saved.extent;
}

/* Whether the path lies below the phase's own folder. */
static bool checkpoints_owns(const struct checkpoints *checkpoints, const char *path)
{
    size_t size = strlen(checkpoints->folder);
    return text_starts(path, checkpoints->folder) && path[size] == '/' &&
           !strstr(path + size, "/../");
}

static void checkpoints_remove(const struct checkpoints *checkpoints, const struct group *group)
{
    for (size_t i = 0; i < group->saved.path_count; i++)
        if (checkpoints_owns(checkpoints, group->saved.paths[i]))
            (void)file_remove_tree(group->saved.paths[i], NULL); /* else it stays */
}

/* Whether `group` may be removed in favour of `other`. A run may count its steps from 0 again. Such
 * a run must lose neither its own new checkpoints nor the old ones of the phase. So a run's
 * checkpoints are compared only with each other. A good checkpoint of an earlier run is removed
 * only in favour of checkpoints with greater steps. */
static bool group_gives_way(const struct group *group, const struct group *other)
{
    bool is_own = other->is_told && !other->was_cut;
    if (group->is_told)
        return is_own && other->saved.step > group->saved.step;
    if (!is_own && !other->is_good_before)
        return false;
    return !group->is_good_before || other->saved.step > group->saved.step;
}

static bool group_is_vouched(const struct group *group, int64_t vouched_step)
{
    return group->is_good_before ||
           (group->is_told && !group->was_cut && group->saved.step < vouched_step);
}

/* Whether the checkpoint may be removed. At least `keep` other checkpoints must replace it
 * (group_gives_way()), and it must not be the newest checkpoint that guards vouch for. */
static bool checkpoints_is_spare(const struct checkpoints *checkpoints, size_t i, unsigned keep)
{
    const struct group *groups = checkpoints->groups;
    unsigned newer = 0;
    bool is_last_good = group_is_vouched(&groups[i], checkpoints->vouched_step);
    for (size_t j = 0; j < checkpoints->group_count; j++) {
        if (!group_gives_way(&groups[i], &groups[j]))
            continue;
        newer++;
        is_last_good &= !group_is_vouched(&groups[j], checkpoints->vouched_step);
    }
    return (groups[i].is_told || groups[i].is_of_earlier_run) && newer >= keep && !is_last_good;
}

/* Removes old checkpoints beyond the newest `keep`, once this run has saved one. After a guard has
 * failed, nothing is removed any more. */
static void checkpoints_prune(struct checkpoints *checkpoints)
{
    if (!checkpoints->keep || !checkpoints->told || checkpoints->is_suspect)
        return;
    for (size_t i = 0; i < checkpoints->group_count; i++)
        if (checkpoints_is_spare(checkpoints, i, checkpoints->keep))
            checkpoints_remove(checkpoints, &checkpoints->groups[i]);
}

/* Whether a checkpoint that was there before this run, or that was reported, has become smaller.
 * Either the program has written it again, or somebody has cut it. So it may be torn until somebody
 * writes to it again. */
static bool group_was_cut(const struct group *before, const struct group *group)
{
    return before && (before->was_there || before->is_told || before->was_cut) &&
           (double)group->saved.extent.bytes < saved_near_bytes((double)before->saved.extent.bytes);
}

/* Remembers the groups that were there or were told. A look on a shared file system may miss them
 * or some of their files, and they must not be new when a later look finds them. */
static void checkpoints_settle(struct checkpoints *checkpoints)
{
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        const struct group *group = &checkpoints->groups[i];
        if ((!group->was_there && !group->is_told) || group->was_cut)
            continue;
        struct group *settled =
            groups_find(checkpoints->settled, checkpoints->settled_count, group->saved.step);
        if (!settled) {
            size_t count = ++checkpoints->settled_count;
            checkpoints->settled = xrealloc(checkpoints->settled, count * sizeof *settled);
            settled = &checkpoints->settled[count - 1];
        }
        *settled = *group;
        settled->saved.paths = NULL;
        settled->saved.path_count = 0;
    }
}

/* Returns the group as it was known if it has not changed since; else NULL. */
static const struct group *checkpoints_known(const struct checkpoints *checkpoints,
                                             const struct group *before, const struct group *group)
{
    const struct group *settled =
        groups_find(checkpoints->settled, checkpoints->settled_count, group->saved.step);
    if (before && checkpoint_extent_equal(&before->saved.extent, &group->saved.extent))
        return before;
    if (settled && checkpoint_extent_equal(&settled->saved.extent, &group->saved.extent))
        return settled;
    return NULL;
}

/* Looks at the files. A group that has not changed keeps its state. Returns -EIO if the look may
 * have missed some. */
static int checkpoints_refresh(struct checkpoints *checkpoints, int64_t now_ms)
{
    size_t count;
    struct group *groups;
    int status = checkpoints_list(checkpoints, &groups, &count);
    checkpoints_settle(checkpoints);
    for (size_t i = 0; i < count; i++) {
        struct group *before =
            groups_find(checkpoints->groups, checkpoints->group_count, groups[i].saved.step);
        const struct group *known = checkpoints_known(checkpoints, before, &groups[i]);
        groups[i].is_good = before && before->is_good;
        groups[i].since_ms = known ? known->since_ms : now_ms;
        if (!known) {
            checkpoints->changes++;
            groups[i].was_cut = group_was_cut(before, &groups[i]);
            continue;
        }
        groups[i].is_settled = now_ms - known->since_ms >= CHECKPOINTS_PAUSE_MS;
        groups[i].was_there = known->was_there;
        groups[i].is_told = known->is_told;
        groups[i].is_of_earlier_run = known->is_of_earlier_run;
        groups[i].is_good_before = known->is_good_before;
        groups[i].was_cut = known->was_cut;
    }
    groups_free(checkpoints->groups, checkpoints->group_count);
    checkpoints->groups = groups;
    checkpoints->group_count = count;
    return status;
}

/* Takes the first look. Without it, the checkpoints of earlier runs would count as new. */
static int checkpoints_look_first(struct checkpoints *checkpoints, const char *pattern,
                                  struct error *err)
{
    int status = -EIO;
    for (int i = 0; i < CHECKPOINTS_FIRST_LOOKS && status < 0; i++)
        status = checkpoints_refresh(checkpoints, 0);
    if (status < 0)
        return error_set(err, status, "checkpoint.path: cannot read the folders of %s", pattern);
    for (size_t i = 0; i < checkpoints->group_count; i++)
        checkpoints->groups[i].was_there = true;
    return 0;
}

int checkpoints_new(const char *pattern, const char *out_dir, unsigned keep,
                    checkpoint_found *found, void *context, struct checkpoints **ret_checkpoints,
                    struct error *err)
{
    struct saved_pattern *compiled;
    int status = saved_pattern_new(pattern, &compiled, err);
    if (status < 0)
        return status;
    struct checkpoints *checkpoints = xcalloc(1, sizeof *checkpoints);
    checkpoints->pattern = compiled;
    checkpoints->folder = xstrdup(out_dir);
    checkpoints->keep = keep && keep < CHECKPOINTS_KEEP_MIN ? CHECKPOINTS_KEEP_MIN : keep;
    checkpoints->vouched_step = INT64_MAX;
    checkpoints->found = found;
    checkpoints->context = context;
    status = checkpoints_look_first(checkpoints, pattern, err);
    if (status == 0)
        *ret_checkpoints = checkpoints;
    else
        checkpoints_free(checkpoints);
    return status;
}

void checkpoints_free(struct checkpoints *checkpoints)
{
    if (!checkpoints)
        return;
    groups_free(checkpoints->groups, checkpoints->group_count);
    free(checkpoints->settled);
    saved_pattern_free(checkpoints->pattern);
    free(checkpoints->folder);
    free(checkpoints);
}

int checkpoints_note(const struct checkpoints *checkpoints, const char *run_dir, struct error *err)
{
    struct saved_list list = {
        .items = xcalloc(checkpoints->group_count + 1, sizeof *list.items),
        .count = checkpoints->group_count,
    };
    for (size_t i = 0; i < list.count; i++)
        list.items[i] = checkpoints->groups[i].saved;
    int status = saved_note(run_dir, checkpoints->pattern, &list, err);
    free(list.items); /* the groups own the content */
    return status;
}

/* Whether the checkpoint is nearly as large as a whole checkpoint. Then it may be whole, and later
 * readers treat it as a checkpoint that nobody saw become whole. */
static bool extent_is_near(const struct checkpoint_extent *whole,
                           const struct checkpoint_extent *extent)
{
    return extent->files == whole->files &&
           (double)extent->bytes >= saved_near_bytes((double)whole->bytes);
}

int checkpoints_note_left_out(const struct checkpoints *checkpoints, const char *run_dir,
                              struct error *err)
{
    if (!checkpoints->whole.files)
        return 0;
    struct saved_list list = {.items = xcalloc(checkpoints->group_count + 1, sizeof *list.items)};
    for (size_t i = 0; i < checkpoints->group_count; i++)
        if (!checkpoints->groups[i].was_there && !checkpoints->groups[i].is_told &&
            !extent_is_near(&checkpoints->whole, &checkpoints->groups[i].saved.extent))
            list.items[list.count++] = checkpoints->groups[i].saved;
    int status = list.count ? saved_note_left_out(run_dir, &list, err) : 0;
    free(list.items); /* the groups own the content */
    return status;
}

void checkpoints_resume(struct checkpoints *checkpoints, const char *path)
{
    for (size_t i = 0; i < checkpoints->group_count; i++)
        if (text_equal(checkpoints->groups[i].saved.paths[0], path))
            checkpoints->whole = checkpoints->groups[i].saved.extent;
}

void checkpoints_inherit(struct checkpoints *checkpoints, const json_t *saved)
{
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        const json_t *is_good = json_object_get(saved, group->saved.paths[0]);
        group->is_of_earlier_run = group->was_there && is_good;
        group->is_good_before = group->is_of_earlier_run && json_is_true(is_good);
    }
}

void checkpoints_look(struct checkpoints *checkpoints, int64_t now_ms)
{
    (void)checkpoints_refresh(checkpoints,
                              now_ms); /* the next look sees what this look has missed */
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        if (group->is_settled && !group->was_there && !group->is_told)
            checkpoints_tell(checkpoints, group);
    }
    checkpoints_prune(checkpoints);
}

uint64_t checkpoints_changes(const struct checkpoints *checkpoints)
{
    return checkpoints->changes;
}

void checkpoints_space(const struct checkpoints *checkpoints, struct space_look *ret_look)
{
    unsigned whole = 0;
    *ret_look = (struct space_look){
        .size = checkpoints->whole.bytes,
        .changes = checkpoints->changes,
        .saved = checkpoints->told,
        .bound = UINT_MAX,
    };
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        whole += checkpoints->groups[i].is_told || checkpoints->groups[i].is_of_earlier_run;
        ret_look->bytes += checkpoints->groups[i].saved.extent.bytes;
        ret_look->is_outside |=
            !checkpoints_owns(checkpoints, checkpoints->groups[i].saved.paths[0]);
    }
    if (checkpoints->keep)
        ret_look->bound = checkpoints->keep > whole ? checkpoints->keep - whole : 0;
}

static int saved_compare_sizes(const void *a, const void *b)
{
    const struct saved *const *first = a, *const *second = b;
    uint64_t bytes = (*first)->extent.bytes, other = (*second)->extent.bytes;
    return (bytes < other) - (bytes > other);
}

const struct saved **checkpoints_spare(const struct checkpoints *checkpoints, size_t *ret_count)
{
    const struct saved **spare = xcalloc(checkpoints->group_count + 1, sizeof *spare);
    size_t count = 0;
    for (size_t i = 0; !checkpoints->is_suspect && i < checkpoints->group_count; i++) {
        const struct saved *saved = &checkpoints->groups[i].saved;
        bool is_own = checkpoints_is_spare(checkpoints, i, CHECKPOINTS_KEEP_MIN);
        for (size_t j = 0; is_own && j < saved->path_count; j++)
            is_own = checkpoints_owns(checkpoints, saved->paths[j]);
        if (is_own)
            spare[count++] = saved;
    }
    qsort(spare, count, sizeof *spare, saved_compare_sizes);
    *ret_count = count;
    return spare;
}

void checkpoints_vouch(struct checkpoints *checkpoints, int64_t step)
{
    checkpoints->vouched_step = step;
}

void checkpoints_suspect(struct checkpoints *checkpoints, int64_t since, int64_t now_ms)
{
    if (checkpoints->is_suspect)
        return;
    (void)checkpoints_refresh(checkpoints,
                              now_ms); /* what it misses counts as suspect, unless told */
    checkpoints->is_suspect = true;
    for (size_t i = 0; i < checkpoints->group_count; i++)
        checkpoints->groups[i].is_good = checkpoints->groups[i].saved.step < since;
}

void checkpoints_look_last(struct checkpoints *checkpoints, enum checkpoints_end end,
                           int64_t now_ms)
{
    (void)checkpoints_refresh(checkpoints, now_ms); /* saved_left() finds what it misses */
    const struct checkpoint_extent whole = checkpoints->whole;
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        bool is_alike = whole.files && group->saved.extent.files == whole.files &&
                        group->saved.extent.bytes == whole.bytes;
        bool is_whole = end == CHECKPOINTS_ENDED_WELL || group->is_settled || is_alike;
        if (is_whole && !group->was_there && !group->is_told)
            checkpoints_tell(checkpoints, group);
    }
    checkpoints_prune(checkpoints);
}
