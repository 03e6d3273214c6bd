/* The words of sbatch's --dependency: `afterok:7:8,singleton`. Only what Slurm takes is known here;
 * names of phases or scripts in the place of a number are for the caller to understand. */
#ifndef PHASED_LIB_SPEC_DEPENDENCY_H
#define PHASED_LIB_SPEC_DEPENDENCY_H

#include <stdbool.h>
#include <stddef.h>

enum { DEPENDENCY_KIND_SIZE = 24 };

/* One job of a dependency. Begins as {.at = text}, and borrows the text. */
struct dependency_part {
    char kind[DEPENDENCY_KIND_SIZE]; /* `afterok`, in small letters; empty: none was said */
    const char *word;                /* the job, or what stands alone: `singleton`, `7` */
    size_t size;                     /* of the word */
    const char *at;
};

/* Goes to the next one; false at the end. */
bool dependency_next(struct dependency_part *part);

/* Whether Slurm knows what is to be waited for: a kind that is followed by jobs. */
bool dependency_has_kind(const struct dependency_part *part);

bool dependency_is_singleton(const struct dependency_part *part);

/* Whether the word is a job by its number, as in 7, 7_1, 7_* and 7+5. */
bool dependency_is_job(const struct dependency_part *part);

/* Whether all of the text is what Slurm understands, whatever jobs there are. */
bool dependency_is_slurms(const char *text);

#endif
