# doc: the manual.
dist_man_MANS += \
	doc/man/phase-model.1 \
	doc/man/phase-preflight.1 \
	doc/man/phase-worker.1 \
	doc/man/phased.1 \
	doc/man/phasectl.1 \
	doc/man/phased-failures.5 \
	doc/man/phased-spec.5
EXTRA_DIST += doc/guide/README.md doc/guide/two-phases.md doc/guide/distillation.md \
	doc/guide/criteria.md doc/guide/page.png
EXTRA_DIST += doc/api.md doc/glossary.md doc/how-it-works.md doc/metrics.md doc/preflight.md \
	doc/protocol.md doc/what-happens-when.md
EXTRA_DIST += doc/README.md
