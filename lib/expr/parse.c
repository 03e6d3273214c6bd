/* The parser: by recursive descent, directly from the characters.
 *
 *   or      and { "or" and }                        unary   ( "not" | "-" ) unary | power
 *   and     comparison { "and" comparison }         power   operand [ "^" unary ]
 *   comparison   sum [ "<" sum ]                    operand number | text | true | false | name
 *   sum     product { "+" product }                         | function "(" or { "," or } ")"
 *   product unary { "*" unary }                             | "(" or ")"
 *
 * Values and operators alternate. So the parser always knows which of the two must come next, and a
 * message points at the place of the mistake. The parser always reads the symbol after an operand
 * ahead, into `next`. */
#include "lib/expr/parse.h"

#include "lib/error.h"
#include "lib/expr/function.h"
#include "lib/memory.h"
#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both limits bound the recursion. */
enum {
    PARSE_PARENTHESES_MAX = 60,
    PARSE_NESTED_MAX = 200, /* counts also operators that wait for an operand: 2^2^2, - - 2 */
};

/* How closely an operator binds its operands; the loosest comes first. */
enum binding {
    BINDS_NOTHING, /* ends an operand: a comma, a parenthesis, the end */
    BINDS_OR,
    BINDS_AND,
    BINDS_COMPARISON,
    BINDS_SUM,
    BINDS_PRODUCT,
    BINDS_POWER,
};

struct symbol {
    const char *text;
    enum binding binding;
    int meaning;         /* enum operation or enum comparison */
    const char *refusal; /* what to write instead; NULL: the symbol is part of the language */
};

/* Every symbol that may occur. If one symbol begins another, the longer comes first. Symbols with a
 * refusal come from other languages, and the message says how to write the same here. */
static const struct symbol symbols[] = {
    {"==", BINDS_COMPARISON, COMPARISON_EQUAL, NULL},
    {"~=", BINDS_COMPARISON, COMPARISON_UNEQUAL, NULL},
    {"<=", BINDS_COMPARISON, COMPARISON_LESS_EQUAL, NULL},
    {">=", BINDS_COMPARISON, COMPARISON_GREATER_EQUAL, NULL},
    {"!=", BINDS_NOTHING, 0, "unequal is written ~="},
    {"&&", BINDS_NOTHING, 0, "write and"},
    {"||", BINDS_NOTHING, 0, "write or"},
    {"**", BINDS_NOTHING, 0, "a power is written ^"},
    {"<<", BINDS_NOTHING, 0, "there are no operations on bits"},
    {">>", BINDS_NOTHING, 0, "there are no operations on bits"},
    {"--", BINDS_NOTHING, 0, "there are no comments here; put a space between two minus signs"},
    {"..", BINDS_NOTHING, 0, "text is put together outside of expressions, with $name"},
    {"//", BINDS_PRODUCT, OPERATION_FLOOR_DIVIDE, NULL},
    {"!", BINDS_NOTHING, 0, "write not"},
    {"=", BINDS_NOTHING, 0, "equality is written =="},
    {"<", BINDS_COMPARISON, COMPARISON_LESS, NULL},
    {">", BINDS_COMPARISON, COMPARISON_GREATER, NULL},
    {"(", BINDS_NOTHING, 0, NULL},
    {")", BINDS_NOTHING, 0, NULL},
    {",", BINDS_NOTHING, 0, NULL},
    {"+", BINDS_SUM, OPERATION_ADD, NULL},
    {"-", BINDS_SUM, OPERATION_SUBTRACT, NULL},
    {"*", BINDS_PRODUCT, OPERATION_MULTIPLY, NULL},
    {"/", BINDS_PRODUCT, OPERATION_DIVIDE, NULL},
    {"%", BINDS_PRODUCT, OPERATION_MODULO, NULL},
    {"^", BINDS_POWER, OPERATION_POWER, NULL},
    {"$", BINDS_NOTHING, 0, "write names without $ in an expression"},
    {"[", BINDS_NOTHING, 0,
     "there are no lists here; in a check, write last(loss) or give the check a window: "
     "over: 50 steps"},
    {"{", BINDS_NOTHING, 0, "an expression is a number, true or false"},
    {":", BINDS_NOTHING, 0, "keys such as over: 50 steps stand beside the expression"},
    {";", BINDS_NOTHING, 0, "an expression is one value, not statements"},
};
static const struct symbol symbol_and = {"and", BINDS_AND, 0, NULL};
static const struct symbol symbol_or = {"or", BINDS_OR, 0, NULL};
static const struct symbol symbol_end = {"", BINDS_NOTHING, 0, NULL};

/* Words of other languages, which are reserved so that they may get a meaning one day. */
static const char *const reserved_words[] = {
    "break", "do",    "else", "elseif", "end",    "for",  "function", "goto",  "if",
    "in",    "local", "nil",  "repeat", "return", "then", "until",    "while",
};

struct parser {
    const char *text;
    unsigned at;
    const struct symbol *next; /* the symbol after the last operand; `at` is behind it */
    unsigned next_start;
    unsigned parentheses, nested; /* how deep the parser is */
    bool is_choice;               /* the last operand is an `and` or `or` */
    struct tree tree;
    struct error *err;
};

__attribute__((format(printf, 3, 4))) static int parse_refuse(const struct parser *parser,
                                                              unsigned at, const char *format, ...)
{
    struct text message = {0};
    va_list args;
    va_start(args, format);
    text_addv(&message, format, args);
    va_end(args);
    int status = error_set_at(parser->err, -EINVAL, "", 1, at + 1, "%s", text_string(&message));
    text_fini(&message);
    return status;
}

/* Adds a node. There is room, because every node needs at least one character. */
static struct expr_node *parse_add(struct parser *parser, enum expr_node_kind kind, size_t operands)
{
    struct expr_node *node = &parser->tree.nodes[parser->tree.node_count++];
    node->kind = kind;
    node->operands = operands;
    parser->is_choice = false;
    return node;
}

/* Goes to the next character that is not a space, and returns it. */
static unsigned char parse_skip(struct parser *parser)
{
    parser->at += (unsigned)strspn(parser->text + parser->at, " \t\r\n");
    return (unsigned char)parser->text[parser->at];
}

static bool begins_number(const char *at)
{
    return isdigit((unsigned char)at[*at == '.']);
}

static bool begins_word(unsigned char c)
{
    return isalpha(c) || c == '_';
}

static unsigned word_size(const char *text)
{
    return (unsigned)text_name_size(text, "_");
}

/* Shows the whole character if it is one: half of a UTF-8 sequence cannot be shown. */
static int parse_unknown(const struct parser *parser)
{
    const char *at = parser->text + parser->at;
    unsigned char c = (unsigned char)*at;
    uint32_t letter;
    size_t size = text_letter(at, strnlen(at, 4), &letter);
    if (c < ' ' || c == 127 || size == 0)
        return parse_refuse(parser, parser->at, "unexpected byte 0x%02x", c);
    return parse_refuse(parser, parser->at, "unexpected '%.*s'", (int)size, at);
}

static int parse_symbol(struct parser *parser, const struct symbol **ret_symbol)
{
    size_t i = 0, count = sizeof symbols / sizeof *symbols;
    while (i < count && !text_starts(parser->text + parser->at, symbols[i].text))
        i++;
    if (i == count)
        return parse_unknown(parser);
    if (symbols[i].refusal)
        return parse_refuse(parser, parser->at, "unexpected '%s': %s", symbols[i].text,
                            symbols[i].refusal);
    parser->at += (unsigned)strlen(symbols[i].text);
    *ret_symbol = &symbols[i];
    return 0;
}

static int parse_word(struct parser *parser, char word[EXPR_NAME_MAX + 1])
{
    unsigned start = parser->at, size = word_size(parser->text + start);
    if (size > EXPR_NAME_MAX)
        return parse_refuse(parser, start, "a name of more than %d bytes", EXPR_NAME_MAX);
    memcpy(word, parser->text + start, size);
    word[size] = '\0';
    parser->at += size;
    if (text_starts(word, "__"))
        return parse_refuse(parser, start, "names cannot begin with two underscores");
    for (size_t i = 0; i < sizeof reserved_words / sizeof *reserved_words; i++)
        if (text_equal(word, reserved_words[i]))
            return parse_refuse(parser, start, "'%s' is a reserved word", word);
    return 0;
}

/* Reads the symbol after an operand. */
static int parse_next(struct parser *parser)
{
    char word[EXPR_NAME_MAX + 1];
    unsigned char c = parse_skip(parser);
    unsigned start = parser->at;
    int status = 0;
    parser->next_start = start;
    parser->next = &symbol_end;
    if (!c)
        return 0;
    if (begins_number(parser->text + start) || c == '"' || c == '\'')
        return parse_refuse(parser, start, "an operator is missing before '%c'", c);
    if (!begins_word(c)) {
        status = parse_symbol(parser, &parser->next);
        if (status == 0 && text_equal(parser->next->text, "("))
            status = parse_refuse(parser, start, "an operator is missing before '('");
        return status;
    }
    status = parse_word(parser, word);
    if (status < 0)
        return status;
    if (!text_equal(word, "and") && !text_equal(word, "or"))
        return parse_refuse(parser, start, "an operator is missing before '%s'", word);
    parser->next = text_equal(word, "and") ? &symbol_and : &symbol_or;
    return 0;
}

/* Reads everything that looks like one number, so that `1.2.3` is refused as a whole. */
static int parse_number(struct parser *parser)
{
    unsigned start = parser->at;
    const char *text = parser->text;
    bool is_hex = text[start] == '0' && (text[start + 1] | 32) == 'x';
    char exponent = is_hex ? 'p' : 'e';
    for (; isalnum((unsigned char)text[parser->at]) || text[parser->at] == '.'; parser->at++) {
        char sign = text[parser->at + 1];
        if ((text[parser->at] | 32) == exponent && (sign == '+' || sign == '-'))
            parser->at++;
    }
    char *end;
    double number = strtod(text + start, &end);
    if (end != text + parser->at)
        return parse_refuse(parser, start, "'%.*s' is not a number", (int)(parser->at - start),
                            text + start);
    if (!isfinite(number))
        return parse_refuse(parser, start, "the number is too large");
    parse_add(parser, EXPR_NODE_VALUE, 0)->value = value_of_number(number);
    return parse_next(parser);
}

static int parse_string(struct parser *parser)
{
    unsigned start = parser->at;
    const char *text = parser->text;
    do {
        unsigned char c = (unsigned char)text[++parser->at];
        if (c == '\0')
            return parse_refuse(parser, start, "the text is not closed by %c", text[start]);
        if (c == '\\' || c < ' ')
            return parse_refuse(parser, parser->at, "text cannot hold escapes or control bytes");
    } while (text[parser->at] != text[start]);
    parse_add(parser, EXPR_NODE_VALUE, 0)->value =
        (struct value){.type = VALUE_TEXT, .text = {text + start + 1, parser->at++ - start - 1}};
    return parse_next(parser);
}

/* Returns the index of the name, and adds the name if it is new. */
static size_t parse_name_index(struct tree *tree, const struct expr_name *name)
{
    for (size_t i = 0; i < tree->name_count; i++)
        if (text_equal(tree->names[i].phase, name->phase) &&
            text_equal(tree->names[i].name, name->name))
            return i;
    tree->names = xreallocarray(tree->names, tree->name_count + 1, sizeof *tree->names);
    tree->names[tree->name_count] = *name;
    return tree->name_count++;
}

/* Reads the rest of a name after its first word, which began at `start`. */
static int parse_name(struct parser *parser, const char *word, unsigned start)
{
    const char *behind = parser->text + parser->at;
    struct expr_name name = {.column = start + 1};
    (void)snprintf(name.name, sizeof name.name, "%s", word); /* the size was checked */
    if (behind[0] == '.' && behind[1] != '.') {
        unsigned size = word_size(behind + 1);
        if (size == 0 || size > EXPR_NAME_MAX || isdigit((unsigned char)behind[1]))
            return parse_refuse(parser, parser->at, "a name must follow '%s.'", word);
        (void)snprintf(name.phase, sizeof name.phase, "%s", word); /* the size was checked */
        (void)snprintf(name.name, sizeof name.name, "%.*s", (int)size, behind + 1);
        parser->at += 1 + size;
        if (parser->text[parser->at] == '.' || parser->text[parser->at] == '(')
            return parse_refuse(parser, parser->at, "only phase.name can be written");
    }
    parse_add(parser, EXPR_NODE_NAME, 0)->name = parse_name_index(&parser->tree, &name);
    return parse_next(parser);
}

static int parse_binary(struct parser *parser, enum binding loosest);

/* Reads from behind an opening parenthesis to the closing parenthesis. `arguments` counts the
 * arguments of a call. NULL: the parenthesis only groups, so a comma is wrong. */
static int parse_parenthesis(struct parser *parser, unsigned start, size_t *arguments)
{
    if (parser->parentheses == PARSE_PARENTHESES_MAX)
        return parse_refuse(parser, start, "more than %d parentheses deep", PARSE_PARENTHESES_MAX);
    parser->parentheses++;
    do {
        int status = parse_binary(parser, BINDS_OR);
        if (status < 0)
            return status;
        if (arguments)
            ++*arguments;
    } while (arguments && text_equal(parser->next->text, ","));
    if (parser->next == &symbol_end)
        return parse_refuse(parser, start, "the parenthesis is not closed");
    if (!text_equal(parser->next->text, ")"))
        return parse_refuse(parser, parser->next_start,
                            "a comma outside of a function's arguments");
    parser->parentheses--;
    return 0;
}

/* Reads a call of the function `name`, which began at `start`, from behind its parenthesis. */
static int parse_call(struct parser *parser, const char *name, unsigned start)
{
    double percentile;
    size_t arguments = 0;
    const struct function *function = function_find(name, &percentile);
    if (!function) {
        const char *nearest = function_suggest(name);
        return parse_refuse(parser, start, "there is no function %s%s%s%s", name,
                            nearest ? " (did you mean " : "", nearest ? nearest : "",
                            nearest ? "?)" : "");
    }
    int status = parse_parenthesis(parser, start, &arguments);
    if (status < 0)
        return status;
    size_t wanted = function_arguments(function);
    bool takes_fewer = function->combine != OPERATION_NONE;
    if (takes_fewer ? arguments > wanted : arguments != wanted)
        return parse_refuse(
            parser, start, "%s takes %zu argument%s%s, not %zu%s", name, wanted,
            wanted == 1 ? "" : "s", takes_fewer ? " at most" : "", arguments,
            function->map || takes_fewer ? "" : "; a window is a key of the check: over: 50 steps");
    struct expr_node *node = parse_add(parser, EXPR_NODE_CALL, arguments);
    node->function = function;
    node->percentile = percentile;
    return parse_next(parser);
}

/* Reads a name, a call, or one of the words that are values. */
static int parse_operand_word(struct parser *parser)
{
    unsigned start = parser->at;
    char word[EXPR_NAME_MAX + 1];
    int status = parse_word(parser, word);
    if (status < 0)
        return status;
    if (text_equal(word, "and") || text_equal(word, "or"))
        return parse_refuse(parser, start, "a value is missing before '%s'", word);
    if (text_equal(word, "true") || text_equal(word, "false")) {
        parse_add(parser, EXPR_NODE_VALUE, 0)->value = value_of_boolean(text_equal(word, "true"));
        return parse_next(parser);
    }
    unsigned behind = parser->at;
    if (parse_skip(parser) == '(') {
        parser->at++;
        return parse_call(parser, word, start);
    }
    parser->at = behind;
    return parse_name(parser, word, start);
}

static int parse_operand(struct parser *parser)
{
    unsigned char c = parse_skip(parser);
    unsigned start = parser->at;
    const struct symbol *symbol;
    if (!c)
        return parse_refuse(parser, start,
                            start == strspn(parser->text, " \t\r\n")
                                ? "the expression is empty"
                                : "a value is missing at the end");
    if (begins_number(parser->text + start))
        return parse_number(parser);
    if (c == '"' || c == '\'')
        return parse_string(parser);
    if (begins_word(c))
        return parse_operand_word(parser);
    int status = parse_symbol(parser, &symbol);
    if (status < 0)
        return status;
    if (!text_equal(symbol->text, "("))
        return parse_refuse(parser, start, "a value is missing before '%s'", symbol->text);
    status = parse_parenthesis(parser, start, NULL);
    return status < 0 ? status : parse_next(parser);
}

/* Whether the word `not` begins here. */
static bool begins_not(const char *at)
{
    return word_size(at) == 3 && text_starts(at, "not");
}

/* Whether the last operand is a number whatever its names mean. */
static bool parse_is_number(const struct parser *parser)
{
    const struct expr_node *node = &parser->tree.nodes[parser->tree.node_count - 1];
    return !parser->is_choice &&
           ((node->kind == EXPR_NODE_VALUE && node->value.type == VALUE_NUMBER) ||
            (node->kind == EXPR_NODE_CALL && !node->function->is_boolean) ||
            node->kind == EXPR_NODE_NEGATE || node->kind == EXPR_NODE_ARITHMETIC);
}

/* Refuses the operand that began at `start` if `word` cannot take it. The evaluation refuses what
 * depends on the meaning of names. */
static int parse_truth(const struct parser *parser, unsigned start, const char *word)
{
    const char *operand = parser->text + start;
    unsigned size = parser->next_start - start;
    if (!parse_is_number(parser))
        return 0;
    while (size && strchr(" \t\r\n", operand[size - 1]))
        size--;
    return parse_refuse(parser, start,
                        "%s needs true or false, not a number: write a comparison, such as "
                        "%.*s %s 0",
                        word, (int)size, operand, text_equal(word, "not") ? "==" : ">");
}

/* Reads an operand with the operators that bind closest: the signs before it and a power. */
static int parse_unary(struct parser *parser)
{
    int status;
    (void)parse_skip(parser);
    const char *at = parser->text + parser->at;
    bool is_not = begins_not(at), is_minus = at[0] == '-' && at[1] != '-';
    if (parser->nested == PARSE_NESTED_MAX)
        return parse_refuse(parser, parser->at, "nested more than %d deep", PARSE_NESTED_MAX);
    parser->nested++;
    if (is_not || is_minus) {
        parser->at += is_not ? 3 : 1;
        (void)parse_skip(parser);
        unsigned start = parser->at;
        status = parse_unary(parser);
        if (status == 0 && is_not && parser->next->binding != BINDS_COMPARISON)
            status = parse_truth(parser, start, "not");
        if (status == 0)
            parse_add(parser, is_not ? EXPR_NODE_NOT : EXPR_NODE_NEGATE, 1);
    } else {
        status = parse_operand(parser);
        if (status == 0 && parser->next->binding == BINDS_POWER) {
            status = parse_unary(parser);
            if (status == 0)
                parse_add(parser, EXPR_NODE_ARITHMETIC, 2)->operation = OPERATION_POWER;
        }
    }
    parser->nested--;
    return status;
}

/* Reads the right side of `and` or `or`; the left side, from `start` on, has been read. */
static int parse_choice(struct parser *parser, const struct symbol *symbol, unsigned start)
{
    size_t between = parser->tree.node_count;
    bool is_or = symbol->binding == BINDS_OR, takes_any = is_or && parser->is_choice;
    int status = parse_truth(parser, start, symbol->text);
    if (status < 0)
        return status;
    parse_add(parser, is_or ? EXPR_NODE_OR : EXPR_NODE_AND, 1)->takes_any = takes_any;
    status = parse_binary(parser, symbol->binding + 1);
    parser->tree.nodes[between].last = parser->tree.node_count - 1;
    parser->is_choice = true;
    return status;
}

/* Reads the right side of the operator `symbol`; the left side, from `start` on, has been read. */
static int parse_right(struct parser *parser, const struct symbol *symbol, unsigned start)
{
    if (symbol->binding <= BINDS_AND)
        return parse_choice(parser, symbol, start);
    int status = parse_binary(parser, symbol->binding + 1);
    if (status < 0)
        return status;
    if (symbol->binding == BINDS_COMPARISON) {
        struct expr_node *node = parse_add(parser, EXPR_NODE_COMPARISON, 2);
        node->comparison = (enum comparison)symbol->meaning;
        node->symbol = symbol->text;
    } else {
        parse_add(parser, EXPR_NODE_ARITHMETIC, 2)->operation = (enum operation)symbol->meaning;
    }
    return 0;
}

/* Reads operands with the operators between them that bind at least as closely as `loosest`. */
static int parse_binary(struct parser *parser, enum binding loosest)
{
    (void)parse_skip(parser);
    unsigned start = parser->at;
    bool is_compared = false;
    int status = parse_unary(parser);
    while (status == 0 && parser->next->binding >= loosest) {
        const struct symbol *symbol = parser->next;
        if (symbol->binding == BINDS_COMPARISON) {
            if (is_compared)
                return parse_refuse(
                    parser, parser->next_start,
                    "a second comparison: write a < b and b < c instead of a < b < c");
            if (begins_not(parser->text + start))
                return parse_refuse(parser, start, "not binds closer than %s: write not (a %s b)",
                                    symbol->text, symbol->text);
            is_compared = true;
        }
        status = parse_right(parser, symbol, start);
    }
    return status;
}

/* Reads the whole text. */
static int parse_all(struct parser *parser)
{
    if (strnlen(parser->text, EXPR_SIZE_MAX + 1) > EXPR_SIZE_MAX)
        return parse_refuse(parser, 0, "an expression of more than %d bytes", EXPR_SIZE_MAX);
    parser->tree.nodes = xcalloc(strlen(parser->text) + 1, sizeof *parser->tree.nodes);
    int status = parse_binary(parser, BINDS_OR);
    if (status < 0 || parser->next == &symbol_end)
        return status;
    return parse_refuse(parser, parser->next_start,
                        text_equal(parser->next->text, ")")
                            ? "')' without a '(' before it"
                            : "a comma outside of a function's arguments");
}

int tree_parse(const char *text, struct tree *ret_tree, struct error *err)
{
    struct parser parser = {.text = text, .err = err};
    int status = parse_all(&parser);
    if (status == 0)
        *ret_tree = parser.tree;
    else
        tree_fini(&parser.tree);
    return status;
}

void tree_fini(struct tree *tree)
{
    free(tree->nodes);
    free(tree->names);
    *tree = (struct tree){0};
}
