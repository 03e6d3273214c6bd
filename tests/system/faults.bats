#!/usr/bin/env bats
# What goes wrong on a bad day: programs that fail or print nothing or too much; guards that fail; a
# controller that is away; full disks; two daemons on one home.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }

teardown() {
    [ -z "${mounted:-}" ] || { phasectl daemon stop; umount -l "$mounted"; } >/dev/null
    home_down
}

# one_phase RUN [MORE]: a workflow of one phase that runs this script.
one_phase() {
    cat <<SPEC
name: one
phases:
  only:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
$(sed 's/^/      /' <<<"$1")
${2:-}
SPEC
}

daemon_is_gone() {
    ! daemon_pid
}

reason() {
    phasectl status "$1" --json | gojq -r .reason
}

@test "a rank that exits with 3 holds the phase, and status says so; a retry runs the phase again" {
    phasectl daemon start
    workflow=$(one_phase '[ -e "$PHASED_OUT/tried" ] || { touch "$PHASED_OUT/tried"; exit 3; }' | submit)
    eventually 60 state "$workflow/only" held
    [[ "$(reason "$workflow/only")" = *"exited with code 3"* ]]
    [ "$(record 'SELECT outcome, cause, exit_code FROM run')" = 'failed|exit|3' ]
    phasectl retry "$workflow/only"
    eventually 60 state "$workflow" succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 2 ]
}

@test "a program that prints nothing succeeds, and its gate is insufficient" {
    phasectl daemon start
    workflow=$(one_phase 'true' '    gate: {loss: {value: last(loss), below: 3}}' | submit)
    eventually 60 state "$workflow/only" held
    [ "$(record "SELECT outcome FROM verdict WHERE name = 'loss'")" = insufficient ]
    run phasectl gate "$workflow/only"
    [[ "$output" = *insufficient*loss* || "$output" = *loss*insufficient* ]]
}

@test "a program that prints 100 MB loses no metric, and its log stays bounded" {
    phasectl daemon start
    workflow=$(one_phase 'echo step=1 loss=5
head -c 100M /dev/zero | tr "\0" x | fold -w 200
echo; echo step=2 loss=4' '    gate: {falling: last(loss) < first(loss)}' | submit)
    eventually 120 state "$workflow" succeeded
    [ "$(du -sm "$PHASED_HOME/runs/$workflow/only/1/log" | cut -f1)" -lt 140 ]
}

@test "a guard that fails stops the run and records its verdict" {
    phasectl daemon start
    workflow=$(one_phase 'for i in 1 2 3 4 5; do echo step=$i grad_norm=30; done; exec sleep 600' \
        '    guards: {cap: {value: min(grad_norm), over: 3 steps, at_most: 20, advice: lower the rate}}' | submit)
    eventually 60 state "$workflow/only" held
    [ "$(record 'SELECT outcome, cause FROM run')" = 'failed|guard' ]
    [ "$(record "SELECT name, outcome, value FROM verdict WHERE kind = 'guard'" | tail -n 1)" = 'cap|failed|30.0' ]
    run phasectl gate "$workflow/only"
    [[ $output == *"the gate has no checks: a run that succeeds passes"*"guards of its newest run:"*"cap 30 is "*"lower the rate"* ]]
    run phasectl status "$workflow"
    [[ $output == *"guard failed: cap 30 is "* && $output != *"guard: guard"* ]]
    run phasectl why "$workflow"
    [ "$(grep -c "cap 30 is " <<<"$output")" = 2 ] # the reason, and the run's line
    [[ $output == *"  guard cap: lower the rate"* ]]
}

@test "a second daemon on a home refuses to start, and names the first daemon" {
    phasectl daemon start
    run phased --home "$PHASED_HOME"
    [ "$status" = 3 ] # systemd does not start it again
    [[ "$output" = *"$(gojq .pid "$PHASED_HOME/daemon.json")"* ]]
    phasectl daemon status
}

@test "the first of two daemons on a home stops, and the current run ends once" {
    phasectl daemon start
    workflow=$(one_phase 'echo step=1 loss=1; until [ -e "$PHASED_OUT/go" ]; do sleep 0.3; done' | submit)
    eventually 60 state "$workflow/only" active
    first=$(daemon_pid)
    rm "$PHASED_HOME/phased.lock"
    phased --home "$PHASED_HOME" 2>>"$PHASED_HOME/second.log" 3>&- &
    second=$!
    serves() { [ "$(gojq .pid "$PHASED_HOME/daemon.json")" = "$1" ]; }
    eventually 60 serves "$second"
    touch "$PHASED_HOME/runs/$workflow/only/out/go"
    eventually 60 process_has_ended "$first"
    grep -qF "another daemon serves this home now: process $second" "$PHASED_HOME/phased.log"
    eventually 60 state "$workflow" succeeded
    [ "$(record "SELECT count(*) FROM event WHERE type = 'run' AND to_state = 'ended'")" = 1 ]
    [ "$(record 'SELECT pid FROM lease')" = "$second" ]
    kill "$second"
    wait "$second"
}

@test "a stale socket does not keep the daemon from starting" {
    phasectl daemon start
    daemon_kill
    eventually 60 daemon_is_gone
    [ -S "$PHASED_HOME/phased.sock" ]
    phasectl daemon start
    phasectl status
}

status_says() { [[ $(phasectl status) = *"$1"* ]]; }

@test "without a controller a submission is queued, and is submitted once when the controller is back" {
    phasectl daemon start
    kill -STOP "$(cat "$SANDBOX/pid/slurmctld")"
    workflow=$(two_phases | sed 's/^    gate:/    linger: 120s\n&/' | submit)
    state "$workflow" running
    kill -KILL "$(cat "$SANDBOX/pid/slurmctld")"
    eventually 60 status_says 'Slurm does not answer, so nothing new begins: '
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2
    eventually 120 state "$workflow" succeeded
    [ "$(line_count "$PHASED_HOME/runs/$workflow/first/out/executed")" = 1 ]
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
}

@test "on a full disk a submission is refused clearly, and nothing is half written" {
    [ "$(id -u)" = 0 ] || skip "only root can mount a small disk"
    mount -t tmpfs -o size=24m,mode=0700 none "$PHASED_HOME" || skip "mounting is not allowed here"
    mounted=$PHASED_HOME
    phasectl daemon start
    two_phases >"$BATS_TEST_TMPDIR/spec.yaml"
    head -c 30M /dev/zero >"$PHASED_HOME/ballast" 2>/dev/null || true
    run phasectl submit "$BATS_TEST_TMPDIR/spec.yaml"
    [ "$status" = 1 ]
    [[ "$output" = *full* || "$output" = *space* ]]
    [[ $(phasectl daemon status) == *'the record cannot be written since '*': what is shown is of that time, and nothing new begins: '*full* ]]
    [[ $(phasectl status) == *'the record cannot be written since '*': what is shown is of that time, and nothing new begins: '*full* ]]
    rm "$PHASED_HOME/ballast"
    [ "$(record 'SELECT count(*) FROM workflow')" = 0 ]
    eventually 60 phasectl submit "$BATS_TEST_TMPDIR/spec.yaml"
    eventually 60 state "$(record 'SELECT id FROM workflow')" succeeded
}

@test "a change that the record never accepts ends the daemon with the reason, and has no effect" {
    phasectl daemon start
    workflow=$(one_phase 'exec sleep 600' | submit)
    # A run that only starts is held without an event.
    eventually 60 record_says 'SELECT state FROM run' running
    sqlite3 -cmd ".timeout 10000" "$PHASED_HOME/phased.db" "CREATE TRIGGER refuse BEFORE INSERT ON event
        BEGIN SELECT raise(ABORT, 'never'); END"
    run ! phasectl hold "$workflow/only"
    eventually 60 daemon_is_gone
    grep -q 'the record refuses these rows, which is a bug in phased.*never' "$PHASED_HOME/phased.log"
    sqlite3 -cmd ".timeout 10000" "$PHASED_HOME/phased.db" 'DROP TRIGGER refuse'
    phasectl daemon start
    state "$workflow/only" active
}

@test "a read-only home is refused, and the message names it" {
    [ "$(id -u)" = 0 ] || skip "only root can mount a read-only disk"
    mount -t tmpfs -o ro,mode=0700 none "$PHASED_HOME" || skip "mounting is not allowed here"
    mounted=$PHASED_HOME
    run phased --home "$PHASED_HOME"
    [ "$status" = 1 ]
    [[ "$output" = *"$PHASED_HOME"*"ead-only"* ]]
    [ ${#lines[@]} = 1 ]
}
