/* Progress bars: which of their states are rows, and which bars count steps. */
#include "tests/unit/extracting.h"
#include "tests/unit/unit.h"

#include "lib/metrics/extract.h"
#include "lib/text.h"

#include <stdlib.h>
#include <string.h>

static void a_step_with_a_name_wins_over_a_bar(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"45%|###| 120/266 [00:10<00:12, loss=2.5, step=12]", "{\"step\": 12, \"loss\": 2.5}\n"},
        {"step 4000: 45%|###| 120/266 [00:10<00:12, loss=2.5]",
         "{\"step\": 4000, \"loss\": 2.5}\n"},
        {"45%|###| 120/266 [00:10<00:12] step 4000 loss 2.5", "{\"step\": 4000, \"loss\": 2.5}\n"},
        {"1%|#| 1/9 [00:10<00:12, loss=2, step=70]\n2%|#| 2/9 [00:10<00:12, loss=1]",
         "{\"step\": 70, \"loss\": 2}\n{\"step\": 70, \"loss\": 1}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void a_progress_bar_gives_each_step_once(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"loss=3\rloss=2\rloss=1\n", "{\"loss\": 1}\n"},
        {"step=1 loss=3\rstep=1 loss=2\rstep=2 loss=1\rdone\n",
         "{\"step\": 1, \"loss\": 2}\n{\"step\": 2, \"loss\": 1}\n"},
        {"step=1 loss=3\racc=2\n", "{\"step\": 1, \"loss\": 3}\n{\"step\": 1, \"acc\": 2}\n"},
        {"loss=1\r\nloss=2\r\n", "{\"loss\": 1}\n{\"loss\": 2}\n"},
        {"step=1 loss=3\rstep=1 loss=2", "{\"step\": 1, \"loss\": 2}\n"},
        {" 10%|#  | 10/100 [00:01<00:09, 10it/s]\rloss=1\n", "{\"step\": 10, \"loss\": 1}\n"},
        /* the bar of an evaluation does not turn the steps back */
        {" 10%|#  | 10/100 [0]\n 50%|## | 1/2 [0]\nloss=1\n", "{\"step\": 10, \"loss\": 1}\n"},
        {"Epoch 2: 10%|#  | 10/100 [0, loss=1]\n", "{\"step\": 210, \"loss\": 1}\n"},
        {"Steps: 10%|#  | 10/100 [0, loss=1]\n", "{\"step\": 10, \"loss\": 1}\n"},
        {"Map: 10%|#  | 10/100 [0]\nloss=1\n", "{\"loss\": 1}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void many_states_of_a_bar_are_one_row(void **state)
{
    (void)state;
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct text text = {0};
    for (int i = 0; i < 100000; i++)
        text_addf(&text, "\rstep=%d loss=%d", i / 10000, i);
    char *rows = rows_of(&options, text_string(&text), text.size, 4096);
    size_t count = 0;
    for (const char *at = rows; (at = strchr(at, '\n')); at++)
        count++;
    assert_int_equal(count, 10);
    free(rows);
    text_fini(&text);
}

static void a_finite_value_does_not_replace_a_nan(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {"loss=3\rloss=nan\rloss=2\rloss=1\n", "{\"loss\": \"nan\"}\n{\"loss\": 1}\n"},
        {"step=1 loss=inf\rstep=1 loss=2\n",
         "{\"step\": 1, \"loss\": \"inf\"}\n{\"step\": 1, \"loss\": 2}\n"},
        {"loss=3 best=inf\rloss=2 best=inf\n", "{\"loss\": 2, \"best\": \"inf\"}\n"},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

#define BAR(count, total)    " 1%|# | " #count "/" #total " [0]\n"
#define VALUES(count, total) " 1%|# | " #count "/" #total " [0, loss=2]\n"
#define ROW(step)            "{\"step\": " #step ", \"loss\": 2}\n"

static void a_bar_before_the_training_does_not_fix_the_steps(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        /* a first evaluation */
        {BAR(20, 20) BAR(10, 1000) "loss=2\n" BAR(20, 1000) "loss=2\n", ROW(10) ROW(20)},
        {BAR(1, 20) BAR(20, 20) "val_loss: 2.5\n" BAR(20, 20) BAR(10, 1000) "loss=2\n",
         "{\"step\": 20, \"val_loss\": 2.5}\n" ROW(10)},
        /* downloads */
        {BAR(9912422, 9912422) BAR(28881, 28881) VALUES(94, 938) VALUES(95, 938) "loss=2\n",
         ROW(94) ROW(95) ROW(95)},
        {BAR(9, 9) " 1%|# | 1/5 [0, loss=2]\n 1%|# | 2/5 [0, loss=2]\n", ROW(1) ROW(2)},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

static void the_bar_of_an_evaluation_does_not_count_after_an_epoch(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        /* both bars end before the first metric */
        {BAR(938, 938) BAR(1, 157) BAR(157, 157) "loss=2\n" BAR(9, 938) BAR(5, 157) "loss=2\n",
         ROW(938) ROW(9)},
        {BAR(938, 938) "loss=2\n" BAR(1, 157) "loss=2\n" BAR(9, 938) "loss=2\n",
         ROW(938) ROW(938) ROW(9)},
        /* the epochs have metrics, and an evaluation is longer */
        {BAR(1, 10) "loss=2\n" BAR(10, 10) BAR(1, 20) "loss=2\n" BAR(20, 20) BAR(3, 10) "loss=2\n",
         ROW(1) ROW(10) ROW(3)},
        {" 1%|# | 10/10 [0, loss=2]\n" BAR(1, 20) "loss=2\n", ROW(10) ROW(10)},
        {BAR(10, 10) BAR(10, 10) BAR(2, 10) "loss=2\n" BAR(1, 20) "loss=2\n", ROW(2) ROW(2)},
        /* a bar that is removed does not draw its end */
        {BAR(938, 938) BAR(100, 157) "loss=2\n" BAR(938, 938) BAR(100, 157) "loss=2\n",
         ROW(938) ROW(938)},
        {BAR(100, 100) BAR(18, 20) "loss=2\n" BAR(100, 100) "loss=2\n", ROW(100) ROW(100)},
        /* the evaluation shows values, and the training shows none */
        {BAR(938, 938) VALUES(50, 157) BAR(9, 938) VALUES(60, 157) "loss=2\n",
         ROW(50) ROW(9) ROW(9)},
        /* the evaluation is longer than the epoch */
        {BAR(9, 9) "loss=2\n" BAR(20, 20) "loss=2\n" BAR(5, 9) BAR(20, 20) BAR(9, 9) "loss=2\n",
         ROW(9) ROW(20) ROW(9)},
        /* an evaluation before the training comes again */
        {BAR(20, 20) "loss=2\n" BAR(10, 1000) "loss=2\n" BAR(20, 20) "loss=2\n" BAR(
             11, 1000) "loss=2\n",
         ROW(20) ROW(10) ROW(10) ROW(11)},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

#define TRAIN     "Epoch 3/10 [train]: 100%|## | 1000/1000 [0]\n"
#define EPOCH_ROW "{\"step\": 4000, \"epoch\": 3, \"loss\": 2}\n"

static void the_bar_of_an_evaluation_within_an_epoch_does_not_count(void **state)
{
    (void)state;
    static const struct line_case cases[] = {
        {TRAIN "Epoch 3/10 [val]: 100%|## | 20/20 [0]\nloss=2\n", ROW(4000)},
        {TRAIN "Epoch 3 validation: 100%|## | 20/20 [0, loss=2]\n", ROW(4000)},
        {TRAIN "Epoch 3 (Eval) 100%|## | 20/20 [0, loss=2]\n", ROW(4000)},
        {TRAIN "Epoch 3 test_loader: 100%|## | 20/20 [0, loss=2]\n", ROW(4000)},
        {TRAIN "Train/dev: 100%|## | 20/20 [0, loss=2]\n", ROW(4000)},
        {"Epoch 3 | val_loss: 0.61: 45%|# | 20/100 [0, loss=2]\n", ROW(320)},
        {"Epoch 3 (best val 0.51): 45%|# | 20/100 [0, loss=2]\n", ROW(320)},
        {"Train loss .5 val acc -0.6: 45%|# | 20/100 [0, loss=2]\n", ROW(20)},
        {"Epoch 3 device 0, latest values: 1%|# | 20/100 [0, loss=2]\n", ROW(320)},
        {TRAIN "Val Epoch: [3][10/20] loss: 2\n", EPOCH_ROW},
        {TRAIN "[test] Epoch: 3 [10/20 (50%)] loss: 2\n", EPOCH_ROW},
    };
    assert_lines(cases, sizeof cases / sizeof *cases);
}

/* A part of the output, and then the time passes. */
struct part {
    const char *bytes;
    int64_t pass_ms;
    const char *rows; /* that have come by then */
};

static void assert_parts(const struct part *parts, size_t count)
{
    struct extract_options options = {.kind = EXTRACT_AUTO};
    struct extract *extract;
    struct text rows = {0};
    int64_t now_ms = 5000;
    assert_int_equal(extract_new(&options, collect, &rows, &extract, NULL), 0);
    for (size_t i = 0; i < count; i++) {
        extract_feed(extract, parts[i].bytes, strlen(parts[i].bytes));
        extract_flush(extract, now_ms);
        now_ms += parts[i].pass_ms;
        extract_flush(extract, now_ms);
        assert_string_equal(text_string(&rows), parts[i].rows);
        text_clear(&rows);
    }
    extract_free(extract);
    text_fini(&rows);
}

static void a_state_of_a_bar_waits_no_longer_than_a_second(void **state)
{
    (void)state;
    static const struct part stepless[] = {
        {"\rloss=3\r", 600, ""}, {"loss=2\r", 399, ""},      {"loss=1\r", 1, "{\"loss\": 1}\n"},
        {"loss=0\r", 999, ""},   {"", 1, "{\"loss\": 0}\n"},
    };
    static const struct part stepped[] = {
        {"step=1 loss=3\r", 1000, "{\"step\": 1, \"loss\": 3}\n"},
        {"step=1 loss=2\r", 500, ""},
        {"step=2 loss=1\r", 500, "{\"step\": 1, \"loss\": 2}\n"},
        {"step=2 loss=1\n", 1000, "{\"step\": 2, \"loss\": 1}\n"},
    };
    assert_parts(stepless, sizeof stepless / sizeof *stepless);
    assert_parts(stepped, sizeof stepped / sizeof *stepped);
}

static void a_state_that_was_told_is_told_again_only_with_other_values(void **state)
{
    (void)state;
    static const struct part parts[] = {
        {"step=1 loss=3\r", 1000, "{\"step\": 1, \"loss\": 3}\n"},
        {"step=1 loss=3\r", 1000, ""},
        {"step=1 loss=3\n", 1000, ""},
        {"step=1 loss=3\n", 0, "{\"step\": 1, \"loss\": 3}\n"},
        {"step=1 loss=nan\r", 1000, "{\"step\": 1, \"loss\": \"nan\"}\n"},
        {"step=1 loss=nan\r\n", 1000, ""},
        {"step=1 loss=2\r", 1000, "{\"step\": 1, \"loss\": 2}\n"},
        {"step=1 loss=2 acc=1\n", 0, "{\"step\": 1, \"loss\": 2, \"acc\": 1}\n"},
        {"step=1 acc=2\r", 1000, "{\"step\": 1, \"acc\": 2}\n"},
        {"\n", 1000, ""},
        {"step=1 loss=3\r", 1000, "{\"step\": 1, \"loss\": 3}\n"},
        {"step=1 loss=nan\r", 1000, "{\"step\": 1, \"loss\": \"nan\"}\n"},
        {"step=1 loss=3\r", 1000, "{\"step\": 1, \"loss\": 3}\n"},
    };
    assert_parts(parts, sizeof parts / sizeof *parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_with_a_name_wins_over_a_bar),
        cmocka_unit_test(a_progress_bar_gives_each_step_once),
        cmocka_unit_test(many_states_of_a_bar_are_one_row),
        cmocka_unit_test(a_bar_before_the_training_does_not_fix_the_steps),
        cmocka_unit_test(the_bar_of_an_evaluation_does_not_count_after_an_epoch),
        cmocka_unit_test(the_bar_of_an_evaluation_within_an_epoch_does_not_count),
        cmocka_unit_test(a_finite_value_does_not_replace_a_nan),
        cmocka_unit_test(a_state_of_a_bar_waits_no_longer_than_a_second),
        cmocka_unit_test(a_state_that_was_told_is_told_again_only_with_other_values),
    };
    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
