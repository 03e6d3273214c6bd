/* The table of sbatch's options: their names, and how their values are read. */
#include "lib/spec/slurm_options.h"

#include "lib/error.h"
#include "lib/memory.h"
#include "lib/text.h"
#include "lib/units.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = {
#define X(symbol, name, type) name,
    SLURM_OPTIONS(X)
#undef X
};

static const enum slurm_option_type types[] = {
#define X(symbol, name, type) SLURM_VALUE_##type,
    SLURM_OPTIONS(X)
#undef X
};

/* Reads all of `text` as a whole number from `min` to `max`. */
static bool number_read(const char *text, int64_t min, int64_t max, int64_t *ret_number)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < min || number > max)
        return false;
    *ret_number = number;
    return true;
}

static int integer_read(const char *text, int64_t min, int64_t max, int64_t *ret_number,
                        struct error *err)
{
    int64_t number;
    if (!number_read(text, INT64_MIN, INT64_MAX, &number))
        return error_set(err, -EINVAL, "'%s' is not a whole number", text);
    if (number < min || number > max)
        return error_set(err, -EINVAL, "%lld is not from %lld to %lld", (long long)number,
                         (long long)min, (long long)max);
    *ret_number = number;
    return 0;
}

/* A number without a unit is MiB, as in sbatch. Units may be in small letters (16g, 512mb). 0 asks
 * for all memory of a node. */
static int memory_read(const char *text, int64_t *ret_mb, struct error *err)
{
    uint64_t mb;
    if (number_read(text, 0, INT32_MAX, ret_mb))
        return 0;
    char *plain = xstrdup(text);
    char *unit = plain + text_digits_size(plain);
    *unit = (char)toupper((unsigned char)*unit);
    if (*unit && strcasecmp(unit + 1, "b") == 0)
        unit[1] = 'B';
    int status = units_parse_memory(plain, &mb, err);
    free(plain);
    if (status < 0)
        return status;
    *ret_mb = (int64_t)mb;
    return 0;
}

static int flag_read(const char *text, int64_t *ret_number, struct error *err)
{
    if (!text_equal(text, "true") && !text_equal(text, "false"))
        return error_set(err, -EINVAL, "'%s' must be true or false", text);
    *ret_number = text_equal(text, "true");
    return 0;
}

/* sbatch's own forms: M, M:S, H:M:S, D-H, D-H:M, D-H:M:S. Seconds are rounded up to minutes. */
static bool sbatch_duration_read(const char *text, int64_t *ret_minutes)
{
    int64_t days = -1, part[3] = {0}, seconds;
    int count = 0;
    for (const char *at = text;; at++) {
        size_t digits = text_digits_size(at);
        if (digits == 0 || digits > 6 || count == 3)
            return false;
        part[count++] = strtoll(at, NULL, 10);
        at += digits;
        if (*at == '-' && days < 0 && count == 1)
            days = part[--count];
        else if (*at == '\0')
            break;
        else if (*at != ':')
            return false;
    }
    if (days >= 0)
        seconds = days * 86400 + part[0] * 3600 + part[1] * 60 + part[2];
    else if (count == 3)
        seconds = part[0] * 3600 + part[1] * 60 + part[2];
    else
        seconds = part[0] * 60 + part[1];
    *ret_minutes = (seconds + 59) / 60;
    return seconds > 0 && seconds <= UNITS_DURATION_MAX_S;
}

static int duration_read(const char *text, int64_t *ret_minutes, struct error *err)
{
    uint32_t seconds;
    if (sbatch_duration_read(text, ret_minutes))
        return 0;
    int status = units_parse_duration(text, &seconds, err);
    if (status < 0)
        return status;
    if (seconds == 0)
        return error_set(err, -EINVAL, "'%s' is not a time: it must be above 0", text);
    *ret_minutes = (int64_t)seconds / 60 + (seconds % 60 > 0);
    return 0;
}

/* Reads now, now+90 or now + 90 minutes; a number without a unit is seconds, as in sbatch. */
static bool relative_time_read(const char *text, int64_t now, int64_t *ret_time)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"", 1},         {"second", 1},    {"seconds", 1},   {"minute", 60},
                 {"minutes", 60}, {"hour", 3600},   {"hours", 3600},  {"day", 86400},
                 {"days", 86400}, {"week", 604800}, {"weeks", 604800}};
    unsigned count = 0;
    char unit[16] = "";
    int end = 0;
    *ret_time = now;
    if (text_equal(text, "now"))
        return true;
    if (sscanf(text, "now +%6u%n %15[a-z]%n", &count, &end, unit, &end) < 1 || text[end] != '\0')
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (text_equal(unit, units[i].name)) {
            *ret_time = now + count * units[i].seconds;
            return true;
        }
    }
    return false;
}

enum { TIME_HAS_HOUR = 1, TIME_HAS_DAY = 2, TIME_HAS_YEAR = 4 };

/* Reads a word, a time of day or a date at the beginning of `text` into `tm`. `has` gets what it
 * says; nothing is said twice. Returns what follows, or NULL. */
static const char *time_part_read(const char *text, struct tm *tm, unsigned *has)
{
    static const struct {
        const char *form; /* of strptime() */
        unsigned has;
        int hour, days;
    } forms[] = {
        {"today", TIME_HAS_DAY | TIME_HAS_YEAR, 0, 0},
        {"tomorrow", TIME_HAS_DAY | TIME_HAS_YEAR, 0, 1},
        {"midnight", TIME_HAS_HOUR, 0, 0},
        {"elevenses", TIME_HAS_HOUR, 11, 0},
        {"noon", TIME_HAS_HOUR, 12, 0},
        {"fika", TIME_HAS_HOUR, 15, 0},
        {"teatime", TIME_HAS_HOUR, 16, 0},
        {"%I:%M:%S %p", TIME_HAS_HOUR, 0, 0},
        {"%I:%M %p", TIME_HAS_HOUR, 0, 0},
        {"%H:%M:%S", TIME_HAS_HOUR, 0, 0},
        {"%H:%M", TIME_HAS_HOUR, 0, 0},
        {"%Y-%m-%d", TIME_HAS_DAY | TIME_HAS_YEAR, 0, 0},
        {"%m/%d/%y", TIME_HAS_DAY | TIME_HAS_YEAR, 0, 0},
        {"%m/%d", TIME_HAS_DAY, 0, 0},
        {"%m%d%y", TIME_HAS_DAY | TIME_HAS_YEAR, 0, 0},
        {"%m%d", TIME_HAS_DAY, 0, 0},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm read = *tm;
        const char *end = strptime(text, forms[i].form, &read);
        if (!end || isdigit((unsigned char)*end) || (*has & forms[i].has))
            continue;
        read.tm_hour += forms[i].hour;
        read.tm_mday += forms[i].days;
        *tm = read;
        *has |= forms[i].has;
        return end;
    }
    return NULL;
}

/* Reads times as sbatch does: 18:00, 6:30pm, tomorrow, noon, 01/20/27, 2027-01-20T18:00. A time of
 * day without a date, and a date without a year, are the next ones. */
static bool local_time_read(const char *text, time_t now, int64_t *ret_time)
{
    struct tm tm;
    unsigned has = 0;
    if (!localtime_r(&now, &tm))
        return false;
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    while (*text) {
        const char *end = time_part_read(text, &tm, &has);
        if (!end && (!has || !strchr(" -t", *text)))
            return false;
        text = end ? end : text + 1;
    }
    tm.tm_isdst = -1;
    time_t time = mktime(&tm);
    if (time < now && !(has & TIME_HAS_YEAR)) {
        *(has & TIME_HAS_DAY ? &tm.tm_year : &tm.tm_mday) += 1;
        tm.tm_isdst = -1;
        time = mktime(&tm);
    }
    *ret_time = time;
    return has && time != (time_t)-1;
}

static int time_read(const char *text, int64_t now, int64_t *ret_time, struct error *err)
{
    char *plain = xstrdup(text);
    for (char *at = plain; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    bool is_time =
        relative_time_read(plain, now, ret_time) || local_time_read(plain, (time_t)now, ret_time);
    free(plain);
    return is_time ? 0
                   : error_set(err, -EINVAL,
                               "'%s' is not a time, such as 2026-01-31T18:00, 18:00, tomorrow or "
                               "now+90minutes",
                               text);
}

static int mail_read(const char *text, int64_t *ret_mails, struct error *err)
{
    static const char *const mails[] = {
#define X(name) #name,
        SLURM_MAILS(X)
#undef X
    };
    const char *word = text;
    int64_t given = 0;
    do {
        size_t size = strcspn(word, ","), mail = 0;
        while (mail < SLURM_MAIL_COUNT &&
               (strlen(mails[mail]) != size || strncasecmp(word, mails[mail], size) != 0))
            mail++;
        if (mail == SLURM_MAIL_COUNT)
            return error_set(err, -EINVAL, "unknown type '%.*s'", (int)size, word);
        given |= (int64_t)1 << mail;
        word += size + (word[size] == ',');
    } while (*word);
    *ret_mails = given;
    return 0;
}

/* Reads "2" or "2@60": how many switches, and how long to wait for so few. */
static int switches_read(const char *text, int64_t *ret_number, struct error *err)
{
    size_t digits = text_digits_size(text);
    const char *behind = text + digits, *time = *behind == '@' ? behind + 1 : NULL;
    int64_t minutes = 0;
    bool is_time = !time || text_equal(time, "0") || sbatch_duration_read(time, &minutes);
    if (digits == 0 || digits > 4 || (*behind && !time) || !is_time)
        return error_set(err, -EINVAL, "'%s' is not COUNT or COUNT@MINUTES", text);
    *ret_number = minutes * ((int64_t)1 << 32) + strtoll(text, NULL, 10);
    return 0;
}

const char *slurm_option_name(enum slurm_option option)
{
    assert((size_t)option < SLURM_OPTION_COUNT);
    return names[option];
}

enum slurm_option_type slurm_option_type(enum slurm_option option)
{
    assert((size_t)option < SLURM_OPTION_COUNT);
    return types[option];
}

char *slurm_option_spell(const char *name)
{
    char *spelled = xstrdup(name);
    for (char *at = spelled; *at; at++)
        *at = *at == '-' ? '_' : *at;
    return spelled;
}

int slurm_option_find(const char *name, struct error *err)
{
    char *spelled = slurm_option_spell(name);
    int option = -ENOENT;
    for (int i = 0; i < SLURM_OPTION_COUNT; i++) {
        if (text_equal(spelled, names[i]))
            option = i;
    }
    if (option < 0 && err) {
        const char *nearest = text_nearest(spelled, names, SLURM_OPTION_COUNT);
        (void)error_set(err, -ENOENT, "unknown Slurm option '%s'%s%s%s", name,
                        nearest ? " (did you mean " : "", nearest ? nearest : "",
                        nearest ? "?)" : "");
    }
    free(spelled);
    return option;
}

int slurm_option_read(enum slurm_option option, const char *value, int64_t now, int64_t *ret_number,
                      struct error *err)
{
    int64_t number = 0;
    int status = 0;
    switch (slurm_option_type(option)) {
    case SLURM_VALUE_STRING:
        if (value[0] == '\0' || strpbrk(value, "\n\r"))
            status = error_set(err, -EINVAL, "must be one line of text");
        break;
    case SLURM_VALUE_SHORT:
        status = integer_read(value, 0, SLURM_SHORT_MAX, &number, err);
        break;
    case SLURM_VALUE_INTEGER:
        status = integer_read(value, 0, UINT32_MAX - 2, &number, err);
        break;
    case SLURM_VALUE_NICE:
        status = integer_read(value, 2 - INT32_MAX, INT32_MAX - 2, &number, err);
        break;
    case SLURM_VALUE_MEMORY:
        status = memory_read(value, &number, err);
        break;
    case SLURM_VALUE_FLAG:
        status = flag_read(value, &number, err);
        break;
    case SLURM_VALUE_DURATION:
        status = duration_read(value, &number, err);
        break;
    case SLURM_VALUE_TIME:
        status = time_read(value, now, &number, err);
        break;
    case SLURM_VALUE_MAIL:
        status = mail_read(value, &number, err);
        break;
    case SLURM_VALUE_SWITCHES:
        status = switches_read(value, &number, err);
        break;
    }
    if (status == 0 && ret_number)
        *ret_number = number;
    return status;
}
