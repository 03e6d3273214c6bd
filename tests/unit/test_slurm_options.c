/* sbatch's options: every form of a value, and wrong values. */
#include "tests/unit/unit.h"

#include "lib/error.h"
#include "lib/limits.h"
#include "lib/spec/slurm_options.h"
#include "lib/text.h"

#include <errno.h>
#include <stdlib.h>

/* 2026-01-31 12:00:00 in UTC. */
enum { NOON = 1769860800 };

static void names_are_found_in_both_spellings(void **state)
{
    (void)state;
    for (int i = 0; i < SLURM_OPTION_COUNT; i++)
        assert_int_equal(slurm_option_find(slurm_option_name((enum slurm_option)i), NULL), i);
    assert_int_equal(slurm_option_find("mem-per-gpu", NULL), SLURM_OPTION_MEM_PER_GPU);
}

static void an_unknown_name_is_refused_with_the_nearest(void **state)
{
    (void)state;
    struct error err;
    assert_int_equal(slurm_option_find("acount", &err), -ENOENT);
    assert_string_equal(err.message, "unknown Slurm option 'acount' (did you mean account?)");
    assert_int_equal(slurm_option_find("ntasks", &err), -ENOENT);
    assert_string_equal(err.message, "unknown Slurm option 'ntasks'");
}

static void values_are_read_as_sbatch_reads_them(void **state)
{
    (void)state;
    static const struct {
        enum slurm_option option;
        const char *value;
        int64_t number;
    } rows[] = {
        {SLURM_OPTION_ACCOUNT, "m000066", 0},
        {SLURM_OPTION_NICE, "-5", -5},
        {SLURM_OPTION_PRIORITY, "4294967293", 4294967293},
        {SLURM_OPTION_MAIL_TYPE, "NONE", 1 << SLURM_MAIL_NONE},
        {SLURM_OPTION_MAIL_TYPE, "fail,ARRAY_TASKS",
         1 << SLURM_MAIL_FAIL | 1 << SLURM_MAIL_ARRAY_TASKS},
        {SLURM_OPTION_SWITCHES, "2", 2},
        {SLURM_OPTION_SWITCHES, "2@0", 2},
        {SLURM_OPTION_SWITCHES, "2@1:00:00", ((int64_t)60 << 32) + 2},
        {SLURM_OPTION_MEM, "4000", 4000},
        {SLURM_OPTION_MEM, "256G", 262144},
        {SLURM_OPTION_MEM, "0", 0},
        {SLURM_OPTION_EXCLUSIVE, "true", 1},
        {SLURM_OPTION_EXCLUSIVE, "false", 0},
        {SLURM_OPTION_TIME_MIN, "90", 90},
        {SLURM_OPTION_TIME_MIN, "1h30m", 90},
        {SLURM_OPTION_TIME_MIN, "01:30", 2},
        {SLURM_OPTION_TIME_MIN, "1-6", 1800},
        {SLURM_OPTION_TIME_MIN, "1:30:01", 91},
        {SLURM_OPTION_TIME_MIN, "2-00:10:00", 2890},
        {SLURM_OPTION_BEGIN, "now", NOON},
        {SLURM_OPTION_BEGIN, "now+90", NOON + 90},
        {SLURM_OPTION_BEGIN, "now+90minutes", NOON + 5400},
        {SLURM_OPTION_BEGIN, "now+1hour", NOON + 3600},
        {SLURM_OPTION_BEGIN, "18:00", NOON + 6 * 3600},
        {SLURM_OPTION_BEGIN, "06:30:10", NOON + 18 * 3600 + 1810},
        {SLURM_OPTION_BEGIN, "2026-02-01", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "2026-01-31T12:01:05", NOON + 65},
        {SLURM_OPTION_BEGIN, "2026-01-31 12:01", NOON + 60},
        {SLURM_OPTION_BEGIN, "now + 5 hours", NOON + 5 * 3600},
        {SLURM_OPTION_BEGIN, "now+1week", NOON + 7 * 86400},
        {SLURM_OPTION_BEGIN, "today", NOON - 12 * 3600},
        {SLURM_OPTION_BEGIN, "tomorrow", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "midnight", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "elevenses", NOON + 23 * 3600},
        {SLURM_OPTION_BEGIN, "noon", NOON},
        {SLURM_OPTION_BEGIN, "NOON tomorrow", NOON + 24 * 3600},
        {SLURM_OPTION_BEGIN, "tomorrowT10:00", NOON + 22 * 3600},
        {SLURM_OPTION_BEGIN, "fika", NOON + 3 * 3600},
        {SLURM_OPTION_BEGIN, "teatime", NOON + 4 * 3600},
        {SLURM_OPTION_BEGIN, "12:00am", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "6:30:10 PM", NOON + 6 * 3600 + 1810},
        {SLURM_OPTION_BEGIN, "6:00pm", NOON + 6 * 3600},
        {SLURM_OPTION_BEGIN, "02/01/26", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "02/01/26-18:00", NOON + 30 * 3600},
        {SLURM_OPTION_BEGIN, "020126", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "0201", NOON + 12 * 3600},
        {SLURM_OPTION_BEGIN, "01/31", NOON + 365 * 86400 - 12 * 3600},
        {SLURM_OPTION_BEGIN, "01/31-12:30", NOON + 1800},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        int64_t number = -1;
        if (slurm_option_read(rows[i].option, rows[i].value, NOON, &number, &err) < 0)
            fail_msg("%s: %s", rows[i].value, err.message);
        if (number != rows[i].number)
            fail_msg("%s: %lld", rows[i].value, (long long)number);
    }
}

static void a_wrong_value_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum slurm_option option;
        const char *value;
    } rows[] = {
        {SLURM_OPTION_ACCOUNT, ""},
        {SLURM_OPTION_ACCOUNT, "a\nb"},
        {SLURM_OPTION_NICE, "many"},
        {SLURM_OPTION_NICE, "99999999999"},
        {SLURM_OPTION_NICE, "2147483646"},
        {SLURM_OPTION_PRIORITY, "-1"},
        {SLURM_OPTION_PRIORITY, "4294967294"},
        {SLURM_OPTION_CORE_SPEC, "65534"},
        {SLURM_OPTION_MAIL_TYPE, ""},
        {SLURM_OPTION_MAIL_TYPE, "NEVER"},
        {SLURM_OPTION_MAIL_TYPE, "END,,FAIL"},
        {SLURM_OPTION_SWITCHES, "few"},
        {SLURM_OPTION_SWITCHES, "2@"},
        {SLURM_OPTION_SWITCHES, "2 or 3"},
        {SLURM_OPTION_MEM, "-1"},
        {SLURM_OPTION_MEM, "256X"},
        {SLURM_OPTION_EXCLUSIVE, "yes"},
        {SLURM_OPTION_TIME_MIN, "0"},
        {SLURM_OPTION_TIME_MIN, "1:2:3:4"},
        {SLURM_OPTION_TIME_MIN, "1-2-3"},
        {SLURM_OPTION_TIME_MIN, "-5"},
        {SLURM_OPTION_TIME_MIN, "soon"},
        {SLURM_OPTION_BEGIN, "now+"},
        {SLURM_OPTION_BEGIN, "now+3fortnights"},
        {SLURM_OPTION_BEGIN, "2026-13-01"},
        {SLURM_OPTION_BEGIN, "18:00pm"},
        {SLURM_OPTION_BEGIN, ""},
        {SLURM_OPTION_BEGIN, "6pm"}, /* sbatch refuses these, too */
        {SLURM_OPTION_BEGIN, "18"},
        {SLURM_OPTION_BEGIN, "24:00"},
        {SLURM_OPTION_BEGIN, "13:00pm"},
        {SLURM_OPTION_BEGIN, "01/20/2027"},
        {SLURM_OPTION_BEGIN, "13/01/27"},
        {SLURM_OPTION_BEGIN, "noon noon"},
        {SLURM_OPTION_BEGIN, "tonight"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct error err = {0};
        int64_t number = 7;
        if (slurm_option_read(rows[i].option, rows[i].value, NOON, &number, &err) != -EINVAL)
            fail_msg("'%s' was taken", rows[i].value);
        assert_int_equal(number, 7);
        assert_true(err.message[0] != '\0');
    }
}

static void limits_are_captured_under_slurms_names(void **state)
{
    (void)state;
    char **limits = limits_capture();
    size_t found = 0;
    for (size_t i = 0; limits[i]; i++)
        found += text_starts(limits[i], "NOFILE=") || text_starts(limits[i], "STACK=");
    assert_int_equal(found, 2);
    limits_free(limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_both_spellings),
        cmocka_unit_test(an_unknown_name_is_refused_with_the_nearest),
        cmocka_unit_test(values_are_read_as_sbatch_reads_them),
        cmocka_unit_test(a_wrong_value_is_refused),
        cmocka_unit_test(limits_are_captured_under_slurms_names),
    };
    if (setenv("TZ", "UTC", 1) != 0)
        return 1;
    return cmocka_run_group_tests_name("slurm options", tests, NULL, NULL);
}
