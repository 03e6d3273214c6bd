# tests/specs: workflow files, good and bad; tests/unit/test_spec.c gives them to the parser.
dist_check_SCRIPTS += tests/specs/test_schema.sh tests/specs/test_criteria.sh tests/specs/test_commands.sh \
	tests/specs/test_keys.sh tests/specs/test_cookbook.sh \
	tests/specs/test_readings.sh
TESTS += tests/specs/test_schema.sh tests/specs/test_criteria.sh tests/specs/test_commands.sh \
	tests/specs/test_keys.sh tests/specs/test_cookbook.sh \
	tests/specs/test_readings.sh
EXTRA_DIST += tests/specs/good tests/specs/bad tests/specs/test_schema.py tests/specs/README.md
EXTRA_DIST += tests/specs/test_criteria.py tests/specs/test_commands.py tests/specs/test_readings.py
