# tests/bench: figures beside their references, by `./quickstart bench`; check runs them small.
TESTS += tests/bench/bench.sh
bench_tools = tests/bench/bench_client tests/bench/bench_printer tests/bench/bench_failures
if HAVE_SLURM
bench_tools += tests/bench/bench_reference
endif
check_PROGRAMS += $(bench_tools)
tests_bench_bench_reference_SOURCES = tests/bench/reference.c
tests_bench_bench_reference_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS)
tests_bench_bench_reference_LDADD = lib/libphased.a $(SLURM_LIBS) $(SQLITE_LIBS)
tests_bench_bench_client_SOURCES = tests/bench/client.c
tests_bench_bench_client_LDADD = lib/libphased.a $(CURL_LIBS) $(SODIUM_LIBS) $(JANSSON_LIBS)
tests_bench_bench_printer_SOURCES = tests/bench/printer.c
tests_bench_bench_printer_LDADD =
tests_bench_bench_failures_SOURCES = tests/bench/failures.c
tests_bench_bench_failures_LDADD = $(WORKER_LIBS) $(FYAML_LIBS)
EXTRA_DIST += tests/bench/bench.sh tests/bench/run tests/bench/README.md tests/bench/fill.sql \
	tests/bench/gpu tests/bench/peer.py

bench-programs: $(bench_tools) $(bin_PROGRAMS) tests/unit/test_daemon_hostile
.PHONY: bench-programs
