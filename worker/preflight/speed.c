/* Judges one row at a time: first troubles, then wrong values, then each figure. */
#include "worker/preflight/speed.h"

#include "lib/text.h"
#include "worker/preflight/facts.h"
#include "worker/preflight/groups.h"
#include "worker/preflight/measures.h"
#include "worker/preflight/thresholds.h"

#include <assert.h>

static unsigned speed_index(const struct speed *speed, unsigned place)
{
    return place < speed->gpu_count ? speed->gpus[place]->index : place;
}

static bool speed_is_group(const struct speed *speed, const struct measure *measure)
{
    return measure->row == FIGURE_ROW_ALLREDUCE && measure->a < speed->groups->round_count &&
           measure->b < speed->groups->rounds[measure->a].group_count;
}

/* Adds what a measure is about: "GPU 3", "GPU 0 to GPU 1", "tensor 0-3". */
static void speed_whose(const struct speed *speed, const struct measure *measure, struct text *text)
{
    if (speed_is_group(speed, measure)) {
        text_addf(text, "%s ", speed->groups->rounds[measure->a].name);
        groups_text_of_one(speed->groups, measure->a, measure->b, text);
        return;
    }
    text_addf(text, "GPU %u", speed_index(speed, measure->a));
    if (measure->row == FIGURE_ROW_PEERS)
        text_addf(text, " to GPU %u", speed_index(speed, measure->b));
}

static struct fact speed_figure_of(const struct speed *speed, const struct thresholds *thresholds,
                                   const struct measure *measure)
{
    const struct groups *groups = speed->groups;
    if (!thresholds || !speed->gpu_count)
        return (struct fact){0};
    unsigned place = measure->a < speed->gpu_count ? measure->a : 0;
    const struct thresholds_model *model = thresholds_model(
        thresholds, speed->gpus[measure->row == FIGURE_ROW_ALLREDUCE ? 0 : place]->name);
    if (measure->row != FIGURE_ROW_ALLREDUCE)
        return model ? model->figures[measure->figure] : (struct fact){0};
    if (!speed_is_group(speed, measure))
        return (struct fact){0};
    return thresholds_of_group(model, groups_size(groups, measure->a, measure->b),
                               groups_nodes(groups, measure->a, measure->b));
}

/* Returns the least value that a figure must have. */
static struct figure_least speed_least(const struct speed *speed, const struct measure *measure)
{
    return figure_least(speed_figure_of(speed, speed->thresholds, measure),
                        speed_figure_of(speed, speed->baseline, measure),
                        speed->thresholds->baseline_percent);
}

/* Returns how many figures `row` should have. */
static size_t speed_expected(const struct speed *speed, enum figure_row row)
{
    size_t expected = 0;
    switch (row) {
    case FIGURE_ROW_PEERS:
        return (size_t)speed->gpu_count * (speed->gpu_count ? speed->gpu_count - 1 : 0);
    case FIGURE_ROW_ALLREDUCE:
        for (unsigned round = 0; round < speed->groups->round_count; round++)
            for (unsigned i = 0; i < speed->groups->rounds[round].group_count; i++)
                expected += groups_size(speed->groups, round, i) > 1 &&
                            groups_is_on(speed->groups, round, i, speed->node);
        return expected;
    default:
        for (enum figure i = 0; i < FIGURE_COUNT; i++)
            expected += figure_kinds[i].row == row ? speed->gpu_count : 0;
        return expected;
    }
}

/* Adds that a figure is too low. A group is as slow as its slowest node. If a group has several
 * nodes, each node would blame itself, and so one bad node would fail all nodes. */
static void speed_add_low(const struct speed *speed, const struct measure *measure,
                          const struct figure_least *least, const char *whose,
                          struct row_result *result)
{
    const struct figure_kind *kind = &figure_kinds[measure->figure];
    bool is_shared =
        speed_is_group(speed, measure) && groups_nodes(speed->groups, measure->a, measure->b) > 1;
    row_add(result, is_shared ? ROW_UNKNOWN : ROW_FAILED, "%s: %s %.0f %s, at least %.0f%s%s",
            whose, kind->label, measure->value, kind->unit, least->value,
            least->baseline.is_known ? " by the baseline" : "",
            is_shared ? ": this node or another" : "");
}

/* Adds what `measure` alone says about its row. */
static void speed_judge_one(const struct speed *speed, const struct measure *measure,
                            struct row_result *result)
{
    struct text whose = {0};
    speed_whose(speed, measure, &whose);
    switch (measure->kind) {
    case MEASURE_FAILED:
    case MEASURE_UNKNOWN:
        text_clear(&whose);
        if (measure->is_of_one) /* of one GPU, even if the figures of the row are of more */
            text_addf(&whose, "GPU %u: ", speed_index(speed, measure->a));
        row_add(result, measure->kind == MEASURE_FAILED ? ROW_FAILED : ROW_UNKNOWN, "%s%s",
                text_string(&whose), measure->text);
        break;
    case MEASURE_WRONG:
        row_add(result, ROW_FAILED, "%s: %s", text_string(&whose), measure->text);
        break;
    case MEASURE_FIGURE: {
        struct figure_least least = speed_least(speed, measure);
        if (least.is_known && measure->value < least.value)
            speed_add_low(speed, measure, &least, text_string(&whose), result);
        break;
    }
    }
    text_fini(&whose);
}

/* Adds the lowest figure of a kind; for groups, the lowest of one round. This figure stands for all
 * figures of its kind. A figure without a threshold and a baseline counts as the lowest. */
static void speed_sum_up(const struct speed *speed, enum figure figure, unsigned round,
                         struct row_result *result)
{
    const struct figure_kind *kind = &figure_kinds[figure];
    const struct measure *lowest = NULL;
    bool is_lowest_judged = true;
    for (size_t i = 0; i < speed->measures->count; i++) {
        const struct measure *measure = &speed->measures->items[i];
        if (measure->kind != MEASURE_FIGURE || measure->figure != figure ||
            (figure == FIGURE_ALLREDUCE && measure->a != round))
            continue;
        bool is_judged = speed_least(speed, measure).is_known;
        if (!lowest || is_judged < is_lowest_judged ||
            (is_judged == is_lowest_judged && measure->value < lowest->value)) {
            lowest = measure;
            is_lowest_judged = is_judged;
        }
    }
    if (!lowest)
        return;
    struct figure_least least = speed_least(speed, lowest);
    const char *name = figure == FIGURE_ALLREDUCE && round < speed->groups->round_count
                           ? speed->groups->rounds[round].name
                           : kind->label;
    if (!least.is_known)
        row_add(result, ROW_UNKNOWN, "%s %.0f %s, no threshold and no baseline", name,
                lowest->value, kind->unit);
    else
        row_add(result, ROW_PASSED, "%s %.0f %s, at least %.0f%s", name, lowest->value, kind->unit,
                least.value, least.baseline.is_known ? " by the baseline" : "");
}

static void speed_judge_row(const struct speed *speed, enum figure_row row,
                            struct row_result *result)
{
    const struct measures *measures = speed->measures;
    size_t taken = 0, troubles = 0, expected = speed_expected(speed, row);
    for (size_t i = 0; i < measures->count; i++) {
        const struct measure *measure = &measures->items[i];
        if (measure->row != row)
            continue;
        taken += measure->kind == MEASURE_FIGURE;
        troubles += measure->kind != MEASURE_FIGURE;
        speed_judge_one(speed, measure, result);
    }
    if (!expected) {
        row_add(result, speed->gpu_count ? ROW_PASSED : ROW_UNKNOWN,
                speed->gpu_count ? "no GPU has a partner" : "no GPU");
        return;
    }
    if (!troubles && taken >= expected && !measures->is_whole[row])
        row_add(result, ROW_UNKNOWN, "the measuring process ended without its last line");
    if (!troubles && taken < expected)
        row_add(result, ROW_UNKNOWN, "%zu of %zu figures were not measured", expected - taken,
                expected);
    for (enum figure i = 0; i < FIGURE_COUNT; i++)
        for (unsigned round = 0; figure_kinds[i].row == row && round < GROUPS_ROUNDS_MAX; round++)
            if (i == FIGURE_ALLREDUCE || !round)
                speed_sum_up(speed, i, round, result);
}

size_t speed_judge(const struct speed *speed, struct row_result *ret_results)
{
    size_t count = 0;
    for (enum figure_row row = 0; row < FIGURE_ROW_COUNT; row++) {
        if (!speed->measures->is_taken[row])
            continue;
        ret_results[count] = (struct row_result){.name = figure_rows[row], .is_essential = true};
        speed_judge_row(speed, row, &ret_results[count++]);
    }
    return count;
}

json_t *speed_json(const struct speed *speed)
{
    json_t *figures = json_array();
    for (size_t i = 0; i < speed->measures->count; i++) {
        const struct measure *measure = &speed->measures->items[i];
        if (measure->kind != MEASURE_FIGURE)
            continue;
        struct text whose = {0};
        speed_whose(speed, measure, &whose);
        struct figure_least least = speed_least(speed, measure);
        json_t *figure = json_pack("{s:s, s:s, s:s, s:f}", "row", figure_rows[measure->row], "name",
                                   figure_kinds[measure->figure].name, "of", text_string(&whose),
                                   "value", measure->value);
        int status =
            least.is_known ? json_object_set_new(figure, "least", json_real(least.value)) : 0;
        assert(status == 0 && figure);
        (void)json_array_append_new(figures, figure); /* fails for NULL only */
        text_fini(&whose);
    }
    return figures;
}
