/* phasectl metrics: curves drawn with letters, CSV, scripts for gnuplot; and running programs. */
#include "tests/unit/unit.h"

#include "cli/metrics/curves.h"
#include "cli/metrics/plot.h"
#include "cli/terminal.h"
#include "lib/command.h"
#include "lib/error.h"
#include "lib/option.h"
#include "lib/text.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct terminal plain = {.fd = -1, .columns = 30};
static const struct terminal unicode = {.fd = -1, .columns = 30, .unicode = true};
static const struct terminal coloured = {
    .fd = -1, .columns = 30, .live = true, .colours = true, .unicode = true};

static const double steps[] = {0, 5, 10, 15, 16};
static const double falling[] = {16, 11, 6, 1, 0};
static const double rising[] = {0, 5, 10, 15, 16};

static void plot(const struct terminal *terminal, const struct plot_curve *curves, size_t count,
                 struct text *text)
{
    text_clear(text);
    plot_write(terminal, "loss", curves, count, text);
}

static void a_curve_goes_from_its_first_to_its_last_point(void **state)
{
    (void)state;
    const struct plot_curve curve = {"7/a#1", steps, falling, 5};
    struct text text = {0};
    plot(&plain, &curve, 1, &text);
    assert_string_equal(text_string(&text), "loss\n"
                                            "        16 |*\n"
                                            "           | *\n"
                                            "           |  *\n"
                                            "           |   *\n"
                                            "           |    *\n"
                                            "           |     *\n"
                                            "           |      *\n"
                                            "           |       **\n"
                                            "     7.467 |         *\n"
                                            "           |          *\n"
                                            "           |           *\n"
                                            "           |            *\n"
                                            "           |             *\n"
                                            "           |              *\n"
                                            "           |               *\n"
                                            "         0 |                *\n"
                                            "           +-----------------\n"
                                            "            0              16\n"
                                            "            * 7/a#1  0\n");
    text_fini(&text);
}

static void braille_has_eight_dots_in_a_letter(void **state)
{
    (void)state;
    const struct plot_curve curve = {"7/a#1", steps, falling, 5};
    struct text text = {0};
    plot(&unicode, &curve, 1, &text);
    /* From dot to dot: (0, 0), (1, 1), (1, 2), (2, 3): the letter has 2 x 4. */
    assert_non_null(strstr(text_string(&text), "loss\n        16 ┤⠱⡀\n"));
    assert_non_null(strstr(text_string(&text), "            ⣿ 7/a#1  0\n"));
    text_fini(&text);
}

static void several_curves_have_letters_or_colours(void **state)
{
    (void)state;
    const struct plot_curve curves[] = {{"7/a#1", steps, falling, 5}, {"9/a#1", steps, rising, 5}};
    struct text text = {0};
    plot(&unicode, curves, 2, &text);
    assert_non_null(strstr(text_string(&text), "        16 ┤a               b\n"));
    assert_non_null(
        strstr(text_string(&text), "            a 7/a#1  0\n            b 9/a#1  16\n"));
    plot(&coloured, curves, 2, &text);
    assert_null(strstr(text_string(&text), "a\033"));
    assert_non_null(strstr(text_string(&text), "\033[36m⣿\033[0m 7/a#1"));
    assert_non_null(strstr(text_string(&text), "\033[33m⣿\033[0m 9/a#1"));
    struct plot_curve many[7];
    for (size_t i = 0; i < 7; i++)
        many[i] = curves[0];
    plot(&coloured, many, 7, &text); /* there are fewer colours */
    assert_non_null(strstr(text_string(&text), "g\033[0m 7/a#1  0\n"));
    text_fini(&text);
}

static void what_is_no_number_interrupts_a_curve(void **state)
{
    (void)state;
    static const double broken[] = {16, NAN, INFINITY, 1, 0};
    const struct plot_curve curve = {"7/a#1", steps, broken, 5};
    struct text text = {0};
    plot(&plain, &curve, 1, &text);
    assert_non_null(strstr(text_string(&text), "        16 |*\n           |\n           |\n"));
    text_fini(&text);
}

static void odd_curves_are_drawn_too(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3}, flat[] = {5, 5, 5}, nothing[] = {NAN, NAN, NAN};
    static const double far[] = {-DBL_MAX, 0, DBL_MAX};
    struct plot_curve curve = {"7/a#1", x, flat, 3};
    struct text text = {0};
    plot(&plain, &curve, 1, &text);
    assert_non_null(strstr(text_string(&text), "         5 |*****************\n"));
    curve.count = 1;
    plot(&plain, &curve, 1, &text);
    assert_non_null(strstr(text_string(&text), "         5 |        *\n"));
    curve.count = 0;
    plot(&plain, &curve, 1, &text);
    assert_string_equal(text_string(&text), "loss\n            * 7/a#1  no values\n");
    curve = (struct plot_curve){"7/a#1", x, nothing, 3};
    plot(&plain, &curve, 1, &text);
    assert_string_equal(text_string(&text), "loss\n            * 7/a#1  nan\n");
    curve = (struct plot_curve){"7/a#1", x, far, 3};
    plot(&plain, &curve, 1, &text);
    assert_non_null(strstr(text_string(&text), "1.798e+308 |"));
    text_fini(&text);
}

/* --- CSV and gnuplot -------------------------------------------------------------------------- */

static struct curves two_runs(void)
{
    static const struct address first = {.workflow = 7, .phase = "a", .attempt = 1};
    static const struct address second = {.workflow = 9, .phase = "a", .attempt = 2};
    struct curves curves = {.count = 0};
    curves_add(&curves, &first,
               json_loads("{\"steps\": [1, 2], \"series\": {\"loss\": [0.1, null], "
                          "\"it's, \\\"odd\\\"\\n\": [\"nan\", 0.3333333333333333]}}",
                          0, NULL));
    curves_add(
        &curves, &second,
        json_loads("{\"steps\": [5], \"series\": {\"loss\": [\"-inf\"], \"gone\": [\"nan\"]}}", 0,
                   NULL));
    return curves;
}

static void csv_has_all_digits_and_quotes_names(void **state)
{
    (void)state;
    static const struct option_list all = {.count = 0}, loss = {.items = {"loss"}, .count = 1};
    struct curves curves = two_runs();
    struct text text = {0};
    json_t *names = curves_names(&curves, &all);
    curves_csv(&curves, names, &text);
    assert_string_equal(text_string(&text), "run,step,loss,\"it's, \"\"odd\"\"\n\",gone\n"
                                            "7/a#1,1,0.1,nan,\n"
                                            "7/a#1,2,,0.3333333333333333,\n"
                                            "9/a#2,5,-inf,,nan\n");
    json_decref(names);
    text_clear(&text);
    names = curves_names(&curves, &loss);
    curves_csv(&curves, names, &text);
    assert_string_equal(text_string(&text), "run,step,loss\n7/a#1,1,0.1\n7/a#1,2,\n9/a#2,5,-inf\n");
    json_decref(names);
    text_fini(&text);
    curves_fini(&curves);
}

static void names_cannot_command_gnuplot(void **state)
{
    (void)state;
    static const struct option_list all = {.count = 0}, gone = {.items = {"gone"}, .count = 1};
    struct curves curves = two_runs();
    struct text text = {0};
    json_t *names = curves_names(&curves, &all);
    assert_int_equal(curves_gnuplot(&curves, names, &text), 2); /* `gone` has nothing to draw */
    assert_non_null(strstr(text_string(&text), "\nset title 'it''s, \"odd\"?'\n"));
    assert_non_null(strstr(text_string(&text), "$run_0 << END_OF_DATA\n1 0.1\nEND_OF_DATA\n"
                                               "$run_1 << END_OF_DATA\n\nEND_OF_DATA\n"
                                               "set title 'loss'\nplot $run_0 using 1:2 with lines "
                                               "title '7/a#1', $run_1 using"));
    assert_null(strstr(text_string(&text), "gone"));
    json_decref(names);
    names = curves_names(&curves, &gone);
    assert_int_equal(curves_gnuplot(&curves, names, &text), 0);
    json_decref(names);
    text_fini(&text);
    curves_fini(&curves);
}

/* --- Programs --------------------------------------------------------------------------------- */

static void a_program_gets_its_input_and_its_output_is_kept(void **state)
{
    (void)state;
    static const char *const words[] = {"sh", "-c", "cat; echo 'no way' >&2; echo more >&2; exit 3",
                                        NULL};
    struct command_result result;
    assert_int_equal(command_run(words, "in\nput", 60, &result, NULL), 0);
    char *complaint = command_complaint(&result);
    assert_int_equal(result.exit_code, 3);
    assert_string_equal(text_string(&result.out), "in\nput");
    assert_string_equal(complaint, "no way");
    free(complaint);
    command_fini(&result);
}

static void a_program_that_is_missing_or_does_not_end_is_an_error(void **state)
{
    (void)state;
    static const char *const missing[] = {"no-such-program", NULL};
    static const char *const endless[] = {"sh", "-c", "sleep 1000 & sleep 1000", NULL};
    static const char *const chatty[] = {"sh", "-c", "yes", NULL};
    static const char *const killed[] = {"sh", "-c", "kill -KILL $$", NULL};
    struct command_result result;
    struct error err;
    assert_int_equal(command_run(missing, NULL, 60, &result, &err), -ENOENT);
    assert_int_equal(command_run(endless, NULL, 0, &result, &err), -ETIMEDOUT);
    assert_string_equal(err.message, "sh did not end within 0 s");
    assert_int_equal(command_run(chatty, NULL, 60, &result, &err), -EFBIG);
    assert_string_equal(err.message, "sh printed more than 64 MiB");
    assert_int_equal(command_run(killed, NULL, 60, &result, &err), 0);
    assert_int_equal(result.exit_code, -1);
    command_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_goes_from_its_first_to_its_last_point),
        cmocka_unit_test(braille_has_eight_dots_in_a_letter),
        cmocka_unit_test(several_curves_have_letters_or_colours),
        cmocka_unit_test(what_is_no_number_interrupts_a_curve),
        cmocka_unit_test(odd_curves_are_drawn_too),
        cmocka_unit_test(csv_has_all_digits_and_quotes_names),
        cmocka_unit_test(names_cannot_command_gnuplot),
        cmocka_unit_test(a_program_gets_its_input_and_its_output_is_kept),
        cmocka_unit_test(a_program_that_is_missing_or_does_not_end_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
