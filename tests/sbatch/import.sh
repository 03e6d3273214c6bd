#!/bin/bash
# What `phasectl import` makes of scripts of many habits, and what it says: for one/NAME.sh, and for
# the scripts of the folder several/NAME in their order, NAME.out holds the messages and then the
# workflow. NAME.env holds variables of the shell where that is done, NAME.before the words before
# the script, and NAME.words the words after it. What is written must pass `phasectl check`. With
# --write the expectations are written anew. Prints TAP.
set -u
cd "${SRC:-$(dirname "$0")/../..}" || exit 1
phasectl=$(realpath "${BIN:-build/bin}/phasectl")
cd tests/sbatch || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
count=0
unset "${!SBATCH_@}" "${!SLURM_@}" # of whoever runs this


# import SCRIPT...: prints the messages, the workflow if there is one, and whether it is good.
import() {
    env "${variables[@]}" "$phasectl" import "$@" >"$work/workflow.yaml" 2>"$work/messages"
    local status=$?
    cat "$work/messages"
    [ $status = 0 ] || { echo "exits with $status"; return; }
    cat "$work/workflow.yaml"
    "$phasectl" check "$work/workflow.yaml" 2>&1 | grep -v "is good" | sed "s|^$work/||"
}

# compare NAME SCRIPT...
compare() {
    variables=() before=() words=()
    [ ! -e "$1.env" ] || mapfile -t variables <"$1.env"
    [ ! -e "$1.before" ] || mapfile -t before <"$1.before"
    [ ! -e "$1.words" ] || mapfile -t words <"$1.words"
    if [ "$write" ]; then
        import "${before[@]}" "${@:2}" "${words[@]}" >"$1.out"
        return
    fi
    count=$((count + 1))
    if import "${before[@]}" "${@:2}" "${words[@]}" | diff "$1.out" - >"$work/difference"; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        sed 's/^/# /' "$work/difference"
    fi
}

write=
[ "${1:-}" != --write ] || write=yes
cd one || exit 1
for script in *.sh; do
    compare "${script%.sh}" "$script"
done
cd ../several || exit 1
for folder in */; do
    compare "${folder%/}" "$folder"*.sh
done
[ "$write" ] || echo "1..$count"
