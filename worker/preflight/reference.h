/* What the kernels of the full level compute, in C. Their results are compared with this.
 *
 * All data comes from one generator, a function of a seed and an index, so any element of any
 * buffer can be computed again anywhere. Its elements are bytes, and all sums of them stay within
 * the 24 bits of a float: on a healthy GPU there is no rounding. Pure. */
#ifndef PHASED_WORKER_PREFLIGHT_REFERENCE_H
#define PHASED_WORKER_PREFLIGHT_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the word `index` of the stream `seed`: all 64 bits look random. */
uint64_t reference_word(uint64_t seed, uint64_t index);

/* Returns the element `index` of the stream: one byte of a word, from -128 to 127. A word has eight
 * elements, the lowest byte first. */
int reference_element(uint64_t seed, uint64_t index);

/* Returns the bits of `element` / 128 as bfloat16, which is exact. */
uint16_t reference_bfloat(int element);
float reference_from_bfloat(uint16_t bits);

/* Returns the same for the same words at the same places, in any order of reading. */
uint64_t reference_checksum(const uint64_t *words, size_t count);

/* Returns the product of row `row` of one matrix and column `column` of another. Each has `depth`
 * elements, which are divided by 128. Exact, in units of 2^-14. */
int64_t reference_product(uint64_t row_seed, uint64_t row, uint64_t column_seed, uint64_t column,
                          uint64_t depth);

/* Whether `bits` is `product`, apart from the rounding to bfloat16 and the low bits that a matrix
 * unit may drop. */
bool reference_product_matches(uint16_t bits, int64_t product);

/* Returns the sum of the element `index` of the streams `seed` to `seed` + `ranks` - 1. */
int64_t reference_sum(uint64_t seed, unsigned ranks, uint64_t index);

/* Returns the bus bandwidth of an all-reduce, in 10^9 bytes a second, as nccl-tests counts it: what
 * a ring would move over each link, 2 (n - 1) / n of the bytes. */
double reference_bus_gbps(double bytes, double seconds, unsigned ranks);

#endif
