# tests/tidy: the house rules.
EXTRA_DIST += tests/tidy/tidy.sh

TESTS += tests/tidy/borders.sh
EXTRA_DIST += tests/tidy/borders.sh

TESTS += tests/tidy/man.sh
EXTRA_DIST += tests/tidy/man.sh

TESTS += tests/tidy/hardening.sh
EXTRA_DIST += tests/tidy/hardening.sh

TESTS += tests/tidy/web.sh
EXTRA_DIST += tests/tidy/web.sh

TESTS += tests/tidy/words.sh
EXTRA_DIST += tests/tidy/words.sh
EXTRA_DIST += tests/tidy/README.md tests/tidy/report.bash
