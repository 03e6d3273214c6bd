/* Addresses to and from text. */
#include "lib/address.h"

#include "lib/error.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Reads a whole number from 1 to `max`, and moves `*at` behind it. Leading zeros are refused, so
 * that each object has exactly one address. */
static int address_number(const char **at, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (**at < '1' || **at > '9')
        return -EINVAL;
    for (; isdigit((unsigned char)**at); ++*at) {
        uint64_t digit = (uint64_t)(**at - '0');
        if (number > (max - digit) / 10)
            return -EINVAL;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return 0;
}

static int address_read(const char *at, struct address *address)
{
    if (address_number(&at, INT64_MAX, &address->workflow) < 0)
        return -EINVAL;
    if (*at == '\0')
        return 0;
    if (*at++ != '/')
        return -EINVAL;
    size_t size = text_name_size(at, "_");
    if (size == 0 || size > ADDRESS_NAME_MAX || isdigit((unsigned char)at[0]))
        return -EINVAL;
    if (at[size] == '.') { /* a member of a matrix, by its number */
        const char *end = at + size + 1;
        uint64_t number;
        if (address_number(&end, UINT32_MAX, &number) < 0)
            return -EINVAL;
        size = (size_t)(end - at);
    }
    if (size >= sizeof address->phase)
        return -EINVAL;
    memcpy(address->phase, at, size);
    at += size;
    if (*at == '\0')
        return 0;
    if (*at++ != '#')
        return -EINVAL;
    uint64_t attempt;
    if (address_number(&at, UINT32_MAX, &attempt) < 0 || *at != '\0')
        return -EINVAL;
    address->attempt = (uint32_t)attempt;
    return 0;
}

int address_parse(const char *text, struct address *ret_address, struct error *err)
{
    struct address address = {0};
    if (address_read(text, &address) < 0)
        return error_set(err, -EINVAL,
                         "cannot read the address '%.80s': a workflow is 7, a phase 7/validate, "
                         "a run 7/validate#2",
                         text);
    *ret_address = address;
    return 0;
}

enum address_kind address_kind(const struct address *address)
{
    if (address->attempt)
        return ADDRESS_RUN;
    return address->phase[0] ? ADDRESS_PHASE : ADDRESS_WORKFLOW;
}

const char *address_text(const struct address *address, char buffer[ADDRESS_TEXT_SIZE])
{
    int used = snprintf(buffer, ADDRESS_TEXT_SIZE, "%llu", (unsigned long long)address->workflow);
    if (address->phase[0])
        used += snprintf(buffer + used, ADDRESS_TEXT_SIZE - (size_t)used, "/%s", address->phase);
    if (address->attempt)
        (void)snprintf(buffer + used, ADDRESS_TEXT_SIZE - (size_t)used, "#%u", address->attempt);
    return buffer;
}

const char *address_path(const struct address *address, char buffer[ADDRESS_PATH_SIZE])
{
    int used = snprintf(buffer, ADDRESS_PATH_SIZE, "/v1/workflows/%llu",
                        (unsigned long long)address->workflow);
    if (address->phase[0])
        used +=
            snprintf(buffer + used, ADDRESS_PATH_SIZE - (size_t)used, "/phases/%s", address->phase);
    if (address->attempt)
        (void)snprintf(buffer + used, ADDRESS_PATH_SIZE - (size_t)used, "/runs/%u",
                       address->attempt);
    return buffer;
}
