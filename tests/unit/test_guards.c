/* Guards: what stops a run, what is reported, and which metrics a run should have. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/metrics/extract.h"
#include "lib/metrics/guards.h"
#include "lib/text.h"

#include <math.h>
#include <stdlib.h>

static struct guards *guards_of(const char *spec, json_t **ret_spec)
{
    struct guards *guards;
    struct error err;
    *ret_spec = json_loads(spec, 0, NULL);
    assert_non_null(*ret_spec);
    assert_int_equal(guards_new(*ret_spec, 0, &guards, &err), 0);
    return guards;
}

static void note_verdict(void *context, json_t *verdict)
{
    text_addf(context, "%s %s; ", json_string_value(json_object_get(verdict, "name")),
              json_string_value(json_object_get(verdict, "outcome")));
}

/* Adds one row and judges. */
static enum guards_judgement judge(struct guards *guards, int step, const char *name, double value,
                                   struct text *told, struct text *message)
{
    struct guards_reason reason = {0};
    const struct extract_value row = {name, value};
    guards_add(guards, step, step, &row);
    enum guards_judgement judgement = guards_judge(guards, step, note_verdict, told, &reason);
    assert_int_equal(reason.verdict != NULL, judgement == GUARDS_FAILED);
    assert_int_equal(reason.message != NULL, judgement != GUARDS_FINE);
    text_clear(message);
    text_add(message, reason.message ? reason.message : "");
    json_decref(reason.verdict);
    free(reason.message);
    return judgement;
}

static void only_a_metric_named_loss_must_be_finite(void **state)
{
    (void)state;
    static const struct {
        const char *spec, *name;
        double value;
        enum guards_judgement judgement;
        const char *message;
    } rows[] = {
        {"{}", "loss", 2.5, GUARDS_FINE, ""},
        {"{}", "loss", NAN, GUARDS_NAN, "loss is nan at step 7"},
        {"{}", "val_loss", NAN, GUARDS_NAN, "val_loss is nan at step 7"},
        {"{}", "losses_1", INFINITY, GUARDS_FINE, ""},
        {"{}", "grad_norm", NAN, GUARDS_FINE, ""},
        {"{\"nan_ok\": true}", "loss", NAN, GUARDS_FINE, ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *spec;
        struct text told = {0}, message = {0};
        struct guards *guards = guards_of(rows[i].spec, &spec);
        assert_int_equal(judge(guards, 7, rows[i].name, rows[i].value, &told, &message),
                         rows[i].judgement);
        assert_string_equal(text_string(&message), rows[i].message);
        guards_free(guards);
        json_decref(spec);
        text_fini(&told);
        text_fini(&message);
    }
}

/* Programs print an infinity before the first evaluation: best_val_loss=inf. */
static void an_infinite_loss_stops_a_run_after_it_has_been_finite(void **state)
{
    (void)state;
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards = guards_of("{}", &spec);
    assert_int_equal(judge(guards, 7, "best_val_loss", INFINITY, &told, &message), GUARDS_FINE);
    assert_int_equal(judge(guards, 8, "loss", 2.5, &told, &message), GUARDS_FINE);
    assert_int_equal(judge(guards, 9, "best_val_loss", INFINITY, &told, &message), GUARDS_FINE);
    assert_int_equal(judge(guards, 10, "best_val_loss", 2, &told, &message), GUARDS_FINE);
    assert_int_equal(judge(guards, 11, "best_val_loss", -INFINITY, &told, &message), GUARDS_NAN);
    assert_string_equal(text_string(&message), "best_val_loss is infinite at step 11");
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

/* Otherwise checkpoints would pile up if a program prints max_loss=inf once, among its settings. */
static void a_placeholder_holds_no_checkpoint_back(void **state)
{
    (void)state;
    json_t *spec;
    struct guards *guards = guards_of("{}", &spec);
    struct guards_reason reason = {0};
    const struct extract_value placeholder = {"val_loss", INFINITY}, broken = {"val_loss", NAN};
    guards_add(guards, 50, 50, &placeholder);
    assert_true(guards_vouched(guards) == INT64_MAX);
    guards_add(guards, 60, 60, &broken);
    assert_int_equal(guards_judge(guards, 60, note_verdict, NULL, &reason), GUARDS_NAN);
    assert_true(reason.since == 1);
    free(reason.message);
    guards_free(guards);
    json_decref(spec);
}

static void a_warning_is_reported_each_time_it_begins_and_stops_nothing(void **state)
{
    (void)state;
    static const double values[] = {5, 15, 16, 4, 17};
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards = guards_of(
        "{\"guards\": {\"slow\": {\"value\": \"last(dt)\", \"at_most\": 10, \"else\": \"warn\"}}}",
        &spec);
    for (int step = 0; step < 5; step++)
        assert_int_equal(judge(guards, step, "dt", values[step], &told, &message), GUARDS_FINE);
    assert_string_equal(text_string(&told), "slow failed; slow failed; ");
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

/* As when an expression has too many rows. */
static void a_guard_that_cannot_be_judged_is_reported_once_and_stops_nothing(void **state)
{
    (void)state;
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards =
        guards_of("{\"nan_ok\": true, \"guards\": {\"wrong\": {\"condition\": \"last(loss)\"},"
                  " \"high\": {\"value\": \"last(loss)\", \"at_most\": 10}}}",
                  &spec);
    for (int step = 1; step < 5; step++)
        assert_int_equal(judge(guards, step, "loss", 5, &told, &message), GUARDS_FINE);
    assert_string_equal(text_string(&told), "wrong error; ");
    assert_int_equal(guards_vouched(guards), 4); /* old checkpoints can be removed */
    assert_int_equal(judge(guards, 5, "loss", 15, &told, &message), GUARDS_FAILED);
    assert_string_equal(text_string(&told), "wrong error; high failed; ");
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

static void a_guard_waits_for_its_window_and_then_stops(void **state)
{
    (void)state;
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards =
        guards_of("{\"params\": {\"cap\": 20}, \"guards\": {\"grad_cap\": {\"condition\": "
                  "\"min(grad_norm) <= cap\", \"over\": {\"steps\": 3}}}}",
                  &spec);
    enum guards_judgement judgement = GUARDS_FINE;
    int step = 0;
    while (judgement == GUARDS_FINE && step < 10)
        judgement = judge(guards, ++step, "grad_norm", 30, &told, &message);
    assert_int_equal(judgement, GUARDS_FAILED);
    assert_in_range(step, 3, 4);
    assert_string_equal(text_string(&told), "grad_cap failed; ");
    assert_true(text_starts(text_string(&message), "guard failed: grad_cap"));
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

/* Steps come in batches, and several batches may come between two judgements. */
static void guards_know_from_which_step_checkpoints_may_become_suspect(void **state)
{
    static const struct {
        const char *claim, *spec;
        int broken, batch, every; /* the first bad step; steps between judgements, values */
        double bad;
        int64_t since, vouched; /* `vouched` is the value before that */
    } rows[] = {
        {"the step that broke it", "{\"guards\": {\"g\": {\"condition\": \"last(loss) < 5\"}}}", 25,
         1, 1, 9, 25, 24},
        {"also in a batch", "{\"guards\": {\"g\": {\"condition\": \"last(loss) < 5\"}}}", 25, 40, 1,
         9, 25, 24},
        {"the step at which a mean goes too far",
         "{\"guards\": {\"g\": {\"condition\": \"mean(loss) <= 5\", \"over\": {\"steps\": 10}}}}",
         25, 1, 1, 9, 30, 29},
        {"the first NaN", "{}", 25, 1, 1, NAN, 25, 25},
        {"also that in a batch", "{}", 25, 40, 1, NAN, 25, 25},
        {"after the last finite value of what comes rarely", "{}", 25, 1, 10, NAN, 21, 21},
        {"what has never been finite", "{}", 0, 1, 10, NAN, 1, 1},
        {"nothing where NaN may come", "{\"nan_ok\": true}", 25, 1, 1, NAN, -1, INT64_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *spec;
        struct text told = {0};
        struct guards_reason reason = {.since = -1};
        struct guards *guards = guards_of(rows[i].spec, &spec);
        enum guards_judgement judgement = GUARDS_FINE;
        int64_t vouched = -1;
        for (int step = 1; step <= 40 && judgement == GUARDS_FINE; step++) {
            const struct extract_value row = {"loss", step < rows[i].broken ? 1 : rows[i].bad};
            const struct extract_value fine = {"train_loss", 1};
            guards_add(guards, step, step, step % rows[i].every ? &fine : &row);
            if (step % rows[i].batch > 0)
                continue;
            vouched = guards_vouched(guards);
            judgement = guards_judge(guards, step, note_verdict, &told, &reason);
        }
        assert_true(vouched == rows[i].vouched);
        if ((judgement == GUARDS_FINE) != (rows[i].since < 0) || reason.since != rows[i].since)
            fail_msg("%s: %lld", rows[i].claim, (long long)reason.since);
        json_decref(reason.verdict);
        free(reason.message);
        guards_free(guards);
        json_decref(spec);
        text_fini(&told);
    }
}

/* The more rows a guard reads, the fewer steps of a burst are judged one by one. */
static void judgements_between_two_looks_are_bounded_by_their_rows(void **state)
{
    (void)state;
    enum { ROWS = 250000, BURST = 10, BAD = 5 };
    json_t *spec;
    struct text told = {0};
    struct guards_reason reason = {0};
    struct extract_value row = {"x", 1};
    struct guards *guards = guards_of(
        "{\"guards\": {\"low\": {\"condition\": \"median(x) < 5 and last(x) < 5\"}}}", &spec);
    for (int step = 1; step <= ROWS; step++)
        guards_add(guards, step, step, &row);
    assert_int_equal(guards_judge(guards, ROWS, note_verdict, &told, &reason), GUARDS_FINE);
    for (int step = 1; step <= BURST; step++) {
        row.value = step < BAD ? 1 : 9;
        guards_add(guards, ROWS + step, ROWS + step, &row);
    }
    assert_int_equal(guards_judge(guards, ROWS + BURST, note_verdict, &told, &reason),
                     GUARDS_FAILED);
    assert_int_equal(reason.since, ROWS + 3); /* the steps before were judged */
    json_decref(reason.verdict);
    free(reason.message);
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
}

#define FOUR(text)  text " + " text " + " text " + " text
#define MEDIANS     FOUR(FOUR("median(x)"))
#define TOO_MANY    MEDIANS " + " MEDIANS " + " MEDIANS
#define COSTLY_ROWS 250000 /* from these on the expression takes too long */

static void add_costly_rows(struct guards *guards)
{
    for (int step = 1; step <= COSTLY_ROWS; step++)
        guards_add(guards, step, step, &(struct extract_value){"x", 1});
}

/* It would use up the work that the guards have together. */
static void a_guard_that_takes_too_long_takes_no_judgement_from_others(void **state)
{
    (void)state;
    enum { BURST = 10, BAD = 5 };
    json_t *spec;
    struct text told = {0};
    struct guards_reason reason = {0};
    struct guards *guards = guards_of("{\"guards\": {\"costly\": {\"condition\": \"" TOO_MANY
                                      " > 0\"}, \"low\": {\"value\": \"last(y)\", "
                                      "\"below\": 5}}}",
                                      &spec);
    add_costly_rows(guards);
    assert_int_equal(guards_judge(guards, 1, note_verdict, &told, &reason), GUARDS_FINE);
    assert_string_equal(text_string(&told), "costly error; ");
    for (int step = 1; step <= BURST; step++)
        guards_add(guards, COSTLY_ROWS + step, 1, &(struct extract_value){"y", step < BAD ? 1 : 9});
    assert_int_equal(guards_judge(guards, 2, note_verdict, &told, &reason), GUARDS_FAILED);
    assert_string_equal(text_string(&told), "costly error; low failed; ");
    assert_int_equal(reason.since, COSTLY_ROWS + BAD);
    json_decref(reason.verdict);
    free(reason.message);
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
}

static void what_takes_too_long_is_judged_rarely_until_it_can_be_judged(void **state)
{
    (void)state;
    enum { HEALED = COSTLY_ROWS + 8 };
    static const struct {
        const char *spec, *told;
        enum guards_judgement judgement;
    } rows[] = {
        {"{\"guards\": {\"g\": {\"condition\": \"step <= 250008 and " TOO_MANY " > 0\"}}}",
         "g error; g failed; ", GUARDS_FAILED},
        {"{\"until\": {\"condition\": \"step > 250008 or " TOO_MANY " < 0\"}}",
         "until error; until passed; ", GUARDS_REACHED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *spec;
        struct text told = {0}, message = {0};
        struct guards *guards = guards_of(rows[i].spec, &spec);
        enum guards_judgement judgement = GUARDS_FINE;
        int step = COSTLY_ROWS;
        add_costly_rows(guards);
        while (judgement == GUARDS_FINE && step < COSTLY_ROWS + 300)
            judgement = judge(guards, ++step, "x", 1, &told, &message);
        assert_int_equal(judgement, rows[i].judgement);
        assert_in_range(step, HEALED + 2, HEALED + 10); /* not at once */
        assert_string_equal(text_string(&told), rows[i].told);
        guards_free(guards);
        json_decref(spec);
        text_fini(&told);
        text_fini(&message);
    }
}

static void a_resumed_rehearsal_ends_by_its_own_condition(void **state)
{
    (void)state;
    static const struct {
        int64_t begin_step;
        int step;
        enum guards_judgement judgement;
    } rows[] = {
        {0, 9, GUARDS_FINE},      {0, 10, GUARDS_REACHED}, {10, 11, GUARDS_FINE},
        {10, 15, GUARDS_REACHED}, {40, 41, GUARDS_FINE}, /* the first run did not stop at once */
        {40, 45, GUARDS_REACHED},
    };
    json_t *spec = json_loads(
        "{\"until\": {\"condition\": \"step >= 10\"}, \"rehearsal\": true, \"until_resumed\": "
        "{\"steps\": 5, \"elapsed\": 900}}",
        0, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text told = {0}, message = {0};
        struct guards *guards;
        struct error err;
        assert_int_equal(guards_new(spec, rows[i].begin_step, &guards, &err), 0);
        assert_int_equal(judge(guards, rows[i].step, "loss", 1, &told, &message),
                         rows[i].judgement);
        char *reached =
            text_format("the rehearsal has seen enough, at step %lld", (long long)rows[i].step);
        assert_string_equal(text_string(&message),
                            rows[i].judgement == GUARDS_REACHED ? reached : "");
        free(reached);
        guards_free(guards);
        text_fini(&told);
        text_fini(&message);
    }
    json_decref(spec);
}

static void metrics_that_checks_need_and_that_do_not_come_are_named(void **state)
{
    (void)state;
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards = guards_of(
        "{\"params\": {\"cap\": 20}, \"guards\": {\"a\": {\"value\": \"min(grad) - cap + step\", "
        "\"at_most\": 1}}, \"gate\": {\"b\": {\"condition\": \"last(loss) < 3 and before.x > 1\"}, "
        "\"c\": {\"value\": \"mean(grad) + elapsed\", \"above\": 0}}}",
        &spec);
    char *missing = guards_missing(guards);
    assert_string_equal(missing, "grad, loss");
    free(missing);
    (void)judge(guards, 1, "loss", 2, &told, &message);
    missing = guards_missing(guards);
    assert_string_equal(missing, "grad");
    free(missing);
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

static void until_ends_a_run_successfully_unless_a_guard_fails(void **state)
{
    (void)state;
    static const struct {
        double loss, grad;
        enum guards_judgement judgement;
        const char *told;
    } rows[] = {
        {4, 1, GUARDS_FINE, ""},
        {3, 1, GUARDS_REACHED, "until passed; "},
        {3, 30, GUARDS_FAILED, "cap failed; "},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *spec;
        struct text told = {0}, message = {0};
        struct guards *guards =
            guards_of("{\"guards\": {\"cap\": {\"value\": \"last(grad)\", \"at_most\": 20}}, "
                      "\"until\": {\"value\": \"min(loss)\", \"at_most\": 3}}",
                      &spec);
        /* Insufficient data does not end the run. */
        assert_int_equal(judge(guards, 6, "grad", rows[i].grad, &told, &message),
                         rows[i].judgement == GUARDS_FAILED ? GUARDS_FAILED : GUARDS_FINE);
        char *missing = guards_missing(guards);
        assert_string_equal(missing, "loss");
        if (rows[i].judgement != GUARDS_FAILED)
            assert_int_equal(judge(guards, 7, "loss", rows[i].loss, &told, &message),
                             rows[i].judgement);
        assert_string_equal(text_string(&told), rows[i].told);
        guards_free(guards);
        json_decref(spec);
        free(missing);
        text_fini(&told);
        text_fini(&message);
    }
}

static void until_sees_the_time_pass_without_metrics(void **state)
{
    (void)state;
    json_t *spec;
    struct guards_reason reason = {0};
    struct text told = {0};
    struct guards *guards = guards_of("{\"until\": {\"condition\": \"elapsed >= 60\"}}", &spec);
    assert_int_equal(guards_judge(guards, 59, note_verdict, &told, &reason), GUARDS_FINE);
    assert_int_equal(guards_judge(guards, 60, note_verdict, &told, &reason), GUARDS_REACHED);
    assert_string_equal(text_string(&told), "until passed; ");
    guards_free(guards);
    json_decref(spec);
    json_decref(reason.verdict);
    free(reason.message);
    text_fini(&told);
}

static void members_report_a_missing_metric_of_their_matrix(void **state)
{
    (void)state;
    json_t *spec;
    struct text told = {0}, message = {0};
    struct guards *guards =
        guards_of("{\"params\": {\"cap\": 20}, \"member\": {\"of\": \"ladder\", \"number\": 1, "
                  "\"wants\": [\"min(valid_los)\", \"last(mem) < cap\"]}}",
                  &spec);
    char *missing = guards_missing(guards);
    assert_string_equal(missing, "valid_los, mem");
    free(missing);
    (void)judge(guards, 1, "mem", 2, &told, &message);
    missing = guards_missing(guards);
    assert_string_equal(missing, "valid_los");
    free(missing);
    guards_free(guards);
    json_decref(spec);
    text_fini(&told);
    text_fini(&message);
}

static void a_wrong_guard_is_refused_by_name(void **state)
{
    (void)state;
    struct guards *guards;
    struct error err;
    json_t *spec = json_loads("{\"guards\": {\"bad\": {\"value\": \"min(\"}}}", 0, NULL);
    assert_true(guards_new(spec, 0, &guards, &err) < 0);
    assert_true(text_starts(err.message, "guards: "));
    json_decref(spec);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_metric_named_loss_must_be_finite),
        cmocka_unit_test(an_infinite_loss_stops_a_run_after_it_has_been_finite),
        cmocka_unit_test(a_placeholder_holds_no_checkpoint_back),
        cmocka_unit_test(a_warning_is_reported_each_time_it_begins_and_stops_nothing),
        cmocka_unit_test(a_guard_that_cannot_be_judged_is_reported_once_and_stops_nothing),
        cmocka_unit_test(a_guard_waits_for_its_window_and_then_stops),
        cmocka_unit_test(guards_know_from_which_step_checkpoints_may_become_suspect),
        cmocka_unit_test(judgements_between_two_looks_are_bounded_by_their_rows),
        cmocka_unit_test(a_guard_that_takes_too_long_takes_no_judgement_from_others),
        cmocka_unit_test(what_takes_too_long_is_judged_rarely_until_it_can_be_judged),
        cmocka_unit_test(a_resumed_rehearsal_ends_by_its_own_condition),
        cmocka_unit_test(metrics_that_checks_need_and_that_do_not_come_are_named),
        cmocka_unit_test(until_ends_a_run_successfully_unless_a_guard_fails),
        cmocka_unit_test(until_sees_the_time_pass_without_metrics),
        cmocka_unit_test(members_report_a_missing_metric_of_their_matrix),
        cmocka_unit_test(a_wrong_guard_is_refused_by_name),
    };
    return cmocka_run_group_tests_name("guards", tests, NULL, NULL);
}
