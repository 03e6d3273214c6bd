/* Durations, numbers, money, times and bars. */
#include "cli/format.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *format_duration(double seconds, char buffer[FORMAT_SIZE])
{
    if (!(seconds >= 0) || seconds > 1e15) {
        (void)snprintf(buffer, FORMAT_SIZE, "-");
        return buffer;
    }
    if (seconds < 9.95 && seconds > 0) { /* 9.96 would round to 10.0, and is shown as 10 */
        (void)snprintf(buffer, FORMAT_SIZE, "%.1fs", seconds);
        return buffer;
    }
    unsigned long long whole = (unsigned long long)llround(seconds);
    unsigned long long days = whole / 86400, hours = whole / 3600 % 24;
    unsigned long long minutes = whole / 60 % 60, rest = whole % 60;
    if (days)
        (void)snprintf(buffer, FORMAT_SIZE, "%llud%02lluh", days, hours);
    else if (hours)
        (void)snprintf(buffer, FORMAT_SIZE, "%lluh%02llum", hours, minutes);
    else if (minutes)
        (void)snprintf(buffer, FORMAT_SIZE, "%llum%02llus", minutes, rest);
    else
        (void)snprintf(buffer, FORMAT_SIZE, "%llus", rest);
    return buffer;
}

const char *format_number(double number, char buffer[FORMAT_SIZE])
{
    if (isnan(number))
        (void)snprintf(buffer, FORMAT_SIZE, "nan"); /* never "-nan" */
    else if (fabs(number) >= 1000 && fabs(number) < 1e9)
        (void)snprintf(buffer, FORMAT_SIZE, "%.0f", number);
    else
        (void)snprintf(buffer, FORMAT_SIZE, "%.4g", number);
    return buffer;
}

const char *format_count(double number, char buffer[FORMAT_SIZE])
{
    char digits[FORMAT_SIZE];
    if (!(fabs(number) < 1e15))
        return format_number(number, buffer);
    int size = snprintf(digits, sizeof digits, "%.0f", number); /* fits */
    char *to = buffer;
    for (int i = 0; i < size; i++) {
        bool is_digit = i > 0 && digits[i - 1] != '-';
        if (is_digit && (size - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}

const char *format_bytes(uint64_t bytes, char buffer[FORMAT_SIZE])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double size = (double)bytes;
    size_t unit = 0;
    for (; size >= 1024 && unit < sizeof units / sizeof *units - 1; unit++)
        size /= 1024;
    (void)snprintf(buffer, FORMAT_SIZE, "%.*f %s", unit ? 1 : 0, size, units[unit]);
    return buffer;
}

const char *format_cost(double dollars, char buffer[FORMAT_SIZE])
{
    if (isnan(dollars))
        (void)snprintf(buffer, FORMAT_SIZE, "-");
    else if (dollars > 0 && dollars < 0.01)
        (void)snprintf(buffer, FORMAT_SIZE, "<$0.01");
    else
        (void)snprintf(buffer, FORMAT_SIZE, "$%.2f", dollars);
    return buffer;
}

const char *format_time(double seconds, time_t now, char buffer[FORMAT_SIZE])
{
    time_t then = isnan(seconds) ? 0 : (time_t)seconds; /* NaN does not fit into an integer */
    struct tm then_parts, now_parts;
    if (isnan(seconds) || !localtime_r(&then, &then_parts) || !localtime_r(&now, &now_parts)) {
        (void)snprintf(buffer, FORMAT_SIZE, "-");
        return buffer;
    }
    bool today = then_parts.tm_year == now_parts.tm_year && then_parts.tm_yday == now_parts.tm_yday;
    (void)strftime(buffer, FORMAT_SIZE, today ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then_parts);
    return buffer;
}

const char *format_bar(double part, double whole, int columns, bool unicode,
                       char buffer[FORMAT_BAR_SIZE])
{
    assert(columns <= FORMAT_BAR_COLUMNS);
    double share = whole > 0 && part > 0 ? part / whole : 0;
    int full = share >= 1 ? columns : (int)(share * columns);
    char *at = buffer;
    for (int i = 0; i < columns; i++) {
        const char *sign = i < full ? (unicode ? "█" : "#") : (unicode ? "░" : ".");
        size_t size = strlen(sign);
        memcpy(at, sign, size);
        at += size;
    }
    *at = '\0';
    return buffer;
}
