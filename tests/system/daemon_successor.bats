#!/usr/bin/env bats
# The daemon as a job of Slurm that comes near its time limit, and the successor of the job.

load phased.bash
load daemon_job.bash

setup_file() { sandbox_up 3; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# The number of steps in the record, of different steps, and the first and the last step.
steps_of() {
    phasectl metrics "$1" --name loss --last 100000 --json | gojq -c '[.steps | length, (unique | length), min, max]'
}

@test "the successor takes over before the limit: the run goes on, and no step is lost or comes twice" {
    start_as_job -- --time=3 --signal=B:USR1@100
    local first second last
    first=$(ping job)
    counter | submit
    eventually 60 test -s "$PHASED_HOME/runs/1/count/out/step"
    eventually 200 serves_as_another_than "$first"
    second=$(ping job)
    eventually 60 job_has_ended "$first"
    [ "$(grep -oE "job $first: .*the successor is job [0-9]+" "$PHASED_HOME/phased.log")" = \
        "job $first: the time limit comes near: the successor is job $second" ]
    # The successor has the same options, and the run was not disturbed.
    [ "$(squeue -h -j "$second" -o %l)" = 3:00 ]
    touch "$PHASED_HOME/runs/1/count/out/go"
    eventually 60 state 1 succeeded
    [ "$(line_count "$PHASED_HOME/runs/1/count/out/executed")" = 1 ]
    [ "$(record 'SELECT count(*) FROM run')" = 1 ]
    last=$(cat "$PHASED_HOME/runs/1/count/out/step")
    [ "$(steps_of 1/count)" = "[$last,$last,1,$last]" ]
    phasectl daemon stop
    is_alone 0
}

@test "stop ends the daemon and the successor that waits" {
    # Slurm sends the signal 40 to 70 seconds after the start. The successor stays in the queue.
    start_as_job -- --time=3 --signal=B:USR1@110
    local job
    job=$(ping job)
    scontrol update NodeName=n[1-3] State=DRAIN Reason=test
    has_successor() { tells "runs as job $job on node .*; its successor is job [0-9]+ \(pending"; }
    eventually 110 has_successor
    [ "$(phasectl daemon stop)" = 'phased stopped' ]
    is_alone 0
    scontrol update NodeName=n[1-3] State=RESUME
}

@test "a successor that begins after the limit serves then, and no step is lost" {
    start_as_job -- --partition=prod --time=3 --signal=B:USR1@110
    local job successor last
    job=$(ping job)
    scontrol update PartitionName=prod State=DOWN # the successor waits, and the training can begin
    counter | submit
    eventually 60 test -s "$PHASED_HOME/runs/1/count/out/step"
    has_successor() { tells "its successor is job ([0-9]+) \(pending" && successor=${BASH_REMATCH[1]}; }
    eventually 110 has_successor
    scontrol update JobId="$job" TimeLimit=1 # which is over
    eventually 90 job_has_ended "$job"
    [[ $(scontrol show job "$job") == *JobState=TIMEOUT* ]]
    run phasectl daemon start --as-job
    [ "$status" = 1 ]
    [[ $output == *"job $successor (pending"* ]]
    scontrol update PartitionName=prod State=UP
    eventually 60 serves_as "$successor"
    touch "$PHASED_HOME/runs/1/count/out/go"
    eventually 60 state 1 succeeded
    last=$(cat "$PHASED_HOME/runs/1/count/out/step")
    [ "$(steps_of 1/count)" = "[$last,$last,1,$last]" ]
    phasectl daemon stop
    is_alone 0
}
