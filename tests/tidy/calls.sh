#!/bin/bash
# Calls among the files of the core go down only: there is no circle of files that call each other.
# What calls what is read from the objects of the build. Prints TAP; names the files of a circle.
set -u
library=${LIBRARY:-$BIN/../daemon/core/libcore.a}
[ -e "$library" ] || { echo "1..0 # SKIP the core is not built here"; exit 0; }
echo 1..2

# Lines of two files, of which the first one calls a function of the second one.
calls=$(nm --print-file-name "$library" | awk '
    { sub(/^.*\.a:/, "", $1); sub(/\.o:.*$/, "", $1); kind = $(NF - 1); name = $NF }
    kind ~ /^[TDRB]$/ { owner[name] = $1 }
    kind == "U" { uses[$1 " " name] }
    END {
        for (use in uses) {
            split(use, part, " ")
            if (part[2] in owner) print part[1], owner[part[2]]
        }
    }' | sort -u)

if grep -q '^core step$' <<<"$calls"; then
    echo "ok 1 - the calls of the core are found"
else
    echo "not ok 1 - the calls of the core are found"
fi
if circle=$(tsort <<<"$calls" 2>&1 >/dev/null); then
    echo "ok 2 - calls in the core go down only"
else
    echo "not ok 2 - calls in the core go down only"
    sed 's/^tsort: -: */# /; s/^tsort: /# /' <<<"$circle"
fi
