#!/bin/bash
# `make dist` carries what git knows, and only what git knows or autotools make. Prints TAP; names
# each difference.
set -u
cd "${SRC:-.}" || exit 1
git ls-files >/dev/null 2>&1 || { echo "1..0 # SKIP the rules are for what git knows"; exit 0; }
build=${BIN:-build/bin}/..
[ -e "$build/Makefile" ] || { echo "1..0 # SKIP nothing is configured"; exit 0; }
echo 1..2

# Hidden files are for people at work.
known=$(git -c core.quotePath=false ls-files | grep -vE '(^|/)\.')
export MAKEFLAGS=''
make -s -C "$build" Makefile >/dev/null 2>&1 # it may be older than its pieces
carried=$(make -s -C "$build" list-dist)

# report NUMBER TITLE BREACHES
report() {
    if [ -z "$3" ]; then
        echo "ok $1 - $2"
    else
        echo "not ok $1 - $2"
        sed 's/^/# /' <<<"$3"
    fi
}

# A folder that is distributed stands for all in it.
report 1 'what git knows is distributed' "$(awk -v carried="$carried" '
    BEGIN {
        count = split(carried, lines, "\n")
        for (i = 1; i <= count; i++)
            is_carried[lines[i]] = 1
    }
    {
        for (path = $0; !(path in is_carried) && sub("/[^/]*$", "", path);)
            ;
        if (!(path in is_carried))
            print
    }' <<<"$known")"

made='^(configure|aclocal\.m4|config\.h\.in|Makefile\.in|build-aux/.*)$'
folders=$(awk '{ while (sub("/[^/]*$", "")) print }' <<<"$known" | sort -u)
report 2 'what is distributed is known to git, or made by autotools' \
    "$(grep -vE "$made" <<<"$carried" | grep -vxF -f <(printf '%s\n' "$known" "$folders"))"
