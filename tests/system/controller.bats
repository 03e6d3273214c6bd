#!/usr/bin/env bats
# A controller that forgets a submission, since it is killed before it has saved it. The daemon
# waits for a minute here instead of five.

load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# The controller renames its files, so a copy may miss one.
keep_state() {
    rm -rf "$SANDBOX/state.before"
    cp -a "$SANDBOX/state" "$SANDBOX/state.before"
}

@test "a job that the controller forgets before any poll saw it is submitted again, and runs once" {
    PHASED_ABSENCE_S=60 phasectl daemon start
    scontrol update NodeName=n1,n2 State=DRAIN Reason=test # the forgotten job must not have begun
    eventually 60 keep_state
    workflow=$(training | sed 's/iterations: 150/iterations: 10/' | submit)
    eventually 60 eval '[ "$(record "SELECT count(*) FROM job WHERE slurm_id")" = 1 ]'
    controller=$(cat "$SANDBOX/pid/slurmctld")
    kill -KILL "$controller"
    eventually 60 process_has_ended "$controller"
    rm -rf "$SANDBOX/state"
    mv "$SANDBOX/state.before" "$SANDBOX/state"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2
    eventually 60 nodes_resume n1,n2
    # After a minute of absence the daemon submits a new job.
    eventually 240 state "$workflow" succeeded
    [ "$(record "SELECT count(*) FROM job")" = 2 ]
    [ "$(record "SELECT count(*) FROM run WHERE outcome = 'succeeded'")" = 1 ]
    [ "$(line_count "$PHASED_HOME/runs/$workflow/train/out/executed")" = 1 ]
}
