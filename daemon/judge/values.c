/* What the names of an expression mean in a phase, from the record. */
#include "daemon/judge/inside.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/expr/metrics.h"

#include <stdlib.h>

void values_fini(struct values *values)
{
    json_decref(values->spec);
    json_decref(values->facts);
    metrics_free(values->metrics);
    free(values->lack);
}

int values_load(struct store *store, const struct phase *phase, struct values *values,
                struct error *err)
{
    double elapsed_s = 0;
    int64_t last_step = phase->run ? phase->run->last_step : -1;
    int status = store_phase_spec(store, phase->id, &values->spec, err);
    if (status < 0)
        return status;
    values->metrics = metrics_new();
    status = store_metrics_load(store, phase->id, loop_now_ms(), values->metrics, &elapsed_s, err);
    if (status == 0)
        status = store_metrics_lack(store, phase->id, &values->lack, err);
    if (status == 0 && phase->reused && !phase->run)
        status = store_member_step(store, phase->id, &last_step, err);
    if (status < 0)
        return status;
    values->facts = json_pack("{s:f}", "elapsed", elapsed_s);
    if (last_step >= 0)
        (void)json_object_set_new(values->facts, "step", json_integer(last_step));
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
