#!/usr/bin/env bats
# A node that makes a run fail is left out of the next runs, until its time is over or a person
# clears it.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    nodes_settle
    home_up
}
teardown() { home_down; }

# sleeper SECONDS: a phase with one rank, which sleeps for so long.
sleeper() {
    cat <<SPEC
name: sleeper
phases:
  a:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      echo "\$SLURMD_NODENAME" >>"\$PHASED_OUT/nodes"
      sleep $1
SPEC
}

# The agent of the only run of this home.
agent_pid() {
    pgrep -f "^[^ ]*phase-worker node $PHASED_HOME/" # and not the sruns
}

nodes_are() {
    [ "$(paste -sd' ' "$PHASED_HOME/runs/$1/a/out/nodes")" = "$2" ]
}

@test "after the loss of an agent the next run goes to another node, until the node is cleared" {
    phasectl daemon start
    workflow=$(sleeper 300 | submit)
    eventually 60 nodes_are "$workflow" n1
    kill -ABRT "$(agent_pid)"
    eventually 60 nodes_are "$workflow" 'n1 n2' # though n1 is idle, and comes first
    [ "$(record "SELECT cause || ' ' || attempt FROM run WHERE state = 'ended'")" = 'node_fail 1' ]
    [ "$(record 'SELECT node || ifnull(address, 0) || count FROM v_node')" = "n1$workflow/a#11" ]

    run phasectl nodes
    [[ ${lines[0]} == NODE*CAUSE*RUN*SINCE*LEFT*COUNT*MESSAGE ]]
    [[ ${lines[1]} == n1\ *node_fail\ *"$workflow/a#1"*1h5*'n1: task 0: Aborted'* ]]
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled

    phasectl nodes clear n1
    [ "$(phasectl nodes)" = 'no node is left out' ]
    workflow=$(sleeper 0 | submit)
    eventually 60 state "$workflow" succeeded
    nodes_are "$workflow" n1
}

@test "an agent that somebody killed does not make its node a bad node" {
    phasectl daemon start
    workflow=$(sleeper 300 | submit)
    has_begun() { [ "$(line_count "$PHASED_HOME/runs/$workflow/a/out/nodes")" = "$1" ]; }
    eventually 60 has_begun 1
    kill -KILL "$(agent_pid)"
    eventually 60 has_begun 2
    [ "$(record "SELECT cause || ' ' || attempt FROM run WHERE state = 'ended'")" = 'node_fail 1' ]
    [ "$(phasectl nodes)" = 'no node is left out' ]
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled
}

@test "an unknown node is refused; if an excluded node no longer exists, the other nodes stay excluded" {
    phasectl daemon start
    run phasectl nodes add nope
    [ "$status" -eq 1 ]
    [ "$output" = 'phasectl: Slurm knows no node nope' ]
    phasectl nodes add n1
    phasectl daemon stop
    sqlite3 "$PHASED_HOME/phased.db" \
        "INSERT INTO node_health (node, message, since, until, count) SELECT 'nope', 'gone', since, until, count FROM node_health WHERE node = 'n1'"
    phasectl daemon start
    workflow=$(sleeper 0 | submit)
    eventually 60 state "$workflow" succeeded
    nodes_are "$workflow" n2 # n1 is still left out
    [ "$(record "SELECT message FROM event WHERE workflow = $workflow AND type = 'warning' LIMIT 1")" = \
        'Slurm knows no node nope, which was to be left out' ]
}

@test "a person can exclude nodes; if no node remains, the job may use any node, and a warning says so" {
    phasectl daemon start
    phasectl nodes add n1 --for 2h --because 'fan noise'
    workflow=$(sleeper 0 | submit)
    eventually 60 state "$workflow" succeeded
    nodes_are "$workflow" n2

    phasectl nodes add n2
    [[ $(phasectl nodes) == *n2*'until cleared'* ]]
    workflow=$(sleeper 0 | submit)
    eventually 60 state "$workflow" succeeded
    [[ $(record "SELECT message FROM event WHERE workflow = $workflow AND type = 'warning' LIMIT 1") == \
        'Slurm refused the job while nodes were left out (Requested node configuration is not available): phased submits the job again, and no longer leaves these nodes out' ]]

    run phasectl nodes clear n3
    [ "$status" -eq 1 ]
    [ "$output" = 'phasectl: n3 is not left out' ]
    run phasectl nodes add 'n[1-2]'
    [ "$status" -eq 1 ]
    [ "$output" = 'phasectl: n[1-2] is not the name of one node' ]
    run phasectl nodes add n1 --for 5
    [ "$status" -eq 2 ]
}
