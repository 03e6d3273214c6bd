# tests/tidy
