# lib/expr
lib_libphased_a_SOURCES += \
	lib/expr/metrics.c lib/expr/metrics.h \
	lib/expr/value.c lib/expr/value.h \
	lib/expr/function.c lib/expr/function.h \
	lib/expr/parse.c lib/expr/parse.h \
	lib/expr/lookup.c lib/expr/lookup.h \
	lib/expr/expr.c lib/expr/expr.h \
	lib/expr/check.c lib/expr/verdict.c lib/expr/check.h
EXTRA_DIST += lib/expr/README.md
