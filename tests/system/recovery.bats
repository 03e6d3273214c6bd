#!/usr/bin/env bats
# Runs that are interrupted, and the runs after them: the training ends with the same bits, a step
# is repeated only if no checkpoint had saved it, and the record names every job.

bats_require_minimum_version 1.5.0
load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    scontrol update PartitionName=preempt GraceTime=5 State=UP 2>/dev/null || true
    home_down
}

@test "a preemption without grace costs only the steps since the last periodic checkpoint" {
    scontrol update PartitionName=preempt GraceTime=0
    phasectl daemon start
    workflow=$(training 110 | submit)
    eventually 60 past "$workflow/train" 45
    preempt
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 1')" = preempted ]
    [ "$(record 'SELECT r.last_step - n.resume_step < 21 FROM run r, run n
                 WHERE r.attempt = 1 AND n.attempt = 2')" = 1 ]
    same_weights "$workflow"
    jobs_agree
}

@test "a phase longer than its walltime goes on in new walltimes, and no step is lost" {
    phasectl daemon start
    # The third run does ten steps and ends. Before that, the test waits for two limits of a minute,
    # however slow the steps are. The signal kills the helper `sleep`, and the shell saves. On a slow
    # machine a walltime may be over before its run has begun.
    workflow=$(submit <<'SPEC'
name: chain
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 1m}
    launch: node
    run: |
      step=${PHASED_RESUME_STEP:-0}
      told=
      trap told=1 TERM
      echo >>"$PHASED_OUT/runs"
      last=1000000
      if [ "$(wc -l <"$PHASED_OUT/runs")" -ge 3 ]; then last=$((step + 10)); fi
      while [ $step -lt $last ] && [ -z "$told" ]; do
        sleep 0.33 & wait $! || true
        step=$((step + 1)); echo "$step" >>"$PHASED_OUT/steps"; echo "step=$step loss=$((1000000 - step))"
      done
      echo $step >"$PHASED_OUT/step_$step"
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 10s}
    gate: {falling: last(loss) < first(loss)}
SPEC
    )
    eventually 400 state "$workflow" succeeded
    [ "$(record "SELECT count(*) FROM run WHERE outcome = 'timed_out'")" -ge 2 ]
    # Each step happened once: only the current step is lost at a walltime.
    steps=$PHASED_HOME/runs/$workflow/train/out/steps
    cmp "$steps" <(seq "$(wc -l <"$steps")")
}

@test "a training needs no daemon from its start to its end" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 5
    daemon_kill
    eventually 120 test -s "$PHASED_HOME/runs/$workflow/train/1/outcome.json"
    phasectl daemon start
    eventually 60 state "$workflow" succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 1 ]
    [ "$(record 'SELECT count(DISTINCT step) FROM metric')" = 150 ]
    same_weights "$workflow"
}

@test "a run that had ended well when its lead died has succeeded, and is not run again" {
    phasectl daemon start
    submit <<'SPEC'
name: end
phases:
  only:
    resources: {nodes: 2, gpus: h100:1, time: 10m}
    launch: node
    run: |
      echo step=1 loss=2; echo step=2 loss=1
      until [ -e "$PHASED_OUT/go" ]; do sleep 0.3; done
    gate: {falling: last(loss) < first(loss)}
SPEC
    run_dir=$PHASED_HOME/runs/1/only/1
    both_run() { [ "$(grep -ls '"type": "ranks"' "$run_dir"/journal/n*.jsonl | wc -l)" = 2 ]; }
    eventually 60 both_run
    eventually 60 past 1/only 1
    lead=$(pgrep -f "^[^ ]*phase-worker lead $PHASED_HOME/")
    kill -STOP "$lead" # just before it hears that the nodes are done
    touch "$PHASED_HOME/runs/1/only/out/go"
    # An agent must have noticed that its rank has ended: a zombie is not gone.
    ranks_are_gone() { [ -z "$(ps -o pid= --ppid "$(pgrep -d, -f "phase-worker node $PHASED_HOME/")")" ]; }
    eventually 60 ranks_are_gone
    kill -KILL "$lead"
    eventually 240 state 1 succeeded # Slurm waits 30 s for the job steps, on a busy machine for longer
    [ ! -e "$run_dir/outcome.json" ]
    [ "$(grep -c '"done": true' "$run_dir"/journal/n*.jsonl | grep -c ':1$')" = 2 ]
    [ "$(outcomes)" = succeeded ]
}

@test "munged may be restarted during a run" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 5
    kill -KILL "$(cat "$SANDBOX/pid/munged")"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 1 ]
    same_weights "$workflow"
}
