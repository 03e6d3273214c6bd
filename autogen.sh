#!/bin/sh
# Makes the configure script from configure.ac; run once after a clone, or let ./quickstart do it.
set -eu
cd "$(dirname "$0")"
exec autoreconf --install --force --warnings=all,no-obsolete
