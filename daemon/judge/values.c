/* What the names of an expression mean in a phase, from the record. */
#include "daemon/judge/judge_private.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/expr/metrics.h"
#include "lib/text.h"

#include <stdlib.h>

void values_fini(struct values *values)
{
    json_decref(values->spec);
    json_decref(values->facts);
    metrics_free(values->metrics);
    free(values->lack);
}

void values_add_names(json_t *wanted, const char *expression, const char *phase)
{
    struct expr_name *names = NULL;
    int count = expression ? expr_list_names(expression, &names, NULL) : 0;
    for (int i = 0; i < count; i++)
        if (text_equal(names[i].phase, phase))
            (void)json_object_set_new(wanted, names[i].name, json_true());
    if (count >= 0)
        free(names);
}

json_t *values_gate_names(const json_t *gate, const char *phase)
{
    json_t *wanted = json_object(), *check;
    const char *name;
    json_object_foreach((json_t *)gate, name, check)
    {
        values_add_names(wanted, json_string_value(json_object_get(check, "condition")), phase);
        values_add_names(wanted, json_string_value(json_object_get(check, "value")), phase);
    }
    return wanted;
}

int values_load(struct store *store, const struct phase *phase, const json_t *wanted,
                struct values *values, struct error *err)
{
    struct store_training training = {0};
    int status = store_phase_spec(store, phase->id, &values->spec, err);
    if (status < 0)
        return status;
    values->metrics = metrics_new();
    json_t *names = wanted ? json_incref((json_t *)wanted)
                           : values_gate_names(json_object_get(values->spec, "gate"), "");
    status =
        store_metrics_load(store, phase->id, loop_now_ms(), names, values->metrics, &training, err);
    json_decref(names);
    if (status == 0)
        status = store_metrics_lack(store, phase->id, &values->lack, err);
    if (status < 0)
        return status;
    values->facts = json_pack("{s:f}", "elapsed", training.elapsed_s);
    if (training.step >= 0)
        (void)json_object_set_new(values->facts, "step", json_integer(training.step));
    return 0;
}

struct expr_names values_names(const struct values *values, const char *phase)
{
    return (struct expr_names){
        .phase = phase,
        .params = json_object_get(values->spec, "params"),
        .facts = values->facts,
        .metrics = values->metrics,
    };
}
