/* Reads the body of a request that has a spec, and resolves the spec. */
#include "daemon/api/api_private.h"

#include "lib/error.h"
#include "lib/spec/queue_limits.h"
#include "lib/spec/rehearsal.h"
#include "lib/spec/spec.h"
#include "lib/units.h"

#include <errno.h>

enum { KEY_DIGITS = 32 };

static const struct {
    const char *name;
    json_type type;
    bool is_required;
} members[] = {
    {"file", JSON_STRING, false},        {"spec", JSON_STRING, true},
    {"set", JSON_OBJECT, false},         {"workdir", JSON_STRING, true},
    {"environment", JSON_OBJECT, false}, {"umask", JSON_INTEGER, false},
    {"limits", JSON_ARRAY, false},       {"host", JSON_STRING, false},
    {"key", JSON_STRING, false},         {"with", JSON_ARRAY, false},
    {"provenance", JSON_OBJECT, false},  {"priority", JSON_INTEGER, false},
    {"after", JSON_INTEGER, false},      {"window", JSON_STRING, false},
    {"rehearse", JSON_INTEGER, false},   {"who", JSON_STRING, false},
};

static const char *type_name(json_type type)
{
    switch (type) {
    case JSON_OBJECT:
        return "an object whose members are strings";
    case JSON_ARRAY:
        return "a list of strings";
    case JSON_INTEGER:
        return "a whole number";
    default:
        return "a string";
    }
}

static bool has_only_strings(const json_t *container)
{
    const char *name;
    json_t *value;
    size_t index;
    if (json_is_object(container)) {
        json_object_foreach((json_t *)container, name,
                            value) if (!json_is_string(value)) return false;
    } else {
        json_array_foreach(container, index, value) if (!json_is_string(value)) return false;
    }
    return true;
}

int submission_check(const json_t *body, struct error *err)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *value = json_object_get(body, members[i].name);
        if (!value && members[i].is_required)
            return error_set(err, -EINVAL, "`%s` is missing", members[i].name);
        if (value && (json_typeof(value) != members[i].type || !has_only_strings(value)))
            return error_set(err, -EINVAL, "`%s` must be %s", members[i].name,
                             type_name(members[i].type));
    }
    const json_t *hold = json_object_get(body, "hold");
    if (hold && !json_is_boolean(hold))
        return error_set(err, -EINVAL, "`hold` must be true or false");
    const char *window = json_string_value(json_object_get(body, "window"));
    unsigned from, to;
    if (window && units_parse_window(window, &from, &to, err) < 0)
        return -EINVAL;
    const json_t *after = json_object_get(body, "after");
    if (after && json_integer_value(after) < 1)
        return error_set(err, -EINVAL, "`after`: there is no workflow %lld",
                         (long long)json_integer_value(after));
    json_int_t priority = json_integer_value(json_object_get(body, "priority"));
    if (priority < -QUEUE_PRIORITY_MAX || priority > QUEUE_PRIORITY_MAX)
        return error_set(err, -EINVAL, "`priority` must be from -%d to %d", QUEUE_PRIORITY_MAX,
                         QUEUE_PRIORITY_MAX);
    const json_t *rehearse = json_object_get(body, "rehearse");
    json_int_t steps = json_integer_value(rehearse);
    if (rehearse && (steps < 1 || steps > REHEARSAL_STEPS_MAX))
        return error_set(err, -EINVAL, "`rehearse` must be from 1 to %d steps",
                         REHEARSAL_STEPS_MAX);
    const char *key = json_string_value(json_object_get(body, "key"));
    if (key && !mac_is_hex(key, KEY_DIGITS))
        return error_set(err, -EINVAL, "`key` must be %d hexadecimal digits", KEY_DIGITS);
    const char *workdir = json_string_value(json_object_get(body, "workdir"));
    if (workdir[0] != '/')
        return error_set(err, -EINVAL, "`workdir` must be an absolute path, not %s", workdir);
    json_int_t mask = json_integer_value(json_object_get(body, "umask"));
    if (mask < 0 || mask > 0777)
        return error_set(err, -EINVAL, "`umask` must be from 0 to 511, not %lld", (long long)mask);
    return 0;
}

void submission_fill(json_t *body)
{
    if (!json_object_get(body, "umask"))
        (void)json_object_set_new(body, "umask", json_integer(022));
    if (!json_object_get(body, "environment"))
        (void)json_object_set_new(body, "environment", json_object());
    if (!json_object_get(body, "limits"))
        (void)json_object_set_new(body, "limits", json_array());
    if (!json_object_get(body, "file"))
        (void)json_object_set_new(body, "file", json_string("workflow"));
}

json_t *submission_resolve(const json_t *body, json_t *problems, json_t *warnings,
                           size_t *ret_error_count)
{
    const json_t *spec = json_object_get(body, "spec");
    const char *file = json_string_value(json_object_get(body, "file"));
    json_t *resolved = NULL;
    struct spec_overrides overrides = {
        .variants = json_object_get(body, "with"),
        .set = json_object_get(body, "set"),
        .rehearsal_steps = (unsigned)json_integer_value(json_object_get(body, "rehearse")),
    };
    struct spec_problems found = {0};
    if (spec_parse(file, json_string_value(spec), json_string_length(spec), &overrides, &resolved,
                   &found) < 0) {
        *ret_error_count = found.error_count;
        spec_problems_json(&found, problems);
        resolved = NULL;
    } else {
        spec_problems_json(&found, warnings);
    }
    spec_problems_fini(&found);
    return resolved;
}
