# tests/fake: libraries that stand in for a driver; loaded by the programs under test.
FAKES = tests/fake/libnvidia-ml.so tests/fake/libnvidia-ml-old.so
EXTRA_DIST += tests/fake/README.md tests/fake/nvml.c tests/unit/test_preflight.bats
TESTS += tests/unit/test_preflight.bats
check_DATA = $(FAKES)
CLEANFILES += $(FAKES)

tests/fake/libnvidia-ml.so: tests/fake/nvml.c
	$(AM_V_CC)$(MKDIR_P) tests/fake && $(CC) $(AM_CFLAGS) -D_GNU_SOURCE $(CFLAGS) -shared -fPIC -o $@ $<

tests/fake/libnvidia-ml-old.so: tests/fake/nvml.c
	$(AM_V_CC)$(MKDIR_P) tests/fake && $(CC) $(AM_CFLAGS) -D_GNU_SOURCE -DFAKE_NVML_OLD $(CFLAGS) -shared -fPIC -o $@ $<
