# lib/metrics: what programs print as rows, and what is judged of a run that goes on.
lib_libphased_a_SOURCES += \
	lib/metrics/letter.c lib/metrics/letter.h \
	lib/metrics/number.c lib/metrics/number.h \
	lib/metrics/values.c lib/metrics/values.h \
	lib/metrics/literal.c lib/metrics/literal.h \
	lib/metrics/progress.c lib/metrics/progress.h \
	lib/metrics/stamp.c lib/metrics/stamp.h \
	lib/metrics/line.c lib/metrics/line.h \
	lib/metrics/pattern.c lib/metrics/pattern.h \
	lib/metrics/extract.c lib/metrics/extract.h \
	lib/metrics/guards.c lib/metrics/guards.h \
	lib/metrics/columns.c lib/metrics/columns.h \
	lib/metrics/peak.c lib/metrics/peak.h \
	lib/metrics/speed.c lib/metrics/speed.h
EXTRA_DIST += lib/metrics/README.md
