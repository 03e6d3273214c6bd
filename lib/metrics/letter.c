/* Which characters beyond ASCII belong to a name. */
#include "lib/metrics/letter.h"

#include "lib/text.h"

/* In order. Mathematical signs count as letters if they are written before a name: ∇loss. */
static const struct {
    uint32_t first, last;
} letter_ranges[] = {
    {0xaa, 0xaa},     {0xb2, 0xb3},       {0xb5, 0xb5},       {0xb9, 0xba},
    {0xc0, 0xd6},     {0xd8, 0xf6},       {0xf8, 0x1fff},   /* up to Greek with accents */
    {0x2070, 0x209f},                                       /* superscripts and subscripts */
    {0x2100, 0x214f},                                       /* ℓ, Ω */
    {0x2200, 0x2211}, {0x221a, 0x221a},                     /* ∂, ∆, ∇, ∑, √ */
    {0x2c00, 0x2dff}, {0x3005, 0x3007},   {0x3040, 0xd7ff}, /* scripts of East Asia */
    {0xf900, 0xfaff}, {0xff10, 0xff19},   {0xff21, 0xff3a},   {0xff41, 0xff5a},
    {0xff66, 0xffdc}, {0x1d400, 0x1d7ff}, {0x20000, 0x3ffff},
};

size_t letter_decode(const char *at, const char *end, uint32_t *ret_code)
{
    uint32_t code = (unsigned char)*at;
    size_t size = text_letter(at, (size_t)(end - at), &code);
    if (ret_code)
        *ret_code = code;
    return size ? size : 1;
}

size_t letter_read(const char *at, const char *end, uint32_t *ret_code)
{
    if (at == end || (unsigned char)*at < 0x80)
        return 0;
    uint32_t code;
    size_t size = letter_decode(at, end, &code);
    if (ret_code)
        *ret_code = code;
    for (size_t i = 0; i < sizeof letter_ranges / sizeof *letter_ranges; i++)
        if (code <= letter_ranges[i].last)
            return code >= letter_ranges[i].first ? size : 0;
    return 0;
}
