/* What phasectl prints: durations, numbers, money, times, bars, colours and reasons. */
#include "tests/unit/unit.h"

#include "cli/filter.h"
#include "cli/format.h"
#include "cli/held.h"
#include "cli/phrases.h"
#include "cli/terminal.h"
#include "cli/view.h"
#include "cli/watch_view.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An output that is not a terminal, and a terminal. */
static const struct terminal pipe_output = {.fd = -1};
static const struct terminal colour_output = {.fd = -1, .live = true, .colours = true};

static void a_duration_shows_its_two_largest_units(void **state)
{
    (void)state;
    static const struct {
        double seconds;
        const char *text;
    } rows[] = {
        {0, "0s"},         {0.04, "0.0s"},  {0.44, "0.4s"},    {9.94, "9.9s"},
        {9.96, "10s"},     {59.4, "59s"},   {59.6, "1m00s"},   {64, "1m04s"},
        {3600, "1h00m"},   {5400, "1h30m"}, {86399, "23h59m"}, {86400, "1d00h"},
        {183600, "2d03h"}, {-1, "-"},       {NAN, "-"},        {INFINITY, "-"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[FORMAT_SIZE];
        assert_string_equal(format_duration(rows[i].seconds, buffer), rows[i].text);
    }
}

static void a_number_keeps_four_digits(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {5.147944, "5.148"},
        {58679, "58679"},
        {0.0012, "0.0012"},
        {1.2e-7, "1.2e-07"},
        {0, "0"},
        {-2.5, "-2.5"},
        {1e12, "1e+12"},
        {NAN, "nan"},
        {-NAN, "nan"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {1234.5678, "1235"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[FORMAT_SIZE];
        assert_string_equal(format_number(rows[i].number, buffer), rows[i].text);
    }
}

static void a_count_has_commas(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0, "0"},          {999, "999"},   {8400, "8,400"},
        {-8400, "-8,400"}, {-100, "-100"}, {1234567, "1,234,567"},
        {1e15, "1e+15"},   {NAN, "nan"},   {999999999999999, "999,999,999,999,999"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[FORMAT_SIZE];
        assert_string_equal(format_count(rows[i].number, buffer), rows[i].text);
    }
}

static void money_reads_as_people_write_it(void **state)
{
    (void)state;
    char buffer[FORMAT_SIZE];
    assert_string_equal(format_cost(3.2, buffer), "$3.20");
    assert_string_equal(format_cost(0, buffer), "$0.00");
    assert_string_equal(format_cost(0.004, buffer), "<$0.01");
    assert_string_equal(format_cost(NAN, buffer), "-");
}

static void a_size_has_the_largest_unit(void **state)
{
    (void)state;
    char buffer[FORMAT_SIZE];
    assert_string_equal(format_bytes(0, buffer), "0 bytes");
    assert_string_equal(format_bytes(1023, buffer), "1023 bytes");
    assert_string_equal(format_bytes(1024, buffer), "1.0 KiB");
    assert_string_equal(format_bytes(2500000, buffer), "2.4 MiB");
    assert_string_equal(format_bytes(UINT64_C(5) << 40, buffer), "5.0 TiB");
    assert_string_equal(format_bytes(UINT64_C(5) << 50, buffer), "5120.0 TiB");
}

static void a_time_has_its_date_only_on_another_day(void **state)
{
    (void)state;
    char buffer[FORMAT_SIZE];
    assert_int_equal(setenv("TZ", "UTC0", 1), 0);
    tzset();
    const time_t now = 1790000000; /* 2026-09-21 14:13:20 */
    assert_string_equal(format_time(1790000000, now, buffer), "14:13:20");
    assert_string_equal(format_time(1790000000 - 86400, now, buffer), "2026-09-20 14:13:20");
    assert_string_equal(format_time(NAN, now, buffer), "-");
}

static void a_bar_fills_with_the_share_and_never_overflows(void **state)
{
    (void)state;
    static const struct {
        double part, whole;
        const char *text;
    } rows[] = {
        {0, 100, "...................."},    {50, 100, "##########.........."},
        {99.9, 100, "###################."}, {100, 100, "####################"},
        {500, 100, "####################"},  {-5, 100, "...................."},
        {5, 0, "...................."},      {NAN, 100, "...................."},
    };
    char buffer[FORMAT_BAR_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(format_bar(rows[i].part, rows[i].whole, 20, false, buffer),
                            rows[i].text);
    assert_int_equal(terminal_columns(format_bar(1, 3, 10, true, buffer)), 10);
}

static void columns_count_letters_and_not_bytes_or_colours(void **state)
{
    (void)state;
    struct text text = {0};
    terminal_colour(&colour_output, &text, COLOUR_RED, "ärger");
    assert_string_equal(text_string(&text), "\033[31märger\033[0m");
    assert_int_equal(terminal_columns(text_string(&text)), 5);
    text_clear(&text);
    terminal_colour(&pipe_output, &text, COLOUR_RED, "plain");
    assert_string_equal(text_string(&text), "plain");
    text_fini(&text);
}

static void a_cut_text_shows_that_it_was_cut(void **state)
{
    (void)state;
    static const struct {
        const char *string;
        size_t columns;
        const char *text;
    } rows[] = {
        {"abcdef", 6, "abcdef"},
        {"abcdef", 5, "abc.."},
        {"äöüß", 3, "ä.."},
        {"abc", 0, ""},
        {"a\033[31mb\n", 20, "ab?"},
        {"\033[1;32mstep\033[0m 12", 7, "step 12"},
        {"\033[31mred", 2, "r."},
        {"\033[?25lbar\033[ä", 20, "barä"},
        {"\033]0;title\a", 20, "?]0;title?"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text text = {0};
        terminal_add_cut(&pipe_output, &text, rows[i].string, rows[i].columns);
        assert_string_equal(text_string(&text), rows[i].text);
        text_fini(&text);
    }
}

static void a_terminal_of_utf_8_shows_an_ellipsis(void **state)
{
    (void)state;
    static const struct terminal output = {.fd = -1, .unicode = true};
    struct text text = {0};
    terminal_add_cut(&output, &text, "abcdef", 5);
    assert_string_equal(text_string(&text), "abcd…");
    text_clear(&text);
    terminal_add_cut(&output, &text, "abcdef", 1);
    assert_string_equal(text_string(&text), "…");
    text_clear(&text);
    terminal_add_middle(&output, &text, "abcdefgh", 6);
    assert_string_equal(text_string(&text), "abc…gh");
    text_fini(&text);
}

static void a_wide_letter_takes_two_columns(void **state)
{
    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    struct text text = {0};
    assert_int_equal(terminal_columns("損失 1"), 6);
    assert_int_equal(terminal_columns("e\xcc\x81"), 1); /* a letter with a separate accent */
    terminal_add_cut(&pipe_output, &text, "損失曲線", 6);
    assert_string_equal(text_string(&text), "損失..");
    text_clear(&text);
    terminal_add_middle(&pipe_output, &text, "損失曲線の記録", 9);
    assert_string_equal(text_string(&text), "損失..録");
    text_fini(&text);
    assert_int_equal(terminal_fold("損失が増えた", 5), strlen("損失"));
    assert_int_equal(terminal_fold("損失", 1), strlen("損"));
    assert_non_null(setlocale(LC_CTYPE, "C"));
}

static void a_gate_explains_the_checks_that_did_not_pass(void **state)
{
    (void)state;
    json_t *gate = json_loads(
        "{\"checks\": [{\"name\": \"order\", \"outcome\": \"passed\", \"warn\": false, \"value\": "
        "null,"
        " \"bounds\": \"last(a) > last(b)\", \"window\": null, \"reason\": \"is so\"},"
        " {\"name\": \"falling\", \"outcome\": \"failed\", \"warn\": true, \"value\": \"nan\","
        " \"bounds\": \"below 0\", \"window\": {\"first_step\": 50, \"last_step\": 60, \"rows\": "
        "11},"
        " \"reason\": \"falling nan is not below 0\", \"advice\": \"lower the rate\"},"
        " {\"name\": \"late\", \"outcome\": \"insufficient\", \"warn\": false, \"value\": null,"
        " \"bounds\": \"below 9\", \"window\": null, \"reason\": \"late has no rows\","
        " \"advice\": \"lower the rate\"}]}",
        0, NULL);
    struct text text = {0};
    assert_non_null(gate);
    view_gate(&pipe_output, gate, 0, &text);
    assert_string_equal(text_string(&text),
                        "CHECK    VALUE  BOUNDS             WINDOW       VERDICT\n"
                        "order           last(a) > last(b)               passed\n"
                        "falling    nan  below 0            steps 50-60  warned\n"
                        "late            below 9                         insufficient\n"
                        "falling nan is not below 0; lower the rate\n"
                        "late has no rows\n");
    text_fini(&text);
    json_decref(gate);
}

/* The best members come first, also if the best value is infinite. */
static void members_show_how_they_stand(void **state)
{
    static const struct {
        const char *standing, *value, *text;
    } rows[] = {
        {"best", "\"inf\"", "succeeded          inf  best         0         -"},
        {"left", "\"inf\"", "succeeded          inf  stayed       0         -"},
        {"left", "1.5", "succeeded          1.5  stayed       0         -"},
        {"left", "null", "succeeded                            0         -"}, /* no `best` */
        {"cut", "3", "succeeded            3  cut          0         -"},
    };
    (void)state;
    json_t *matrix = json_pack("{s:[]}", "members"), *list = json_object_get(matrix, "members");
    for (size_t i = sizeof rows / sizeof *rows; i-- > 0;)
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:s, s:o}", "phase", "a.1", "matrix", "a", "state",
                            "succeeded", "standing", rows[i].standing, "value",
                            json_loads(rows[i].value, JSON_DECODE_ANY, NULL)));
    struct text text = {0};
    view_members(&pipe_output, matrix, 100, &text);
    const char *at = text_string(&text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        at = strstr(at, rows[i].text);
        if (!at)
            fail_msg("row %zu is not there: %s", i, text_string(&text));
    }
    text_fini(&text);
    json_decref(matrix);
}

static void a_job_that_slurm_refuses_is_not_submitted_again_at_once(void **state)
{
    (void)state;
    json_t *workflow = json_pack("{s:[{s:s, s:s, s:s, s:s, s:{s:b}, s:[s,s]}]}", "phases", "state",
                                 "held", "address", "7/a", "hold", "failure", "reason",
                                 "refused by Slurm: Invalid account", "run", "refused", 1, "can",
                                 "cancel", "retry");
    struct text text = {0};
    held_write(&pipe_output, workflow, &text);
    assert_string_equal(text_string(&text),
                        "7/a is held: refused by Slurm: Invalid account\n"
                        "  phasectl cancel 7/a  end the phase, then submit what Slurm "
                        "takes: `phasectl plan` shows it\n"
                        "  phasectl retry 7/a   ask Slurm again, when it would take the job\n");
    text_fini(&text);
    json_decref(workflow);
}

static void the_ways_out_stand_in_one_column(void **state)
{
    (void)state;
    static const struct terminal narrow_output = {.fd = -1, .columns = 60};
    json_t *phase = json_pack("{s:s, s:s, s:s, s:s, s:[s,s,s]}", "state", "held", "address",
                              "7/a_phase_of_a_very_long_name", "hold", "gate", "reason", "gate",
                              "can", "promote", "cancel", "retry");
    struct text text = {0};
    held_ways_out(&pipe_output, phase, &text);
    assert_string_equal(text_string(&text),
                        "  phasectl gate 7/a_phase_of_a_very_long_name     what the gate found\n"
                        "  phasectl promote 7/a_phase_of_a_very_long_name  start the next phases "
                        "anyway\n"
                        "  phasectl retry 7/a_phase_of_a_very_long_name    run the phase again\n"
                        "  phasectl cancel 7/a_phase_of_a_very_long_name   end it\n"
                        "  to change the gate: correct the file, try it on what the run printed, "
                        "and submit it again:\n"
                        "    phasectl logs 7/a_phase_of_a_very_long_name | phasectl check FILE "
                        "--log a_phase_of_a_very_long_name=/dev/stdin\n");
    text_clear(&text);
    held_ways_out(&narrow_output, phase, &text);
    assert_string_equal(text_string(&text), "  phasectl gate 7/a_phase_of_a_very_long_name\n"
                                            "      what the gate found\n"
                                            "  phasectl promote 7/a_phase_of_a_very_long_name\n"
                                            "      start the next phases anyway\n"
                                            "  phasectl retry 7/a_phase_of_a_very_long_name\n"
                                            "      run the phase again\n"
                                            "  phasectl cancel 7/a_phase_of_a_very_long_name\n"
                                            "      end it\n"
                                            "  to change the gate: correct the file, try it on "
                                            "what the run printed, and submit it again:\n"
                                            "    phasectl logs 7/a_phase_of_a_very_long_name | "
                                            "phasectl check FILE --log "
                                            "a_phase_of_a_very_long_name=/dev/stdin\n");
    text_fini(&text);
    json_decref(phase);
}

static void a_job_that_does_not_run_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *run, *text;
    } rows[] = {
        {"{'state': 'pending', 'job_state': 'pending', 'job_id': 38, 'job_reason': 'Priority',"
         " 'job_waits_for': 'jobs of a higher priority come first (Priority)',"
         " 'job_absent_since': null}",
         "job 38 waits in Slurm: jobs of a higher priority come first (Priority)"},
        {"{'state': 'pending', 'job_state': 'pending', 'job_id': 3, 'job_reason': '',"
         " 'job_waits_for': 'Slurm has not looked at the job yet', 'job_absent_since': null}",
         "job 3 waits in Slurm: Slurm has not looked at the job yet"},
        {"{'state': 'pending', 'job_state': 'pending', 'job_id': 3, 'job_reason': 'Licenses',"
         " 'job_absent_since': null, 'job_start': 999}",
         "job 3 waits in Slurm: Licenses"},
        {"{'state': 'pending', 'job_state': 'pending', 'job_id': 3, 'job_reason': 'Resources',"
         " 'job_absent_since': null, 'job_start': 5020}", /* of an older daemon */
         "job 3 waits in Slurm: Resources; Slurm expects its start in "
         "1h07m"},
        {"{'state': 'starting', 'job_state': 'pending', 'job_id': 7, 'job_reason': 'BeginTime',"
         " 'job_waits_for': 'its begin time has not come yet (BeginTime)',"
         " 'job_absent_since': null}",
         "job 7 waits in Slurm: its begin time has not come yet (BeginTime)"},
        {"{'state': 'running', 'job_state': 'pending', 'job_id': 7, 'job_reason': 'Resources',"
         " 'job_absent_since': null, 'started': 10.0, 'ended': 20.0}", /* and requeued */
         "job 7 waits in Slurm: Resources"},
        {"{'state': 'running', 'job_state': 'pending', 'job_id': 7, 'job_reason': 'Resources',"
         " 'job_absent_since': null, 'started': 10.0, 'ended': null}", /* the job has just begun */
         ""},
        {"{'state': 'submitting', 'job_state': '', 'job_reason': 'its window opens at 03:00',"
         " 'job_absent_since': null}",
         "not submitted yet: its window opens at 03:00"},
        {"{'state': 'submitting', 'job_state': '', 'job_reason': '', 'job_absent_since': null}",
         ""},
        {"{'state': 'running', 'job_state': 'running', 'job_id': 38, 'job_absent_since': 880.0}",
         "Slurm has not known job 38 for 2m00s"},
        {"{'state': 'pending', 'job_state': 'pending', 'job_id': 38, 'job_absent_since': 1001.0}",
         "Slurm has not known job 38 for 0s"},
        {"{'state': 'running', 'job_state': 'running', 'job_id': 38, 'job_absent_since': null}",
         ""},
        {"null", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = strdup(rows[i].run);
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        json_t *run = json_loads(text, JSON_DECODE_ANY, NULL);
        assert_non_null(run);
        struct text wait = {0};
        bool waits = rows[i].text[0] != '\0';
        json_t *phase = json_pack("{s:s, s:O}", "reason", "preempted", "run", run);
        assert_int_equal(wait_write_phase(phase, 1000, &wait), waits);
        assert_true(text_starts(text_string(&wait), rows[i].text));
        assert_string_equal(text_string(&wait) + strlen(rows[i].text), waits ? "; preempted" : "");
        text_clear(&wait);
        json_decref(phase);
        assert_int_equal(wait_write(run, 1000, &wait), waits);
        assert_string_equal(text_string(&wait), rows[i].text);
        text_fini(&wait);
        json_decref(run);
        free(text);
    }
}

static void the_note_of_a_requeued_run_says_what_it_waits_for(void **state)
{
    (void)state;
    json_t *workflow =
        json_pack("{s:[{s:s, s:s, s:s, s:{s:s, s:s, s:i, s:s, s:n}}]}", "phases", "phase", "train",
                  "state", "queued", "reason", "preempted", "run", "state", "pending", "job_state",
                  "pending", "job_id", 38, "job_reason", "Resources", "job_absent_since");
    struct text text = {0};
    assert_non_null(workflow);
    view_phases(&pipe_output, workflow, 0, &text);
    assert_non_null(strstr(text_string(&text), "  job 38 waits in Slurm: Resources; preempted\n"));
    text_fini(&text);
    json_decref(workflow);
}

static void a_matrix_waits_for_what_its_first_queued_member_waits_for(void **state)
{
    (void)state;
    json_t *phases =
        json_pack("[{s:s, s:s, s:s, s:{s:s}}, {s:s, s:s, s:s, s:{s:s, s:s}}, {s:s}]", "phase",
                  "lr.1", "matrix", "lr", "state", "active", "run", "state", "running", "phase",
                  "lr.2", "matrix", "lr", "state", "queued", "run", "state", "submitting",
                  "job_reason", "its window opens at 01:00", "phase", "lr");
    struct text text = {0};
    members_wait(phases, json_array_get(phases, 2), 0, &text);
    assert_string_equal(text_string(&text), "; lr.2: not submitted yet: its window opens at 01:00");
    text_fini(&text);
    json_decref(phases);
}

static void a_phase_is_stopping_while_its_run_stops(void **state)
{
    (void)state;
    static const struct {
        const char *phase, *run, *wish, *state;
    } rows[] = {
        {"active", "running", NULL, "active"},    {"active", "stopping", "cancel", "stopping"},
        {"active", "stopping", NULL, "stopping"}, {"queued", "pending", "hold", "stopping"},
        {"queued", "pending", NULL, "queued"},    {"queued", "ended", "cancel", "queued"},
        {"held", "ended", "hold", "held"},        {"blocked", NULL, NULL, "blocked"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *run = rows[i].run
                          ? json_pack("{s:s, s:s?}", "state", rows[i].run, "wish", rows[i].wish)
                          : json_null();
        json_t *phase = json_pack("{s:s, s:o}", "state", rows[i].phase, "run", run);
        assert_non_null(phase);
        assert_string_equal(view_state(phase), rows[i].state);
        json_decref(phase);
    }
}

/* The matrix itself is blocked while members run. */
static void a_matrix_is_where_its_members_are(void **state)
{
    (void)state;
    static const struct {
        const char *members, *state;
    } rows[] = {
        {"{\"begun\": 4, \"states\": {\"active\": 1, \"held\": 3}}", "active"},
        {"{\"begun\": 4, \"states\": {\"queued\": 1, \"held\": 3}}", "queued"},
        {"{\"begun\": 4, \"states\": {\"held\": 4}}", "held"},
        {"{\"begun\": 4, \"states\": {\"held\": 1, \"succeeded\": 2, \"failed\": 1}}", "held"},
        {"{\"begun\": 0, \"states\": {\"held\": 4}}", "held"},
        {"{\"begun\": 0, \"states\": {\"held\": 1, \"blocked\": 3}}", "blocked"},
        {"{\"begun\": 2, \"states\": {\"held\": 2, \"blocked\": 2}}", "active"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *phase = json_pack("{s:s, s:i, s:o}", "state", "blocked", "members", 4, "of_members",
                                  json_loads(rows[i].members, 0, NULL));
        assert_string_equal(view_state(phase), rows[i].state);
        json_decref(phase);
    }
}

static void only_the_colours_of_phasectl_reach_a_terminal(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *harmless;
    } rows[] = {
        {"\033[31mfailed\033[0m: 50 %|##\r\tna\xc3\xafve\n", NULL},
        {"\033[2J\033[8mhidden\033[30m", "^[[2J^[[8mhidden^[[30m"},
        {"\033]52;c;cm0gLXJm\007", "^[]52;c;cm0gLXJm^G"},
        {"\xc2\x9b"
         "31m\xe2\x80\xae",
         "<U+009B>31m<U+202E>"},
        {"\033\033[32mok\033[0m", "^[\033[32mok\033[0m"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct text text = {0};
        filter_add(&text, rows[i].bytes, strlen(rows[i].bytes));
        assert_string_equal(text_string(&text),
                            rows[i].harmless ? rows[i].harmless : rows[i].bytes);
        text_fini(&text);
    }
}

static void every_state_has_its_colour_and_every_colour_passes(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        enum colour colour;
    } rows[] = {{"succeeded", COLOUR_GREEN}, {"active", COLOUR_YELLOW}, {"running", COLOUR_YELLOW},
                {"failed", COLOUR_RED},      {"held", COLOUR_MAGENTA},  {"queued", COLOUR_BLUE},
                {"blocked", COLOUR_DIM},     {"cancelled", COLOUR_DIM}, {"deciding", COLOUR_YELLOW},
                {"skipped", COLOUR_DIM},     {"anything", COLOUR_PLAIN}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(view_colour(rows[i].state), rows[i].colour);
    for (enum colour colour = COLOUR_PLAIN; colour < COLOUR_COUNT; colour++) {
        struct text text = {0}, passed = {0};
        terminal_colour(&colour_output, &text, colour, "word");
        filter_add(&passed, text.data, text.size);
        assert_string_equal(text_string(&passed), text_string(&text));
        text_fini(&text);
        text_fini(&passed);
    }
}

static void a_table_has_only_visible_letters(void **state)
{
    (void)state;
    struct text text = {0};
    terminal_add_cut(&pipe_output, &text,
                     "a\xe2\x80\xae"
                     "b\xc2\x9b"
                     "c\x9b"
                     "d\033[31me\033",
                     100);
    assert_string_equal(text_string(&text), "a?b?c?de?");
    text_clear(&text);
    terminal_add_cut(&pipe_output, &text, "na\xc3\xafve\xc2\x85 name", 6);
    assert_string_equal(text_string(&text), "na\xc3\xafv..");
    text_fini(&text);
}

/* The messages say otherwise: they are for people. */
static void an_event_is_shown_by_its_members_and_not_by_its_message(void **state)
{
    (void)state;
    static const struct {
        const char *event, *line; /* in `event`, ' stands for " */
    } rows[] = {
        {"{'type': 'gate', 'phase': 'a', 'result': 'passed', 'message': 'gate failed: low'}",
         "a             \033[32mgate failed: low\033[0m\n"},
        {"{'type': 'gate', 'phase': 'a', 'result': 'incomplete', 'message': 'insufficient data'}",
         "a             gate: \033[31minsufficient data\033[0m\n"},
        {"{'type': 'checkpoint', 'phase': 'a', 'step': 50, 'message': 'saved as /a: /b'}",
         "a             checkpoint: step 50\n"},
        {"{'type': 'checkpoint', 'phase': 'a', 'step': 0, 'message': 'step 7: /b'}",
         "a             checkpoint: step 0\n"},
        {"{'type': 'checkpoint', 'phase': 'a', 'message': 'of an older daemon'}",
         "a             checkpoint: of an older daemon\n"},
        {"{'type': 'guard', 'phase': 'a', 'message': 'low: /b'}", "a             guard: low: /b\n"},
        {"{'type': 'warning', 'to': 'budget', 'message': 'spent'}",
         "workflow      warning budget: spent\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *quoted = xstrdup(rows[i].event);
        for (char *c = quoted; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        json_t *event = json_loads(quoted, 0, NULL);
        struct text text = {0};
        assert_non_null(event);
        event_write(&colour_output, event, false, "", &text);
        const char *line = strstr(text_string(&text), "  ");
        assert_non_null(line);
        assert_string_equal(line + 2, rows[i].line);
        text_fini(&text);
        json_decref(event);
        free(quoted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_shows_its_two_largest_units),
        cmocka_unit_test(a_number_keeps_four_digits),
        cmocka_unit_test(a_count_has_commas),
        cmocka_unit_test(money_reads_as_people_write_it),
        cmocka_unit_test(a_size_has_the_largest_unit),
        cmocka_unit_test(a_time_has_its_date_only_on_another_day),
        cmocka_unit_test(a_bar_fills_with_the_share_and_never_overflows),
        cmocka_unit_test(columns_count_letters_and_not_bytes_or_colours),
        cmocka_unit_test(a_cut_text_shows_that_it_was_cut),
        cmocka_unit_test(a_terminal_of_utf_8_shows_an_ellipsis),
        cmocka_unit_test(a_wide_letter_takes_two_columns),
        cmocka_unit_test(the_ways_out_stand_in_one_column),
        cmocka_unit_test(a_job_that_does_not_run_says_why),
        cmocka_unit_test(the_note_of_a_requeued_run_says_what_it_waits_for),
        cmocka_unit_test(a_matrix_waits_for_what_its_first_queued_member_waits_for),
        cmocka_unit_test(a_phase_is_stopping_while_its_run_stops),
        cmocka_unit_test(a_gate_explains_the_checks_that_did_not_pass),
        cmocka_unit_test(members_show_how_they_stand),
        cmocka_unit_test(a_job_that_slurm_refuses_is_not_submitted_again_at_once),
        cmocka_unit_test(a_matrix_is_where_its_members_are),
        cmocka_unit_test(only_the_colours_of_phasectl_reach_a_terminal),
        cmocka_unit_test(every_state_has_its_colour_and_every_colour_passes),
        cmocka_unit_test(a_table_has_only_visible_letters),
        cmocka_unit_test(an_event_is_shown_by_its_members_and_not_by_its_message),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
