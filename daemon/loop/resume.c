/* Choosing checkpoints. */
#include "daemon/loop/resume.h"

#include "daemon/core/model.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/file.h"
#include "lib/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEARCH_STEPS_MAX = 8 }; /* that a message names */

struct choice {
    const struct run *run;
    json_t *seen;            /* paths as keys: a file that was written again is its newest alone */
    json_t *chosen, *second; /* what to take, and what to take where there is nothing else */
};

static bool is_whole(const struct store_checkpoint *checkpoint)
{
    int64_t bytes = 0;
    size_t i;
    json_t *path;
    if (!checkpoint->paths)
        bytes = file_measure(checkpoint->path);
    json_array_foreach((json_t *)checkpoint->paths, i, path)
    {
        int64_t more = json_is_string(path) ? file_measure(json_string_value(path)) : -1;
        bytes = bytes < 0 || more < 0 ? -1 : bytes + more;
    }
    return bytes >= 0 && (checkpoint->bytes < 0 || bytes == checkpoint->bytes);
}

/* Whether a program that began with this checkpoint failed before its first step; it may have been
 * written again since. */
static bool has_failed(const struct run *run, const struct store_checkpoint *checkpoint)
{
    const struct workflow *workflow = run->phase->workflow;
    for (size_t i = 0; i < workflow->run_count; i++) {
        const struct run *before = workflow->runs[i];
        if (before->phase == run->phase && before != run && before->outcome == OUTCOME_FAILED &&
            before->cause == CAUSE_EXIT && before->resume_path &&
            text_equal(before->resume_path, checkpoint->path) &&
            before->ended_ms >= checkpoint->time_ms && before->last_step <= before->resume_step)
            return true;
    }
    return false;
}

static json_t *reference(const struct store_checkpoint *checkpoint)
{
    return json_pack("{s:s, s:I}", "path", checkpoint->path, "step", (json_int_t)checkpoint->step);
}

/* Newest first; returns 1 when there is no need to look further. */
static int consider(void *arg, const struct store_checkpoint *checkpoint)
{
    struct choice *choice = arg;
    if (checkpoint->step > choice->run->resume_step)
        return 0; /* a person wants it from an earlier one */
    bool is_old = json_object_get(choice->seen, checkpoint->path) != NULL;
    (void)json_object_set_new(choice->seen, checkpoint->path, json_true());
    if (is_old || !is_whole(checkpoint))
        return 0;
    if (!choice->run->phase->is_chosen && has_failed(choice->run, checkpoint)) {
        if (!choice->second)
            choice->second = reference(checkpoint);
        return 0;
    }
    choice->chosen = reference(checkpoint);
    return 1;
}

int resume_choose(struct store *store, const struct run *run, json_t **ret_resume,
                  struct error *err)
{
    struct choice choice = {.run = run};
    int status = 0;
    if (run->resume_path) {
        choice.seen = json_object();
        status = store_checkpoints(store, run->phase->id, consider, &choice, err);
        json_decref(choice.seen);
    }
    if (status < 0) {
        json_decref(choice.second);
        return status;
    }
    *ret_resume = choice.chosen ? choice.chosen : choice.second ? choice.second : json_null();
    if (choice.chosen)
        json_decref(choice.second);
    return 0;
}

/* A person's choice. */
struct search {
    const char *from; /* a step or a path */
    json_t *seen, *found;
    struct text steps; /* of those that are whole */
    unsigned count;
};

static int match(void *arg, const struct store_checkpoint *checkpoint)
{
    struct search *search = arg;
    char step[24];
    bool is_old = json_object_get(search->seen, checkpoint->path) != NULL;
    (void)json_object_set_new(search->seen, checkpoint->path, json_true());
    if (is_old || !is_whole(checkpoint))
        return 0;
    (void)snprintf(step, sizeof step, "%" PRId64, checkpoint->step);
    if (text_equal(step, search->from) || text_equal(checkpoint->path, search->from)) {
        search->found = reference(checkpoint);
        return 1;
    }
    if (search->count++ < SEARCH_STEPS_MAX)
        text_addf(&search->steps, "%s%s", search->steps.size ? ", " : "", step);
    return 0;
}

int resume_find(struct store *store, const struct phase *phase, const char *from,
                json_t **ret_found, struct error *err)
{
    if (text_equal(from, "start")) {
        *ret_found = json_pack("{s:s, s:i}", "path", "", "step", 0);
        return 0;
    }
    struct search search = {.from = from, .seen = json_object()};
    int status = store_checkpoints(store, phase->id, match, &search, err);
    if (status >= 0 && search.found)
        *ret_found = search.found;
    else if (status >= 0)
        status =
            error_set(err, -ENOENT, "phase %s has no whole checkpoint %s; it has %s%s", phase->name,
                      from, search.count ? text_string(&search.steps) : "none: retry --from start",
                      search.count > SEARCH_STEPS_MAX ? " and older ones"
                      : search.count                  ? " (steps), and start"
                                                      : "");
    else
        json_decref(search.found);
    json_decref(search.seen);
    text_fini(&search.steps);
    return status < 0 ? status : 0;
}
