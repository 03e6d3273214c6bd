/* The interface of a fuzz target. libFuzzer finds inputs by coverage (see README.md). Without it,
 * fuzz_main.c runs the corpus and simple mutations of it, so that every build has a smoke test. */
#ifndef PHASED_TESTS_FUZZ_H
#define PHASED_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The folder of its inputs in tests/fuzz/corpus. */
extern const char fuzz_corpus[];

/* Must return 0 and behave the same for the same input. A finding is an abort, or an error of a
 * sanitizer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
