/* Matches lines with the catalogue. This is done only when something has failed, so that a healthy
 * run costs nothing. */
#include "lib/failures/recognizer.h"

#include "lib/memory.h"
#include "lib/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
    RECOGNIZER_LOOKED_AT_MAX = 1000, /* bytes of a line that are matched */
    RECOGNIZER_STEPS_MAX = 10000,    /* of one match; a pattern that needs more does not match */
    RECOGNIZER_MEMORY_MAX_KIB = 256, /* for the matcher */
};

struct recognizer_entry {
    const json_t *json;
    enum finding_tells tells;
    pcre2_code *code;
};

struct recognizer {
    json_t *catalogue;
    struct recognizer_entry *entries;
    size_t count;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

enum finding_tells finding_tells_of(const json_t *entry)
{
    const char *word = json_string_value(json_object_get(entry, "tells"));
    if (word && text_equal(word, "cause"))
        return FINDING_CAUSE;
    return word && text_equal(word, "consequence") ? FINDING_CONSEQUENCE : FINDING_SIGN;
}

struct recognizer *recognizer_new(const json_t *catalogue)
{
    struct recognizer *recognizer = xcalloc(1, sizeof *recognizer);
    size_t size = json_array_size(catalogue), i;
    const json_t *json;
    recognizer->entries = xcalloc(size + 1, sizeof *recognizer->entries);
    recognizer->catalogue = json_incref((json_t *)catalogue);
    recognizer->match = pcre2_match_data_create(1, NULL);
    recognizer->limits = pcre2_match_context_create(NULL);
    if (!recognizer->match || !recognizer->limits)
        abort();
    (void)pcre2_set_match_limit(recognizer->limits, RECOGNIZER_STEPS_MAX);
    (void)pcre2_set_heap_limit(recognizer->limits, RECOGNIZER_MEMORY_MAX_KIB);
    json_array_foreach(catalogue, i, json)
    {
        struct recognizer_entry *entry = &recognizer->entries[recognizer->count];
        const char *pattern = json_string_value(json_object_get(json, "pattern"));
        int code;
        PCRE2_SIZE at;
        if (!pattern || !json_is_string(json_object_get(json, "name")))
            continue;
        entry->code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                    PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
        if (!entry->code)
            continue;
        (void)pcre2_jit_compile(entry->code, PCRE2_JIT_COMPLETE); /* optional: it only makes
                                                                   * matching faster */
        entry->json = json;
        entry->tells = finding_tells_of(json);
        recognizer->count++;
    }
    return recognizer;
}

void recognizer_free(struct recognizer *recognizer)
{
    if (!recognizer)
        return;
    for (size_t i = 0; i < recognizer->count; i++)
        pcre2_code_free(recognizer->entries[i].code);
    pcre2_match_context_free(recognizer->limits);
    pcre2_match_data_free(recognizer->match);
    json_decref(recognizer->catalogue);
    free(recognizer->entries);
    free(recognizer);
}

/* --- Lines ------------------------------------------------------------------------------------ */

struct recognizer_line {
    const char *time; /* of a rank's log; NULL: the line has no time */
    char text[RECOGNIZER_LOOKED_AT_MAX + 1];
    size_t size;
};

/* Removes the time, escape sequences (colours) and other control characters. */
static void line_read(struct recognizer_line *line, const char *data, size_t size)
{
    size_t at = clock_stamp_size(data, size);
    line->time = at ? data : NULL;
    line->size = 0;
    while (at < size && line->size < RECOGNIZER_LOOKED_AT_MAX) {
        size_t escape = text_escape_size(data + at, size - at);
        unsigned char byte = escape ? 0 : (unsigned char)data[at];
        at += escape ? escape : 1;
        if (byte >= ' ' && byte != 0x7F) {
            line->text[line->size++] = (char)byte;
        } else if (byte == '\t') {
            line->text[line->size++] = ' ';
        }
    }
    line->text[line->size] = '\0';
}

/* Copies the beginning of the text. Cuts only between characters, and replaces bytes that are not
 * UTF-8. */
static void line_shorten(const char *text, char ret_line[FINDING_LINE_MAX + 1])
{
    size_t size = text_fit(text, FINDING_LINE_MAX);
    memcpy(ret_line, text, size);
    ret_line[size] = '\0';
    text_make_utf8(ret_line);
}

/* torch prints the rank at the beginning of a line when several processes print to one place. */
static int line_rank(const char *text)
{
    unsigned rank;
    const char *at = strstr(text, "[rank");
    if (!at || at - text > 8 || sscanf(at, "[rank%5u]", &rank) != 1)
        return -1;
    return (int)rank;
}

static const struct recognizer_entry *line_find(const struct recognizer *recognizer,
                                                const struct recognizer_line *line)
{
    for (size_t i = 0; i < recognizer->count; i++) {
        int result = pcre2_match(recognizer->entries[i].code, (PCRE2_SPTR)line->text, line->size, 0,
                                 0, recognizer->match, recognizer->limits);
        if (result >= 0)
            return &recognizer->entries[i];
    }
    return NULL;
}

/* --- Looking ---------------------------------------------------------------------------------- */

/* The best line so far of one kind: cause, sign or consequence. */
struct recognizer_slot {
    bool is_taken;
    struct finding finding;
    time_t second;          /* 0: unknown */
    unsigned later_seconds; /* different seconds with output, more than FINDING_ON_S after the
                             * line */
};

static void recognizer_take(struct recognizer_slot *slot, const struct recognizer_entry *entry,
                            const struct recognizer_line *line, time_t second)
{
    if (slot->is_taken && entry->tells != FINDING_SIGN)
        return;
    *slot = (struct recognizer_slot){
        .is_taken = true,
        .finding = {.entry = entry->json, .tells = entry->tells, .rank = line_rank(line->text)},
        .second = second,
    };
    line_shorten(line->text, slot->finding.line);
    if (line->time)
        (void)snprintf(slot->finding.time, sizeof slot->finding.time, "%.24s", line->time);
}

/* Notes that the rank printed something in a new second. */
static void recognizer_go_on(struct recognizer_slot *slots, time_t second)
{
    for (int i = 0; i < FINDING_TELLS_COUNT; i++) {
        struct recognizer_slot *slot = &slots[i];
        if (slot->is_taken && slot->second && second - slot->second > FINDING_ON_S &&
            ++slot->later_seconds >= FINDING_ON_SECONDS)
            slot->is_taken = false;
    }
}

bool recognizer_look(const struct recognizer *recognizer, const char *lines, size_t size,
                     struct finding *ret_finding)
{
    struct recognizer_slot slots[FINDING_TELLS_COUNT] = {0};
    struct recognizer_line line;
    char stamp[20] = ""; /* to the second */
    time_t second = 0;
    for (const char *at = lines, *end = lines + size; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        line_read(&line, at, length);
        if (line.time && strncmp(line.time, stamp, sizeof stamp - 1) != 0) {
            (void)snprintf(stamp, sizeof stamp, "%.19s", line.time);
            double time_s = clock_stamp_s(line.time, CLOCK_STAMP_SIZE);
            second = isnan(time_s) ? 0 : (time_t)time_s;
            recognizer_go_on(slots, second);
        }
        const struct recognizer_entry *entry = line_find(recognizer, &line);
        if (entry)
            recognizer_take(&slots[entry->tells], entry, &line, second);
        at += length + 1;
    }
    for (int i = 0; i < FINDING_TELLS_COUNT; i++)
        if (slots[i].is_taken) {
            *ret_finding = slots[i].finding;
            return true;
        }
    return false;
}
