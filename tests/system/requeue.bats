#!/usr/bin/env bats
# Jobs that are requeued by their leads, by Slurm or by a person, while the daemon is there, is
# killed or is away. The same job goes on, and ends with the same weights.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scontrol update PartitionName=preempt PreemptMode=REQUEUE 2>/dev/null || true
    scancel --name=preemptor || true
    home_down
}

# job N: the Slurm id of job N of the record.
job() {
    record "SELECT slurm_id FROM job WHERE id = $1"
}

restarts() {
    scontrol show job "$1" | grep -oE 'Restarts=[0-9]+' | cut -d= -f2
}

has_restarted() {
    [ "$(restarts "$1")" -ge "$2" ] && ! scontrol show job "$1" | grep -qE 'JobState=\S*COMPLETING'
}

is_over() {
    scontrol show job "$1" | grep -qE 'JobState=(COMPLETED|PREEMPTED) '
}

# ends_after RESTARTS: the job ends with its last run, and Slurm does not start it again.
ends_after() {
    eventually 30 is_over "$(job 1)"
    [ "$(restarts "$(job 1)")" = "$1" ]
}

waits() {
    has_restarted "$1" "$2" && scontrol show job "$1" | grep -q 'Reason=BeginTime'
}

# Does what the daemon would do. Otherwise Slurm lets the job wait for two minutes.
begin_soon() {
    eventually 30 waits "$1" "$2"
    scontrol update JobId="$1" StartTime=now+2
}

# One job did everything, and no step was repeated.
one_job() {
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
    jobs_agree
    same_weights "$1"
    [ "$(record 'SELECT count(DISTINCT step) FROM metric')" = 150 ]
}

# steps_join N: run N + 1 began where run N ended.
steps_join() {
    [ "$(record "SELECT last_step FROM run WHERE attempt = $1")" = \
        "$(record "SELECT resume_step FROM run WHERE attempt = $1 + 1")" ]
}

# makes_steps N: attempt N is known to have made some steps.
makes_steps() {
    [ "$(record "SELECT last_step > resume_step FROM run WHERE attempt = $1")" = 1 ]
}

@test "a preempted run goes on in the same job, long before Slurm would start the job" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 100 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    ends_after 1
    [ "$(record 'SELECT restarts FROM job')" = 1 ]
    # Slurm's own delay is 121 s.
    [ "$(record 'SELECT n.started - r.ended < 100000 FROM run r, run n
                 WHERE r.attempt = 1 AND n.attempt = 2')" = 1 ]
    steps_join 1
    one_job "$workflow"
}

says_why_it_waits() {
    phasectl status "$workflow" | grep -qF "waits in Slurm: "
}

@test "a requeued job that waits for its nodes says so in status" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    sbatch -Q -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor -o /dev/null --wrap 'sleep 600'
    eventually 100 says_why_it_waits
    scancel --name=preemptor
    eventually 100 state "$workflow" succeeded
    steps_join 1
    one_job "$workflow"
}

@test "a run that is preempted twice goes on twice" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 60 past "$workflow/train" 60
    preempt
    eventually 100 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted preempted succeeded' ]
    ends_after 2
    steps_join 1
    steps_join 2
    one_job "$workflow"
}

@test "where preemption cancels jobs, the phase goes on in a new job" {
    scontrol update PartitionName=preempt PreemptMode=CANCEL
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 1')" = preempted ]
    ends_after 1
    steps_join 1
    jobs_agree
    same_weights "$workflow"
}

@test "a job that somebody requeues goes on from its last checkpoint" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 45
    scontrol requeue "$(job 1)"
    eventually 100 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    one_job "$workflow"
}

@test "a training that is preempted while the daemon is away goes on alone to its end" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    begin_soon "$(job 1)" 1
    eventually 120 test -s "$PHASED_HOME/runs/$workflow/train/2/outcome.json"
    [ "$(jq .alone "$PHASED_HOME/runs/$workflow/train/2/run.json")" = true ]
    ends_after 1
    phasectl daemon start
    eventually 60 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    steps_join 1
    one_job "$workflow"
}

@test "a run is not begun a second time, although a crash took what its lead had written" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    eventually 60 eval '[[ $(scontrol show job "$(job 1)") = *JobState=PENDING* ]]'
    rm "$PHASED_HOME/runs/$workflow/train/1/outcome.json"
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
    # Without the daemon, another run follows only after a run that has made a step.
    eventually 60 has_told_step 2
    preempt
    begin_soon "$(job 1)" 2
    eventually 60 test -s "$PHASED_HOME/runs/$workflow/train/3/journal/lead.jsonl"
    phasectl daemon start
    eventually 30 makes_steps 3
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
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 30 daemon_is_gone
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
