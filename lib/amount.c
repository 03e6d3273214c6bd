/* Amounts as texts. */
#include "lib/amount.h"

#include "lib/text.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *key, *option, *before, *after;
} amounts[] = {
#define X(symbol, key, option, before, after) [AMOUNT_##symbol] = {key, option, before, after},
    AMOUNTS(X)
#undef X
};

const char *amount_key(enum amount amount)
{
    assert(amount < AMOUNT_COUNT);
    return amounts[amount].key;
}

int amount_parse(const char *key)
{
    for (int amount = 0; amount < AMOUNT_COUNT; amount++)
        if (text_equal(amounts[amount].key, key))
            return amount;
    return -1;
}

const char *amount_option(enum amount amount)
{
    assert(amount < AMOUNT_COUNT);
    return amounts[amount].option;
}

enum { AMOUNT_DIGITS_SIZE = 32 };

/* Dollars have two decimals or no decimals: "$2.50", "$15". Parts of a cent and other amounts have
 * all their digits. */
static void amount_digits(enum amount amount, double value, char digits[AMOUNT_DIGITS_SIZE])
{
    bool is_in_cents = fabs(round(100 * value) - 100 * value) < 1e-6;
    bool has_cents = amount == AMOUNT_USD && value != floor(value) && is_in_cents;
    (void)snprintf(digits, AMOUNT_DIGITS_SIZE, has_cents ? "%.2f" : "%.15g", value);
}

const char *amount_format(enum amount amount, double value, char text[AMOUNT_SIZE])
{
    char digits[AMOUNT_DIGITS_SIZE];
    assert(amount < AMOUNT_COUNT);
    amount_digits(amount, value, digits);
    (void)snprintf(text, AMOUNT_SIZE, "%s%s%s", amounts[amount].before, digits,
                   amounts[amount].after);
    size_t size = strlen(text);
    if (value == 1 && text[size - 1] == 's')
        text[size - 1] = '\0'; /* singular: 1 hour */
    return text;
}

enum { AMOUNT_DECIMALS = 2, AMOUNT_DECIMALS_MAX = 9 /* more tell people nothing */ };

/* printf decides: a product with a power of ten is rounded itself, and may lie on the other side of
 * a half. */
static bool amount_reads_alike(double number, double other, int decimals)
{
    char first[AMOUNT_DIGITS_SIZE], second[AMOUNT_DIGITS_SIZE];
    (void)snprintf(first, sizeof first, "%.*f", decimals, number);
    (void)snprintf(second, sizeof second, "%.*f", decimals, other);
    return text_equal(first, second);
}

int amount_decimals(double number, double other, int least)
{
    bool differ = isless(number, other) || isgreater(number, other);
    int decimals = least;
    while (differ && decimals < AMOUNT_DECIMALS_MAX && amount_reads_alike(number, other, decimals))
        decimals++;
    return decimals;
}

const char *amount_format_counted(enum amount amount, double value, double compared,
                                  char text[AMOUNT_SIZE])
{
    assert(amount < AMOUNT_COUNT);
    (void)snprintf(text, AMOUNT_SIZE, "%s%.*f%s", amounts[amount].before,
                   amount_decimals(value, compared, AMOUNT_DECIMALS), value, amounts[amount].after);
    return text;
}

const char *amount_format_share(enum amount amount, double counted, double of,
                                char text[AMOUNT_SHARE_SIZE])
{
    char limit[AMOUNT_SIZE];
    assert(amount < AMOUNT_COUNT);
    (void)snprintf(text, AMOUNT_SHARE_SIZE, "%s%.*f of %s", amounts[amount].before,
                   amount_decimals(counted, of, AMOUNT_DECIMALS), counted,
                   amount_format(amount, of, limit));
    return text;
}

const char *amount_format_range(enum amount amount, double from, double to,
                                char text[AMOUNT_SHARE_SIZE])
{
    char first[AMOUNT_DIGITS_SIZE], last[AMOUNT_DIGITS_SIZE];
    assert(amount < AMOUNT_COUNT);
    amount_digits(amount, from, first);
    amount_digits(amount, to, last);
    if (from < to)
        (void)snprintf(text, AMOUNT_SHARE_SIZE, "%s%s to %s%s%s", amounts[amount].before, first,
                       amounts[amount].before, last, amounts[amount].after);
    else
        (void)amount_format(amount, to, text);
    return text;
}
