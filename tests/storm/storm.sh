#!/bin/bash
# Two short storms at once as a test, from a seed that is always the same: one of all kinds of
# faults, one of preemptions alone. PHASED_STORM_SEED takes another seed for both. Prints TAP.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "1..0 # SKIP there is no python3"; exit 0; }
said=$(mktemp -d)
trap 'rm -rf "$said"' EXIT

# storm NAME OPTION...: in the background, with its output kept.
storm() {
    "$here/storm" --seed "${PHASED_STORM_SEED:-2}" --minutes 1 --patience 8 "${@:2}" \
        >"$said/$1" 2>&1 &
}

# verdict NUMBER NAME PID TITLE
verdict() {
    local word='not ok'
    wait "$3" && word=ok
    sed 's/^/# /' "$said/$2"
    echo "$word $1 - $4"
}

echo 1..2
storm all
all=$!
storm preemptions --only preempt --every 5 --workflows 8
verdict 1 all "$all" 'in a storm of faults nothing runs twice, nothing is lost, and everything ends'
verdict 2 preemptions $! 'workflows under a storm of preemptions end as if there had been none'
