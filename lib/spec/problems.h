/* All problems of a workflow file, in the order of the file.
 *
 * A problem has a place (line, column and path of keys) and a message. A workflow with errors is
 * not submitted; warnings are only shown. The strings belong to the list. Zero-initialised is a
 * valid empty list. */
#ifndef PHASED_LIB_SPEC_PROBLEMS_H
#define PHASED_LIB_SPEC_PROBLEMS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct text;

enum spec_severity { SPEC_ERROR, SPEC_WARNING };

struct spec_problem {
    enum spec_severity severity;
    unsigned line, column; /* from 1; 0: no position, as for --set or a missing file */
    char *path;            /* `phases.validate.gate`; empty for the file as a whole */
    char *message;
    bool is_probed; /* a probe (lib/spec/spec.h) has found it */
};

struct spec_problems {
    char *file; /* the name for messages; NULL: the messages name the file themselves */
    struct spec_problem *items;
    size_t count, error_count;
    size_t compared; /* names, for suggestions */
    bool is_probing; /* a probe finds the problems that are added now */
};

enum {
    /* How many problems of one file are kept at most. */
    SPEC_PROBLEMS_MAX = 1000,
    /* How many names are compared for suggestions in one file. */
    SPEC_PROBLEMS_COMPARED_MAX = 50000,
};

void spec_problems_fini(struct spec_problems *problems);

/* Adds a problem, unless the place has a problem already. An error replaces the warning of its
 * place. An empty `path` means the file. */
void spec_problems_add(struct spec_problems *problems, enum spec_severity severity, unsigned line,
                       unsigned column, const char *path, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void spec_problems_addv(struct spec_problems *problems, enum spec_severity severity, unsigned line,
                        unsigned column, const char *path, const char *format, va_list args)
    __attribute__((format(printf, 6, 0)));

/* As text_nearest(). Returns NULL, too, once more than SPEC_PROBLEMS_COMPARED_MAX names would be
 * compared in the file. */
const char *spec_problems_nearest(struct spec_problems *problems, const char *name,
                                  const char *const *names, size_t count);

/* Sorts the problems in the order of the file. Problems without a position come first. */
void spec_problems_sort(struct spec_problems *problems);

/* Adds one line for each problem: "trm.yaml:12:7: phases.validate.run: missing". The line of a
 * warning says so after the position. */
void spec_problems_text(const struct spec_problems *problems, struct text *text);

/* Appends an object for each to `list`: {"file", "line", "column", "path", "message", "severity"}.
 * A problem that quotes a file that is not UTF-8 becomes null. */
void spec_problems_json(const struct spec_problems *problems, json_t *list);

#endif
