/* Reading a workflow again. */
#include "daemon/core/model.h"
#include "daemon/judge/judge_private.h"
#include "daemon/outlook/outlook.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/spec/spec.h"

#include <errno.h>
#include <string.h>

static const struct spec_problem *first_error(const struct spec_problems *problems)
{
    for (size_t i = 0; i < problems->count; i++)
        if (problems->items[i].severity == SPEC_ERROR)
            return &problems->items[i];
    return NULL;
}

static int resolve(const struct store_source *source, json_t **ret_resolved, struct error *err)
{
    struct spec_overrides overrides = {
        .variants = source->variants,
        .set = source->set,
        .changes = source->changes,
    };
    struct spec_problems problems = {0};
    int status = spec_parse(source->file, source->spec, strlen(source->spec), &overrides,
                            ret_resolved, &problems);
    if (status < 0) {
        const struct spec_problem *first = first_error(&problems);
        status = error_set(err, -EINVAL, "%s%s%s", first ? first->path : "",
                           first && *first->path ? ": " : "",
                           first ? first->message : "the workflow cannot be read");
    }
    spec_problems_fini(&problems);
    return status;
}

int revision_resolve(const struct store_source *source, const struct workflow *workflow,
                     json_t **ret_resolved, struct workflow **ret_revision, struct error *err)
{
    json_t *resolved = NULL;
    struct workflow *revision = NULL;
    int status = resolve(source, &resolved, err);
    if (status < 0)
        return status;
    status = outlook_model(resolved, &revision, err);
    if (status == 0 && revision->phase_count != workflow->phase_count) {
        workflow_free(revision);
        status = error_set(
            err, -EINVAL,
            "this version of phased finds another number of phases in the file, so submit "
            "the file again");
    }
    if (status < 0) {
        json_decref(resolved);
        return status;
    }
    *ret_resolved = resolved;
    *ret_revision = revision;
    return 0;
}
