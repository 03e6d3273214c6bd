/* The table of rotary positions (Su et al. 2021). It is computed on the host with the four basic
 * operations only: the sine of the C library depends on the processor. */
#ifndef PHASED_WORKER_MODEL_ROTARY_H
#define PHASED_WORKER_MODEL_ROTARY_H

#include <stddef.h>

/* Returns table[positions x head_width / 2 x 2]: the cosine and the sine of the position times
 * 10000^(-2 i / head_width), for each i. The caller frees the table. */
float *rotary_new(size_t positions, size_t head_width);

#endif
