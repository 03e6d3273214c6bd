# tests/unit: what tests the preflight.
PREFLIGHT_LDADD = tests/unit/libunit.a worker/preflight/libpreflight.a lib/libphased.a $(UNIT_LIBS)
UNIT_TESTS += tests/unit/test_preflight_reference
tests_unit_test_preflight_reference_LDADD = $(PREFLIGHT_LDADD)

if HAVE_CUDA
UNIT_TESTS += tests/unit/test_preflight_kernels
endif
EXTRA_PROGRAMS += tests/unit/test_preflight_kernels
tests_unit_test_preflight_kernels_LDADD = $(SERIAL_KERNELS) $(PREFLIGHT_LDADD)

UNIT_TESTS += tests/unit/test_preflight_full
tests_unit_test_preflight_full_LDADD = $(PREFLIGHT_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_gres
tests_unit_test_gres_LDADD = $(PREFLIGHT_LDADD)

UNIT_TESTS += tests/unit/test_preflight_meeting
tests_unit_test_preflight_meeting_SOURCES = tests/unit/test_preflight_meeting.c \
	worker/preflight/gpu/meeting.c worker/preflight/gpu/nearby.c
tests_unit_test_preflight_meeting_LDADD = worker/libworker.a lib/libphased.a $(UNIT_LIBS)
