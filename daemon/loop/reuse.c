/* Looking for results: of an equal phase, asked for from the same folder, whose files are there. */
#include "daemon/loop/reuse.h"

#include "daemon/core/model.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/fingerprint.h"
#include "lib/home.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* All that the spec says of it but its name and its place in the matrix; the folder, and the code
 * as far as it is known. */
static void mark(json_t *spec, const json_t *submission)
{
    static const char *const code[] = {"commit", "diff", "packages"};
    json_t *member = json_object_get(spec, "member"), *content = json_copy(spec);
    json_t *document = json_object();
    char fingerprint[FINGERPRINT_SIZE];
    if (!content || !document)
        abort();
    (void)json_object_del(content, "name"); /* they are there */
    (void)json_object_del(content, "member");
    (void)json_object_set_new(document, "phase", content);
    (void)json_object_set(document, "workdir", json_object_get(submission, "workdir"));
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        json_t *part = json_object_get(json_object_get(submission, "provenance"), code[i]);
        if (part)
            (void)json_object_set(document, code[i], part);
    }
    fingerprint_json(document, fingerprint);
    json_decref(document);
    (void)json_object_set_new(member, "fingerprint", json_string(fingerprint));
}

/* The resolved phase of this name. */
static json_t *find(const json_t *resolved, const char *name)
{
    json_t *spec;
    size_t i;
    json_array_foreach(json_object_get(resolved, "phases"), i, spec)
    {
        if (text_equal(json_string_value(json_object_get(spec, "name")), name))
            return spec;
    }
    return NULL;
}

static int64_t reuse_s(const json_t *resolved, const struct phase *matrix)
{
    const json_t *best =
        json_object_get(json_object_get(find(resolved, matrix->name), "matrix"), "best");
    return json_integer_value(json_object_get(best, "reuse_s"));
}

static int take(struct store *store, const struct home *home, const char *fingerprint,
                int64_t since_ms, struct phase *member, struct error *err)
{
    struct store_result result = {0};
    int status = store_result_find(store, fingerprint, since_ms, &result, err);
    if (status < 0)
        return status == -ENOENT ? 0 : status;
    char *out = text_format("%s/%s/out", home->runs, result.address);
    if (access(out, F_OK) == 0) { /* else somebody has tidied up */
        member->reused = result.phase;
        member->reused_from = result.address;
        member->checkpoint_path = result.checkpoint_path;
        member->checkpoint_step = result.checkpoint_step;
        result.address = result.checkpoint_path = NULL;
    }
    free(out);
    free(result.address);
    free(result.checkpoint_path);
    return 0;
}

int reuse_results(struct store *store, const struct home *home, json_t *resolved,
                  const json_t *submission, struct workflow *workflow, struct error *err)
{
    int status = 0;
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        struct phase *phase = &workflow->phases[i];
        json_t *spec = phase->matrix ? find(resolved, phase->name) : NULL;
        if (!spec)
            continue;
        mark(spec, submission);
        int64_t seconds = reuse_s(resolved, phase->matrix);
        const json_t *fingerprint = json_object_get(json_object_get(spec, "member"), "fingerprint");
        if (seconds > 0)
            status = take(store, home, json_string_value(fingerprint),
                          loop_now_ms() - 1000 * seconds, phase, err);
    }
    return status;
}
