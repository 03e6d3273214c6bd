#!/usr/bin/env bats
# Jobs that are requeued while the daemon is killed or away. The same job goes on, and ends with the same
# weights.

load phased.bash
load training.bash
load requeue.bash

setup_file() { requeue_up; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scancel --name=preemptor || true
    home_down
}

waits() {
    has_restarted "$1" "$2" && scontrol show job "$1" | grep -q 'Reason=BeginTime'
}

# Does what the daemon would do. Otherwise Slurm lets the job wait for two minutes.
begin_soon() {
    eventually 60 waits "$1" "$2"
    scontrol update JobId="$1" StartTime=now+2
}

# makes_steps N: attempt N is known to have made some steps.
makes_steps() {
    [ "$(record "SELECT last_step > resume_step FROM run WHERE attempt = $1")" = 1 ]
}

@test "a training that is preempted while the daemon is away goes on alone to its end" {
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    begin_soon "$(job 1)" 1
    eventually 120 test -s "$PHASED_HOME/runs/$workflow/train/2/outcome.json"
    [ "$(gojq .alone "$PHASED_HOME/runs/$workflow/train/2/run.json")" = true ]
    ends_after 1
    phasectl daemon start
    eventually 60 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    steps_join 1
    one_job "$workflow"
}

@test "a run is not begun a second time, although a crash took what its lead had written" {
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    eventually 60 eval '[[ $(scontrol show job "$(job 1)") = *JobState=PENDING* ]]'
    rm -f "$PHASED_HOME/runs/$workflow/train/1/outcome.json"
    : >"$PHASED_HOME/runs/$workflow/train/1/journal/lead.jsonl"
    begin_soon "$(job 1)" 1
    eventually 120 test -s "$PHASED_HOME/runs/$workflow/train/2/outcome.json"
    phasectl daemon start
    eventually 60 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    steps_join 1
    one_job "$workflow"
}

# has_told_step N: the journals of attempt N have a metric, whether or not the daemon is there.
has_told_step() {
    grep -qs '"type": "metric"' "$PHASED_HOME/runs/$workflow/train/$1/journal"/n*.jsonl
}

@test "a daemon that comes back takes over a run that goes on alone" {
    phasectl daemon start
    workflow=$(training | sed 's/iterations: 150/iterations: 5000/' | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    begin_soon "$(job 1)" 1
    # The checks below compare the steps of both runs, so each run must make one.
    eventually 60 has_told_step 2
    preempt
    begin_soon "$(job 1)" 2
    eventually 60 test -s "$PHASED_HOME/runs/$workflow/train/3/journal/lead.jsonl"
    phasectl daemon start
    eventually 60 makes_steps 3
    # The run now reports to the daemon, and obeys it.
    phasectl hold "$workflow/train"
    eventually 60 state "$workflow/train" held
    [ "$(outcomes)" = 'preempted preempted cancelled' ]
    steps_join 1
    steps_join 2
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
    jobs_agree
}

# killed_at POINT: the daemon dies at this point, while it lets a preempted run go on.
killed_at() {
    PHASED_CRASH=$1 phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 60 daemon_is_gone
    phasectl daemon start
    eventually 150 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    steps_join 1
    one_job "$workflow"
}

daemon_is_gone() {
    ! daemon_pid
}

@test "a preempted run goes on if the daemon is killed before it makes the next run" { killed_at tell-next:1:before; }
@test "a preempted run goes on if the daemon is killed after it made the next run" { killed_at tell-next:1:after; }
@test "a preempted run goes on if the daemon is killed before it starts the requeued job" { killed_at begin-job:1:before; }
@test "a preempted run goes on if the daemon is killed after it started the requeued job" { killed_at begin-job:1:after; }
