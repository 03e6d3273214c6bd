#!/usr/bin/env bats
# Runs that hang: how that is seen, what is found out about them, and that nothing of them is left.
# The lead and its agents under a stand-in for srun.

load worker/helpers

setup() {
    worker_setup
    hang='"hang_s": 2'
}

teardown() {
    worker_teardown
}

# evidence RUN NODE FILTER: from the node's journal.
evidence() {
    journal "$1" "$2" "select(.type == \"evidence\") | $3"
}

@test "a program that stops writing is stopped, with evidence of what it was doing" {
    start_daemon
    new_run 1 "{$hang, \"run\": $(script 'for i in {1..8}; do echo "step=$i loss=1"; done; exec sleep 1000')}"
    start_lead 1
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause, .last_step]')" = '["failed","hang",8]' ]
    [[ $(outcome 1 .message) == "no output, metric or checkpoint for "*" s (limit 2 s): on n1 sleep of rank 0 (pid "*") sleeps"* ]]
    [ "$(outcome 1 '.evidence | [.limit_s, .silent_s >= 2, (.nodes | keys)]')" = '[2,true,["n1"]]' ]
    [ "$(journal 1 lead 'select(.type == "stopping") | .why')" = hang ]
    [ "$(evidence 1 n1 '.processes[] | select(.name == "sleep") | [.rank, .command, .state, .call]')" = \
        '[0,"sleep 1000","S","clock_nanosleep"]' ]
    [ "$(record 1 n1 'select(.type == "evidence") | .summary')" = "$(outcome 1 .evidence.nodes.n1)" ]
}
