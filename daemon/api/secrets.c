/* Takes the secrets out of the body of a submission, so that nothing after it knows them. */
#include "daemon/api/api_private.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/secrets.h"
#include "lib/spec/hide.h"
#include "lib/text.h"

#include <stdlib.h>

static bool is_named(const json_t *names, const char *name)
{
    const json_t *other;
    size_t index;
    json_array_foreach((json_t *)names, index, other)
    {
        if (text_equal(json_string_value(other), name))
            return true;
    }
    return false;
}

static json_t *hide_environment(const json_t *environment, const json_t *names, json_t *secrets)
{
    json_t *hidden = json_object(), *value;
    const char *name;
    json_object_foreach((json_t *)environment, name, value)
    {
        const char *text = json_string_value(value);
        if (!secrets_is(name, text) && !(*text && is_named(names, name))) {
            (void)json_object_set(hidden, name, value); /* fails only without memory */
            continue;
        }
        char *mark = secrets_add(secrets, name, text);
        (void)json_object_set_new(hidden, name, json_string(mark)); /* as above */
        free(mark);
    }
    return hidden;
}

/* The changes of the code may be those of the workflow file itself. */
static void hide_diff(json_t *body, const json_t *secrets)
{
    json_t *provenance = json_object_get(body, "provenance");
    const char *diff = json_string_value(json_object_get(provenance, "diff"));
    if (!diff)
        return;
    char *text = secrets_scrub(secrets, xstrdup(diff));
    json_t *copy = json_copy(provenance); /* submissions of a list share it */
    (void)json_object_set_new(copy, "diff", json_string(text));
    (void)json_object_set_new(body, "provenance", copy);
    free(text);
}

int submission_hide(json_t *body, json_t **ret_secrets, struct error *err)
{
    const json_t *spec = json_object_get(body, "spec");
    json_t *secrets = json_object(), *names = NULL;
    struct text text = {0};
    int status = hide_secrets(json_string_value(spec), json_string_length(spec), secrets, &names,
                              &text, err);
    if (status == 0) {
        json_t *environment =
            hide_environment(json_object_get(body, "environment"), names, secrets);
        (void)json_object_set_new(body, "environment", environment);
        (void)json_object_set_new(body, "spec", json_stringn(text_string(&text), text.size));
        hide_diff(body, secrets);
        *ret_secrets = json_incref(secrets);
    } else {
        error_prefix(err, "%s", json_string_value(json_object_get(body, "file")));
    }
    text_fini(&text);
    json_decref(names);
    json_decref(secrets);
    return status;
}
