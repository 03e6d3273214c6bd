/* From an expression's text to Lua's, in one pass over the characters that knows whether a value or
 * an operator must come next, and a second over the tokens that writes.
 *
 * The grammar needs no more than that: values and operators alternate, parentheses nest, and who
 * binds closer is left to Lua, which reads the same tokens in the same order. Only comparisons need
 * their two sides known, because both are wrapped (scan.h). A side ends at the nearest `and`, `or`,
 * comma or parenthesis of the same level, and a level has one comparison between two of these,
 * since a chain of them never means what its writer thinks. */
#include "lib/expr/scan.h"

#include "lib/error.h"
#include "lib/expr/function.h"
#include "lib/memory.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lua nests at most 200 levels of its own, of which one of ours needs two. */
enum { SCAN_DEPTH_MAX = 60 };

/* What is handed over to Lua; all else is refused where it stands. */
enum scan_kind {
    SCAN_NUMBER,
    SCAN_STRING,
    SCAN_CONSTANT, /* true, false */
    SCAN_NAME,
    SCAN_CALL, /* a function and its opening parenthesis */
    SCAN_OPEN,
    SCAN_CLOSE,
    SCAN_COMMA,
    SCAN_UNARY,
    SCAN_BINARY,
    SCAN_COMPARE,
    SCAN_LOGIC, /* and, or */
    SCAN_END,
};

struct scan_token {
    enum scan_kind kind;
    unsigned start, size;                              /* in the expression's text */
    size_t index;                                      /* of the name, call or comparison */
    enum { SCAN_NO_SIDE, SCAN_LEFT, SCAN_RIGHT } side; /* a comparison's side begins here */
    size_t side_of;                                    /* that comparison */
    bool side_ends;
};

/* What is between two parentheses, or the whole. */
struct scan_level {
    const struct function *function; /* NULL where the parenthesis only groups */
    size_t arguments;
    size_t side_begin; /* the token at which the present side of a comparison begins */
    size_t comparison; /* the token that compares, or 0: none, since no expression begins with it */
    unsigned start;
    unsigned unary_run; /* so many unary operators in a row */
};

struct scanner {
    const char *text;
    unsigned at;
    struct scan *scan;
    struct scan_token *tokens;
    size_t token_count;
    struct scan_level levels[SCAN_DEPTH_MAX + 1];
    size_t depth;
    struct error *err;
};

static const char *const comparison_names[] = {"==", "~=", "<", "<=", ">", ">="};

/* Every symbol that may be met, longest first where one begins another. Those with a refusal are
 * Lua's or another language's: whoever writes one is told the way it is written here. */
static const struct {
    const char *symbol;
    enum scan_kind kind;
    const char *refusal; /* what to write instead */
} symbols[] = {
    {"==", SCAN_COMPARE, NULL},
    {"~=", SCAN_COMPARE, NULL},
    {"<=", SCAN_COMPARE, NULL},
    {">=", SCAN_COMPARE, NULL},
    {"!=", SCAN_END, "unequal is written ~="},
    {"&&", SCAN_END, "write and"},
    {"||", SCAN_END, "write or"},
    {"**", SCAN_END, "a power is written ^"},
    {"<<", SCAN_END, "there are no bits here"},
    {">>", SCAN_END, "there are no bits here"},
    {"--", SCAN_END, "that begins a comment in Lua; put a space or a parenthesis between"},
    {"..", SCAN_END, "text is put together outside of expressions, with $name"},
    {"//", SCAN_BINARY, NULL},
    {"!", SCAN_END, "write not"},
    {"=", SCAN_END, "equality is written =="},
    {"<", SCAN_COMPARE, NULL},
    {">", SCAN_COMPARE, NULL},
    {"(", SCAN_OPEN, NULL},
    {")", SCAN_CLOSE, NULL},
    {",", SCAN_COMMA, NULL},
    {"+", SCAN_BINARY, NULL},
    {"-", SCAN_BINARY, NULL},
    {"*", SCAN_BINARY, NULL},
    {"/", SCAN_BINARY, NULL},
    {"%", SCAN_BINARY, NULL},
    {"^", SCAN_BINARY, NULL},
    {"$", SCAN_END, "in an expression names stand bare, without $"},
    {"[", SCAN_END, "there are no tables here"},
    {"{", SCAN_END, "there are no tables here"},
    {":", SCAN_END, "there are no methods here"},
    {";", SCAN_END, "an expression is one value, not statements"},
};

/* Lua's other words. As names they could never be told from what they mean in Lua. */
static const char *const foreign_words[] = {
    "break", "do",    "else", "elseif", "end",    "for",  "function", "goto",  "if",
    "in",    "local", "nil",  "repeat", "return", "then", "until",    "while",
};

const char *scan_comparison_name(enum scan_comparison comparison)
{
    return comparison_names[comparison];
}

static void *scan_grow(void *items, size_t count, size_t size)
{
    if (count & (count - 1)) /* grown at powers of two */
        return items;
    return xreallocarray(items, count ? 2 * count : 1, size);
}

__attribute__((format(printf, 3, 4))) static int scan_refuse(const struct scanner *scanner,
                                                             unsigned at, const char *format, ...)
{
    struct text message = {0};
    va_list args;
    va_start(args, format);
    text_addv(&message, format, args);
    va_end(args);
    int code = error_set_at(scanner->err, -EINVAL, "", 1, at + 1, "%s", text_string(&message));
    text_fini(&message);
    return code;
}

static void scan_add_token(struct scanner *scanner, enum scan_kind kind, unsigned start,
                           unsigned size)
{
    scanner->tokens = scan_grow(scanner->tokens, scanner->token_count, sizeof *scanner->tokens);
    struct scan_token *token = &scanner->tokens[scanner->token_count++];
    *token = (struct scan_token){.kind = kind, .start = start, .size = size};
    /* The comparison before it is the newest one: nothing came between. */
    if (scanner->token_count > 1 && token[-1].kind == SCAN_COMPARE) {
        token->side = SCAN_RIGHT;
        token->side_of = scanner->scan->comparison_count - 1;
    }
}

/* Ends the side of a comparison, if there is one, before the token that comes next. */
static void scan_end_side(struct scanner *scanner)
{
    struct scan_level *level = &scanner->levels[scanner->depth];
    if (level->comparison)
        scanner->tokens[scanner->token_count - 1].side_ends = true;
    level->comparison = 0;
}

static void scan_begin_side(struct scanner *scanner)
{
    scanner->levels[scanner->depth].side_begin = scanner->token_count;
}

/* Enters a parenthesis; `function` is called by it, unless it is NULL. */
static int scan_open(struct scanner *scanner, const struct function *function, unsigned start)
{
    if (scanner->depth == SCAN_DEPTH_MAX)
        return scan_refuse(scanner, start, "more than %d parentheses deep", SCAN_DEPTH_MAX);
    scanner->levels[++scanner->depth] =
        (struct scan_level){.function = function, .arguments = 1, .start = start};
    scan_begin_side(scanner);
    return 0;
}

/* Leaves a parenthesis; what is wrong with a call's arguments is known only now. */
static int scan_close(struct scanner *scanner, unsigned start)
{
    if (scanner->depth == 0)
        return scan_refuse(scanner, start, "')' without a '(' before it");
    scan_end_side(scanner);
    const struct scan_level *level = &scanner->levels[scanner->depth--];
    scan_add_token(scanner, SCAN_CLOSE, start, 1);
    const struct function *function = level->function;
    if (!function)
        return 0;
    if (level->arguments < function->arguments_min || level->arguments > function->arguments_max)
        return scan_refuse(scanner, level->start, "%s takes %zu argument%s, not %zu",
                           function->name, function->arguments_max,
                           function->arguments_max == 1 ? "" : "s at most", level->arguments);
    return 0;
}

/* A comparison: what stands before it on this level is its left side. In Lua `not a > b` compares
 * the truth value `not a`, which nobody means. */
static int scan_compare(struct scanner *scanner, unsigned start, unsigned size)
{
    struct scan_level *level = &scanner->levels[scanner->depth];
    if (level->comparison)
        return scan_refuse(scanner, start,
                           "a second comparison: write a < b and b < c instead of a < b < c");
    struct scan *scan = scanner->scan;
    size_t which = 0;
    while (strlen(comparison_names[which]) != size ||
           strncmp(comparison_names[which], scanner->text + start, size) != 0)
        which++;
    if (scanner->tokens[level->side_begin].kind == SCAN_UNARY &&
        scanner->text[scanner->tokens[level->side_begin].start] == 'n')
        return scan_refuse(scanner, scanner->tokens[level->side_begin].start,
                           "not binds closer than %s: write not (a %s b)", comparison_names[which],
                           comparison_names[which]);
    size_t index = scan->comparison_count;
    scanner->tokens[level->side_begin].side = SCAN_LEFT;
    scanner->tokens[level->side_begin].side_of = index;
    scanner->tokens[scanner->token_count - 1].side_ends = true;
    level->comparison = scanner->token_count;
    scan->comparisons = scan_grow(scan->comparisons, index, sizeof *scan->comparisons);
    scan->comparisons[index] = (enum scan_comparison)which;
    scan->comparison_count++;
    scan_add_token(scanner, SCAN_COMPARE, start, size);
    return 0;
}

/* Takes in all that Lua would take for one number, so that `1.2.3` is refused as a whole. */
static int scan_number(struct scanner *scanner)
{
    unsigned start = scanner->at;
    const char *text = scanner->text;
    bool is_hex = text[start] == '0' && (text[start + 1] | 32) == 'x';
    char exponent = is_hex ? 'p' : 'e';
    for (; isalnum((unsigned char)text[scanner->at]) || text[scanner->at] == '.'; scanner->at++) {
        char sign = text[scanner->at + 1];
        if ((text[scanner->at] | 32) == exponent && (sign == '+' || sign == '-'))
            scanner->at++;
    }
    char *end;
    double number = strtod(text + start, &end);
    if (end != text + scanner->at)
        return scan_refuse(scanner, start, "'%.*s' is no number", (int)(scanner->at - start),
                           text + start);
    if (!isfinite(number))
        return scan_refuse(scanner, start, "the number is too large");
    scan_add_token(scanner, SCAN_NUMBER, start, scanner->at - start);
    return 0;
}

/* Text goes to Lua as it stands, so nothing may stand in it that Lua would interpret. */
static int scan_string(struct scanner *scanner)
{
    unsigned start = scanner->at;
    const char *text = scanner->text;
    do {
        scanner->at++;
        unsigned char c = (unsigned char)text[scanner->at];
        if (c == '\0')
            return scan_refuse(scanner, start, "the text is not closed by %c", text[start]);
        if (c == '\\' || c < ' ')
            return scan_refuse(scanner, scanner->at, "text cannot hold escapes or control bytes");
    } while (text[scanner->at] != text[start]);
    scanner->at++;
    scan_add_token(scanner, SCAN_STRING, start, scanner->at - start);
    return 0;
}

static unsigned scan_identifier_size(const char *text)
{
    unsigned size = 0;
    while (isalnum((unsigned char)text[size]) || text[size] == '_')
        size++;
    return size;
}

/* The name's index, a new one where it did not come before. */
static size_t scan_name_index(struct scan *scan, const struct expr_name *name)
{
    for (size_t i = 0; i < scan->name_count; i++)
        if (text_equal(scan->names[i].phase, name->phase) &&
            text_equal(scan->names[i].name, name->name))
            return i;
    scan->names = scan_grow(scan->names, scan->name_count, sizeof *scan->names);
    scan->names[scan->name_count] = *name;
    return scan->name_count++;
}

static int scan_call(struct scanner *scanner, const char *name, unsigned start, unsigned open)
{
    struct scan *scan = scanner->scan;
    struct scan_call call;
    call.function = function_find(name, &call.percentile);
    if (!call.function) {
        const char *nearest = function_suggest(name);
        return scan_refuse(scanner, start, "there is no function %s%s%s%s", name,
                           nearest ? " (did you mean " : "", nearest ? nearest : "",
                           nearest ? "?)" : "");
    }
    scan->calls = scan_grow(scan->calls, scan->call_count, sizeof *scan->calls);
    scan->calls[scan->call_count] = call;
    scan_add_token(scanner, SCAN_CALL, start, open + 1 - start);
    scanner->tokens[scanner->token_count - 1].index = scan->call_count++;
    scanner->at = open + 1;
    return scan_open(scanner, call.function, start);
}

/* Reads `word`, whose size is known, as what may stand in a value's place. */
static int scan_operand_word(struct scanner *scanner, const char *word, unsigned start)
{
    const char *text = scanner->text;
    bool is_constant = text_equal(word, "true") || text_equal(word, "false");
    if (is_constant || text_equal(word, "not")) {
        scan_add_token(scanner, is_constant ? SCAN_CONSTANT : SCAN_UNARY, start,
                       scanner->at - start);
        return 0;
    }
    if (text_equal(word, "and") || text_equal(word, "or"))
        return scan_refuse(scanner, start, "a value is missing before '%s'", word);
    unsigned open = scanner->at + (unsigned)strspn(text + scanner->at, " \t\r\n");
    if (text[open] == '(')
        return scan_call(scanner, word, start, open);
    struct expr_name name = {.column = start + 1};
    (void)snprintf(name.name, sizeof name.name, "%s", word); /* was measured */
    if (text[scanner->at] == '.' && text[scanner->at + 1] != '.') {
        unsigned size = scan_identifier_size(text + scanner->at + 1);
        if (size == 0 || size > EXPR_NAME_MAX || isdigit((unsigned char)text[scanner->at + 1]))
            return scan_refuse(scanner, scanner->at, "after '%s.' a name must come", word);
        (void)snprintf(name.phase, sizeof name.phase, "%s", word); /* was measured */
        (void)snprintf(name.name, sizeof name.name, "%.*s", (int)size, text + scanner->at + 1);
        scanner->at += 1 + size;
        if (text[scanner->at] == '.' || text[scanner->at] == '(')
            return scan_refuse(scanner, scanner->at, "only phase.name can be written");
    }
    scan_add_token(scanner, SCAN_NAME, start, scanner->at - start);
    scanner->tokens[scanner->token_count - 1].index = scan_name_index(scanner->scan, &name);
    return 0;
}

/* A name, a call, or one of the words that are operators. */
static int scan_word(struct scanner *scanner, bool has_value)
{
    unsigned start = scanner->at, size = scan_identifier_size(scanner->text + start);
    char word[EXPR_NAME_MAX + 1];
    if (size > EXPR_NAME_MAX)
        return scan_refuse(scanner, start, "a name of more than %d bytes", EXPR_NAME_MAX);
    memcpy(word, scanner->text + start, size);
    word[size] = '\0';
    scanner->at += size;
    if (text_starts(word, "__"))
        return scan_refuse(scanner, start, "names cannot begin with two underscores");
    for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++)
        if (text_equal(word, foreign_words[i]))
            return scan_refuse(scanner, start, "'%s' is a word of Lua without meaning here", word);
    if (!has_value)
        return scan_operand_word(scanner, word, start);
    if (!text_equal(word, "and") && !text_equal(word, "or"))
        return scan_refuse(scanner, start, "an operator is missing before '%s'", word);
    scan_end_side(scanner);
    scan_add_token(scanner, SCAN_LOGIC, start, size);
    scan_begin_side(scanner);
    return 0;
}

/* Shows the whole character where it is one, since half of a UTF-8 sequence cannot be shown. */
static int scan_unknown(struct scanner *scanner)
{
    const char *at = scanner->text + scanner->at;
    unsigned char c = (unsigned char)*at;
    if (c < ' ' || c == 127)
        return scan_refuse(scanner, scanner->at, "unexpected byte 0x%02x", c);
    int size = 1;
    while (size < 4 && c >= 0xc0 && ((unsigned char)at[size] & 0xc0) == 0x80)
        size++;
    if (c >= 0x80 && size == 1)
        return scan_refuse(scanner, scanner->at, "unexpected byte 0x%02x", c);
    return scan_refuse(scanner, scanner->at, "unexpected '%.*s'", size, at);
}

static int scan_comma(struct scanner *scanner, unsigned start)
{
    struct scan_level *level = &scanner->levels[scanner->depth];
    if (!level->function)
        return scan_refuse(scanner, start, "a comma outside of a function's arguments");
    scan_end_side(scanner);
    scan_add_token(scanner, SCAN_COMMA, start, 1);
    scan_begin_side(scanner);
    level->arguments++;
    return 0;
}

static int scan_symbol(struct scanner *scanner, bool has_value)
{
    unsigned start = scanner->at;
    const char *at = scanner->text + start;
    size_t i = 0, count = sizeof symbols / sizeof *symbols;
    while (i < count && !text_starts(at, symbols[i].symbol))
        i++;
    if (i == count)
        return scan_unknown(scanner);
    const char *symbol = symbols[i].symbol;
    enum scan_kind kind = symbols[i].kind;
    if (symbols[i].refusal)
        return scan_refuse(scanner, start, "unexpected '%s': %s", symbol, symbols[i].refusal);
    scanner->at += (unsigned)strlen(symbol);
    if (!has_value && text_equal(symbol, "-"))
        kind = SCAN_UNARY;
    else if (!has_value && kind != SCAN_OPEN)
        return scan_refuse(scanner, start, "a value is missing before '%s'", symbol);
    else if (has_value && kind == SCAN_OPEN)
        return scan_refuse(scanner, start, "an operator is missing before '('");
    switch (kind) {
    case SCAN_OPEN:
        scan_add_token(scanner, kind, start, 1);
        return scan_open(scanner, NULL, start);
    case SCAN_CLOSE:
        return scan_close(scanner, start);
    case SCAN_COMMA:
        return scan_comma(scanner, start);
    case SCAN_COMPARE:
        return scan_compare(scanner, start, scanner->at - start);
    default:
        scan_add_token(scanner, kind, start, scanner->at - start);
        return 0;
    }
}

/* Whether an operator must come next rather than a value. */
static bool scan_has_value(const struct scanner *scanner)
{
    if (!scanner->token_count)
        return false;
    switch (scanner->tokens[scanner->token_count - 1].kind) {
    case SCAN_NUMBER:
    case SCAN_STRING:
    case SCAN_CONSTANT:
    case SCAN_NAME:
    case SCAN_CLOSE:
        return true;
    default:
        return false;
    }
}

/* Refuses what is open or missing at the end. */
static int scan_finish(struct scanner *scanner)
{
    if (!scan_has_value(scanner))
        return scan_refuse(scanner, scanner->at,
                           scanner->token_count ? "a value is missing at the end"
                                                : "the expression is empty");
    if (scanner->depth)
        return scan_refuse(scanner, scanner->levels[scanner->depth].start,
                           "the parenthesis is not closed");
    scan_end_side(scanner);
    return 0;
}

static int scan_tokens(struct scanner *scanner)
{
    const char *text = scanner->text;
    for (;;) {
        scanner->at += (unsigned)strspn(text + scanner->at, " \t\r\n");
        unsigned char c = (unsigned char)text[scanner->at];
        bool is_number = isdigit(c) || (c == '.' && isdigit((unsigned char)text[scanner->at + 1]));
        bool has_value = scan_has_value(scanner);
        int result = 0;
        if (!c)
            return scan_finish(scanner);
        if (has_value && (is_number || c == '"' || c == '\''))
            result = scan_refuse(scanner, scanner->at, "an operator is missing before '%c'", c);
        else if (is_number)
            result = scan_number(scanner);
        else if (c == '"' || c == '\'')
            result = scan_string(scanner);
        else if (isalpha(c) || c == '_')
            result = scan_word(scanner, has_value);
        else
            result = scan_symbol(scanner, has_value);
        if (result < 0)
            return result;
    }
}

static void scan_write_token(struct scanner *scanner, const struct scan_token *token)
{
    struct text *lua = &scanner->scan->lua;
    const char *text = scanner->text + token->start;
    if (token->side == SCAN_LEFT)
        text_addf(lua, " __left(%zu,", token->side_of);
    else if (token->side == SCAN_RIGHT)
        text_addf(lua, " __right(%zu,", token->side_of);
    /* "16" would be an integer in Lua, and integers wrap: "16.0". All 17 digits, so that the number
     * is the one that was written. */
    if (token->kind == SCAN_NUMBER) {
        char number[32];
        (void)snprintf(number, sizeof number, "%.17g", strtod(text, NULL)); /* long enough */
        text_addf(lua, " %s%s", number, strpbrk(number, ".e") ? "" : ".0");
    } else if (token->kind == SCAN_NAME) {
        text_addf(lua, " __name(%zu)", token->index);
    } else if (token->kind == SCAN_CALL) {
        text_addf(lua, " __call_%zu(", token->index);
    } else {
        text_add(lua, " ");
        text_add_bytes(lua, text, token->size);
    }
    if (token->side_ends)
        text_add(lua, ")");
}

int scan_text(const char *text, struct scan *ret_scan, struct error *err)
{
    struct scan scan = {0};
    struct scanner scanner = {.text = text, .scan = &scan, .err = err};
    int result = 0;
    if (strnlen(text, EXPR_SIZE_MAX + 1) > EXPR_SIZE_MAX) {
        result = scan_refuse(&scanner, 0, "an expression of more than %d bytes", EXPR_SIZE_MAX);
        goto out;
    }
    result = scan_tokens(&scanner);
    if (result < 0)
        goto out;
    text_add(&scan.lua, "return");
    for (size_t i = 0; i < scanner.token_count; i++)
        scan_write_token(&scanner, &scanner.tokens[i]);
    *ret_scan = scan;
    scan = (struct scan){0};
out:
    free(scanner.tokens);
    scan_fini(&scan);
    return result;
}

void scan_fini(struct scan *scan)
{
    text_fini(&scan->lua);
    free(scan->names);
    free(scan->calls);
    free(scan->comparisons);
    *scan = (struct scan){0};
}
