#!/bin/bash
# A short storm as a test: about a minute of faults, from a seed that is always the same.
# PHASED_STORM_SEED takes another one, PHASED_STORM_MINUTES makes it longer. Prints TAP.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "1..0 # SKIP there is no python3"; exit 0; }
echo 1..1
title="in a storm no two ranks of a phase live at once, nothing is lost, and all comes to its end"
said=$("$here/storm" --seed "${PHASED_STORM_SEED:-1}" --minutes "${PHASED_STORM_MINUTES:-1}" \
    --patience 8 2>&1)
status=$?
sed 's/^/# /' <<<"$said"
if [ "$status" = 0 ]; then echo "ok 1 - $title"; else echo "not ok 1 - $title"; fi
