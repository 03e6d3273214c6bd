/* Reads amounts with units. Numbers are read by hand, because strtoull() takes signs, blanks and
 * other bases. */
#include "lib/units.h"

#include "lib/error.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Far above every limit of this file; ten times as much still fits. */
#define UNITS_NUMBER_MAX (UINT64_MAX / 100)

static const struct {
    char letter;
    uint32_t seconds;
} units_durations[] = {{'d', 86400}, {'h', 3600}, {'m', 60}, {'s', 1}};

enum { UNITS_DURATIONS = sizeof units_durations / sizeof units_durations[0] };

/* Reads digits at `*at` and moves `*at` behind them. False: there are no digits, or too many. */
static bool units_number(const char **at, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (!isdigit((unsigned char)**at))
        return false;
    for (; isdigit((unsigned char)**at); (*at)++) {
        if (number > UNITS_NUMBER_MAX / 10)
            return false;
        number = number * 10 + (uint64_t)(**at - '0');
    }
    *ret_number = number;
    return true;
}

static bool units_is_number(const char *text)
{
    return *text && text[text_digits_size(text)] == '\0';
}

static bool units_is_clock(const char *text)
{
    return strchr(text, ':') && text[strspn(text, "0123456789:-")] == '\0';
}

static int units_not_a_duration(const char *text, struct error *err)
{
    if (units_is_number(text))
        return error_set(err, -EINVAL, "must be a duration with a unit (%.20ss, %.20sm, %.20sh)",
                         text, text, text);
    unsigned long first, second;
    int end = 0;
    if (sscanf(text, "%9lu:%9lu%n", &first, &second, &end) == 2 && text[end] == '\0' &&
        units_is_clock(text))
        return error_set(err, -EINVAL,
                         "must be a duration: %.20s could mean %lum%lus or %luh%lum: write one of "
                         "them",
                         text, first, second, first, second);
    if (units_is_clock(text))
        return error_set(err, -EINVAL, "must be a duration: write 1h30m rather than 01:30:00");
    return error_set(err, -EINVAL, "must be a duration (such as 90s, 30m, 1h30m or 2d)");
}

int units_parse_duration(const char *text, uint32_t *ret_seconds, struct error *err)
{
    uint64_t total = 0;
    size_t next = 0; /* units before this index were used or skipped */
    if (text_equal(text, "0")) {
        *ret_seconds = 0;
        return 0;
    }
    const char *at = text;
    do {
        uint64_t number;
        if (!units_number(&at, &number))
            return units_not_a_duration(text, err);
        while (next < UNITS_DURATIONS && units_durations[next].letter != *at)
            next++;
        if (next == UNITS_DURATIONS)
            return units_not_a_duration(text, err);
        if (number > UNITS_DURATION_MAX_S)
            return error_set(err, -ERANGE, "a duration of more than a year");
        total += number * units_durations[next++].seconds;
        at++;
    } while (*at);
    if (total > UNITS_DURATION_MAX_S)
        return error_set(err, -ERANGE, "a duration of more than a year");
    *ret_seconds = (uint32_t)total;
    return 0;
}

int units_parse_memory(const char *text, uint64_t *ret_mb, struct error *err)
{
    static const char letters[] = "KMGT";
    const char *at = text;
    uint64_t number;
    if (text_equal(text, "0")) {
        *ret_mb = 0;
        return 0;
    }
    if (units_is_number(text))
        return error_set(err, -EINVAL, "must be an amount of memory with a unit (%.20sG, %.20sM)",
                         text, text);
    if (!units_number(&at, &number) || !*at || !strchr(letters, *at))
        return error_set(err, -EINVAL, "must be an amount of memory (such as 256G or 512M)");
    size_t power = (size_t)(strchr(letters, *at++) - letters);
    if (*at && !text_equal(at, "B") && !text_equal(at, "iB"))
        return error_set(err, -EINVAL, "must be an amount of memory (such as 256G or 512M)");
    if (number > (UINT64_C(1) << 40) >> (10 * power))
        return error_set(err, -ERANGE, "more than the largest amount of memory, 1024T");
    uint64_t kb = number << (10 * power);
    *ret_mb = (kb + 1023) / 1024;
    return 0;
}

int units_parse_gpus(const char *text, char ret_type[UNITS_GPU_TYPE_SIZE], uint32_t *ret_count,
                     struct error *err)
{
    const char *colon = strrchr(text, ':');
    const char *at = colon ? colon + 1 : text;
    size_t type_size = colon ? (size_t)(colon - text) : 0;
    uint64_t count;
    if (type_size >= UNITS_GPU_TYPE_SIZE)
        return error_set(err, -EINVAL, "the GPU's type is longer than %d letters",
                         UNITS_GPU_TYPE_SIZE - 1);
    bool is_good = (!colon || type_size > 0) && text_name_size(text, "_-.") >= type_size &&
                   units_number(&at, &count) && !*at;
    if (!is_good)
        return error_set(err, -EINVAL, "must be a number of GPUs (such as 8 or h100:8)");
    if (count > UNITS_GPUS_MAX)
        return error_set(err, -ERANGE, "more than %d GPUs in a node", UNITS_GPUS_MAX);
    memcpy(ret_type, text, type_size);
    ret_type[type_size] = '\0';
    *ret_count = (uint32_t)count;
    return 0;
}

int units_parse_window(const char *text, unsigned *ret_from, unsigned *ret_to, struct error *err)
{
    unsigned hour[2], minute[2];
    int end = 0;
    int count = sscanf(text, "%2u:%2u-%2u:%2u%n", &hour[0], &minute[0], &hour[1], &minute[1], &end);
    bool is_good = count == 4 && text[end] == '\0' && strspn(text, "0123456789:-") == strlen(text);
    for (int i = 0; is_good && i < 2; i++)
        is_good = (hour[i] < 24 && minute[i] < 60) || (i == 1 && hour[i] == 24 && minute[i] == 0);
    if (!is_good)
        return error_set(err, -EINVAL, "'%s' is not a window of the day, such as 20:00-08:00",
                         text);
    if (hour[0] == hour[1] && minute[0] == minute[1])
        return error_set(err, -EINVAL, "'%s' ends when it begins, so it has no time in it", text);
    *ret_from = hour[0] * 60 + minute[0];
    *ret_to = hour[1] * 60 + minute[1];
    return 0;
}

int units_parse_time(const char *text, time_t now, time_t *ret_time)
{
    static const struct {
        const char *form;
        bool has_date;
    } forms[] = {
        {"%Y-%m-%dT%H:%M:%S", true},
        {"%Y-%m-%dT%H:%M", true},
        {"%Y-%m-%d %H:%M:%S", true},
        {"%Y-%m-%d %H:%M", true},
        {"%Y-%m-%d", true},
        {"%H:%M:%S", false},
        {"%H:%M", false},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = {0};
        if (!forms[i].has_date && !localtime_r(&now, &tm))
            return -EINVAL;
        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
        const char *end = strptime(text, forms[i].form, &tm);
        if (!end || *end)
            continue;
        tm.tm_isdst = -1;
        time_t time = mktime(&tm);
        if (!forms[i].has_date && time > now) {
            tm.tm_mday--;
            tm.tm_isdst = -1;
            time = mktime(&tm);
        }
        if (time == (time_t)-1)
            return -EINVAL;
        *ret_time = time;
        return 0;
    }
    return -EINVAL;
}
