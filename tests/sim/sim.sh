#!/bin/bash
# Runs many seeds of a whole workflow with all faults. PHASED_SIM_SEEDS is the number of seeds, and
# PHASED_SIM_FIRST the first seed.
set -u
count=${PHASED_SIM_SEEDS:-20000}
first=${PHASED_SIM_FIRST:-1}
echo 1..1
if "$BIN/../tests/sim/sim" --seeds "$first" "$count"; then
    echo "ok 1 - $count workflows keep all invariants under faults"
else
    echo "not ok 1 - $count workflows keep all invariants under faults"
fi
