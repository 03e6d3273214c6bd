/* What belongs to a run: the key of its messages, how far its journals were read, its checkpoints,
 * its verdicts, and why it failed. */
#include "daemon/store/store_private.h"
#include "lib/expr/check.h"
#include "lib/protocol/outcome.h"
#include "lib/protocol/told_evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

int store_secret_set(struct store *store, uint64_t run, const char *secret, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SECRET_SET);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":secret", secret);
    int status = stmt_run(stmt, err);
    if (status == 0 && sqlite3_changes(store->db) != 1)
        return error_set(err, -ENOENT, "no run has the id %" PRIu64, run);
    return status;
}

int store_secret(struct store *store, uint64_t run, char ret_secret[MAC_SECRET_SIZE],
                 struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_SECRET_GET);
    stmt_bind_id(stmt, ":run", run);
    int status = stmt_find(stmt, "secret of run", run, err);
    if (status < 0)
        return status;
    stmt_words(stmt, "secret", ret_secret, MAC_SECRET_SIZE);
    stmt_reset(stmt);
    return 0;
}

int store_run_nodes_set(struct store *store, uint64_t run, const char *nodes, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_NODES_SET);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_words(stmt, ":nodes", nodes);
    return stmt_run(stmt, err);
}

int store_run_hardware_set(struct store *store, uint64_t run, const char *gpu, const char *by_gpu,
                           struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_HARDWARE_SET);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":gpu", gpu);
    stmt_bind_text(stmt, ":by_gpu", by_gpu);
    return stmt_run(stmt, err);
}

int store_journal_committed(struct store *store, uint64_t run, const char *node,
                            uint64_t *ret_sequence, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_JOURNAL_GET);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    return stmt_read_id(stmt, "sequence", ret_sequence, err);
}

int store_journal_set(struct store *store, uint64_t run, const char *node, uint64_t sequence,
                      struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_JOURNAL_SET);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    stmt_bind_int(stmt, ":sequence", (int64_t)sequence);
    return stmt_run(stmt, err);
}

int store_journal_gap_add(struct store *store, uint64_t run, const char *node, uint64_t first,
                          uint64_t last, struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_JOURNAL_GAP_PUT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    stmt_bind_int(stmt, ":first_seq", (int64_t)first);
    stmt_bind_int(stmt, ":last_seq", (int64_t)last);
    return stmt_run(stmt, err);
}

int store_checkpoint_add(struct store *store, const struct store_checkpoint *checkpoint,
                         struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_CHECKPOINT_PUT);
    stmt_bind_id(stmt, ":run", checkpoint->run);
    stmt_bind_text(stmt, ":path", checkpoint->path);
    stmt_bind_int(stmt, ":step", checkpoint->step);
    stmt_bind_known(stmt, ":bytes", checkpoint->bytes);
    stmt_bind_json(stmt, ":paths", checkpoint->paths);
    stmt_bind_int(stmt, ":time", checkpoint->time_ms);
    stmt_bind_int(stmt, ":suspect", checkpoint->is_suspect);
    stmt_bind_int(stmt, ":unseen", checkpoint->is_unseen);
    return stmt_run(stmt, err);
}

int store_run_suspect(struct store *store, uint64_t run, int64_t step, int64_t time_ms,
                      struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_RUN_SUSPECT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_int(stmt, ":step", step);
    stmt_bind_int(stmt, ":time", time_ms);
    int status = stmt_run(stmt, err);
    if (status < 0)
        return status;
    stmt = store_stmt(store, Q_CHECKPOINT_SUSPECT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_int(stmt, ":step", step);
    return stmt_run(stmt, err);
}

int store_checkpoints(struct store *store, uint64_t phase,
                      int (*each)(void *context, const struct store_checkpoint *checkpoint),
                      void *context, struct error *err)
{
    int status;
    struct stmt *stmt = store_stmt(store, Q_CHECKPOINT_LIST);
    stmt_bind_id(stmt, ":phase", phase);
    while ((status = stmt_step(stmt, err)) > 0) {
        json_t *paths = stmt_json(stmt, "paths");
        struct store_checkpoint checkpoint = {
            .run = stmt_id(stmt, "run"),
            .path = stmt_text(stmt, "path"),
            .step = stmt_int(stmt, "step"),
            .bytes = stmt_int(stmt, "bytes"),
            .paths = paths,
            .time_ms = stmt_int(stmt, "time"),
            .is_suspect = stmt_bool(stmt, "suspect"),
            .is_unseen = stmt_bool(stmt, "unseen"),
        };
        status = each(context, &checkpoint);
        json_decref(paths);
        if (status != 0) {
            stmt_reset(stmt);
            break;
        }
    }
    return status;
}

int store_evidence_put(struct store *store, uint64_t run, const char *node, const json_t *evidence,
                       int64_t time_ms, struct error *err)
{
    const struct told_evidence told = told_evidence_read(evidence);
    struct stmt *stmt = store_stmt(store, Q_EVIDENCE_PUT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":node", node);
    stmt_bind_int(stmt, ":time", time_ms);
    stmt_bind_real(stmt, ":silent", told.silent);
    stmt_bind_text(stmt, ":summary", told.summary);
    stmt_bind_json(stmt, ":evidence", evidence);
    return stmt_run(stmt, err);
}

int store_failure_put(struct store *store, uint64_t run, const json_t *failure, const char *cause,
                      struct error *err)
{
    const struct told_failure told = told_failure_read(failure);
    if (!told.name || !told.line || !told.advice || told.blame == BLAME_COUNT)
        return error_set(
            err, -EINVAL,
            "a failure needs a name, a line, an advice, and a blame of none, node or code");
    struct stmt *stmt = store_stmt(store, Q_FAILURE_PUT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":name", told.name);
    stmt_bind_text(stmt, ":cause", cause);
    stmt_bind_text(stmt, ":line", told.line);
    stmt_bind_known(stmt, ":rank", told.rank);
    stmt_bind_text(stmt, ":node", told.node);
    stmt_bind_words(stmt, ":advice", told.advice);
    stmt_bind_text(stmt, ":blame", failure_blame_name(told.blame));
    return stmt_run(stmt, err);
}

static int run_add_verdict(struct store *store, uint64_t run, const char *kind, const json_t *json,
                           int64_t time_ms, struct error *err)
{
    struct verdict verdict;
    int status = verdict_from_json(json, &verdict, err);
    if (status < 0)
        return status;
    struct stmt *stmt = store_stmt(store, Q_VERDICT_INSERT);
    stmt_bind_id(stmt, ":run", run);
    stmt_bind_text(stmt, ":kind", kind);
    stmt_bind_int(stmt, ":time", time_ms);
    stmt_bind_text(stmt, ":name", verdict.name);
    stmt_bind_text(stmt, ":outcome", check_outcome_name(verdict.outcome));
    stmt_bind_int(stmt, ":warn", verdict.warn);
    stmt_bind_real(stmt, ":value", verdict.has_value ? verdict.value : NAN);
    stmt_bind_text(stmt, ":bounds", verdict.bounds);
    stmt_bind_text(stmt, ":reason", verdict.reason);
    stmt_bind_json(stmt, ":verdict", json);
    status = stmt_run(stmt, err);
    verdict_fini(&verdict);
    return status;
}

int store_verdicts_set(struct store *store, uint64_t run, const json_t *verdicts, int64_t time_ms,
                       struct error *err)
{
    struct stmt *stmt = store_stmt(store, Q_VERDICT_DELETE);
    stmt_bind_id(stmt, ":run", run);
    int status = stmt_run(stmt, err);
    for (size_t i = 0; status == 0 && i < json_array_size(verdicts); i++)
        status = run_add_verdict(store, run, "gate", json_array_get(verdicts, i), time_ms, err);
    return status;
}

int store_guard_add(struct store *store, uint64_t run, const json_t *verdict, int64_t time_ms,
                    struct error *err)
{
    return run_add_verdict(store, run, "guard", verdict, time_ms, err);
}
