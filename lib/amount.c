/* Amounts as texts. */
#include "lib/amount.h"

#include <assert.h>
#include <stdio.h>

static const struct {
    const char *key, *before, *after;
} amounts[] = {
#define X(symbol, key, before, after) [AMOUNT_##symbol] = {key, before, after},
    AMOUNTS(X)
#undef X
};

const char *amount_key(enum amount amount)
{
    assert(amount < AMOUNT_COUNT);
    return amounts[amount].key;
}

const char *amount_format(enum amount amount, double value, char text[AMOUNT_SIZE])
{
    assert(amount < AMOUNT_COUNT);
    (void)snprintf(text, AMOUNT_SIZE, "%s%.15g%s", amounts[amount].before, value,
                   amounts[amount].after);
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
    char last[AMOUNT_SIZE];
    (void)amount_format(amount, to, last);
    if (from < to)
        (void)snprintf(text, AMOUNT_SHARE_SIZE, "%s%.15g to %s", amounts[amount].before, from,
                       last);
    else
        (void)snprintf(text, AMOUNT_SHARE_SIZE, "%s", last);
    return text;
}
