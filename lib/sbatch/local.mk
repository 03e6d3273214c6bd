# lib/sbatch: sbatch scripts as workflows.
lib_libphased_a_SOURCES += \
	lib/sbatch/array.c lib/sbatch/array.h \
	lib/sbatch/commands.c lib/sbatch/commands.h \
	lib/sbatch/dependency.c lib/sbatch/dependency.h \
	lib/sbatch/import.c lib/sbatch/import.h \
	lib/sbatch/option.c lib/sbatch/option.h \
	lib/sbatch/output.c lib/sbatch/output.h \
	lib/sbatch/script.c lib/sbatch/script.h \
	lib/sbatch/shape.c lib/sbatch/shape.h \
	lib/sbatch/signal.c lib/sbatch/signal.h \
	lib/sbatch/write.c lib/sbatch/write.h
EXTRA_DIST += lib/sbatch/README.md
