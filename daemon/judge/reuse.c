/* Looks for results that can be used again. The earlier phase must be equal, and submit must have
 * been called in the same folder. The files of the result must still exist. Its GPUs must be GPUs
 * that the member asks for now. */
#include "daemon/core/model.h"
#include "daemon/judge/judge.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/fingerprint.h"
#include "lib/home.h"
#include "lib/memory.h"
#include "lib/spec/overlay.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const json_t *matrix_of(const json_t *resolved, const struct phase *matrix)
{
    return json_object_get(phase_spec_find(resolved, matrix->name), "matrix");
}

/* Whether a submodule has changes of its own. git prints the same line for all such changes:
 * "+Subproject commit 1a2b-dirty". */
static bool has_changed_submodule(const char *diff)
{
    static const char begin[] = "\n+Subproject commit ";
    for (const char *at = strstr(diff, begin); at; at = strstr(at + 1, begin)) {
        const char *commit = at + strlen(begin);
        if (text_starts(commit + strspn(commit, "0123456789abcdef"), "-dirty"))
            return true;
    }
    return false;
}

/* Whether it is known which code the member runs. Without a repository: yes. With a repository
 * whose commit is not known, there is a root, or a note that says why. Files that git does not know
 * are code, too. */
static bool is_code_known(const json_t *provenance)
{
    const char *diff = json_string_value(json_object_get(provenance, "diff"));
    const char *untracked = json_string_value(json_object_get(provenance, "untracked"));
    if (!json_object_get(provenance, "commit"))
        return !json_object_get(provenance, "root") && !json_object_get(provenance, "diff_note");
    return diff && !has_changed_submodule(diff) && untracked &&
           (!*untracked || json_object_get(provenance, "untracked_sum"));
}

/* Makes the fingerprint of a member. It covers what the spec says of the phase, the rungs, the
 * folder, whether the folder was copied, and the code as far as it is known. It leaves out the
 * name, the place in the matrix, `cut`, and the type of the GPUs if the spec names only one.
 * Results are compared later by the GPUs that they really had. If the code was changed after its
 * commit, and the changes are not known, the member gets no fingerprint: it equals no other member.
 */
static void mark(json_t *spec, const json_t *rungs, const json_t *submission)
{
    static const char *const code[] = {"commit", "diff", "untracked_sum", "packages"};
    const json_t *provenance = json_object_get(submission, "provenance");
    if (!is_code_known(provenance))
        return;
    json_t *from = json_object_get(provenance, "from");
    json_t *member = json_object_get(spec, "member"), *content = json_copy(spec);
    json_t *document = json_object(), *resources = json_copy(json_object_get(spec, "resources"));
    char fingerprint[FINGERPRINT_SIZE];
    if (!content || !document)
        abort();
    (void)json_object_del(content, "name"); /* the key exists */
    (void)json_object_del(content, "member");
    if (json_array_size(json_object_get(resources, "alternatives")) == 0)
        (void)json_object_del(resources, "gpu_type"); /* the key exists, too */
    (void)json_object_set_new(content, "resources", resources);
    (void)json_object_set_new(document, "phase", content);
    for (int i = 0; json_is_object(rungs) && i < 2; i++) /* `cut` changes no result */
        (void)json_object_set(document, i ? "values" : "param",
                              json_object_get(rungs, i ? "values" : "param"));
    /* The workdir of `code: snapshot` is a copy, which has another name each time. */
    (void)json_object_set(document, from ? "from" : "workdir",
                          from ? from : json_object_get(submission, "workdir"));
    for (size_t i = 0; i < sizeof code / sizeof code[0]; i++) {
        json_t *part = json_object_get(provenance, code[i]);
        if (part)
            (void)json_object_set(document, code[i], part);
    }
    fingerprint_json(document, fingerprint);
    json_decref(document);
    (void)json_object_set_new(member, "fingerprint", json_string(fingerprint));
}

/* --- GPUs ------------------------------------------------------------------------------------- */

/* One name may come from the driver, and the other may be a type of Slurm's. */
static bool is_same_model(const char *model, const char *other)
{
    const struct overlay_gpu gpu = {.model = model}, others = {.model = other};
    if (!*model || !*other)
        return !*model && !*other;
    return overlay_is_for(other, &gpu) || overlay_is_for(model, &others);
}

/* Whether the phase could have got these GPUs. */
static bool may_get(const json_t *spec, const char *model)
{
    const json_t *resources = json_object_get(spec, "resources"), *alternative;
    const json_t *alternatives = json_object_get(resources, "alternatives");
    const char *type = json_string_value(json_object_get(resources, "gpu_type"));
    size_t i;
    json_array_foreach(alternatives, i, alternative)
    {
        const char *other = json_string_value(json_object_get(alternative, "gpu_type"));
        if (!other || is_same_model(model, other))
            return true;
    }
    return json_array_size(alternatives) == 0 && (!type || is_same_model(model, type));
}

/* --- Results ---------------------------------------------------------------------------------- */

/* The earlier results of a matrix. Each member may have several. The results are compared with each
 * other, so the GPUs of all results that are used must be of the same model. */
struct known {
    struct store_results *results; /* by member */
    size_t count;
};

/* How many members have a result on GPUs of this model. */
static size_t known_count(const struct known *known, const char *model)
{
    size_t count = 0;
    for (size_t i = 0; i < known->count; i++) {
        const struct store_results *results = &known->results[i];
        size_t at = 0;
        while (at < results->count && !is_same_model(results->items[at].gpu, model))
            at++;
        count += at < results->count;
    }
    return count;
}

/* The model that most members were run on; NULL: no member was run. */
static const char *known_model(const struct known *known)
{
    const char *tried[STORE_RESULTS_MAX];
    const char *best = NULL;
    size_t tried_count = 0, most = 0;
    for (size_t i = 0; i < known->count; i++)
        for (size_t j = 0; j < known->results[i].count; j++) {
            const char *model = known->results[i].items[j].gpu;
            size_t at = 0;
            while (at < tried_count && !is_same_model(tried[at], model))
                at++;
            if (at < tried_count || tried_count == STORE_RESULTS_MAX)
                continue;
            tried[tried_count++] = model;
            size_t count = known_count(known, model);
            best = count > most ? model : best;
            most = count > most ? count : most;
        }
    return best;
}

static void take_over(const struct home *home, struct store_results *results, const char *model,
                      struct phase *member)
{
    for (size_t i = 0; i < results->count && !member->reused; i++) {
        struct store_result *result = &results->items[i];
        char *out = text_format("%s/%s/out", home->runs, result->address);
        if (is_same_model(result->gpu, model) && access(out, F_OK) == 0) { /* not deleted */
            member->reused = result->phase;
            member->reused_from = result->address;
            member->reused_rung = result->rung;
            member->checkpoint_path = result->checkpoint_path;
            member->checkpoint_step = result->checkpoint_step;
            result->address = result->checkpoint_path = NULL;
        }
        free(out);
    }
}

/* Drops results whose GPUs are not what the member asks for. */
static void sift(const json_t *spec, struct store_results *results)
{
    bool has_gpus =
        json_integer_value(json_object_get(json_object_get(spec, "resources"), "gpus")) > 0;
    size_t count = results->count;
    results->count = 0;
    for (size_t i = 0; i < count; i++) {
        struct store_result result = results->items[i];
        if (!has_gpus || may_get(spec, result.gpu)) {
            results->items[results->count++] = result;
            continue;
        }
        free(result.address);
        free(result.checkpoint_path);
        free(result.gpu);
    }
}

static int reuse_matrix(struct store *store, const struct home *home, const json_t *resolved,
                        const struct matrix *matrix, int64_t since_ms, struct error *err)
{
    struct known known = {.results = xcalloc(matrix->count + 1, sizeof *known.results)};
    int status = 0;
    for (size_t i = 0; status >= 0 && i < matrix->count; i++) {
        const json_t *spec = phase_spec_find(resolved, matrix->members[i]->name);
        const json_t *fingerprint = json_object_get(json_object_get(spec, "member"), "fingerprint");
        struct store_results *results = &known.results[known.count++];
        status = store_result_list(store, json_string_value(fingerprint), since_ms, results, err);
        sift(spec, results);
    }
    const char *model = status < 0 ? NULL : known_model(&known);
    for (size_t i = 0; model && i < known.count; i++)
        take_over(home, &known.results[i], model, matrix->members[i]);
    for (size_t i = 0; i < known.count; i++)
        store_results_fini(&known.results[i]);
    free(known.results);
    return status < 0 ? status : 0;
}

int judge_reuse(struct loop *loop, json_t *resolved, const json_t *submission,
                struct workflow *workflow, struct error *err)
{
    struct store *store = loop_store(loop);
    const struct home *home = loop_config(loop)->home;
    int status = 0;
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        json_t *spec = phase->matrix ? phase_spec_find(resolved, phase->name) : NULL;
        if (spec)
            mark(spec, json_object_get(matrix_of(resolved, phase->matrix->phase), "rungs"),
                 submission);
    }
    for (size_t i = 0; status == 0 && i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        const json_t *best = json_object_get(matrix_of(resolved, phase), "best");
        int64_t seconds = json_integer_value(json_object_get(best, "reuse_s"));
        if (phase->members && seconds > 0)
            status = reuse_matrix(store, home, resolved, phase->members,
                                  loop_now_ms() - 1000 * seconds, err);
    }
    return status;
}
