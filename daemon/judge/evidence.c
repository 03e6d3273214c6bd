/* Loading evidence. */
#include "daemon/judge/inside.h"
#include "daemon/loop/loop.h"
#include "daemon/store/store.h"
#include "lib/expr/metrics.h"

#include <stdlib.h>

void evidence_fini(struct evidence *evidence)
{
    json_decref(evidence->spec);
    json_decref(evidence->facts);
    metrics_free(evidence->metrics);
    free(evidence->lack);
}

int evidence_load(struct store *store, const struct phase *phase, struct evidence *evidence,
                  struct error *err)
{
    double elapsed_s = 0;
    int64_t last_step = phase->run ? phase->run->last_step : -1;
    int status = phase->run ? store_run_spec(store, phase->run->id, &evidence->spec, err)
                            : store_phase_spec(store, phase->id, &evidence->spec, err);
    if (status < 0)
        return status;
    evidence->metrics = metrics_new();
    status =
        store_metrics_load(store, phase->id, loop_now_ms(), evidence->metrics, &elapsed_s, err);
    if (status == 0)
        status = store_metrics_lack(store, phase->id, &evidence->lack, err);
    if (status == 0 && phase->reused && !phase->run)
        status = store_member_step(store, phase->id, &last_step, err);
    if (status < 0)
        return status;
    evidence->facts = json_pack("{s:f}", "elapsed", elapsed_s);
    if (last_step >= 0)
        (void)json_object_set_new(evidence->facts, "step", json_integer(last_step));
    return 0;
}

struct expr_names evidence_names(const struct evidence *evidence, const char *phase)
{
    return (struct expr_names){
        .phase = phase,
        .params = json_object_get(evidence->spec, "params"),
        .facts = evidence->facts,
        .metrics = evidence->metrics,
    };
}
