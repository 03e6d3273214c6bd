/* Looks for checkpoints, and writes notes about them. */
#include "lib/saved.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/json.h"
#include "lib/memory.h"
#include "lib/text.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SAVED_FILE_MAX = 64 * 1024 * 1024, /* of checkpoints.json */
    SAVED_EQUAL_MIN = 3                /* this many of one size show that sizes do not vary */
};

static const char saved_step[] = "{step}";

struct saved_pattern {
    char *text;
    char *wildcard; /* the pattern with * for {step} */
    pcre2_code *code;
};

/* --- Patterns --------------------------------------------------------------------------------- */

static bool saved_is_temporary(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return name[0] == '.' || strstr(name, ".tmp") || text_ends(name, ".part") ||
           text_ends(name, ".partial") || text_ends(name, ".incomplete") || text_ends(name, "~");
}

/* Translates wildcards into a regular expression with the step as its first group. Stars are not
 * greedy, so that the step of *_{step}* is 500 in model_000500_rank1.pt. */
static void saved_translate(const char *pattern, struct text *text)
{
    text_add(text, "\\A");
    while (*pattern) {
        size_t size = 1;
        const char *end;
        if (text_starts(pattern, saved_step)) {
            size = strlen(saved_step);
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
            pattern += *pattern == '\\' && pattern[1]; /* the next character means itself */
            text_addf(text, isalnum((unsigned char)*pattern) ? "%c" : "\\%c", *pattern);
        }
        pattern += size;
    }
    text_add(text, "\\z");
}

static char *saved_wildcard(const char *pattern)
{
    struct text text = {0};
    const char *step;
    while ((step = strstr(pattern, saved_step))) {
        text_add_bytes(&text, pattern, (size_t)(step - pattern));
        text_add(&text, "[0-9]*");
        pattern = step + strlen(saved_step);
    }
    text_add(&text, pattern);
    return text_steal(&text);
}

int saved_pattern_new(const char *text, struct saved_pattern **ret_pattern, struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    struct text expression = {0};
    if (!strstr(text, saved_step))
        return error_set(err, -EINVAL, "checkpoint.path has no {step}: %s", text);
    saved_translate(text, &expression);
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)text_string(&expression), expression.size, 0,
                                         &code, &offset, NULL);
    text_fini(&expression);
    if (!compiled)
        return error_set(err, -EINVAL, "checkpoint.path is not a pattern: %s", text);
    struct saved_pattern *pattern = xcalloc(1, sizeof *pattern);
    *pattern = (struct saved_pattern){
        .text = xstrdup(text), .wildcard = saved_wildcard(text), .code = compiled};
    *ret_pattern = pattern;
    return 0;
}

void saved_pattern_free(struct saved_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    free(pattern->wildcard);
    free(pattern->text);
    free(pattern);
}

static bool saved_step_of(const struct saved_pattern *pattern, pcre2_match_data *match,
                          const char *path, int64_t *ret_step)
{
    int count = pcre2_match(pattern->code, (PCRE2_SPTR)path, strlen(path), 0, 0, match, NULL);
    if (count < 2)
        return false;
    *ret_step = strtoll(path + pcre2_get_ovector_pointer(match)[2], NULL, 10);
    return *ret_step <= JSON_WHOLE_MAX; /* no journal can tell a larger step */
}

/* --- Lists ------------------------------------------------------------------------------------ */

static struct saved *saved_list_find(const struct saved_list *list, int64_t step)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].step == step)
            return &list->items[i];
    return NULL;
}

static struct saved *saved_list_add(struct saved_list *list, int64_t step)
{
    list->items = xrealloc(list->items, (list->count + 1) * sizeof *list->items);
    struct saved *saved = &list->items[list->count++];
    *saved = (struct saved){.step = step};
    return saved;
}

static void saved_add_path(struct saved *saved, const char *path)
{
    saved->paths = xrealloc(saved->paths, (saved->path_count + 1) * sizeof *saved->paths);
    saved->paths[saved->path_count++] = xstrdup(path);
}

/* Whether a folder that cannot be read may hold checkpoints. A folder that belongs to somebody else
 * holds none of this user, and a link may lead nowhere. */
static int saved_is_problem(const char *path, int code)
{
    (void)path;
    return code != ENOENT && code != ENOTDIR && code != EACCES && code != ELOOP;
}

/* Finds the paths that may match. A folder that cannot be read is left out. Then returns -EIO. */
static int saved_find(const char *wildcard, glob_t *ret_paths)
{
    int result = glob(wildcard, 0, saved_is_problem, ret_paths);
    if (result == 0 || result == GLOB_NOMATCH)
        return 0;
    globfree(ret_paths);
    if (glob(wildcard, 0, NULL, ret_paths) != 0)
        ret_paths->gl_pathc = 0;
    return -EIO;
}

int saved_look(const struct saved_pattern *pattern, int64_t after, struct saved_list *ret_list)
{
    struct saved_list list = {0};
    glob_t paths = {0};
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    if (!match)
        abort();
    int status = saved_find(pattern->wildcard, &paths);
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        const char *path = paths.gl_pathv[i];
        int64_t step;
        if (saved_is_temporary(path) || !saved_step_of(pattern, match, path, &step) ||
            step <= after)
            continue;
        struct saved *saved = saved_list_find(&list, step);
        if (!saved)
            saved = saved_list_add(&list, step);
        saved_add_path(saved, path);
        (void)checkpoint_measure(path, &saved->extent); /* a vanished file adds nothing */
    }
    globfree(&paths);
    pcre2_match_data_free(match);
    *ret_list = list;
    return status;
}

json_t *saved_paths(const struct saved *saved)
{
    json_t *paths = saved->path_count > 1 ? json_array() : NULL;
    for (size_t i = 0; paths && i < saved->path_count; i++)
        (void)json_array_append_new(paths, json_string(saved->paths[i])); /* not of NULL */
    return paths;
}

void saved_fini(struct saved *saved)
{
    for (size_t i = 0; i < saved->path_count; i++)
        free(saved->paths[i]);
    free(saved->paths);
}

void saved_list_fini(struct saved_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        saved_fini(&list->items[i]);
    free(list->items);
    *list = (struct saved_list){0};
}

/* --- Notes ------------------------------------------------------------------------------------ */

/* Returns NULL if the path of the checkpoint is not UTF-8. */
static json_t *saved_json(const struct saved *saved)
{
    json_t *json = json_pack("{s:s, s:I, s:I}", "path", saved->paths[0], "step",
                             (json_int_t)saved->step, "bytes", (json_int_t)saved->extent.bytes);
    json_t *paths = json ? saved_paths(saved) : NULL;
    if (paths)
        json_object_set_new(json, "paths", paths);
    return json;
}

/* Returns the values that change if the checkpoint is written again. */
static json_t *saved_there_json(const struct saved *saved)
{
    json_t *json = saved_json(saved);
    if (!json)
        return NULL;
    json_object_set_new(json, "files", json_integer((json_int_t)saved->extent.files));
    json_object_set_new(json, "newest_ns", json_integer(saved->extent.newest_ns));
    return json;
}

static json_t *saved_list_json(const struct saved_list *list)
{
    json_t *json = json_array();
    for (size_t i = 0; i < list->count; i++)
        (void)json_array_append_new(json, saved_there_json(&list->items[i])); /* not of NULL */
    return json;
}

static int saved_write_notes(const char *run_dir, const json_t *notes, struct error *err)
{
    char *path = text_format("%s/checkpoints.json", run_dir);
    char *text = notes ? json_dumps(notes, JSON_COMPACT) : NULL;
    int status = text ? file_replace(path, text, strlen(text), 0600, err)
                      : error_set(err, -EILSEQ, "checkpoint.path is not UTF-8");
    free(text);
    free(path);
    return status;
}

int saved_note(const char *run_dir, const struct saved_pattern *pattern,
               const struct saved_list *there, struct error *err)
{
    json_t *notes =
        json_pack("{s:s, s:o}", "pattern", pattern->text, "there", saved_list_json(there));
    int status = saved_write_notes(run_dir, notes, err);
    json_decref(notes);
    return status;
}

/* Returns NULL if there are no notes. */
static json_t *saved_read_notes(const char *run_dir)
{
    char *path = text_format("%s/checkpoints.json", run_dir), *text = NULL;
    json_t *json = NULL;
    if (file_read(path, SAVED_FILE_MAX, &text, NULL, NULL) == 0)
        json = json_loads(text, 0, NULL);
    free(text);
    free(path);
    return json;
}

int saved_note_left_out(const char *run_dir, const struct saved_list *left_out, struct error *err)
{
    json_t *notes = saved_read_notes(run_dir);
    int status = 0;
    if (notes && json_object_set_new(notes, "left_out", saved_list_json(left_out)) == 0)
        status = saved_write_notes(run_dir, notes, err);
    json_decref(notes);
    return status;
}

/* Returns the checkpoints that existed when the next run with notes began; NULL: there is no such
 * run. */
static json_t *saved_read_next(const char *phase_dir, unsigned attempt)
{
    json_t *notes = NULL;
    bool is_made = true;
    while (!notes && is_made) {
        char *run_dir = text_format("%s/%u", phase_dir, ++attempt);
        is_made = access(run_dir, F_OK) == 0;
        notes = saved_read_notes(run_dir);
        free(run_dir);
    }
    json_t *there = json_incref(json_object_get(notes, "there"));
    json_decref(notes);
    return there;
}

static json_t *saved_look_now(const char *text, int64_t after)
{
    struct saved_pattern *pattern;
    struct saved_list now;
    if (!text || saved_pattern_new(text, &pattern, NULL) < 0)
        return json_array();
    (void)saved_look(pattern, after, &now); /* what is not seen is not used */
    json_t *list = saved_list_json(&now);
    saved_list_fini(&now);
    saved_pattern_free(pattern);
    return list;
}

double saved_near_bytes(double whole)
{
    return 0.99 * whole;
}

/* Whether the checkpoint existed before, unchanged or clearly larger. If the earlier checkpoint of
 * the same step was clearly larger, this run did not finish its own. */
static bool saved_was_there(const json_t *there, const json_t *saved)
{
    for (size_t i = 0; i < json_array_size(there); i++) {
        const json_t *before = json_array_get(there, i);
        if (json_equal(before, saved) ||
            (json_member_integer(before, "step") == json_member_integer(saved, "step") &&
             saved_near_bytes((double)json_member_integer(before, "bytes")) >
                 (double)json_member_integer(saved, "bytes")))
            return true;
    }
    return false;
}

static double saved_nine_tenths(const json_t *saved)
{
    return 0.9 * (double)json_member_integer(saved, "bytes");
}

/* The least size of a whole checkpoint in bytes. Sizes vary a little, because numbers in the files
 * get more digits, and may grow with the steps. Or they do not vary at all. */
static double saved_least_bytes(const json_t *told, const json_t *left)
{
    size_t count = json_array_size(told);
    double least = 0, smallest = INFINITY, largest = 0;
    for (size_t i = 0; count == 0 && i < json_array_size(left); i++)
        least = fmax(least, saved_nine_tenths(json_array_get(left, i)));
    if (count == 0)
        return least;
    for (size_t i = 0; i < count; i++) {
        double bytes = (double)json_member_integer(json_array_get(told, i), "bytes");
        smallest = fmin(smallest, bytes);
        largest = fmax(largest, bytes);
    }
    if (count >= SAVED_EQUAL_MIN && !(smallest < largest))
        return smallest;
    return fmax(saved_near_bytes(smallest), saved_nine_tenths(json_array_get(told, count - 1)));
}

/* The least number of files in a whole checkpoint: the number in the newest one that is unchanged
 * since it was reported. */
static json_int_t saved_least_files(const json_t *told)
{
    for (size_t i = json_array_size(told); i-- > 0;) {
        const json_t *saved = json_array_get(told, i);
        const char *path = json_string_value(json_object_get(saved, "path"));
        struct checkpoint_extent extent = {0};
        if (path && checkpoint_measure_all(path, json_object_get(saved, "paths"), &extent) == 0 &&
            extent.bytes == (uint64_t)json_member_integer(saved, "bytes"))
            return (json_int_t)extent.files;
    }
    return 0;
}

static void saved_leave_out_torn(const json_t *told, json_t *left)
{
    const json_t *last = json_array_get(told, json_array_size(told) - 1);
    double least = saved_least_bytes(told, left);
    json_int_t files = json_array_size(left) > 0 ? saved_least_files(told) : 0;
    for (size_t i = json_array_size(left); i-- > 0;) {
        const json_t *saved = json_array_get(left, i);
        if (json_array_size(json_object_get(saved, "paths")) <
                json_array_size(json_object_get(last, "paths")) ||
            json_member_integer(saved, "files") < files ||
            (double)json_member_integer(saved, "bytes") < least)
            (void)json_array_remove(left, i); /* cannot fail: the index exists */
    }
}

const struct saved_limit saved_no_limit = {INT64_MAX, INT64_MAX};

void saved_limit_lower(struct saved_limit *limit, int64_t step, int64_t time_ms)
{
    if (step < limit->step)
        limit->step = step;
    if (time_ms < limit->time_ms)
        limit->time_ms = time_ms;
}

static bool saved_is_within(const struct saved_limit *limit, const json_t *saved)
{
    return json_member_integer(saved, "step") < limit->step &&
           json_member_integer(saved, "newest_ns") / 1000000 < limit->time_ms;
}

json_t *saved_left(const char *phase_dir, unsigned attempt, int64_t after,
                   const struct saved_limit *limit, const json_t *told)
{
    char *run_dir = text_format("%s/%u", phase_dir, attempt);
    json_t *left = json_array(), *notes = saved_read_notes(run_dir);
    const json_t *before = json_object_get(notes, "there");
    const json_t *left_out = json_object_get(notes, "left_out");
    json_t *now = json_is_array(before) ? saved_read_next(phase_dir, attempt) : json_array();
    if (!now)
        now = saved_look_now(json_string_value(json_object_get(notes, "pattern")), after);
    for (size_t i = 0; i < json_array_size(now); i++) {
        json_t *saved = json_array_get(now, i);
        if (!json_is_string(json_object_get(saved, "path")) ||
            json_member_integer(saved, "step") <= after || !saved_is_within(limit, saved) ||
            saved_was_there(before, saved) || saved_was_there(left_out, saved))
            continue;
        json_t *copy = json_copy(saved);
        json_object_set_new(copy, "time",
                            json_real((double)json_member_integer(saved, "newest_ns") / 1e9));
        (void)json_object_del(copy, "newest_ns"); /* cannot fail: the key exists */
        (void)json_array_append_new(left, copy);
    }
    saved_leave_out_torn(told, left);
    json_decref(now);
    json_decref(notes);
    free(run_dir);
    return left;
}
