# lib/expr
lib_libphased_a_SOURCES += \
	lib/expr/metrics.c lib/expr/metrics.h \
	lib/expr/expr.h \
	lib/expr/check.h
