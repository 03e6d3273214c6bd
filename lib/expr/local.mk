# lib/expr
lib_libphased_a_SOURCES += \
	lib/expr/metrics.c lib/expr/metrics.h \
	lib/expr/function.c lib/expr/function.h \
	lib/expr/scan.c lib/expr/scan.h \
	lib/expr/series.c lib/expr/series.h \
	lib/expr/lookup.c lib/expr/lookup.h \
	lib/expr/sandbox.c lib/expr/sandbox.h \
	lib/expr/expr.c lib/expr/expr.h \
	lib/expr/check.c lib/expr/verdict.c lib/expr/check.h
