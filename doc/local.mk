# doc: the manual.
dist_man_MANS += \
	doc/man/phase-model.1 \
	doc/man/phase-preflight.1 \
	doc/man/phase-worker.1 \
	doc/man/phased.1 \
	doc/man/phasectl.1 \
	doc/man/phased-failures.5 \
	doc/man/phased-spec.5
EXTRA_DIST += doc/guide/README.md doc/guide/cookbook.md doc/guide/containers.md doc/guide/port-your-sbatch-script.md doc/guide/without-root.md \
	doc/guide/laptop-to-cluster.md doc/guide/validate-a-cluster.md \
	doc/guide/two-phases.md doc/guide/distillation.md \
	doc/guide/agents.md doc/guide/daemon-as-a-job.md doc/guide/from-a-laptop.md doc/guide/criteria.md doc/guide/monitoring.md \
	doc/guide/demo.md doc/guide/page.png doc/guide/top.png
EXTRA_DIST += doc/administrators.md doc/api.md doc/comparison.md doc/glossary.md doc/how-it-works.md doc/install.md \
	doc/metrics.md doc/preflight.md doc/protocol.md doc/sbatch.md doc/spec.md doc/what-happens-when.md
EXTRA_DIST += doc/README.md
