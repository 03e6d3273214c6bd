/* The members of a message, as rows of a table: the same rows write the message and read it.
 *
 * A row says where a struct has the member. The type of the field says how JSON has it:
 *
 *   const char *, char[]     a text; nothing: NULL, or the empty text
 *   int64_t, unsigned        a whole number; nothing: `otherwise`
 *   double                   a number; nothing: 0
 *   bool                     nothing: false
 *   json_t *                 anything but JSON's null, as it is; nothing: NULL
 *   an enum of words.h       one of its words; nothing: `otherwise`
 *
 * A field has one row, also if several kinds of messages have it. A struct that was read borrows
 * its texts and JSON from the document. */
#ifndef PHASED_LIB_PROTOCOL_MEMBERS_H
#define PHASED_LIB_PROTOCOL_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

enum member_kind {
    MEMBER_TEXT,
    MEMBER_BUFFER,
    MEMBER_INTEGER,
    MEMBER_COUNT,
    MEMBER_NUMBER,
    MEMBER_FLAG,
    MEMBER_JSON,
    MEMBER_WORD,
};

enum member_need {
    MEMBER_REQUIRED, /* members_check() refuses a message without it */
    MEMBER_ALWAYS,   /* written also if there is nothing: a text or JSON as null */
    MEMBER_OR_NULL,  /* null if there is nothing */
    MEMBER_OPTIONAL, /* left out if there is nothing */
};

struct member {
    const char *name; /* NULL: the end of the table */
    enum member_kind kind;
    enum member_need need;
    int64_t otherwise; /* the whole number or word that stands for nothing */
    size_t offset, size;
    const char *const *words;
    size_t word_count;
    unsigned kinds; /* a bit for each kind of message that has the member; 0: all have it */
};

/* clang-format off */
#define MEMBER_FIELD(type, field) ((struct type *)NULL)->field
#define MEMBER_KIND(field) _Generic(field, const char *: MEMBER_TEXT, char *: MEMBER_BUFFER, \
    int64_t: MEMBER_INTEGER, unsigned: MEMBER_COUNT, double: MEMBER_NUMBER, bool: MEMBER_FLAG, \
    json_t *: MEMBER_JSON)
#define MEMBER_ROW(type, field, word, how, ...) \
    {.name = word, .kind = MEMBER_KIND(MEMBER_FIELD(type, field)), .need = MEMBER_##how, \
     .offset = offsetof(struct type, field), .size = sizeof MEMBER_FIELD(type, field), __VA_ARGS__}

/* The row of a field that has the name of its member, and 0 for nothing. */
#define MEMBER(type, field, how) MEMBER_ROW(type, field, #field, how, .otherwise = 0)
/* The same, with another number for nothing. */
#define MEMBER_OR(type, field, how, nothing) \
    MEMBER_ROW(type, field, #field, how, .otherwise = nothing)
/* The row of a bool: the field is called is_NAME. */
#define MEMBER_IS(type, name, how) MEMBER_ROW(type, is_##name, #name, how, .otherwise = 0)
/* The row of an enum, whose words are a table of words.h. */
#define MEMBER_OF_WORDS(type, field, word, how, table, count, nothing, ...) \
    {.name = word, .kind = MEMBER_WORD, .need = MEMBER_##how, .otherwise = nothing, \
     .offset = offsetof(struct type, field), .size = sizeof MEMBER_FIELD(type, field), \
     .words = table, .word_count = count, __VA_ARGS__}

/* Defines OBJECT_read(json) and OBJECT_to_json(object) for struct OBJECT, by OBJECT_members. */
#define MEMBERS_READ(object) \
    struct object object##_read(const json_t *json) \
    { \
        struct object object; \
        members_read(object##_members, json, &object); \
        return object; \
    }
#define MEMBERS_TO_JSON(object) \
    json_t *object##_to_json(const struct object *object) \
    { \
        return members_write(object##_members, object, NULL); \
    }
/* clang-format on */

/* Adds the members to a copy of `json`, which may be NULL: members that are not in the table stay
 * as they are. A new reference. NULL: a text is not UTF-8. */
json_t *members_write(const struct member *rows, const void *message, const json_t *json);
/* Like members_write(), for a message of one kind, which has only some of the members. */
json_t *members_write_kind(const struct member *rows, unsigned kind, const void *message,
                           const json_t *json);

/* Reads the members of `json`, which may be anything. A member of another type counts as nothing,
 * and so does a number beyond 2^53. */
void members_read(const struct member *rows, const json_t *json, void *ret_message);
/* Like members_read(), for a message of one kind. The members of other kinds become nothing. */
void members_read_kind(const struct member *rows, unsigned kind, const json_t *json,
                       void *ret_message);

/* -EINVAL: a required member is absent, or has another type. */
int members_check(const struct member *rows, const json_t *json, struct error *err);

#endif
