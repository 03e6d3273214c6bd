# tests/tidy: the house rules.
TESTS += tests/tidy/tidy.sh
EXTRA_DIST += tests/tidy/tidy.sh
