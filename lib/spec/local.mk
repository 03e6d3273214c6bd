# lib/spec: the workflow file.
lib_libphased_a_SOURCES += \
	lib/spec/node.c lib/spec/node.h \
	lib/spec/phase.c lib/spec/phase.h \
	lib/spec/problems.c lib/spec/problems.h \
	lib/spec/yaml.c lib/spec/yaml.h
