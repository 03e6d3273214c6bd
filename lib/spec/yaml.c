/* Turns the events of libfyaml into nodes. */
#include "lib/spec/yaml.h"

#include "lib/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libfyaml.h>

struct yaml_reader {
    struct yaml_arena *arena;
    struct spec_problems *problems;
    const char *data;
    size_t size;
    struct yaml_node *root;
    struct yaml_node *open[YAML_DEPTH_MAX]; /* the maps and lists that are still open */
    size_t depth;
    const char *key; /* a key whose value comes next */
    unsigned key_line, key_column;
    unsigned document_count;
    unsigned line, column; /* the position of the newest event that has one */
};

/* Returns the length of the UTF-8 character at `bytes`; 0 if there is no such character, or if a
 * text cannot contain it. A carriage return alone is refused, because only YAML takes it for an end
 * of line. */
static size_t yaml_character_size(const unsigned char *bytes, size_t size)
{
    uint32_t letter;
    if (bytes[0] < 0x20)
        return bytes[0] == '\t' || bytes[0] == '\n' ||
               (bytes[0] == '\r' && size > 1 && bytes[1] == '\n');
    return bytes[0] == 0x7f ? 0 : text_letter((const char *)bytes, size, &letter);
}

/* This check comes before the parser, because "must be a text file" is a better message than a
 * syntax error. */
static int yaml_check_text(const char *data, size_t size, struct spec_problems *problems)
{
    unsigned line = 1, column = 1, blank_lines = 0;
    for (size_t at = 0; at < size;) {
        const unsigned char *bytes = (const unsigned char *)data + at;
        size_t length = yaml_character_size(bytes, size - at);
        if (length == 0) {
            spec_problems_add(problems, SPEC_ERROR, line, column, "",
                              "must be a text file: byte 0x%02x is not UTF-8", bytes[0]);
            return -EINVAL;
        }
        if (bytes[0] == '\n' && ++blank_lines > YAML_BLANK_LINES_MAX) {
            spec_problems_add(problems, SPEC_ERROR, line, column, "",
                              "more than %d empty lines in a row", YAML_BLANK_LINES_MAX);
            return -EINVAL;
        }
        if (!isspace(bytes[0]))
            blank_lines = 0;
        column = bytes[0] == '\n' ? 1 : column + 1;
        line += bytes[0] == '\n';
        at += length;
    }
    return 0;
}

static void yaml_reader_problem(const struct yaml_reader *reader, const char *message)
{
    spec_problems_add(reader->problems, SPEC_ERROR, reader->line, reader->column, "", "%s",
                      message);
}

static const struct yaml_node *yaml_duplicate(const struct yaml_reader *reader,
                                              const struct yaml_node *map)
{
    return reader->key ? yaml_get_any(map, reader->key) : NULL;
}

/* Adds a node to the map or list that is open. A node whose key is already there is dropped. */
static int yaml_place(struct yaml_reader *reader, struct yaml_node *node)
{
    node->line = reader->line;
    node->column = reader->column;
    if (reader->depth == 0) {
        reader->root = node;
        return 0;
    }
    struct yaml_node *parent = reader->open[reader->depth - 1];
    if (reader->arena->node_count > YAML_COUNT_MAX) {
        yaml_reader_problem(reader, "more than 100000 values");
        return -EINVAL;
    }
    node->parent = parent;
    node->index = parent->count;
    if (parent->kind == YAML_LIST) {
        yaml_append(reader->arena, parent, node);
        return 0;
    }
    if (parent->count >= YAML_ENTRIES_MAX) {
        yaml_reader_problem(reader, "more than 1000 keys in one map");
        return -EINVAL;
    }
    const struct yaml_node *other = yaml_duplicate(reader, parent);
    node->key = reader->key;
    node->key_line = reader->key_line;
    node->key_column = reader->key_column;
    reader->key = NULL;
    if (other)
        yaml_key_problem(reader->problems, node, "given twice, first on line %u", other->key_line);
    else
        yaml_append(reader->arena, parent, node);
    return 0;
}

/* Whether the next node is a key of a map. */
static bool yaml_wants_key(const struct yaml_reader *reader)
{
    return reader->depth && reader->open[reader->depth - 1]->kind == YAML_MAP && !reader->key;
}

static bool yaml_is_null(const char *text)
{
    return text_equal(text, "") || text_equal(text, "~") || text_equal(text, "null") ||
           text_equal(text, "Null") || text_equal(text, "NULL");
}

/* Returns the text of a scalar, NULL if it has a NUL. Reads it in parts, because
 * fy_token_get_text() of libfyaml 0.7.12 leaks memory for a text with many quotes. */
static const char *yaml_reader_text(struct yaml_reader *reader, struct fy_token *token)
{
    struct text text = {0};
    int failure = 0;
    struct fy_token_iter *parts = token ? fy_token_iter_create(token) : NULL;
    const struct fy_iter_chunk *part = NULL;
    while (parts && (part = fy_token_iter_chunk_next(parts, part, &failure)))
        text_add_bytes(&text, part->str, part->len);
    fy_token_iter_destroy(parts);
    bool is_text = !failure && (!text.size || !memchr(text.data, '\0', text.size));
    const char *copy = is_text ? yaml_text(reader->arena, text_string(&text), text.size) : NULL;
    text_fini(&text);
    return copy;
}

/* Sets how many spaces stand before the lines of a block (`|`) in the file: as many as before its
 * first line that is not empty. `begin` is the start of its first line. */
static void yaml_measure_block(const struct yaml_reader *reader, size_t begin,
                               struct yaml_node *node)
{
    const char *text = node->text;
    size_t at = begin;
    while (*text == '\n') {
        const char *end =
            at < reader->size ? memchr(reader->data + at, '\n', reader->size - at) : NULL;
        if (!end)
            return;
        at = (size_t)(end - reader->data) + 1;
        text++;
    }
    size_t spaces = 0, own = strspn(text, " ");
    while (at + spaces < reader->size && reader->data[at + spaces] == ' ')
        spaces++;
    node->is_block = *text && spaces >= own;
    node->indent = node->is_block ? (unsigned)(spaces - own) : 0;
}

static int yaml_scalar(struct yaml_reader *reader, struct fy_event *event)
{
    struct fy_token *token = event->scalar.value;
    if (event->scalar.tag) {
        yaml_reader_problem(reader, "tags (!name) are not supported");
        return -EINVAL;
    }
    const char *text = yaml_reader_text(reader, token);
    if (!text) {
        yaml_reader_problem(reader, "a text with a NUL character");
        return -EINVAL;
    }
    bool is_plain = !token || fy_token_scalar_style(token) == FYSS_PLAIN;
    if (yaml_wants_key(reader)) {
        if (!*text) {
            yaml_reader_problem(reader, "a key that is empty");
            return -EINVAL;
        }
        reader->key = text;
        reader->key_line = reader->line;
        reader->key_column = reader->column;
        return 0;
    }
    bool is_null = is_plain && yaml_is_null(text);
    struct yaml_node *node = yaml_new(reader->arena, is_null ? YAML_NULL : YAML_SCALAR);
    node->is_plain = is_plain;
    const struct fy_mark *begin = fy_event_start_mark(event), *end = fy_event_end_mark(event);
    node->is_exact = is_plain && begin && end && begin->line == end->line;
    node->begin = begin ? begin->input_pos : 0;
    node->end = end ? end->input_pos : 0;
    node->text = text;
    if (begin && token && fy_token_scalar_style(token) == FYSS_LITERAL)
        yaml_measure_block(reader, begin->input_pos, node);
    return yaml_place(reader, node);
}

static int yaml_open(struct yaml_reader *reader, struct fy_event *event)
{
    bool is_map = event->type == FYET_MAPPING_START;
    if (is_map ? event->mapping_start.tag : event->sequence_start.tag) {
        yaml_reader_problem(reader, "tags (!name) are not supported");
        return -EINVAL;
    }
    if (yaml_wants_key(reader)) {
        yaml_reader_problem(reader, "a key must be a word; text with { or [ needs quotes");
        return -EINVAL;
    }
    if (reader->depth == YAML_DEPTH_MAX) {
        yaml_reader_problem(reader, "more than 32 maps and lists inside each other");
        return -EINVAL;
    }
    struct yaml_node *node = yaml_new(reader->arena, is_map ? YAML_MAP : YAML_LIST);
    node->is_flow =
        is_map ? event->mapping_start.mapping_start && fy_event_get_node_style(event) == FYNS_FLOW
               : fy_event_get_node_style(event) == FYNS_FLOW;
    int status = yaml_place(reader, node);
    if (status == 0)
        reader->open[reader->depth++] = node;
    return status;
}

/* `{value: min(a, b), at_most: 3}` is read as a value `min(a` and a key `b)` without a value. */
static void yaml_check_commas(struct yaml_reader *reader, struct yaml_node *map)
{
    size_t kept = 0;
    for (size_t i = 0; i < map->count; i++) {
        struct yaml_node *item = map->items[i];
        struct yaml_node *before = kept ? map->items[kept - 1] : NULL;
        bool is_rest = item->kind == YAML_NULL && !item->text[0] && before &&
                       before->kind == YAML_SCALAR && before->is_plain;
        if (is_rest)
            yaml_problem(reader->problems, before,
                         "inside { } a comma ends the text, which leaves '%.60s' without a value: "
                         "text with commas needs quotes",
                         item->key);
        if (is_rest)
            before->is_cut = true;
        else
            map->items[kept++] = item;
    }
    map->count = kept;
}

static void yaml_close(struct yaml_reader *reader)
{
    struct yaml_node *node = reader->open[--reader->depth];
    if (node->kind == YAML_MAP && node->is_flow)
        yaml_check_commas(reader, node);
}

/* Returns 1 at the end. */
static int yaml_event(struct yaml_reader *reader, struct fy_event *event)
{
    const struct fy_mark *mark = fy_event_start_mark(event);
    if (mark) { /* a value that is left out has no position */
        reader->line = (unsigned)mark->line + 1;
        reader->column = (unsigned)mark->column + 1;
    }
    switch (event->type) {
    case FYET_STREAM_END:
        return 1;
    case FYET_DOCUMENT_START:
        if (reader->document_count++ == 0)
            return 0;
        yaml_reader_problem(reader, "a second document: a file is one workflow");
        return -EINVAL;
    case FYET_ALIAS:
        yaml_reader_problem(
            reader, "aliases (*name) are not supported: phases share by extends and defaults");
        return -EINVAL;
    case FYET_SCALAR:
        return yaml_scalar(reader, event);
    case FYET_MAPPING_START:
    case FYET_SEQUENCE_START:
        return yaml_open(reader, event);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        yaml_close(reader);
        return 0;
    default:
        return 0;
    }
}

/* A line that is less indented than the keys of a map has closed the map. If the line then fits
 * nowhere, the wrong line may be the first of these keys, far above. */
static void yaml_hint_indentation(const struct yaml_reader *reader,
                                  const struct fy_diag_error *error, struct text *hint)
{
    const struct yaml_node *closed =
        reader->depth && reader->depth < YAML_DEPTH_MAX ? reader->open[reader->depth] : NULL;
    if (!hint->size && error->msg && strstr(error->msg, "indentation") && closed &&
        closed->kind == YAML_MAP && error->column > 0 && closed->column > (unsigned)error->column)
        text_addf(hint, "; the keys before it begin at line %u, column %u", closed->line,
                  closed->column);
}

/* Reports a problem that libfyaml has found. */
static void yaml_add_syntax_errors(const struct yaml_reader *reader, struct fy_diag *diag)
{
    void *at = NULL;
    struct spec_problems *problems = reader->problems;
    struct text hint = {0};
    const struct yaml_node *open = reader->depth ? reader->open[reader->depth - 1] : NULL;
    if (open && open->is_flow)
        text_addf(&hint,
                  "; in the { or [ at line %u, column %u: is it closed, and is text with , { } [ ] "
                  "quoted?",
                  open->line, open->column);
    for (struct fy_diag_error *error; (error = fy_diag_errors_iterate(diag, &at));) {
        yaml_hint_indentation(reader, error, &hint);
        const char *message = error->msg ? error->msg : "cannot be read";
        spec_problems_add(problems, SPEC_ERROR, error->line > 0 ? (unsigned)error->line : 0,
                          error->column > 0 ? (unsigned)error->column : 0, "",
                          "not YAML: %c%.200s%s", tolower((unsigned char)message[0]),
                          message[0] ? message + 1 : "", text_string(&hint));
    }
    if (problems->error_count == 0)
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "not YAML");
    text_fini(&hint);
}

static int yaml_read_events(struct yaml_reader *reader, const char *data, size_t size)
{
    int status = -EINVAL;
    struct fy_diag_cfg diag_config;
    fy_diag_cfg_default(&diag_config);
    diag_config.fp = NULL;
    struct fy_diag *diag = fy_diag_create(&diag_config);
    if (!diag)
        abort();
    fy_diag_set_collect_errors(diag, true);
    struct fy_parse_cfg config = {.search_path = "", .flags = FYPCF_QUIET, .diag = diag};
    struct fy_parser *parser = fy_parser_create(&config);
    if (!parser || fy_parser_set_string(parser, data, size) < 0)
        goto out;
    do {
        struct fy_event *event = fy_parser_parse(parser);
        status = -EINVAL;
        if (!event || fy_parser_get_stream_error(parser))
            yaml_add_syntax_errors(reader, diag);
        else
            status = yaml_event(reader, event);
        fy_parser_event_free(parser, event);
    } while (status == 0);
out:
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status < 0 ? status : 0;
}

bool yaml_is_blank(const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '#')
            while (i < size && data[i] != '\n')
                i++;
        else if (!isspace((unsigned char)data[i]))
            return false;
    }
    return true;
}

int yaml_read(struct yaml_arena *arena, const char *data, size_t size,
              struct spec_problems *problems, struct yaml_node **ret_root)
{
    struct yaml_reader reader = {.arena = arena, .problems = problems, .data = data, .size = size};
    int status = yaml_check_text(data, size, problems);
    if (status == 0 && size)
        status = yaml_read_events(&reader, data, size);
    if (status < 0)
        return status;
    if (!reader.root || reader.root->kind == YAML_NULL) {
        spec_problems_add(problems, SPEC_ERROR, 0, 0, "", "empty");
        return -EINVAL;
    }
    *ret_root = reader.root;
    return 0;
}
