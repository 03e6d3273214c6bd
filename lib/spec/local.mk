# lib/spec
