/* Reading limits.yaml. */
#include "lib/spec/queue_limits.h"

#include "lib/error.h"
#include "lib/file.h"
#include "lib/memory.h"
#include "lib/spec/keys.h"
#include "lib/spec/options.h"
#include "lib/spec/scalar.h"
#include "lib/spec/scope.h"
#include "lib/spec/yaml.h"
#include "lib/spec/yaml_node.h"

#include <errno.h>
#include <stdlib.h>

static json_t *queue_limits_of(const struct yaml_node *root, struct spec_problems *problems)
{
    struct scope scope;
    size_t expanded = 0;
    int64_t number;
    json_t *limits = json_object();
    if (!keys_read_map(problems, root, KEYS_LIMITS,
                       "a map of limits: jobs, running_jobs, gpus and month"))
        return limits;
    scope_init(&scope, problems, &expanded, NULL, NULL, 0);
    for (const struct key *key = keys_next(KEYS_LIMITS, NULL); key;
         key = keys_next(KEYS_LIMITS, key)) {
        if (!key->type.form && scalar_key_whole(&scope, root, KEYS_LIMITS, key->name, &number))
            (void)json_object_set_new(limits, key->name, json_integer(number));
    }
    json_t *month = options_read_amounts(&scope, yaml_get(root, "month"));
    if (json_object_size(month))
        (void)json_object_set(limits, "month", month);
    json_decref(month);
    scope_fini(&scope);
    return limits;
}

json_t *queue_limits_read(const char *data, size_t size, struct spec_problems *problems)
{
    struct yaml_arena arena = {0};
    struct yaml_node *root = NULL;
    json_t *limits = NULL;
    if (yaml_is_blank(data, size))
        return json_object();
    if (yaml_read(&arena, data, size, problems, &root) == 0)
        limits = queue_limits_of(root, problems);
    yaml_arena_fini(&arena);
    spec_problems_sort(problems);
    if (!problems->error_count)
        return limits;
    json_decref(limits);
    return NULL;
}

int queue_limits_load(const char *path, struct spec_problems *problems, json_t **ret_limits)
{
    struct error err;
    char *data;
    size_t size;
    int status = file_read(path, QUEUE_LIMITS_FILE_MAX, &data, &size, &err);
    *ret_limits = status == -ENOENT ? json_object() : NULL;
    if (status == -ENOENT)
        return 0;
    problems->file = xstrdup(path);
    if (status < 0) {
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "%s", err.message);
        return status;
    }
    *ret_limits = queue_limits_read(data, size, problems);
    free(data);
    return 0;
}
