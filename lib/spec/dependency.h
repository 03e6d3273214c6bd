/* The words of sbatch's --dependency: `afterok:7:8,singleton`. This file knows only what Slurm
 * accepts. The caller reads names of phases or scripts in place of a number. */
#ifndef PHASED_LIB_SPEC_DEPENDENCY_H
#define PHASED_LIB_SPEC_DEPENDENCY_H

#include <stdbool.h>
#include <stddef.h>

enum { DEPENDENCY_KIND_SIZE = 24 };

/* One job of a dependency. Begins as {.at = text}, and borrows the text. */
struct dependency_part {
    char kind[DEPENDENCY_KIND_SIZE]; /* `afterok`, in small letters; empty: no kind */
    const char *word;                /* the job, or what stands alone: `singleton`, `7` */
    size_t size;                     /* bytes of the word */
    const char *at;
};

/* Goes to the next job; false at the end. */
bool dependency_next(struct dependency_part *part);

/* Whether Slurm knows the kind. Jobs follow such a kind. */
bool dependency_has_kind(const struct dependency_part *part);

bool dependency_is_singleton(const struct dependency_part *part);

/* Whether the word is a job by its number, as in 7, 7_1, 7_* and 7+5. */
bool dependency_is_job(const struct dependency_part *part);

/* Whether Slurm understands the whole text. Whether the jobs exist does not matter. */
bool dependency_is_slurms(const char *text);

#endif
