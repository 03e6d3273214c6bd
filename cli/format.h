/* Numbers for people: each writes into the caller's buffer and returns it. */
#ifndef PHASED_CLI_FORMAT_H
#define PHASED_CLI_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

enum { FORMAT_SIZE = 32 };

/* The two largest units: `0.4s`, `12s`, `1m04s`, `1h30m`, `2d03h`; negative or NaN: `-`. */
const char *format_duration(double seconds, char buffer[FORMAT_SIZE]);

/* Four significant digits: `5.148`, `58679`, `0.0012`, `1.2e-07`, `nan`. */
const char *format_number(double number, char buffer[FORMAT_SIZE]);

/* A whole number with commas: `8,400`. */
const char *format_count(double number, char buffer[FORMAT_SIZE]);

/* A size in the largest unit: `812 bytes`, `2.4 MiB`. */
const char *format_bytes(uint64_t bytes, char buffer[FORMAT_SIZE]);

/* US dollars: `$3.20`, `<$0.01`; NaN: `-`. */
const char *format_cost(double dollars, char buffer[FORMAT_SIZE]);

/* The local time: `14:02:11`; with the date if the day is not that of `now`. */
const char *format_time(double seconds, time_t now, char buffer[FORMAT_SIZE]);

enum { FORMAT_BAR_COLUMNS = 20, FORMAT_BAR_SIZE = FORMAT_BAR_COLUMNS * 3 + 1 };

/* A bar of at most FORMAT_BAR_COLUMNS for `part` of `whole`. */
const char *format_bar(double part, double whole, int columns, bool unicode,
                       char buffer[FORMAT_BAR_SIZE]);

#endif
