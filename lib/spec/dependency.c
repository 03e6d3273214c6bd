/* Reading --dependency as Slurm does. */
#include "lib/spec/dependency.h"

#include "lib/text.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char ends[] = ":,?";

/* A kind that is too long is unknown, even after it is cut. */
static void set_kind(struct dependency_part *part, const char *word, size_t size)
{
    size_t kept = size < sizeof part->kind ? size : sizeof part->kind - 1;
    for (size_t i = 0; i < kept; i++)
        part->kind[i] = (char)tolower((unsigned char)word[i]);
    part->kind[kept] = '\0';
}

bool dependency_next(struct dependency_part *part)
{
    bool is_first = !part->word;
    if (!is_first && *part->at == '\0')
        return false;
    if (is_first || *part->at != ':') {
        const char *word = part->at + !is_first; /* after the comma */
        size_t size = strcspn(word, ends);
        bool has_jobs = word[size] == ':';
        set_kind(part, word,
                 has_jobs ? size + !size : 0); /* the kind of ":7" is ':', an unknown kind */
        part->at = word + size;
        part->word = word;
        part->size = size;
        if (!has_jobs)
            return true;
    }
    part->word = part->at + 1;
    part->size = strcspn(part->word, ends);
    part->at = part->word + part->size;
    return true;
}

bool dependency_has_kind(const struct dependency_part *part)
{
    static const char *const kinds[] = {"after",     "afterany",   "afterburstbuffer",
                                        "aftercorr", "afternotok", "afterok"};
    return text_is_one_of(part->kind, kinds, sizeof kinds / sizeof *kinds);
}

bool dependency_is_singleton(const struct dependency_part *part)
{
    return !part->kind[0] && part->size == strlen("singleton") &&
           strncasecmp(part->word, "singleton", part->size) == 0;
}

bool dependency_is_job(const struct dependency_part *part)
{
    const char *at = part->word, *end = part->word + part->size;
    if (!text_digits_size(at))
        return false;
    at += text_digits_size(at);
    if (*at == '_') { /* one element of an array, or all elements */
        size_t size = at[1] == '*' ? 1 : text_digits_size(at + 1);
        if (!size)
            return false;
        at += 1 + size;
    }
    if (*at == '+') { /* begins this many minutes later */
        if (!text_digits_size(at + 1))
            return false;
        at += 1 + text_digits_size(at + 1);
    }
    return at == end;
}

bool dependency_is_slurms(const char *text)
{
    struct dependency_part part = {.at = text};
    while (dependency_next(&part)) {
        bool is_old = !part.kind[0]; /* a number alone means afterany */
        if (!dependency_is_singleton(&part) &&
            !(dependency_is_job(&part) && (is_old || dependency_has_kind(&part))))
            return false;
    }
    return !(strchr(text, ',') && strchr(text, '?'));
}
