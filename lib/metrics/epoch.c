/* Reads how far a program is in an epoch, in the forms that the examples of PyTorch print. */
#include "lib/metrics/epoch.h"

#include "lib/metrics/number.h"
#include "lib/metrics/values.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { EPOCH_NUMBER_MAX = 1000000000 }; /* keeps the step far from any limit */

static const char *epoch_pass(const char *at, const char *end, const char *signs)
{
    while (at < end && *at && strchr(signs, *at))
        at++;
    return at;
}

/* Reads a whole number. NULL: there is no number. */
static const char *epoch_number(const char *at, const char *end, double *ret_value)
{
    size_t size = number_read(at, end, NUMBER_PLAIN, ret_value);
    bool is_whole = size && isdigit((unsigned char)*at) && *ret_value == floor(*ret_value) &&
                    *ret_value <= EPOCH_NUMBER_MAX;
    return is_whole ? at + size : NULL;
}

/* Reads "/600" or " / 600" with the spaces behind it. NULL: there is no total. */
static const char *epoch_total(const char *at, const char *end, double *ret_total)
{
    at = epoch_pass(at, end, " ");
    if (at == end || *at != '/')
        return NULL;
    at = epoch_number(epoch_pass(at + 1, end, " "), end, ret_total);
    return at ? epoch_pass(at, end, " ") : NULL;
}

static bool epoch_is_word(struct span word, const char *name)
{
    return word.size == strlen(name) && strncasecmp(word.at, name, word.size) == 0;
}

/* Whether the word means a batch. "Step" beside an epoch may count the whole run; batches are
 * always counted within an epoch. */
static bool epoch_is_batch(struct span word)
{
    return epoch_is_word(word, "batch") || epoch_is_word(word, "batches");
}

static struct span epoch_word(const char *at, const char *end)
{
    struct span word = {.at = at};
    while (at + word.size < end && (isalpha((unsigned char)at[word.size]) || at[word.size] == '_'))
        word.size++;
    return word;
}

const char *epoch_read(struct values *values, const char *at, const char *end)
{
    double epoch, epochs, count, total;
    struct span name = epoch_word(at, end);
    const char *behind = name.at + name.size;
    if (!epoch_is_word(name, "epoch") || values->step_name[0])
        return NULL; /* it is not an epoch, or the spec names the step */
    at = epoch_pass(behind, end, " :=#[");
    at = at > behind ? epoch_number(at, end, &epoch) : NULL;
    if (!at)
        return NULL;
    behind = epoch_total(at, end, &epochs);
    at = epoch_pass(behind ? behind : at, end, " ]),;|:-\t");
    struct span word = epoch_word(at, end);
    if (word.size && !epoch_is_batch(word) && !values_is_step_name(values, &word, 1))
        return NULL;
    at = epoch_pass(at + word.size, end, " :=#");
    bool is_list = at < end && *at == '[';
    at = epoch_number(epoch_pass(at + is_list, end, " "), end, &count);
    at = at ? epoch_total(at, end, &total) : NULL;
    if (!at || count > total)
        return NULL;
    if (!word.size && !is_list) {
        word = epoch_word(at, end);
        at += word.size;
    }
    if (!is_list && !epoch_is_batch(word))
        return NULL;
    values_add(values, &name, 1, -1, epoch);
    values_count_step(values, epoch * total + count);
    return at;
}
