/* What a fuzz target consists of. libFuzzer finds inputs by coverage (README.md says how); without
 * it fuzz_main.c runs the corpus and simple mutations of it, so that every build has a smoke. */
#ifndef PHASED_TESTS_FUZZ_H
#define PHASED_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The folder of its inputs in tests/fuzz/corpus. */
extern const char fuzz_corpus[];

/* Must return 0 and be the same for the same input; a finding is an abort or a sanitizer's. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
