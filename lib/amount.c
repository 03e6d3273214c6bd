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

/* Dollars have two decimals or no decimals: "$2.50", "$15". Other amounts have all their digits. */
static void amount_digits(enum amount amount, double value, char digits[AMOUNT_DIGITS_SIZE])
{
    bool has_cents = amount == AMOUNT_USD && value != floor(value);
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

const char *amount_format_counted(enum amount amount, double value, char text[AMOUNT_SIZE])
{
    assert(amount < AMOUNT_COUNT);
    (void)snprintf(text, AMOUNT_SIZE, "%s%.2f%s", amounts[amount].before, value,
                   amounts[amount].after);
    return text;
}

const char *amount_format_share(enum amount amount, double counted, double of,
                                char text[AMOUNT_SHARE_SIZE])
{
    char limit[AMOUNT_SIZE];
    assert(amount < AMOUNT_COUNT);
    (void)snprintf(text, AMOUNT_SHARE_SIZE, "%s%.2f of %s", amounts[amount].before, counted,
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
