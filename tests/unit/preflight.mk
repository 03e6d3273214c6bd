# tests/unit: what tests the preflight.
UNIT_TESTS += tests/unit/test_preflight_reference
tests_unit_test_preflight_reference_SOURCES = tests/unit/test_preflight_reference.c
tests_unit_test_preflight_reference_LDADD = worker/preflight/libpreflight.a $(UNIT_LDADD)

if HAVE_CUDA
UNIT_TESTS += tests/unit/test_preflight_kernels
endif
EXTRA_PROGRAMS += tests/unit/test_preflight_kernels
tests_unit_test_preflight_kernels_SOURCES = tests/unit/test_preflight_kernels.c
tests_unit_test_preflight_kernels_LDADD = $(SERIAL_KERNELS) worker/preflight/libpreflight.a \
	$(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_preflight_full
tests_unit_test_preflight_full_SOURCES = tests/unit/test_preflight_full.c
tests_unit_test_preflight_full_LDADD = $(PREFLIGHT_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_gres
tests_unit_test_gres_SOURCES = tests/unit/test_gres.c $(FOLDER)
tests_unit_test_gres_LDADD = worker/preflight/libpreflight.a $(UNIT_LDADD)

UNIT_TESTS += tests/unit/test_preflight_meeting
tests_unit_test_preflight_meeting_SOURCES = tests/unit/test_preflight_meeting.c \
	worker/preflight/gpu/meeting.c worker/preflight/gpu/nearby.c
tests_unit_test_preflight_meeting_LDADD = worker/libworker.a $(UNIT_LDADD)
