# lib/spec: the workflow file.
lib_libphased_a_SOURCES += \
	lib/spec/by_gpu.c lib/spec/by_gpu.h \
	lib/spec/checks.c lib/spec/checks.h \
	lib/spec/colocate.c lib/spec/colocate.h \
	lib/spec/container.c lib/spec/container.h \
	lib/spec/dependency.c lib/spec/dependency.h \
	lib/spec/gpus.c lib/spec/gpus.h \
	lib/spec/hide.c lib/spec/hide.h \
	lib/spec/keys.c lib/spec/keys.def lib/spec/keys.h \
	lib/spec/layout.c lib/spec/layout.h \
	lib/spec/matrix.c lib/spec/matrix.h \
	lib/spec/names.c lib/spec/names.h \
	lib/spec/yaml_node.c lib/spec/yaml_node.h \
	lib/spec/notify.c lib/spec/notify.h \
	lib/spec/options.c lib/spec/options.h \
	lib/spec/overlay.c lib/spec/overlay.h \
	lib/spec/overrides.c lib/spec/overrides.h \
	lib/spec/phase.c lib/spec/phase.h \
	lib/spec/phases.c lib/spec/phases.h \
	lib/spec/problems.c lib/spec/problems.h \
	lib/spec/queue_limits.c lib/spec/queue_limits.h \
	lib/spec/rehearsal.c lib/spec/rehearsal.h \
	lib/spec/remedies.c lib/spec/remedies.h \
	lib/spec/scalar.c lib/spec/scalar.h \
	lib/spec/scope.c lib/spec/scope.h \
	lib/spec/script.c lib/spec/script.h \
	lib/spec/sections.c lib/spec/sections.h \
	lib/spec/slurm_options.c lib/spec/slurm_options.h \
	lib/spec/spec.c lib/spec/spec.h \
	lib/spec/trial.c lib/spec/trial.h \
	lib/spec/variables.c lib/spec/variables.h \
	lib/spec/variants.c lib/spec/variants.h \
	lib/spec/yaml.c lib/spec/yaml.h
EXTRA_DIST += lib/spec/README.md lib/spec/document.md
