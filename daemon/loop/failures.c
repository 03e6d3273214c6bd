/* Keeping the catalogue of failures, and recording what was recognised. */
#include "daemon/loop/failures.h"

#include "daemon/loop/inside.h"
#include "daemon/store/store.h"
#include "lib/failures/catalogue.h"
#include "lib/file.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void failures_fini(struct failures *failures)
{
    json_decref(failures->catalogue);
}

static void tell(struct loop *loop, const struct run *run, const struct spec_problems *problems)
{
    struct text lines = {0};
    spec_problems_text(problems, &lines);
    for (const char *line = text_string(&lines); *line; line += strcspn(line, "\n") + 1)
        log_line("%.*s", (int)strcspn(line, "\n"), line);
    loop_warn(loop, run, "left out of what is known of failures: %.*s%s",
              (int)strcspn(text_string(&lines), "\n"), text_string(&lines),
              problems->count > 1 ? ", and more (see the daemon's log)" : "");
    text_fini(&lines);
}

const json_t *failures_get(struct loop *loop, const struct run *run)
{
    struct failures *failures = &loop->failures;
    const char *path = loop->config.home->failures;
    struct stat now;
    if (stat(path, &now) < 0)
        now = (struct stat){0};
    if (failures->catalogue && file_is_same(&failures->seen, &now))
        return failures->catalogue;
    struct spec_problems problems = {0};
    json_decref(failures->catalogue);
    failures->catalogue = catalogue_load(path, &problems);
    failures->seen = now;
    if (problems.count)
        tell(loop, run, &problems);
    spec_problems_fini(&problems);
    return failures->catalogue;
}

struct failure_item {
    struct loop_item item;
    uint64_t run;
    json_t *outcome;
};

/* What a worker wrote may be no failure: then there is none. */
static int item_write(struct loop_item *base, struct store *store, struct error *err)
{
    const struct failure_item *item = (const struct failure_item *)base;
    const char *cause = json_string_value(json_object_get(item->outcome, "cause"));
    int status = store_failure_put(store, item->run, json_object_get(item->outcome, "failure"),
                                   cause ? cause : "exit", err);
    return status == -EINVAL && store_excuse(store) ? 0 : status;
}

static void item_free(struct loop_item *base)
{
    struct failure_item *item = (struct failure_item *)base;
    json_decref(item->outcome);
    free(item);
}

struct loop_item *failures_item(const struct run *run, const json_t *outcome)
{
    if (!json_is_object(json_object_get(outcome, "failure")))
        return NULL;
    struct failure_item *item = xcalloc(1, sizeof *item);
    *item = (struct failure_item){
        .item = {.write = item_write, .free = item_free},
        .run = run->id,
        .outcome = json_incref((json_t *)outcome),
    };
    return &item->item;
}
