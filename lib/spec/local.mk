# lib/spec: the workflow file.
lib_libphased_a_SOURCES += \
	lib/spec/node.c lib/spec/node.h \
	lib/spec/phase.c lib/spec/phase.h \
	lib/spec/problems.c lib/spec/problems.h \
	lib/spec/scalar.c lib/spec/scalar.h \
	lib/spec/scope.c lib/spec/scope.h \
	lib/spec/script.c lib/spec/script.h \
	lib/spec/yaml.c lib/spec/yaml.h
