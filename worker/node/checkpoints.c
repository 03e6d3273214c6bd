/* Looking for checkpoints. */
#include "worker/node/checkpoints.h"

#include "lib/checkpoint.h"
#include "lib/error.h"
#include "lib/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <glob.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINTS_KEEP_MIN = 2 };

static const char checkpoints_step[] = "{step}";

/* All that has one step. */
struct group {
    int64_t step;
    struct checkpoint_extent signature;
    char **paths; /* in order of their names */
    size_t path_count;
    bool is_old;      /* was there before this run, and has not changed */
    bool is_told;     /* whole, and told */
    bool was_present; /* in the look before */
    bool is_good;     /* begun before what came later was suspect */
};

struct checkpoints {
    char *wildcard; /* the pattern with * for {step} */
    char *folder;   /* below it may be removed */
    pcre2_code *code;
    pcre2_match_data *match;
    unsigned keep;
    checkpoint_found *found;
    void *context;
    struct group *groups;
    size_t group_count;
    uint64_t changes;
    bool is_suspect;                /* what is begun from now on */
    struct checkpoint_extent whole; /* of the last one told */
};

static void group_fini(struct group *group)
{
    for (size_t i = 0; i < group->path_count; i++)
        free(group->paths[i]);
    free(group->paths);
}

static void groups_free(struct group *groups, size_t count)
{
    for (size_t i = 0; i < count; i++)
        group_fini(&groups[i]);
    free(groups);
}

static bool checkpoints_is_temporary(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return name[0] == '.' || strstr(name, ".tmp") || text_ends(name, ".part") ||
           text_ends(name, ".partial") || text_ends(name, ".incomplete") || text_ends(name, "~");
}

static bool signature_equal(const struct checkpoint_extent *a, const struct checkpoint_extent *b)
{
    return a->files == b->files && a->bytes == b->bytes && a->newest_ns == b->newest_ns;
}

/* Translates wildcards into an expression with the step as its first group. Stars are reluctant,
 * so that in model_000500_rank1.pt the step of *_{step}* is 500. */
static void checkpoints_translate(const char *pattern, struct text *text)
{
    text_add(text, "\\A");
    while (*pattern) {
        size_t size = 1;
        const char *end;
        if (text_starts(pattern, checkpoints_step)) {
            size = strlen(checkpoints_step);
            text_add(text, "([0-9]{1,18})(?![0-9])");
        } else if (*pattern == '*') {
            text_add(text, "[^/]*?");
        } else if (*pattern == '?') {
            text_add(text, "[^/]");
        } else if (*pattern == '[' && pattern[1] && (end = strchr(pattern + 2, ']'))) {
            size = (size_t)(end - pattern) + 1;
            text_addf(text, "[%s%.*s", pattern[1] == '!' ? "^" : "",
                      (int)(size - 1 - (pattern[1] == '!')), pattern + 1 + (pattern[1] == '!'));
        } else {
            text_addf(text, isalnum((unsigned char)*pattern) ? "%c" : "\\%c", *pattern);
        }
        pattern += size;
    }
    text_add(text, "\\z");
}

static bool checkpoints_step_of(const struct checkpoints *checkpoints, const char *path,
                                int64_t *ret_step)
{
    int count = pcre2_match(checkpoints->code, (PCRE2_SPTR)path, strlen(path), 0, 0,
                            checkpoints->match, NULL);
    if (count < 2)
        return false;
    *ret_step = strtoll(path + pcre2_get_ovector_pointer(checkpoints->match)[2], NULL, 10);
    return true;
}

static struct group *groups_find(struct group *groups, size_t count, int64_t step)
{
    for (size_t i = 0; i < count; i++)
        if (groups[i].step == step)
            return &groups[i];
    return NULL;
}

static void group_add_path(struct group *group, const char *path)
{
    group->paths = realloc(group->paths, (group->path_count + 1) * sizeof(char *));
    if (!group->paths)
        abort();
    group->paths[group->path_count++] = text_format("%s", path);
    (void)checkpoint_measure(path, &group->signature); /* what has vanished adds nothing */
}

/* What is there now, by step. */
static struct group *checkpoints_list(struct checkpoints *checkpoints, size_t *ret_count)
{
    struct group *groups = NULL;
    size_t count = 0;
    glob_t paths = {0};
    if (glob(checkpoints->wildcard, 0, NULL, &paths) != 0)
        paths.gl_pathc = 0; /* nothing there yet, or not readable now: the next look will tell */
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        const char *path = paths.gl_pathv[i];
        int64_t step;
        if (checkpoints_is_temporary(path) || !checkpoints_step_of(checkpoints, path, &step))
            continue;
        struct group *group = groups_find(groups, count, step);
        if (!group) {
            groups = realloc(groups, (count + 1) * sizeof(*groups));
            if (!groups)
                abort();
            group = &groups[count++];
            *group = (struct group){.step = step};
        }
        group_add_path(group, path);
    }
    globfree(&paths);
    *ret_count = count;
    return groups;
}

static void checkpoints_tell(struct checkpoints *checkpoints, struct group *group)
{
    group->is_told = true;
    checkpoints->whole = group->signature;
    struct checkpoint checkpoint = {
        .path = group->paths[0],
        .step = group->step,
        .bytes = group->signature.bytes,
        .paths = group->paths,
        .path_count = group->path_count,
        .is_suspect = checkpoints->is_suspect && !group->is_good,
    };
    checkpoints->found(checkpoints->context, &checkpoint);
}

static int checkpoints_remove_entry(const char *path, const struct stat *status, int type,
                                    struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    (void)remove(path); /* what cannot be removed stays, and is seen by whoever misses the space */
    return 0;
}

static void checkpoints_remove(const struct checkpoints *checkpoints, const struct group *group)
{
    size_t size = strlen(checkpoints->folder);
    for (size_t i = 0; i < group->path_count; i++) {
        const char *path = group->paths[i];
        bool is_below = text_starts(path, checkpoints->folder) && path[size] == '/' &&
                        !strstr(path + size, "/../");
        if (is_below)
            (void)nftw(path, checkpoints_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* Removes this run's checkpoints beyond the newest that are to be kept. */
static void checkpoints_prune(struct checkpoints *checkpoints)
{
    for (size_t i = 0; checkpoints->keep && i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        unsigned newer = 0;
        for (size_t j = 0; j < checkpoints->group_count; j++)
            newer += checkpoints->groups[j].is_told && checkpoints->groups[j].step > group->step;
        if (group->is_told && newer >= checkpoints->keep)
            checkpoints_remove(checkpoints, group);
    }
}

/* Takes a look: groups keep what is known of them while they do not change. */
static void checkpoints_refresh(struct checkpoints *checkpoints)
{
    size_t count;
    struct group *groups = checkpoints_list(checkpoints, &count);
    for (size_t i = 0; i < count; i++) {
        struct group *before =
            groups_find(checkpoints->groups, checkpoints->group_count, groups[i].step);
        groups[i].is_good = before && before->is_good;
        if (!before || !signature_equal(&before->signature, &groups[i].signature)) {
            checkpoints->changes++;
            continue;
        }
        groups[i].was_present = true;
        groups[i].is_old = before->is_old;
        groups[i].is_told = before->is_told;
    }
    groups_free(checkpoints->groups, checkpoints->group_count);
    checkpoints->groups = groups;
    checkpoints->group_count = count;
}

static char *checkpoints_wildcard(const char *pattern)
{
    struct text text = {0};
    const char *step;
    while ((step = strstr(pattern, checkpoints_step))) {
        text_add_bytes(&text, pattern, (size_t)(step - pattern));
        text_add(&text, "[0-9]*");
        pattern = step + strlen(checkpoints_step);
    }
    text_add(&text, pattern);
    return text_steal(&text);
}

static int checkpoints_compile(struct checkpoints *checkpoints, const char *pattern,
                               struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    struct text text = {0};
    checkpoints_translate(pattern, &text);
    checkpoints->code =
        pcre2_compile((PCRE2_SPTR)text_string(&text), text.size, 0, &code, &offset, NULL);
    text_fini(&text);
    if (!checkpoints->code)
        return error_set(err, -EINVAL, "checkpoint.path is not a pattern: %s", pattern);
    checkpoints->match = pcre2_match_data_create_from_pattern(checkpoints->code, NULL);
    if (!checkpoints->match)
        abort();
    return 0;
}

int checkpoints_new(const char *pattern, const char *out_dir, unsigned keep,
                    checkpoint_found *found, void *context, struct checkpoints **ret_checkpoints,
                    struct error *err)
{
    if (!strstr(pattern, checkpoints_step))
        return error_set(err, -EINVAL, "checkpoint.path has no {step}: %s", pattern);
    struct checkpoints *checkpoints = calloc(1, sizeof(*checkpoints));
    if (!checkpoints)
        abort();
    checkpoints->wildcard = checkpoints_wildcard(pattern);
    checkpoints->folder = text_format("%s", out_dir);
    checkpoints->keep = keep && keep < CHECKPOINTS_KEEP_MIN ? CHECKPOINTS_KEEP_MIN : keep;
    checkpoints->found = found;
    checkpoints->context = context;
    int result = checkpoints_compile(checkpoints, pattern, err);
    if (result < 0) {
        checkpoints_free(checkpoints);
        return result;
    }
    checkpoints_refresh(checkpoints);
    for (size_t i = 0; i < checkpoints->group_count; i++)
        checkpoints->groups[i].is_old = true;
    *ret_checkpoints = checkpoints;
    return 0;
}

void checkpoints_free(struct checkpoints *checkpoints)
{
    if (!checkpoints)
        return;
    groups_free(checkpoints->groups, checkpoints->group_count);
    pcre2_match_data_free(checkpoints->match);
    pcre2_code_free(checkpoints->code);
    free(checkpoints->wildcard);
    free(checkpoints->folder);
    free(checkpoints);
}

void checkpoints_look(struct checkpoints *checkpoints)
{
    checkpoints_refresh(checkpoints);
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        if (group->was_present && !group->is_old && !group->is_told)
            checkpoints_tell(checkpoints, group);
    }
    checkpoints_prune(checkpoints);
}

uint64_t checkpoints_changes(const struct checkpoints *checkpoints)
{
    return checkpoints->changes;
}

void checkpoints_suspect(struct checkpoints *checkpoints, int64_t since)
{
    if (checkpoints->is_suspect)
        return;
    checkpoints_refresh(checkpoints);
    checkpoints->is_suspect = true;
    for (size_t i = 0; i < checkpoints->group_count; i++)
        checkpoints->groups[i].is_good = checkpoints->groups[i].step < since;
}

void checkpoints_look_last(struct checkpoints *checkpoints, enum checkpoints_end end)
{
    checkpoints_refresh(checkpoints);
    const struct checkpoint_extent whole = checkpoints->whole;
    for (size_t i = 0; i < checkpoints->group_count; i++) {
        struct group *group = &checkpoints->groups[i];
        bool is_alike = whole.files && group->signature.files == whole.files &&
                        group->signature.bytes == whole.bytes;
        bool is_whole = end == CHECKPOINTS_ENDED_WELL || group->was_present || is_alike;
        if (is_whole && !group->is_old && !group->is_told)
            checkpoints_tell(checkpoints, group);
    }
    checkpoints_prune(checkpoints);
}
