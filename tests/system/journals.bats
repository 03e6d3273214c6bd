#!/usr/bin/env bats
# Journals that are cut or damaged: a gate does not pass on less than the run has told, and the
# record says what is missing.

bats_require_minimum_version 1.5.0
load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

no_jobs() { [ -z "$(squeue -h)" ]; }

@test "a gate does not pass if a journal was cut or damaged while the daemon was away" {
    phasectl daemon start
    for _ in cut garbage; do
        submit <<'SPEC'
name: damaged
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      for step in $(seq 40); do
        echo "step=$step loss=$((100 - step))"
        if [ $step = 10 ]; then until [ -e "$PHASED_OUT/../../../../go" ]; do sleep 0.3; done; fi
      done
    gate: {falling: last(loss) < first(loss)}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    run: echo step=1 loss=2
SPEC
    done
    eventually 60 past 1/first 5
    eventually 60 past 2/first 5
    daemon_kill
    touch "$PHASED_HOME/go"
    eventually 60 no_jobs
    runs=$PHASED_HOME/runs
    sed -i '19,$d' "$runs"/1/first/1/journal/n*.jsonl
    sed -i '30s/.*/@#$%/' "$runs"/2/first/1/journal/n*.jsonl
    phasectl daemon start
    eventually 60 state 1/first held
    eventually 60 state 2/first held
    final=$(gojq '.finals[]' "$runs/1/first/1/outcome.json")
    node=$(gojq -r '.finals | keys[]' "$runs/1/first/1/outcome.json")
    [ "$(phasectl status 1/first --json | gojq -r .reason)" = \
        "insufficient data: the journal of $node lacks entries 19 to $final of run #1" ]
    phasectl status 2/first --json | gojq -e '.reason | test("lacks entry 30 of run #1$")'
    run -0 phasectl why 1/first
    [[ $output == *"phasectl promote 1/first"*"phasectl retry 1/first"* ]]
    [ "$(record "SELECT count(*) FROM run")" = 2 ] # `second` has not begun
    # A person can promote the phase anyway, or run it again.
    phasectl promote 1/first
    phasectl retry 2/first
    eventually 90 state 1 succeeded
    eventually 90 state 2 succeeded
}

# start_waiting: workflow 1 waits at step 10 for the file `go`. `journal` is the journal of its
# node.
start_waiting() {
    submit <<'SPEC'
name: waiting
phases:
  only:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      for step in $(seq 12); do
        echo "step=$step loss=$((100 - step))"
        if [ $step = 10 ]; then until [ -e "$PHASED_OUT/go" ]; do sleep 0.3; done; fi
      done
    gate: {falling: last(loss) < first(loss), whole: count(loss) == 12}
SPEC
    eventually 60 past 1/only 9
    journal=$(echo "$PHASED_HOME"/runs/1/only/1/journal/n*.jsonl)
}

@test "a journal that is cut during its run is reported at once, and the run ends as usual" {
    phasectl daemon start
    start_waiting
    is_all_recorded() { [ "$(record "SELECT sequence FROM journal WHERE node != 'lead'")" = "$(line_count "$journal")" ]; }
    eventually 60 is_all_recorded
    has_warning() { [ "$(record "SELECT count(*) FROM event WHERE message LIKE '%its journal was cut from % to 0 bytes%'")" = 1 ]; }
    truncate -s 0 "$journal"
    eventually 60 has_warning
    touch "$PHASED_HOME/runs/1/only/out/go"
    eventually 60 state 1 succeeded
    has_warning
}

has_stray_entry() {
    record "SELECT message FROM event" | grep -q 'has entry 999999 in a wrong place'
}

@test "a journal entry with a wrong number is reported, and no later entry is lost" {
    phasectl daemon start
    start_waiting
    echo '{"seq": 999999, "time": 1.5, "type": "metric", "step": 11, "values": {"loss": 1}}' >>"$journal"
    touch "$PHASED_HOME/runs/1/only/out/go"
    eventually 60 state 1 succeeded
    eventually 60 has_stray_entry
}
