#!/usr/bin/env bats
# A site that lets no TCP through between its nodes and the daemon: the files of the runs carry
# everything. The workers get a port on which nothing listens.

load phased.bash
load training.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    phasectl daemon start
    gojq '.port = 9' "$PHASED_HOME/daemon.json" >"$PHASED_HOME/closed"
    mv "$PHASED_HOME/closed" "$PHASED_HOME/daemon.json"
}
teardown() { home_down; }

@test "without TCP a workflow runs to its end, with a promotion in place" {
    workflow=$(two_phases | sed 's/^  first:/&\n    linger: 2m/' | submit)
    eventually 120 state "$workflow" succeeded
    [ "$(record "SELECT group_concat(outcome) FROM run")" = succeeded,succeeded ]
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
    [ "$(record 'SELECT count(*) FROM metric')" = 3 ]
}

@test "without TCP a run that is held stops with a checkpoint, and resumes from it" {
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 5
    phasectl hold "$workflow"
    eventually 60 state "$workflow" held
    [ "$(record "SELECT outcome || ' ' || (last_step < 150) FROM run")" = 'cancelled 1' ]
    phasectl release "$workflow"
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT last_step FROM run WHERE attempt = 1')" = \
        "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" ]
    jobs_agree
}
