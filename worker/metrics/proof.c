/* Compares the values that a program prints with its params. */
#include "worker/metrics/proof.h"

#include "lib/memory.h"
#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define PROOF_TOLERANCE 0.01 /* programs print rounded values */

struct param {
    const char *name;
    char *spelled; /* in the spelling of metrics */
    double value;
    double seen; /* another value */
    enum { PARAM_UNSEEN, PARAM_OTHER, PARAM_VARIES, PARAM_PROVEN } state;
};

struct proof {
    struct extract *extract;
    struct param *params;
    size_t count;
};

static bool param_equals(double a, double b)
{
    return fabs(a - b) <= PROOF_TOLERANCE * fabs(b);
}

static void param_see(struct param *param, double value)
{
    if (param->state == PARAM_PROVEN)
        return;
    if (param_equals(value, param->value)) {
        param->state = PARAM_PROVEN;
    } else if (param->state == PARAM_UNSEEN) {
        param->state = PARAM_OTHER;
        param->seen = value;
    } else if (!param_equals(value, param->seen)) {
        param->state = PARAM_VARIES;
    }
}

static void proof_row(void *context, const struct extract_row *row)
{
    struct proof *proof = context;
    for (size_t i = 0; i < proof->count; i++)
        for (size_t j = 0; j < row->count; j++)
            if (text_equal(proof->params[i].spelled, row->values[j].name))
                param_see(&proof->params[i], row->values[j].value);
}

static void proof_add_param(struct proof *proof, const char *name, double value)
{
    struct param *param = &proof->params[proof->count++];
    *param = (struct param){.name = name, .spelled = xstrdup(name), .value = value};
    for (char *c = param->spelled; *c; c++)
        *c = (char)tolower((unsigned char)*c);
}

struct proof *proof_new(const json_t *changed, const json_t *params)
{
    const struct extract_options options = {.kind = EXTRACT_AUTO};
    struct proof *proof = xcalloc(1, sizeof *proof);
    const json_t *name;
    size_t i;
    proof->params = xcalloc(json_array_size(changed) + 1, sizeof *proof->params);
    json_array_foreach((json_t *)changed, i, name)
    {
        const json_t *value = json_object_get(params, json_string_value(name));
        if (json_is_number(value))
            proof_add_param(proof, json_string_value(name), json_number_value(value));
    }
    if (proof->count == 0 || extract_new(&options, proof_row, proof, &proof->extract, NULL) < 0) {
        proof_free(proof);
        return NULL;
    }
    for (i = 0; i < proof->count; i++)
        extract_want(proof->extract, proof->params[i].spelled);
    return proof;
}

void proof_free(struct proof *proof)
{
    if (!proof)
        return;
    for (size_t i = 0; i < proof->count; i++)
        free(proof->params[i].spelled);
    free(proof->params);
    extract_free(proof->extract);
    free(proof);
}

void proof_feed(struct proof *proof, const char *data, size_t size)
{
    if (proof)
        extract_feed(proof->extract, data, size);
}

void proof_add(struct proof *proof, const struct extract_row *row)
{
    if (proof)
        proof_row(proof, row);
}

char *proof_doubts(struct proof *proof)
{
    struct text text = {0};
    if (!proof)
        return NULL;
    extract_end(proof->extract);
    for (size_t i = 0; i < proof->count; i++) {
        const struct param *param = &proof->params[i];
        if (param->state != PARAM_UNSEEN && param->state != PARAM_OTHER)
            continue;
        text_addf(&text, "%sa remedy set %s to %g, but ", text.size ? "; " : "", param->name,
                  param->value);
        if (param->state == PARAM_UNSEEN)
            text_addf(&text, "nothing in the run's output shows %s (the program could print %s=%g)",
                      param->name, param->name, param->value);
        else
            text_addf(&text, "the run reports %g", param->seen);
    }
    bool is_doubtful = text.size > 0;
    char *doubts = text_steal(&text);
    if (is_doubtful)
        return doubts;
    free(doubts);
    return NULL;
}
