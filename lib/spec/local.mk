# lib/spec: the workflow file.
lib_libphased_a_SOURCES += \
	lib/spec/by_gpu.c lib/spec/by_gpu.h \
	lib/spec/checks.c lib/spec/checks.h \
	lib/spec/colocate.c lib/spec/colocate.h \
	lib/spec/gpus.c lib/spec/gpus.h \
	lib/spec/keys.c lib/spec/keys.h \
	lib/spec/layout.c lib/spec/layout.h \
	lib/spec/model_size.c lib/spec/model_size.h \
	lib/spec/node.c lib/spec/node.h \
	lib/spec/options.c lib/spec/options.h \
	lib/spec/overlay.c lib/spec/overlay.h \
	lib/spec/overrides.c lib/spec/overrides.h \
	lib/spec/phase.c lib/spec/phase.h \
	lib/spec/phases.c lib/spec/phases.h \
	lib/spec/preflight.c lib/spec/preflight.h \
	lib/spec/problems.c lib/spec/problems.h \
	lib/spec/remedies.c lib/spec/remedies.h \
	lib/spec/scalar.c lib/spec/scalar.h \
	lib/spec/scope.c lib/spec/scope.h \
	lib/spec/script.c lib/spec/script.h \
	lib/spec/sections.c lib/spec/sections.h \
	lib/spec/slurm_options.c lib/spec/slurm_options.h \
	lib/spec/spec.c lib/spec/spec.h \
	lib/spec/trial.c lib/spec/trial.h \
	lib/spec/variants.c lib/spec/variants.h \
	lib/spec/watch.c lib/spec/watch.h \
	lib/spec/yaml.c lib/spec/yaml.h
