#!/bin/bash
# Two short storms at once as a test, from a seed that is always the same: one of all kinds of
# faults that are quickly repaired, one of preemptions and of a clock that is set. PHASED_STORM_SEED
# takes another seed for both. Prints TAP.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "1..0 # SKIP there is no python3"; exit 0; }
kinds=40 # of the 52 quick ones; a slow machine, and one without root, cannot do all of them
said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT

# storm NAME OPTION...: in the background, with its output kept.
storm() {
    "$here/storm" --seed "${PHASED_STORM_SEED:-1}" --patience 8 "${@:2}" >"$said/$1" 2>&1 &
}

# verdict NUMBER NAME PID TITLE
verdict() {
    local word='not ok'
    wait "$3" && word=ok
    echo "$word $1 - $4"
    # The violations come first as well: a log may be cut anywhere.
    { grep '^VIOLATION' "$said/$2"; cat "$said/$2"; } | sed 's/^/# /'
}

echo 1..4
storm all --minutes 1.2 --every 1.2 --workflows 12
all=$!
storm preemptions --minutes 1 --only preempt --only clock --every 5 --workflows 8
verdict 1 all "$all" 'in a storm of faults nothing runs twice, nothing is lost, and everything ends'
verdict 2 preemptions $! 'workflows under a storm of preemptions end as if there had been none'

# Prints the kinds of faults that were really done, in all storms so far.
kinds_done() {
    cat "$said"/all* | sed -n 's/^done *[0-9]* kinds: //p' | sed 's/, /\n/g' | sort -u
}

enough() { [ "$(kinds_done | wc -l)" -ge $kinds ]; }

# Whether preemptions ended runs, and the clock was set, if it can be set here.
preempted() {
    grep -qE '^runs .* preempted' "$said"/preemptions* || return
    compgen -G '/usr/lib*/*/faketime/libfaketimeMT.so.1' >/dev/null || return 0
    grep -qE '^done .*\bclock\b' "$said"/preemptions*
}

# done_by NAME CHECK OPTION...: on a slow machine many faults come before the ranks that they are for.
# It gets longer storms.
done_by() {
    local longer
    for longer in 1 2 3; do
        ! "$2" || return 0
        storm "$1-$longer" --seed $((${PHASED_STORM_SEED:-1} + longer)) --minutes 4.8 "${@:3}"
        wait $! || return 1
    done
    "$2"
}

# done_verdict NUMBER TITLE NAME CHECK OPTION...
done_verdict() {
    local word='not ok'
    done_by "${@:3}" && word=ok
    echo "$word $1 - $2"
    sed -n 's/^VIOLATION\|^runs\|^done/# &/p' "$said/$3"*
}

done_verdict 3 "at least $kinds kinds of faults were really done" all enough --every 4.8 --workflows 12
done_verdict 4 'preemptions really ended runs, and the clock was set' preemptions preempted \
    --only preempt --only clock --every 5 --workflows 8
