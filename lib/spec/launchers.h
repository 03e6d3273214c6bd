/* Launchers in a phase's script, which start processes of their own: whether that fits the layout.
 * What a script does only bash knows, so there are warnings and nothing more. */
#ifndef PHASED_LIB_SPEC_LAUNCHERS_H
#define PHASED_LIB_SPEC_LAUNCHERS_H

#include <stdbool.h>
#include <stdint.h>

struct node;
struct spec_problems;

/* Where one process of the script stands. */
struct launchers_place {
    bool is_rank; /* one of several, each for a GPU */
    int64_t nodes, gpus;
};

/* Warns of a torchrun in `run` that starts other processes than the place has GPUs. */
void launchers_check(struct spec_problems *problems, const struct node *run,
                     const struct launchers_place *place);

#endif
