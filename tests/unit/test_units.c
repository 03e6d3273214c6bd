/* Durations, memory and GPUs: what is read, what is refused, and that a written amount reads
 * back. */
#include "tests/unit/unit.h"

#include "lib/amount.h"
#include "lib/error.h"
#include "lib/units.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct row {
    const char *text;
    int64_t value;       /* negative: the text is refused */
    const char *message; /* how the message begins */
};

static const struct row durations[] = {
    {"0", 0, NULL},
    {"0s", 0, NULL},
    {"90s", 90, NULL},
    {"1m", 60, NULL},
    {"30m", 1800, NULL},
    {"1h", 3600, NULL},
    {"1h30m", 5400, NULL},
    {"1h30m5s", 5405, NULL},
    {"2d", 172800, NULL},
    {"1d12h", 129600, NULL},
    {"1d1s", 86401, NULL},
    {"007s", 7, NULL},
    {"366d", 366 * 86400, NULL},
    {"366d1s", -1, "a duration of more than a year"},
    {"99999999999999999999999s", -1, "must be a duration (such as"},
    {"31622401s", -1, "a duration of more than a year"},
    {"9999999999h", -1, "a duration of more than a year"},
    {"90", -1, "must be a duration with a unit (90s, 90m, 90h)"},
    {"00", -1, "must be a duration with a unit"},
    {"01:30:00", -1, "must be a duration: write 1h30m"},
    {"1:30", -1, "must be a duration: 1:30 could mean 1m30s or 1h30m: write one of them"},
    {"05:00", -1, "must be a duration: 05:00 could mean 5m0s or 5h0m: write one of them"},
    {"1-00:00:00", -1, "must be a duration: write 1h30m"},
    {"", -1, "must be a duration (such as"},
    {"h", -1, "must be a duration (such as"},
    {"1h30", -1, "must be a duration (such as"},
    {"30m1h", -1, "must be a duration (such as"},
    {"1h1h", -1, "must be a duration (such as"},
    {"1.5h", -1, "must be a duration (such as"},
    {"-1h", -1, "must be a duration (such as"},
    {"+1h", -1, "must be a duration (such as"},
    {" 1h", -1, "must be a duration (such as"},
    {"1h ", -1, "must be a duration (such as"},
    {"1 h", -1, "must be a duration (such as"},
    {"1H", -1, "must be a duration (such as"},
    {"1w", -1, "must be a duration (such as"},
    {"1ms", -1, "must be a duration (such as"},
};

static const struct row memories[] = {
    {"0", 0, NULL},
    {"1M", 1, NULL},
    {"512M", 512, NULL},
    {"256G", 262144, NULL},
    {"256GB", 262144, NULL},
    {"256GiB", 262144, NULL},
    {"2T", 2097152, NULL},
    {"2048K", 2, NULL},
    {"2049K", 3, NULL},
    {"1K", 1, NULL},
    {"0G", 0, NULL},
    {"1024T", 1 << 30, NULL},
    {"1025T", -1, "more than the largest amount of memory, 1024T"},
    {"99999999999999999999T", -1, "must be an amount of memory (such as"},
    {"256", -1, "must be an amount of memory with a unit (256G, 256M)"},
    {"", -1, "must be an amount of memory (such as"},
    {"G", -1, "must be an amount of memory (such as"},
    {"256g", -1, "must be an amount of memory (such as"},
    {"256Gb", -1, "must be an amount of memory (such as"},
    {"1.5T", -1, "must be an amount of memory (such as"},
    {"-1G", -1, "must be an amount of memory (such as"},
    {"1G1M", -1, "must be an amount of memory (such as"},
};

static const struct row gpus[] = {
    {"0", 0, NULL},
    {"8", 8, NULL},
    {"h100:8", 8, NULL},
    {"nvidia_h100_80gb_hbm3:4", 4, NULL},
    {"1g.10gb:7", 7, NULL},
    {"1024", 1024, NULL},
    {"1025", -1, "more than 1024 GPUs in a node"},
    {"99999999999999999999999", -1, "must be a number of GPUs"},
    {"", -1, "must be a number of GPUs"},
    {":8", -1, "must be a number of GPUs"},
    {"h100", -1, "must be a number of GPUs"},
    {"h100:", -1, "must be a number of GPUs"},
    {"gpu:h100:8", -1, "must be a number of GPUs"},
    {"h 100:8", -1, "must be a number of GPUs"},
    {"h100:8 ", -1, "must be a number of GPUs"},
    {"-1", -1, "must be a number of GPUs"},
    {"8.0", -1, "must be a number of GPUs"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:8", -1,
     "the GPU's type is longer than 63 letters"},
};

static int64_t parse_duration(const char *text, struct error *err)
{
    uint32_t seconds;
    int result = units_parse_duration(text, &seconds, err);
    return result < 0 ? result : (int64_t)seconds;
}

static int64_t parse_memory(const char *text, struct error *err)
{
    uint64_t mb;
    int result = units_parse_memory(text, &mb, err);
    return result < 0 ? result : (int64_t)mb;
}

static int64_t parse_gpus(const char *text, struct error *err)
{
    char type[UNITS_GPU_TYPE_SIZE];
    uint32_t count;
    int result = units_parse_gpus(text, type, &count, err);
    return result < 0 ? result : (int64_t)count;
}

static void check_rows(const struct row *rows, size_t count,
                       int64_t (*parse)(const char *text, struct error *err))
{
    for (size_t i = 0; i < count; i++) {
        struct error err = {0};
        int64_t value = parse(rows[i].text, &err);
        if (rows[i].value >= 0) {
            if (value != rows[i].value)
                fail_msg("'%s' is %lld: %s", rows[i].text, (long long)value, err.message);
            continue;
        }
        if (value >= 0)
            fail_msg("'%s' is taken as %lld", rows[i].text, (long long)value);
        if (strncmp(err.message, rows[i].message, strlen(rows[i].message)) != 0)
            fail_msg("'%s' says: %s", rows[i].text, err.message);
        assert_int_equal(parse(rows[i].text, NULL), value);
    }
}

static void durations_are_days_to_seconds_with_units(void **state)
{
    (void)state;
    check_rows(durations, sizeof durations / sizeof durations[0], parse_duration);
}

static void memory_is_in_powers_of_1024(void **state)
{
    (void)state;
    check_rows(memories, sizeof memories / sizeof memories[0], parse_memory);
}

static void gpus_are_a_count_with_or_without_a_type(void **state)
{
    (void)state;
    check_rows(gpus, sizeof gpus / sizeof gpus[0], parse_gpus);
    char type[UNITS_GPU_TYPE_SIZE];
    uint32_t count;
    assert_int_equal(units_parse_gpus("h100:8", type, &count, NULL), 0);
    assert_string_equal(type, "h100");
    assert_int_equal(units_parse_gpus("8", type, &count, NULL), 0);
    assert_string_equal(type, "");
}

static void amounts_keep_the_digits_that_were_written(void **state)
{
    (void)state;
    static const struct {
        enum amount amount;
        double value;
        const char *text;
    } rows[] = {
        {AMOUNT_USD, 1234567, "$1234567"},        {AMOUNT_USD, 1200000.5, "$1200000.50"},
        {AMOUNT_GPU_HOURS, 0.1, "0.1 GPU hours"}, {AMOUNT_HOURS, 5, "5 hours"},
        {AMOUNT_GPU_HOURS, 1, "1 GPU hour"},
    };
    char text[AMOUNT_SIZE], share[AMOUNT_SHARE_SIZE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_string_equal(amount_format(rows[i].amount, rows[i].value, text), rows[i].text);
    assert_string_equal(amount_format_counted(AMOUNT_USD, 1234567, NAN, text), "$1234567.00");
    assert_string_equal(amount_format_share(AMOUNT_USD, 7.016, 1e6, share), "$7.02 of $1000000");
    assert_string_equal(amount_format_share(AMOUNT_USD, 6.999, 7, share), "$6.999 of $7");
    assert_string_equal(amount_format_share(AMOUNT_USD, 7, 7, share), "$7.00 of $7");
    assert_string_equal(amount_format_share(AMOUNT_USD, 0.0021, 0.002, share), "$0.0021 of $0.002");
    assert_string_equal(amount_format_share(AMOUNT_GPU_HOURS, 0.125, 0.12, share),
                        "0.125 of 0.12 GPU hours");
    assert_string_equal(amount_format_share(AMOUNT_GPU_HOURS, 0.155, 0.15, share),
                        "0.155 of 0.15 GPU hours"); /* the binary number is below 0.155 */
    assert_string_equal(amount_format_share(AMOUNT_GPU_HOURS, 0.0021, 0.002, share),
                        "0.0021 of 0.002 GPU hours");
    assert_string_equal(amount_format_counted(AMOUNT_HOURS, 2.0004, 2, text), "2.0004 hours");
    assert_string_equal(amount_format_range(AMOUNT_USD, 245, 490, share), "$245 to $490");
    assert_string_equal(amount_format_range(AMOUNT_HOURS, 0.5, 1, share), "0.5 to 1 hours");
    assert_string_equal(amount_format_range(AMOUNT_HOURS, 5, 5, share), "5 hours");
    assert_string_equal(amount_format_share(AMOUNT_GPU_HOURS, 3.1, 48, share),
                        "3.10 of 48 GPU hours");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_keep_the_digits_that_were_written),
        cmocka_unit_test(durations_are_days_to_seconds_with_units),
        cmocka_unit_test(memory_is_in_powers_of_1024),
        cmocka_unit_test(gpus_are_a_count_with_or_without_a_type),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
