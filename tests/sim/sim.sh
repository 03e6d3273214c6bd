#!/bin/bash
# Many seeds of a whole workflow with faults of everything; PHASED_SIM_SEEDS says how many, and
# PHASED_SIM_FIRST where to begin.
set -u
count=${PHASED_SIM_SEEDS:-20000}
first=${PHASED_SIM_FIRST:-1}
echo 1..1
if "$BIN/../tests/sim/sim" --seeds "$first" "$count"; then
    echo "ok 1 - $count workflows keep all invariants under faults"
else
    echo "not ok 1 - $count workflows keep all invariants under faults"
fi
