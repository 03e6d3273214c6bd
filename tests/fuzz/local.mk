# tests/fuzz: each target runs its corpus as a test; README.md says how to search for more.
FUZZ_LDADD = lib/libphased.a $(FYAML_LIBS) $(LUA_LIBS) $(JANSSON_LIBS) $(PCRE2_LIBS) -lm
FUZZ_TESTS =
EXTRA_DIST += tests/fuzz/corpus tests/fuzz/README.md

FUZZ_TESTS += tests/fuzz/fuzz_expr
tests_fuzz_fuzz_expr_SOURCES = tests/fuzz/fuzz_expr.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_expr_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_expr_LDADD = $(FUZZ_LDADD)

FUZZ_TESTS += tests/fuzz/fuzz_extract
tests_fuzz_fuzz_extract_SOURCES = tests/fuzz/fuzz_extract.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_extract_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_extract_LDADD = worker/metrics/libmetrics.a $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_failures
tests_fuzz_fuzz_failures_SOURCES = tests/fuzz/fuzz_failures.c tests/fuzz/fuzz_main.c \
	tests/fuzz/fuzz.h
tests_fuzz_fuzz_failures_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_failures_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_sbatch
tests_fuzz_fuzz_sbatch_SOURCES = tests/fuzz/fuzz_sbatch.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_sbatch_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_sbatch_LDADD = $(FUZZ_LDADD)
FUZZ_TESTS += tests/fuzz/fuzz_spec
tests_fuzz_fuzz_spec_SOURCES = tests/fuzz/fuzz_spec.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz.h
tests_fuzz_fuzz_spec_LDFLAGS = $(AM_LDFLAGS) $(FUZZ_LDFLAGS)
tests_fuzz_fuzz_spec_LDADD = $(FUZZ_LDADD)

check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
