#!/usr/bin/env bats
# Jobs that are requeued: by their leads, by Slurm, by a person; with the daemon there, killed
# meanwhile, or away for all of it. The same job goes on, to the same weights.

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

# job N: Slurm's id of the record's job.
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

# ends_after RESTARTS: the job ends with its last run; Slurm does not begin it once more.
ends_after() {
    eventually 30 is_over "$(job 1)"
    [ "$(restarts "$(job 1)")" = "$1" ]
}

waits() {
    has_restarted "$1" "$2" && scontrol show job "$1" | grep -q 'Reason=BeginTime'
}

# As the daemon would, where it is away: else Slurm lets the job wait for two minutes.
begin_soon() {
    eventually 30 waits "$1" "$2"
    scontrol update JobId="$1" StartTime=now+2
}

# One job did all, and nothing was made twice.
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

# makes_steps N: attempt N is known to have made some.
makes_steps() {
    [ "$(record "SELECT last_step > resume_step FROM run WHERE attempt = $1")" = 1 ]
}

@test "a preempted run goes on in the same job, long before Slurm would begin it" {
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

@test "a requeued job that waits for its nodes says what it waits for" {
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

@test "where preemption cancels, a new job goes on" {
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

@test "a training that is preempted while the daemon is away goes on to its end alone" {
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

# has_told_step N: in the journals of attempt N, whether or not the daemon is there.
has_told_step() {
    grep -qs '"type": "metric"' "$PHASED_HOME/runs/$workflow/train/$1/journal"/n*.jsonl
}

@test "a daemon that comes back takes over what goes on alone" {
    phasectl daemon start
    workflow=$(training | sed 's/iterations: 150/iterations: 5000/' | submit)
    eventually 60 past "$workflow/train" 25
    daemon_kill
    preempt
    begin_soon "$(job 1)" 1
    # Only a run that has made a step is followed by another without the daemon.
    eventually 60 has_told_step 2
    preempt
    begin_soon "$(job 1)" 2
    eventually 60 test -s "$PHASED_HOME/runs/$workflow/train/3/journal/lead.jsonl"
    phasectl daemon start
    eventually 30 makes_steps 3
    # It is told of by pushes from now on, and obeys.
    phasectl hold "$workflow/train"
    eventually 60 state "$workflow/train" held
    [ "$(outcomes)" = 'preempted preempted cancelled' ]
    steps_join 1
    steps_join 2
    [ "$(record 'SELECT count(*) FROM job')" = 1 ]
    jobs_agree
}

# killed_at POINT: the daemon dies there, while it has a preempted run go on.
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

@test "killed before the next run is made" { killed_at tell-next:1:before; }
@test "killed after the next run was made" { killed_at tell-next:1:after; }
@test "killed before the requeued job is begun" { killed_at begin-job:1:before; }
@test "killed after the requeued job was begun" { killed_at begin-job:1:after; }
