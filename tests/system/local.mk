# tests/system: whole programs, most of them on a sandbox.
TESTS += tests/system/sandbox.bats
EXTRA_DIST += tests/system/sandbox.bats
