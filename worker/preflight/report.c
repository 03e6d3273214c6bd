/* Writes the results of a preflight as aligned lines or as JSON. */
#include "worker/preflight/report.h"

#include "lib/json.h"
#include "lib/text.h"

#include <assert.h>

void report_text(const char *node, const struct row_result *results, size_t count,
                 struct text *text)
{
    text_addf(text, "%s: %s\n", node, row_outcome_text(rows_outcome(results, count)));
    for (size_t i = 0; i < count; i++)
        text_addf(text, "  %-10s %-15s %s\n", results[i].name, row_outcome_text(results[i].outcome),
                  results[i].text);
}

json_t *report_json(const char *node, bool is_observed, const struct row_result *results,
                    size_t count, json_t *figures)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        /* A path, or a name that the driver gives, may be no UTF-8. */
        json_t *row = json_pack("{s:s, s:s, s:b, s:o}", "name", results[i].name, "outcome",
                                row_outcome_text(results[i].outcome), "essential",
                                results[i].is_essential, "text", json_string_of(results[i].text));
        (void)json_array_append_new(rows, row); /* fails only for a NULL row, caught below */
    }
    json_t *report = json_pack("{s:o, s:s, s:s, s:b, s:o, s:o*}", "node", json_string_of(node),
                               "level", figures ? "full" : "quick", "outcome",
                               row_outcome_text(rows_outcome(results, count)), "observe",
                               is_observed, "rows", rows, "figures", figures);
    assert(report && json_array_size(rows) == count);
    return report;
}
