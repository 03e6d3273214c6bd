# lib/failures: what is known of failures, and finding it in logs.
lib_libphased_a_SOURCES += \
	lib/failures/catalogue.c lib/failures/catalogue.h \
	lib/failures/recognizer.c lib/failures/recognizer.h
nodist_lib_libphased_a_SOURCES = lib/failures/builtin.c
BUILT_SOURCES += lib/failures/builtin.c
CLEANFILES += lib/failures/builtin.c
EXTRA_DIST += lib/failures/embed.awk lib/failures/README.md

lib/failures/builtin.c: lib/failures/embed.awk etc/failures.yaml
	$(AM_V_GEN)$(MKDIR_P) lib/failures && \
	$(AWK) -f "$(srcdir)/lib/failures/embed.awk" "$(srcdir)/etc/failures.yaml" > $@
