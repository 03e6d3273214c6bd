#!/usr/bin/env bats
# Jobs that are requeued by their leads, by Slurm or by a person. The same job goes on, and ends with the
# same weights.

load phased.bash
load training.bash
load requeue.bash

setup_file() { requeue_up; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scontrol update PartitionName=preempt PreemptMode=REQUEUE 2>/dev/null || true
    scancel --name=preemptor || true
    home_down
}

says_why_it_waits() {
    phasectl status "$workflow" | grep -qF "waits in Slurm: "
}

@test "a requeued job that waits for its nodes says so in status" {
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 25
    sbatch -Q -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor -o /dev/null --wrap 'sleep 600'
    eventually 100 says_why_it_waits
    scancel --name=preemptor
    eventually 100 state "$workflow" succeeded
    steps_join 1
    one_job "$workflow"
}

@test "a run that is preempted twice goes on twice in the same job, long before Slurm would start the job" {
    phasectl daemon start
    workflow=$(training 70 120 | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 60 past "$workflow/train" 70 # the first run cannot get there
    preempt
    eventually 100 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted preempted succeeded' ]
    ends_after 2
    [ "$(record 'SELECT restarts FROM job')" = 2 ]
    # Slurm's own delay is 121 s.
    [ "$(record 'SELECT count(*) FROM run r, run n WHERE n.attempt = r.attempt + 1 AND
                 n.started - r.ended < 100000')" = 2 ]
    steps_join 1
    steps_join 2
    one_job "$workflow"
}

@test "where preemption cancels jobs, the phase goes on in the same job as well" {
    scontrol update PartitionName=preempt PreemptMode=CANCEL
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 1')" = preempted ]
    ends_after 1
    steps_join 1
    one_job "$workflow"
}

@test "a job that somebody requeues goes on from its last checkpoint" {
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 45
    scontrol requeue "$(job 1)"
    eventually 100 state "$workflow" succeeded
    [ "$(outcomes)" = 'preempted succeeded' ]
    [ "$(record 'SELECT message FROM run WHERE attempt = 1')" = 'the job was requeued in Slurm' ]
    [ "$(gojq .requeues "$PHASED_HOME/runs/$workflow/train/1/outcome.json")" = true ]
    [ "$(record 'SELECT resume_step >= 40 FROM run WHERE attempt = 2')" = 1 ]
    phasectl why "$workflow/train" | grep -q "#1 .* $(job 1) requeued"
    one_job "$workflow"
}
