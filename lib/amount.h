/* The amounts that a workflow may cost, or is expected to cost: dollars, GPU hours and hours of
 * allocations. Each has a key of the spec. */
#ifndef PHASED_LIB_AMOUNT_H
#define PHASED_LIB_AMOUNT_H

#include <stddef.h>

#define AMOUNTS(X)                                                                                 \
    X(USD, "usd", "--usd", "$", "")                                                                \
    X(GPU_HOURS, "gpu_hours", "--gpu-hours", "", " GPU hours")                                     \
    X(HOURS, "hours", "--hours", "", " hours")

enum amount {
#define X(symbol, key, option, before, after) AMOUNT_##symbol,
    AMOUNTS(X)
#undef X
        AMOUNT_COUNT
};

enum { AMOUNT_SIZE = 48, AMOUNT_SHARE_SIZE = 100 };

const char *amount_key(enum amount amount);
int amount_parse(const char *key); /* -1: no amount has this key */
/* The option of `phasectl budget` for the amount. */
const char *amount_option(enum amount amount);

/* As a person would write the amount, with all given digits: "$1200000", "2.5 GPU hours", "1
 * hour". */
const char *amount_format(enum amount amount, double value, char text[AMOUNT_SIZE]);

/* The fewest decimals, at least `least`, with which two numbers read differently: 3 for 7
 * and 6.999. Equal numbers need no more than `least`. */
int amount_decimals(double number, double other, int least);

/* A counted amount, with two decimals: "$7.02", "3.10 GPU hours". With more decimals if it would
 * look equal to `compared`, which stands beside it. NaN: nothing is compared. */
const char *amount_format_counted(enum amount amount, double value, double compared,
                                  char text[AMOUNT_SIZE]);

/* "$245 to $490", "5 hours" */
const char *amount_format_range(enum amount amount, double from, double to,
                                char text[AMOUNT_SHARE_SIZE]);

/* "$7.02 of $7", "3.10 of 48 GPU hours", "0.0021 of 0.002 GPU hours" */
const char *amount_format_share(enum amount amount, double counted, double of,
                                char text[AMOUNT_SHARE_SIZE]);

#endif
