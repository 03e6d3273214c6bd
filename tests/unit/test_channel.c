/* What the worker reads from lines of the channel. */
#include "tests/unit/unit.h"

#include "lib/text.h"
#include "worker/node/channel.h"

#include <stdbool.h>

struct heard {
    size_t rows, values;
    bool has_step, has_loss; /* of the newest row */
};

static void hear_metric(void *context, const struct extract_row *row)
{
    struct heard *heard = context;
    assert_in_range(row->count, 1, EXTRACT_VALUES_MAX);
    assert_true(!row->has_step || row->step == 7);
    assert_true(!heard->rows || heard->has_step == row->has_step);
    heard->rows++;
    heard->values += row->count;
    heard->has_step = row->has_step;
    heard->has_loss = text_equal(row->values[row->count - 1].name, "val_loss") &&
                      row->values[row->count - 1].value == 0.5;
}

static void hear_checkpoint(void *context, const char *path, int64_t step)
{
    (void)context;
    fail_msg("a checkpoint of step %lld: %s", (long long)step, path);
}

static void a_line_with_many_values_loses_none(void **state)
{
    (void)state;
    static const struct {
        bool has_step;
        size_t values, rows;
    } cases[] = {
        {true, 1, 1},    {true, EXTRACT_VALUES_MAX, 1},     {true, EXTRACT_VALUES_MAX + 1, 2},
        {false, 300, 2}, {true, 2 * EXTRACT_VALUES_MAX, 2}, {true, 2 * EXTRACT_VALUES_MAX + 1, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct heard heard = {0};
        const struct channel_listener listener = {hear_metric, hear_checkpoint, &heard};
        struct text line = {0};
        text_addf(&line, "{\"metric\":{%s\"values\":{", cases[i].has_step ? "\"step\":7," : "");
        for (size_t value = 1; value < cases[i].values; value++)
            text_addf(&line, "\"grad_%zu\":%zu,", value, value);
        text_add(&line, "\"val_loss\":0.5}}}");
        channel_read(&listener, text_string(&line), line.size);
        assert_int_equal(heard.values, cases[i].values);
        assert_int_equal(heard.rows, cases[i].rows);
        assert_int_equal(heard.has_step, cases[i].has_step);
        assert_true(heard.has_loss);
        text_fini(&line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_with_many_values_loses_none),
    };
    return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
