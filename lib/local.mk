# lib: shared by every program. Knows neither libuv, SQLite nor Slurm.
noinst_LIBRARIES += lib/libphased.a
lib_libphased_a_SOURCES = \
	lib/address.c lib/address.h \
	lib/amount.c lib/amount.h \
	lib/checkpoint.c lib/checkpoint.h \
	lib/clock.c lib/clock.h \
	lib/command.c lib/command.h \
	lib/error.c lib/error.h \
	lib/gpu_columns.h \
	lib/home.c lib/home.h \
	lib/json.c lib/json.h \
	lib/limits.c lib/limits.h \
	lib/loopback.c lib/loopback.h \
	lib/map.c lib/map.h \
	lib/memory.c lib/memory.h \
	lib/option.c lib/option.h \
	lib/text.c lib/text.h \
	lib/fingerprint.c lib/fingerprint.h lib/file.c lib/file.h \
	lib/place.c lib/place.h \
	lib/saved.c lib/saved.h \
	lib/secrets.c lib/secrets.h \
	lib/units.c lib/units.h \
	lib/mac.c lib/mac.h \
	lib/http.c lib/http.h
lib_libphased_a_CPPFLAGS = $(AM_CPPFLAGS) -DPHASED_PKGDATADIR='"$(pkgdatadir)"' \
	-DPHASED_PKGLIBDIR='"$(pkglibdir)"' -DPHASED_PKGLIBEXECDIR='"$(pkglibexecdir)"'
include lib/expr/local.mk
include lib/failures/local.mk
include lib/metrics/local.mk
include lib/protocol/local.mk
include lib/sbatch/local.mk
include lib/spec/local.mk
EXTRA_DIST += lib/README.md
