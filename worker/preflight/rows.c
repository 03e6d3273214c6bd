/* The table of rows, and the function of each row. */
#include "worker/preflight/rows.h"

#include "lib/protocol/words.h"
#include "lib/text.h"
#include "worker/gpu_list.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/thresholds.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What a row uses. `gpus` has only the allocated GPUs, because others may belong to another job. */
struct rows_view {
    const struct facts *facts;
    const struct thresholds *thresholds;
    const struct row_wish *wish;
    const struct fact_gpu *gpus[FACTS_GPUS_MAX];
    unsigned gpu_count;
    const char *list;      /* the list that chose the devices; NULL: all visible GPUs */
    unsigned absent_count; /* devices of the list that do not exist */
    unsigned part_count;   /* devices of the list that are parts of a GPU, which are not judged */
    bool is_ambiguous;     /* more GPUs are visible than allocated, and nothing says which are */
};

static int row_badness(enum row_outcome outcome)
{
    return outcome == ROW_FAILED ? 2 : outcome == ROW_UNKNOWN ? 1 : 0;
}

void row_add(struct row_result *result, enum row_outcome outcome, const char *format, ...)
{
    int difference = row_badness(outcome) - row_badness(result->outcome);
    if (difference < 0)
        return;
    if (difference > 0)
        result->text[0] = '\0';
    result->outcome = outcome;
    size_t size = strlen(result->text);
    if (size && size + 3 < sizeof result->text) {
        memcpy(result->text + size, "; ", 3);
        size += 2;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(result->text + size, sizeof result->text - size, format, args);
    va_end(args);
}

static const char *row_driver_reason(const struct facts *facts)
{
    return facts->driver_trouble[0] ? facts->driver_trouble : "no GPU";
}

static void row_gpus(const struct rows_view *view, struct row_result *result)
{
    const struct facts *facts = view->facts;
    if (facts->driver == FACTS_DRIVER_SILENT || facts->driver == FACTS_DRIVER_FAILS) {
        row_add(result, ROW_FAILED, "driver: %s", row_driver_reason(facts));
        return;
    }
    if (facts->driver == FACTS_DRIVER_ABSENT) {
        row_add(result, ROW_UNKNOWN, "%s", row_driver_reason(facts));
        return;
    }
    if (view->is_ambiguous) {
        row_add(result, ROW_UNKNOWN, "%u GPUs are visible, %u are allocated: nothing says which",
                facts->gpu_count, view->wish->gpus);
        return;
    }
    if (view->part_count) {
        row_add(result, ROW_UNKNOWN, "parts of GPUs (MIG) are not judged");
        return;
    }
    unsigned good = 0;
    for (unsigned i = 0; i < view->gpu_count; i++) {
        good += !view->gpus[i]->is_lost;
        if (view->gpus[i]->is_lost)
            row_add(result, ROW_FAILED, "GPU %u: %s", view->gpus[i]->index, view->gpus[i]->trouble);
    }
    if (view->absent_count)
        row_add(result, ROW_FAILED, "%u of the devices %s not found", view->absent_count,
                view->list);
    else if (good < view->wish->gpus)
        row_add(result, ROW_FAILED, "%u GPU%s, %u are allocated", good,
                good == 1 ? " works" : "s work", view->wish->gpus);
    else if (!good)
        row_add(result, ROW_UNKNOWN, "no GPU is visible");
    row_add(result, ROW_PASSED, "%u work", good);
}

static void row_model(const struct rows_view *view, struct row_result *result)
{
    const char *first = NULL;
    for (unsigned i = 0; i < view->gpu_count; i++) {
        const struct fact_gpu *gpu = view->gpus[i];
        if (!gpu->name[0]) {
            row_add(result, ROW_UNKNOWN, "GPU %u has no name", gpu->index);
            continue;
        }
        first = first ? first : gpu->name;
        if (view->wish->model && !strcasestr(gpu->name, view->wish->model))
            row_add(result, ROW_FAILED, "GPU %u is a %s, not %s", gpu->index, gpu->name,
                    view->wish->model);
        else if (!text_equal(gpu->name, first))
            row_add(result, ROW_FAILED, "GPU %u is a %s, others %s", gpu->index, gpu->name, first);
        const struct thresholds_model *model = thresholds_model(view->thresholds, gpu->name);
        if (model && model->memory_total_mib.is_known && gpu->memory_total_mib.is_known &&
            gpu->memory_total_mib.value < model->memory_total_mib.value)
            row_add(result, ROW_FAILED, "GPU %u has %" PRIu64 " MiB, at least %" PRIu64, gpu->index,
                    gpu->memory_total_mib.value, model->memory_total_mib.value);
    }
    if (first)
        row_add(result, ROW_PASSED, "%s%s", first,
                thresholds_model(view->thresholds, first) ? "" : ", no thresholds for this model");
}

/* Judges one value of each GPU: at most `most`. The text has the largest value. */
static void row_at_most(const struct rows_view *view, size_t offset, struct fact most,
                        const char *unit, struct row_result *result)
{
    uint64_t largest = 0;
    for (unsigned i = 0; i < view->gpu_count; i++) {
        struct fact fact;
        memcpy(&fact, (const char *)view->gpus[i] + offset, sizeof fact);
        if (!fact.is_known)
            row_add(result, ROW_UNKNOWN, "GPU %u does not report it", view->gpus[i]->index);
        else if (most.is_known && fact.value > most.value)
            row_add(result, ROW_FAILED, "GPU %u: %" PRIu64 "%s, at most %" PRIu64,
                    view->gpus[i]->index, fact.value, unit, most.value);
        largest = fact.is_known && fact.value > largest ? fact.value : largest;
    }
    if (!most.is_known)
        row_add(result, ROW_UNKNOWN, "no threshold");
    row_add(result, ROW_PASSED, "at most %" PRIu64 "%s", largest, unit);
}

static void row_memory(const struct rows_view *view, struct row_result *result)
{
    row_at_most(view, offsetof(struct fact_gpu, memory_used_mib), view->thresholds->memory_used_mib,
                " MiB in use", result);
}

static void row_processes(const struct rows_view *view, struct row_result *result)
{
    for (unsigned i = 0; i < view->gpu_count; i++) {
        const struct fact_gpu *gpu = view->gpus[i];
        if (!gpu->process_count.is_known)
            row_add(result, ROW_UNKNOWN, "GPU %u does not report it", gpu->index);
        else if (gpu->process_count.value && gpu->processes[0])
            row_add(result, ROW_FAILED, "GPU %u: %" PRIu64 " other process%s, pid %u", gpu->index,
                    gpu->process_count.value, gpu->process_count.value == 1 ? "" : "es",
                    gpu->processes[0]);
        else if (gpu->process_count.value) /* too many for the driver to list them */
            row_add(result, ROW_FAILED, "GPU %u: more than %d other processes", gpu->index,
                    FACTS_PROCESSES_MAX);
    }
    row_add(result, ROW_PASSED, "none");
}

static void row_ecc(const struct rows_view *view, struct row_result *result)
{
    row_at_most(view, offsetof(struct fact_gpu, ecc_uncorrected), view->thresholds->ecc_uncorrected,
                " uncorrected errors", result);
}

static void row_remap(const struct rows_view *view, struct row_result *result)
{
    for (unsigned i = 0; i < view->gpu_count; i++) {
        const struct fact_gpu *gpu = view->gpus[i];
        if (!gpu->remap_pending.is_known)
            row_add(result, ROW_UNKNOWN, "GPU %u does not report it", gpu->index);
        if (gpu->remap_pending.value)
            row_add(result, ROW_FAILED, "GPU %u: a row remapping waits for a reset", gpu->index);
        if (gpu->remap_failed.value)
            row_add(result, ROW_FAILED, "GPU %u: a row could not be remapped", gpu->index);
    }
    row_add(result, ROW_PASSED, "nothing pending");
}

static void row_recovery(const struct rows_view *view, struct row_result *result)
{
    static const char *const actions[] = {"none", "reset the GPU", "reboot the node",
                                          "drain peer-to-peer work", "drain, then reset"};
    for (unsigned i = 0; i < view->gpu_count; i++) {
        struct fact action = view->gpus[i]->recovery_action;
        if (!action.is_known)
            row_add(result, ROW_UNKNOWN, "GPU %u does not report it", view->gpus[i]->index);
        else if (action.value)
            row_add(result, ROW_FAILED, "GPU %u requests: %s", view->gpus[i]->index,
                    action.value < sizeof actions / sizeof *actions ? actions[action.value]
                                                                    : "an unknown action");
    }
    row_add(result, ROW_PASSED, "no action requested");
}

static bool rows_is_hardware_xid(const struct thresholds *thresholds, unsigned number)
{
    for (unsigned i = 0; i < thresholds->xid_count; i++)
        if (thresholds->xids[i] == number)
            return true;
    return false;
}

/* Judges an XID by its place: failed if the GPU is allocated, passed if it is not, could not tell
 * if a place is unknown. */
static enum row_outcome rows_place_of_xid(const struct rows_view *view, struct fact place)
{
    bool is_known = place.is_known && view->gpu_count > 0;
    for (unsigned i = 0; i < view->gpu_count; i++) {
        struct fact own = view->gpus[i]->place;
        if (place.is_known && own.is_known && own.value == place.value)
            return ROW_FAILED;
        is_known = is_known && own.is_known;
    }
    return is_known ? ROW_PASSED : ROW_UNKNOWN;
}

static void row_xids(const struct rows_view *view, struct row_result *result)
{
    const struct facts *facts = view->facts;
    struct fact hours = view->thresholds->xid_hours;
    unsigned others = 0;
    if (!facts->is_kernel_log_read)
        row_add(result, ROW_UNKNOWN, "%s", facts->kernel_log_trouble);
    if (!hours.is_known || !view->thresholds->xid_count)
        row_add(result, ROW_UNKNOWN, "no threshold");
    for (unsigned i = 0; i < facts->xid_count && hours.is_known; i++) {
        if (facts->xids[i].age_s > (double)hours.value * 3600 ||
            !rows_is_hardware_xid(view->thresholds, facts->xids[i].number))
            continue;
        enum row_outcome outcome = rows_place_of_xid(view, facts->xids[i].place);
        others += outcome == ROW_PASSED;
        if (outcome != ROW_PASSED)
            row_add(result, outcome, "XID %u of %s %.0f min ago%s", facts->xids[i].number,
                    facts->xids[i].device, facts->xids[i].age_s / 60,
                    outcome == ROW_UNKNOWN ? ", which may be a GPU of another job" : "");
    }
    if (others)
        row_add(result, ROW_PASSED, "recent XIDs only of GPUs that are not allocated: %u", others);
    else
        row_add(result, ROW_PASSED, "no recent XIDs of the hardware");
}

static void row_nvlinks(const struct rows_view *view, struct row_result *result)
{
    for (unsigned i = 0; i < view->gpu_count; i++) {
        const struct fact_gpu *gpu = view->gpus[i];
        const struct thresholds_model *model = thresholds_model(view->thresholds, gpu->name);
        struct fact least = model ? model->nvlinks : (struct fact){0};
        uint64_t active = gpu->links_active.value;
        if (!gpu->links_active.is_known)
            row_add(result, ROW_UNKNOWN, "GPU %u does not report it", gpu->index);
        else if (least.is_known && active < least.value)
            row_add(result, ROW_FAILED, "GPU %u: %" PRIu64 " links active, at least %" PRIu64,
                    gpu->index, active, least.value);
        else if (!least.is_known && gpu->links_inactive.value)
            row_add(result, ROW_UNKNOWN, "GPU %u: %" PRIu64 " links inactive, no threshold",
                    gpu->index, gpu->links_inactive.value);
        else
            row_add(result, ROW_PASSED, "GPU %u: %" PRIu64, gpu->index, active);
    }
}

static void row_scratch(const struct rows_view *view, struct row_result *result)
{
    const struct facts *facts = view->facts;
    struct fact least = view->thresholds->scratch_free_mib;
    if (!facts->scratch_free_mib.is_known)
        row_add(result, ROW_FAILED, "%s: %s", facts->scratch_path, facts->scratch_trouble);
    else if (!least.is_known)
        row_add(result, ROW_UNKNOWN, "no threshold");
    else if (facts->scratch_free_mib.value < least.value)
        row_add(result, ROW_FAILED, "%s: %" PRIu64 " MiB free, at least %" PRIu64,
                facts->scratch_path, facts->scratch_free_mib.value, least.value);
    row_add(result, ROW_PASSED, "%s: %" PRIu64 " MiB free", facts->scratch_path,
            facts->scratch_free_mib.value);
}

static void row_clock(const struct rows_view *view, struct row_result *result)
{
    struct fact error = view->facts->clock_error_us, most = view->thresholds->clock_error_ms;
    if (!error.is_known)
        row_add(result, ROW_UNKNOWN, "the kernel's clock is not synchronised");
    else if (!most.is_known)
        row_add(result, ROW_UNKNOWN, "no threshold");
    else if (error.value > most.value * 1000)
        row_add(result, ROW_FAILED, "may be off by %.1f ms, at most %" PRIu64,
                (double)error.value / 1000, most.value);
    row_add(result, ROW_PASSED, "off by at most %.1f ms", (double)error.value / 1000);
}

static const struct {
    const char *name;
    bool is_essential; /* if this row could not tell, the node has not passed */
    bool is_of_gpus;   /* has no meaning if no GPU is visible */
    void (*judge)(const struct rows_view *view, struct row_result *result);
} rows[] = {
    {"gpus", true, false, row_gpus},
    {"model", true, true, row_model},
    {"memory", true, true, row_memory},
    {"processes", true, true, row_processes},
    /* Not every model counts errors or remaps rows, and not every user may read the kernel's
     * log. */
    {"ecc", false, true, row_ecc},
    {"remap", false, true, row_remap},
    {"recovery", false, true, row_recovery},
    {"xids", false, false, row_xids},
    {"nvlinks", false, true, row_nvlinks},
    {"scratch", true, false, row_scratch},
    {"clock", false, false, row_clock},
};
static_assert(sizeof rows / sizeof *rows <= ROWS_COUNT_MAX, "results have room for all rows");

static const struct fact_gpu *rows_find_gpu(const struct facts *facts, const char *name)
{
    for (unsigned i = 0; i < facts->gpu_count; i++) {
        const struct fact_gpu *gpu = &facts->gpus[i];
        if (gpu_list_names(name, gpu->index, gpu->uuid))
            return gpu;
    }
    return NULL;
}

static void rows_choose_gpus(struct rows_view *view)
{
    const char *start = view->wish->devices;
    if (!start) {
        /* If Slurm does not confine jobs to their devices, other jobs may have the other GPUs. */
        bool has_more = view->wish->gpus && view->facts->gpu_count > view->wish->gpus;
        start = has_more ? view->wish->unconfined : NULL;
        if (start && start[strspn(start, "0123456789,")])
            start = NULL; /* the form of the list is unknown */
        view->is_ambiguous = has_more && !start;
        if (view->is_ambiguous)
            return;
    }
    for (unsigned i = 0; i < view->facts->gpu_count && !start; i++)
        view->gpus[view->gpu_count++] = &view->facts->gpus[i];
    view->list = start;
    if (!start)
        return;
    char name[GPU_LIST_NAME_SIZE];
    while (view->gpu_count < FACTS_GPUS_MAX && gpu_list_next(&start, name)) {
        const struct fact_gpu *gpu = rows_find_gpu(view->facts, name);
        if (text_starts(name, "MIG-"))
            view->part_count++;
        else if (gpu)
            view->gpus[view->gpu_count++] = gpu;
        else
            view->absent_count++;
    }
}

unsigned rows_allocated(const struct facts *facts, const struct row_wish *wish,
                        const struct fact_gpu **ret_gpus)
{
    struct rows_view view = {.facts = facts, .wish = wish};
    rows_choose_gpus(&view);
    memcpy(ret_gpus, view.gpus, view.gpu_count * sizeof *ret_gpus);
    return view.gpu_count;
}

size_t rows_judge(const struct facts *facts, const struct thresholds *thresholds,
                  const struct row_wish *wish, struct row_result *ret_results)
{
    struct rows_view view = {.facts = facts, .thresholds = thresholds, .wish = wish};
    rows_choose_gpus(&view);
    size_t count = sizeof rows / sizeof *rows;
    for (size_t i = 0; i < count; i++) {
        struct row_result *result = &ret_results[i];
        *result = (struct row_result){.name = rows[i].name, .is_essential = rows[i].is_essential};
        if (rows[i].is_of_gpus && !view.gpu_count)
            row_add(result, ROW_UNKNOWN, "no GPU");
        else
            rows[i].judge(&view, result);
    }
    return count;
}

enum row_outcome rows_outcome(const struct row_result *results, size_t count)
{
    enum row_outcome worst = ROW_PASSED;
    for (size_t i = 0; i < count; i++) {
        if (results[i].outcome == ROW_FAILED)
            return ROW_FAILED;
        if (results[i].outcome == ROW_UNKNOWN && results[i].is_essential)
            worst = ROW_UNKNOWN;
    }
    return worst;
}

const char *row_outcome_text(enum row_outcome outcome)
{
    return preflight_outcome_name(outcome == ROW_PASSED   ? PREFLIGHT_PASSED
                                  : outcome == ROW_FAILED ? PREFLIGHT_FAILED
                                                          : PREFLIGHT_UNKNOWN);
}
