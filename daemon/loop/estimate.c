/* Judging estimates. */
#include "daemon/loop/estimate.h"

#include "lib/text.h"

#include <stdlib.h>

void estimate_judge_budget(const struct estimate *estimate, const json_t *budget, json_t *dangers)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        double limit = json_number_value(json_object_get(budget, amount_key(i)));
        char may[AMOUNT_SIZE], budgeted[AMOUNT_SIZE];
        if (!(limit > 0 && estimate->amounts[i] > limit)) /* neither is NaN */
            continue;
        char *text = text_format(
            "it may %s %s, and its budget is %s", i == AMOUNT_HOURS ? "take" : "cost",
            amount_format_counted(i, estimate->amounts[i], may), amount_format(i, limit, budgeted));
        (void)json_array_append_new(dangers, json_string(text));
        free(text);
    }
}

void estimate_judge_expected(const struct estimate *estimate, const json_t *expect, json_t *dangers)
{
    for (enum amount i = 0; i < AMOUNT_COUNT; i++) {
        const json_t *range = json_object_get(expect, amount_key(i));
        double from = json_number_value(json_array_get(range, 0));
        double to = json_number_value(json_array_get(range, 1)), amount = estimate->amounts[i];
        char took[AMOUNT_SIZE], expected[AMOUNT_SHARE_SIZE];
        bool is_more = estimate->is_measured && amount > to;
        bool is_less = !estimate->is_measured && i == AMOUNT_HOURS && amount < from;
        if (!range || (!is_more && !is_less))
            continue;
        (void)amount_format_counted(i, amount, took);
        (void)amount_format_range(i, from, to, expected);
        char *text = is_more
                         ? text_format("similar runs took %s, more than the %s that are expected",
                                       took, expected)
                         : text_format("its `time` allows %s, less than the %s that are expected",
                                       took, expected);
        (void)json_array_append_new(dangers, json_string(text));
        free(text);
    }
}
