#!/bin/bash
# Calls among the files of the core, and among those of lib/spec, go down only: there is no circle of
# files that call each other. What calls what is read from the objects of the build. Prints TAP; names
# the files of a circle.
set -u
[ -e "$BIN/../daemon/core/libcore.a" ] || { echo "1..0 # SKIP the core is not built here"; exit 0; }
echo 1..4

# Lines of two files, of which the first one calls a function of the second one.
calls() {
    nm --print-file-name "$@" | awk '
        { sub(/^.*(\.a:|\/)/, "", $1); sub(/^libphased_a-/, "", $1); sub(/\.o:.*$/, "", $1)
          kind = $(NF - 1); name = $NF }
        kind ~ /^[TDRB]$/ { owner[name] = $1 }
        kind == "U" { uses[$1 " " name] }
        END {
            for (use in uses) {
                split(use, part, " ")
                if (part[2] in owner) print part[1], owner[part[2]]
            }
        }' | sort -u
}

# check NUMBER WHERE CALL FILE...: CALL is one that there must be, or nothing was found.
check() {
    local number=$1 where=$2 call=$3 all circle
    shift 3
    all=$(calls "$@")
    if grep -qx "$call" <<<"$all"; then
        echo "ok $number - the calls of $where are found"
    else
        echo "not ok $number - the calls of $where are found"
    fi
    if circle=$(tsort <<<"$all" 2>&1 >/dev/null); then
        echo "ok $((number + 1)) - calls in $where go down only"
    else
        echo "not ok $((number + 1)) - calls in $where go down only"
        sed 's/^tsort: -: */# /; s/^tsort: /# /' <<<"$circle"
    fi
}

check 1 'the core' 'core step' "${LIBRARY:-$BIN/../daemon/core/libcore.a}"
# A build folder may have objects of files that are gone.
mapfile -t objects < <(cd "$SRC" && printf '%s\n' lib/spec/*.c |
    sed "s|^lib/spec/\(.*\)\.c$|$BIN/../lib/spec/libphased_a-\1.o|")
check 3 'lib/spec' 'spec phases' "${objects[@]}"
