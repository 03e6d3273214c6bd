/* Asks the cluster about the jobs that a workflow would have. Joins the answer, the judgement, and
 * the record of similar phases into a plan. */
#include "daemon/admission/admission.h"
#include "daemon/core/model.h"
#include "daemon/launch/launch.h"
#include "daemon/loop/loop.h"
#include "daemon/outlook/fit.h"
#include "daemon/outlook/outlook.h"
#include "daemon/slurm/cluster.h"
#include "daemon/slurm/survey.h"
#include "daemon/store/cost.h"
#include "daemon/store/store.h"
#include "lib/error.h"
#include "lib/memory.h"
#include "lib/spec/phase.h"
#include "lib/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a job asks for. `phase` is the first phase with such a job. `gpu_type` is one of the types
 * between which the phase leaves the choice; NULL: any type. */
struct forecast_shape {
    const struct phase *phase;
    char *gpu_type;
};

/* What a phase takes: as much as similar phases took, or else at most its `time`. */
struct forecast_cost {
    unsigned similar;
    double seconds, gpu_seconds, usd;
};

struct forecast {
    struct loop *loop;
    json_t *resolved;
    struct workflow *workflow;
    struct forecast_shape shapes[SURVEY_FORECASTS_MAX];
    size_t shape_count;
    char *excluded;
    struct forecast_cost *costs; /* by phase: the record is asked once about each */
    double *ends_s; /* by phase: seconds from the start of the first phase, without the queue */
    outlook_done *done;
    void *context;
};

static void forecast_free(struct forecast *forecast)
{
    for (size_t i = 0; i < forecast->shape_count; i++)
        free(forecast->shapes[i].gpu_type);
    workflow_free(forecast->workflow);
    json_decref(forecast->resolved);
    free(forecast->excluded);
    free(forecast->costs);
    free(forecast->ends_s);
    free(forecast);
}

/* Whether the phase has a job of its own. The members of a matrix have jobs, but the matrix has no
 * job. If phases run side by side, the phase that the others name in `colocate` has the job. */
static bool has_job(const struct phase *phase)
{
    return !phase->members && (!phase->beside || phase->beside->members);
}

static bool is_alike(const struct forecast_shape *shape, const struct phase *b,
                     const char *gpu_type)
{
    const struct phase *a = shape->phase;
    bool no_type = !shape->gpu_type && !gpu_type;
    return a->nodes == b->nodes && a->gpus_per_node == b->gpus_per_node &&
           a->cpus_per_node == b->cpus_per_node && a->time_s == b->time_s &&
           a->has_checkpoint == b->has_checkpoint && a->stop_s == b->stop_s &&
           (no_type || (shape->gpu_type && gpu_type && text_equal(shape->gpu_type, gpu_type))) &&
           text_equal(a->slurm_options, b->slurm_options);
}

/* Negative: Slurm was not asked about such a job. */
static int shape_of(const struct forecast *forecast, const struct phase *phase,
                    const char *gpu_type)
{
    for (size_t i = 0; i < forecast->shape_count; i++)
        if (is_alike(&forecast->shapes[i], phase, gpu_type))
            return (int)i;
    return -1;
}

/* Frees `gpu_type`, or keeps it. */
static void add_shape(struct forecast *forecast, const struct phase *phase, char *gpu_type)
{
    if (forecast->shape_count == SURVEY_FORECASTS_MAX || shape_of(forecast, phase, gpu_type) >= 0)
        free(gpu_type);
    else
        forecast->shapes[forecast->shape_count++] = (struct forecast_shape){phase, gpu_type};
}

/* Adds a job for each type of GPU, because a run asks for a job with each type. */
static void add_shapes(struct forecast *forecast, const struct phase *phase)
{
    const char *types = phase_gpu_types(phase);
    if (!types)
        add_shape(forecast, phase, NULL);
    for (char *gpu_type; (gpu_type = text_take_item(&types));)
        add_shape(forecast, phase, gpu_type);
}

/* --- Time and money --------------------------------------------------------------------------- */

static struct forecast_cost cost_of(const struct forecast *forecast, const struct phase *phase)
{
    struct forecast_cost cost = {.seconds = phase->time_s};
    struct store_price price = store_price_of(forecast->resolved, phase);
    unsigned parts = phase_parts(phase); /* each member has one part of the job */
    struct error err;
    double mean_s;
    if (phase->members)
        return (struct forecast_cost){.usd = NAN};
    if (store_similar(loop_store(forecast->loop), forecast->resolved, phase, &cost.similar, &mean_s,
                      &err) < 0)
        cost.similar = 0; /* another part of the daemon reports that the record cannot be read */
    if (cost.similar && isfinite(mean_s))
        cost.seconds = mean_s;
    double node_s = has_job(phase) ? cost.seconds * phase->nodes / parts : 0;
    cost.gpu_seconds = node_s * phase->gpus_per_node;
    cost.usd = isnan(price.usd_per_node_hour) ? price.usd_per_gpu_hour * cost.gpu_seconds / 3600
                                              : price.usd_per_node_hour * node_s / 3600;
    return cost;
}

/* How many members of the matrix run at a rung, from 0. 0: the rung does not run, because one
 * member is left, which is the best, or there are fewer rungs. */
static size_t rung_members(const struct forecast *forecast, const struct matrix *matrix,
                           unsigned rung)
{
    const json_t *spec =
        json_array_get(json_object_get(forecast->resolved, "phases"), matrix->phase->index);
    const json_t *rungs = json_object_get(json_object_get(spec, "matrix"), "rungs");
    size_t count = matrix->count;
    for (unsigned i = 0; i < rung; i++)
        count = core_kept(count, json_number_value(json_object_get(rungs, "cut")));
    return rung > 0 && (rung >= matrix->rung_count || count < 2) ? 0 : count;
}

/* How many rungs may run the phase, if it is a member. */
static unsigned rung_count(const struct forecast *forecast, const struct phase *phase)
{
    unsigned count = 1;
    while (phase->matrix && rung_members(forecast, phase->matrix, count) > 0)
        count++;
    return count;
}

/* How often a lane begins a member if so many members run. */
static size_t lane_turns(const struct matrix *matrix, size_t count)
{
    return matrix->lanes ? (count + matrix->lanes - 1) / matrix->lanes : count > 0;
}

/* How many members have no similar phases. What similar phases took has all rungs. */
static size_t guessed_members(const struct forecast *forecast, const struct matrix *matrix)
{
    size_t count = 0;
    for (size_t i = 0; i < matrix->count; i++)
        count += forecast->costs[matrix->members[i]->index].similar == 0;
    return count;
}

/* When the phase ends if no job ever waits in the queue. If the members of a matrix run in lanes,
 * their times are added and divided by the lanes. Members without similar phases take a whole
 * `time` each, and may run at each rung. */
static double end_of(const struct forecast *forecast, const struct phase *phase)
{
    double start_s = 0, first_s = INFINITY, last_s = 0, sum_s = 0;
    for (size_t i = 0; i < phase->after_count; i++)
        start_s = fmax(start_s, forecast->ends_s[phase->after[i]]);
    const struct matrix *matrix = phase->members;
    for (size_t i = 0; matrix && i < matrix->count; i++) {
        double one_s = forecast->costs[matrix->members[i]->index].seconds;
        double member_end_s = forecast->ends_s[matrix->members[i]->index];
        sum_s += one_s;
        last_s = fmax(last_s, member_end_s);
        first_s = fmin(first_s, member_end_s - one_s);
    }
    if (isinf(first_s))
        return start_s + forecast->costs[phase->index].seconds;
    size_t guessed = guessed_members(forecast, matrix), count;
    double time_s = matrix->members[0]->time_s;
    double end_s = matrix->lanes ? fmax(last_s, first_s + sum_s / matrix->lanes) : last_s;
    end_s = fmax(end_s, first_s + time_s * (double)lane_turns(matrix, guessed));
    for (unsigned rung = 1; (count = rung_members(forecast, matrix, rung)) > 0; rung++)
        end_s += time_s * (double)lane_turns(matrix, count < guessed ? count : guessed);
    return end_s;
}

/* --- The answer ------------------------------------------------------------------------------- */

static json_t *text_or_null(const char *text)
{
    return text && *text ? json_string(text) : json_null();
}

static json_t *real_or_null(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* What Slurm says about the start of the phase's job with these GPUs. */
static json_t *start_json(const struct forecast *forecast, const struct phase *phase,
                          const char *gpu_type, const struct cluster_survey *survey)
{
    int shape = has_job(phase) ? shape_of(forecast, phase, gpu_type) : -1;
    const struct survey_forecast none = {0};
    const struct survey_forecast *start =
        shape >= 0 && (size_t)shape < survey->forecast_count ? &survey->forecasts[shape] : &none;
    const char *message = start->message;
    if (shape < 0 && has_job(phase))
        message = "Slurm was not asked: there are too many different jobs";
    bool is_refused = start->is_refused && !fit_waits(survey, phase, gpu_type);
    return json_pack("{s:o, s:o, s:o, s:o, s:b}", "start",
                     start->start_time > 0 ? json_real((double)start->start_time) : json_null(),
                     "start_partition", text_or_null(start->partition), "start_nodes",
                     text_or_null(start->nodes), "start_message", text_or_null(message), "refused",
                     (int)is_refused);
}

/* Whether the job `that` starts before the job `this`. A job that Slurm refuses comes last. */
static bool starts_before(const json_t *that, const json_t *this)
{
    double a = json_number_value(json_object_get(that, "start"));
    double b = json_number_value(json_object_get(this, "start"));
    if (a > 0 && b > 0)
        return a < b;
    if (a > 0 || b > 0)
        return a > 0;
    return json_is_true(json_object_get(this, "refused")) &&
           !json_is_true(json_object_get(that, "refused"));
}

/* Adds the start to the phase's object. If the phase has a choice of GPUs, adds the earliest start,
 * and the start with each type. */
static void add_start(const struct forecast *forecast, const struct phase *phase,
                      const struct cluster_survey *survey, json_t *json)
{
    json_t *alternatives = json_array(), *first = NULL;
    const char *types = phase->alternatives;
    for (char *gpu_type; (gpu_type = text_take_item(&types)); free(gpu_type)) {
        json_t *start = start_json(forecast, phase, gpu_type, survey);
        if (!first || starts_before(start, first)) {
            json_decref(first);
            first = json_copy(start);
        }
        (void)json_object_set_new(start, "gpu_type", json_string(gpu_type));
        (void)json_array_append_new(alternatives, start);
    }
    if (!first)
        first = start_json(forecast, phase, phase->gpu_type, survey);
    (void)json_object_update(json, first);
    (void)json_object_set_new(json, "alternatives", alternatives);
    json_decref(first);
}

/* Adds what phased itself would make the job wait for. Later phases wait for the phases before
 * them, so nothing is said of them. */
static void judge_queue(const struct forecast *forecast, const struct phase *phase, json_t *dangers)
{
    char reason[REASON_MAX];
    unsigned gpus = phase->nodes * phase->gpus_per_node;
    enum admission_when when =
        has_job(phase) ? admission_forecast(forecast->loop, gpus, reason) : ADMISSION_NOW;
    bool is_never = when == ADMISSION_NEVER;
    if (when == ADMISSION_NOW || (phase->after_count > 0 && !is_never))
        return;
    (void)json_array_append_new(
        dangers, json_sprintf("it would %s: %s",
                              is_never ? "never be submitted" : "not be submitted yet", reason));
}

/* The job of members side by side has the same size at each rung. Warns if later rungs leave a part
 * of the job idle. */
static void judge_rungs(const struct forecast *forecast, const struct phase *phase, json_t *dangers)
{
    const struct matrix *matrix = phase->members;
    size_t count;
    if (!matrix || !matrix->is_parallel)
        return;
    for (unsigned rung = 1; (count = rung_members(forecast, matrix, rung)) > 0; rung++) {
        if (count >= matrix->lanes)
            continue;
        (void)json_array_append_new(
            dangers,
            json_sprintf(
                "rung %u has %u members, and its job has room for %u: the rest "
                "of the job is idle; `pack: {parallel: %u}` leaves nothing idle at this rung",
                rung + 1, (unsigned)count, matrix->lanes, (unsigned)count));
        return;
    }
}

/* Adds the container of the phase, if there is one. The nodes look for its image and runtime. */
static void add_container(const struct forecast *forecast, const char *name, json_t *json)
{
    json_t *container = json_object_get(phase_spec_find(forecast->resolved, name), "container");
    if (json_is_object(container))
        (void)json_object_set(json, "container", container);
}

static json_t *phase_json(const struct forecast *forecast, const struct phase *phase,
                          const struct cluster_survey *survey)
{
    const struct forecast_cost *cost = &forecast->costs[phase->index];
    json_t *json = has_job(phase)
                       ? fit_judge(survey, phase, forecast->excluded)
                       : json_pack("{s:[], s:n, s:[]}", "partitions", "missing", "dangers");
    bool is_guest = phase->beside && !phase->beside->members;
    const char *type = phase_gpu_types(phase);
    json_t *rest =
        json_pack("{s:s, s:i, s:i, s:o, s:i, s:s?, s:s?, s:b, s:b, s:f, s:i, s:f, s:o, s:i}",
                  "phase", phase->name, "nodes", (int)phase->nodes, "gpus",
                  (int)phase->gpus_per_node, "gpu_type", text_or_null(type), "time_s",
                  (int)phase->time_s, "beside", is_guest ? phase->beside->name : NULL, "matrix",
                  phase->matrix ? phase->matrix->phase->name : NULL, "is_matrix",
                  phase->members != NULL, "has_checkpoint", (int)phase->has_checkpoint, "seconds",
                  cost->seconds, "similar", (int)cost->similar, "gpu_seconds", cost->gpu_seconds,
                  "cost_usd", real_or_null(cost->usd), "rungs", (int)rung_count(forecast, phase));
    (void)json_object_update(json, rest);
    json_decref(rest);
    add_container(forecast, phase->name, json);
    add_start(forecast, phase, survey, json);
    judge_queue(forecast, phase, json_object_get(json, "dangers"));
    judge_rungs(forecast, phase, json_object_get(json, "dangers"));
    return json;
}

static void estimate_add(struct estimate *sum, const struct estimate *one)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++)
        sum->amounts[i] += one->amounts[i];
    sum->is_measured = sum->is_measured && one->is_measured;
}

/* Costs of a phase that runs. A phase without GPUs costs nothing, if there is a price at all. */
static struct estimate estimate_of_one(const struct forecast *forecast, const struct phase *phase)
{
    const struct forecast_cost *cost = &forecast->costs[phase->index];
    bool is_free = phase->gpus_per_node == 0 && json_object_get(forecast->resolved, "price");
    double hours = has_job(phase) ? cost->seconds / 3600 / phase_parts(phase) : 0;
    return (struct estimate){
        .amounts = {[AMOUNT_USD] = is_free ? 0 : cost->usd,
                    [AMOUNT_GPU_HOURS] = cost->gpu_seconds / 3600,
                    [AMOUNT_HOURS] = hours},
        .is_measured = cost->similar > 0,
    };
}

/* Costs of a matrix: the sum of its members. Members without similar phases may run at each rung.
 * Members side by side pay for the whole job as long as one of them runs. */
static struct estimate estimate_of(const struct forecast *forecast, const struct phase *phase)
{
    const struct matrix *matrix = phase->members;
    struct estimate sum = {.is_measured = true}, most = {0};
    if (!matrix)
        return estimate_of_one(forecast, phase);
    for (size_t i = 0; i < matrix->count; i++) {
        struct estimate one = estimate_of_one(forecast, matrix->members[i]);
        estimate_add(&sum, &one);
        for (enum amount j = 0; !one.is_measured && j < AMOUNT_COUNT; j++)
            most.amounts[j] = fmax(most.amounts[j], one.amounts[j]);
    }
    size_t guessed = guessed_members(forecast, matrix), count, more = 0;
    for (unsigned rung = 0; (count = rung_members(forecast, matrix, rung)) > 0; rung++) {
        count = count < guessed ? count : guessed;
        more += matrix->is_parallel ? lane_turns(matrix, count) * matrix->lanes : count;
    }
    for (enum amount i = 0; guessed > 0 && i < AMOUNT_COUNT; i++)
        sum.amounts[i] += most.amounts[i] * (double)(more - guessed);
    return sum;
}

/* Compares with what the file expects of the phase. If a phase can go on in another job, its `time`
 * cannot be too short. */
static void judge_phase(const struct forecast *forecast, const struct phase *phase, json_t *json)
{
    const json_t *spec =
        json_array_get(json_object_get(forecast->resolved, "phases"), phase->index);
    json_t *expect = json_object_get(spec, "expect");
    struct estimate estimate = estimate_of(forecast, phase);
    if (!estimate.is_measured && (phase->has_checkpoint || phase->members))
        estimate.amounts[AMOUNT_HOURS] = NAN;
    estimate_judge_expected(&estimate, expect, json_object_get(json, "dangers"));
    (void)json_object_set(json, "expect", expect ? expect : json_null());
}

static void judge_month(struct loop *loop, json_t *dangers)
{
    char spent[REASON_MAX];
    if (admission_month_is_spent(loop, spent))
        (void)json_array_append_new(
            dangers, json_sprintf("this month's budget (limits.yaml) is spent: %s", spent));
}

static json_t *forecast_json(struct forecast *forecast, const struct cluster_survey *survey)
{
    struct workflow *workflow = forecast->workflow;
    json_t *phases = json_array(), *dangers = json_array();
    json_t *budget = json_object_get(forecast->resolved, "budget");
    json_t *expect = json_object_get(forecast->resolved, "expect");
    struct estimate whole = {.is_measured = true};
    double end_s = 0;
    bool fits = true;
    for (size_t i = 0; i < workflow->phase_count; i++)
        forecast->costs[i] = cost_of(forecast, &workflow->phases[i]);
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        forecast->ends_s[i] = end_of(forecast, phase);
        end_s = fmax(end_s, forecast->ends_s[i]);
        json_t *json = phase_json(forecast, phase, survey);
        judge_phase(forecast, phase, json);
        fits = fits && json_is_null(json_object_get(json, "missing")) &&
               !json_is_true(json_object_get(json, "refused"));
        struct estimate one = estimate_of(forecast, phase);
        if (!phase->matrix)
            estimate_add(&whole, &one);
        (void)json_array_append_new(phases, json);
    }
    if (!whole.is_measured)
        whole.amounts[AMOUNT_HOURS] = NAN; /* the sum of all `time`s says little */
    estimate_judge_budget(&whole, budget, dangers);
    estimate_judge_expected(&whole, expect, dangers);
    judge_month(forecast->loop, dangers);
    return json_pack("{s:s, s:b, s:o, s:o, s:f, s:f, s:o, s:O?, s:O?}", "name", workflow->name,
                     "fits", (int)fits, "phases", phases, "dangers", dangers, "seconds", end_s,
                     "gpu_seconds", whole.amounts[AMOUNT_GPU_HOURS] * 3600, "cost_usd",
                     real_or_null(whole.amounts[AMOUNT_USD]), "budget", budget, "expect", expect);
}

static void forecast_surveyed(void *context, const struct cluster_result *result)
{
    struct forecast *forecast = context;
    struct error err;
    if (!result) {
        forecast->done(forecast->context, NULL, NULL);
    } else if (result->outcome != CLUSTER_DONE) {
        (void)error_set(&err, -EBUSY, "could not ask Slurm (`phasectl check` needs no Slurm): %s",
                        result->message);
        forecast->done(forecast->context, NULL, &err);
    } else {
        json_t *plan = forecast_json(forecast, result->survey);
        forecast->done(forecast->context, plan, NULL);
    }
    forecast_free(forecast);
}

/* --- The question ----------------------------------------------------------------------------- */

/* Makes the order that a first run of the phase would get. The run has no folder yet. `job` must
 * live as long as the order. */
static void order_init(struct job_order *order, const struct forecast *forecast,
                       const struct phase *phase, const struct allocation *allocation,
                       const struct store_launch *launch)
{
    static char path[] = "/phased-00000000000000000000000000000000";
    struct folder folder = {.job = path, .own = path, .run = path, .phase = path};
    struct run run = {.phase = &forecast->workflow->phases[phase->index]};
    struct store_launch own = *launch;
    own.spec = json_array_get(json_object_get(forecast->resolved, "phases"), phase->index);
    job_order_init(order, &run, allocation, &folder, &own, loop_config(forecast->loop)->worker,
                   forecast->excluded);
}

static int forecast_survey(struct forecast *forecast, const struct store_launch *launch,
                           struct error *err)
{
    struct job_order orders[SURVEY_FORECASTS_MAX];
    const struct cluster_description *descriptions[SURVEY_FORECASTS_MAX];
    struct allocation jobs[SURVEY_FORECASTS_MAX] = {0};
    for (size_t i = 0; i < forecast->shape_count; i++) {
        const struct forecast_shape *shape = &forecast->shapes[i];
        memset(jobs[i].token, '0', TOKEN_LENGTH);
        (void)snprintf(jobs[i].gpu_type, sizeof jobs[i].gpu_type, "%s",
                       shape->gpu_type ? shape->gpu_type : "");
        order_init(&orders[i], forecast, shape->phase, &jobs[i], launch);
        descriptions[i] = &orders[i].description;
    }
    int status = outlook_survey(forecast->loop, descriptions, forecast->shape_count,
                                forecast_surveyed, forecast, err);
    for (size_t i = 0; i < forecast->shape_count; i++)
        job_order_fini(&orders[i]);
    return status;
}

int outlook_ask(struct loop *loop, json_t *resolved, const struct store_launch *launch,
                outlook_done *done, void *context, struct error *err)
{
    struct workflow *workflow;
    int status = outlook_model(resolved, &workflow, err);
    if (status < 0)
        return status;
    workflow->submitted_ms = loop_now_ms();
    struct forecast *forecast = xcalloc(1, sizeof *forecast);
    *forecast = (struct forecast){
        .loop = loop,
        .resolved = json_incref(resolved),
        .workflow = workflow,
        .costs = xcalloc(workflow->phase_count + 1, sizeof *forecast->costs),
        .ends_s = xcalloc(workflow->phase_count + 1, sizeof *forecast->ends_s),
        .done = done,
        .context = context,
    };
    for (size_t i = 0; i < workflow->phase_count; i++) {
        const struct phase *phase = &workflow->phases[i];
        if (has_job(phase))
            add_shapes(forecast, phase);
    }
    status = store_nodes_excluded(loop_store(loop), loop_now_ms(), &forecast->excluded, err);
    if (status == 0)
        status = forecast_survey(forecast, launch, err);
    if (status < 0)
        forecast_free(forecast);
    return status;
}
