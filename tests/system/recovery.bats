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

@test "a preempted run resumes from the checkpoint that it saved in its grace, and ends with the same weights" {
    phasectl daemon start
    workflow=$(training | submit)
    eventually 60 past "$workflow/train" 25
    preempt
    eventually 120 state "$workflow" succeeded
    [ "$(record 'SELECT outcome FROM run ORDER BY id' | paste -sd' ')" = 'preempted succeeded' ]
    # Not one step was lost or repeated.
    [ "$(record 'SELECT last_step FROM run WHERE attempt = 1')" = \
        "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" ]
    same_weights "$workflow"
    jobs_agree
}

@test "a preemption without grace costs only the steps since the last periodic checkpoint" {
    scontrol update PartitionName=preempt GraceTime=0
    phasectl daemon start
    workflow=$(training | submit)
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
    # however slow the steps are. The signal kills the helper `sleep`, and the shell saves.
    workflow=$(submit <<'SPEC'
name: chain
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 1m}
    launch: node
    run: |
      step=${PHASED_RESUME_STEP:-0}
      trap 'echo $step >"$PHASED_OUT/step_$step"; exit 0' TERM
      echo >>"$PHASED_OUT/runs"
      last=1000000
      if [ "$(wc -l <"$PHASED_OUT/runs")" = 3 ]; then last=$((step + 10)); fi
      while [ $step -lt $last ]; do
        sleep 0.33 & wait $! || true
        step=$((step + 1)); echo "$step" >>"$PHASED_OUT/steps"; echo "step=$step loss=$((1000000 - step))"
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s}
    gate: {falling: last(loss) < first(loss)}
SPEC
    )
    eventually 400 state "$workflow" succeeded
    [ "$(record "SELECT count(*) FROM run WHERE outcome = 'timed_out'")" = 2 ]
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

no_jobs() { [ -z "$(squeue -h)" ]; }

@test "a gate does not pass if a journal was cut or damaged while the daemon was away" {
    phasectl daemon start
    for _ in cut garbage; do
        submit <<'SPEC'
name: damaged
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      for step in $(seq 40); do
        echo "step=$step loss=$((100 - step))"
        if [ $step = 10 ]; then until [ -e "$PHASED_OUT/../../../../go" ]; do sleep 0.1; done; fi
      done
    gate: {falling: last(loss) < first(loss)}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    run: echo step=1 loss=2
SPEC
    done
    eventually 60 past 1/first 5
    eventually 60 past 2/first 5
    daemon_kill
    touch "$PHASED_HOME/go"
    eventually 60 no_jobs
    runs=$PHASED_HOME/runs
    sed -i '19,$d' "$runs"/1/first/1/journal/n*.jsonl
    sed -i '30s/.*/@#$%/' "$runs"/2/first/1/journal/n*.jsonl
    phasectl daemon start
    eventually 60 state 1/first held
    eventually 60 state 2/first held
    final=$(jq '.finals[]' "$runs/1/first/1/outcome.json")
    node=$(jq -r '.finals | keys[]' "$runs/1/first/1/outcome.json")
    [ "$(phasectl status 1/first --json | jq -r .reason)" = \
        "insufficient data: the journal of $node lacks entries 19 to $final of run #1" ]
    phasectl status 2/first --json | jq -e '.reason | test("lacks entry 30 of run #1$")'
    run -0 phasectl why 1/first
    [[ $output == *"phasectl promote 1/first"*"phasectl retry 1/first"* ]]
    [ "$(record "SELECT count(*) FROM run")" = 2 ] # `second` has not begun
    # A person can promote the phase anyway, or run it again.
    phasectl promote 1/first
    phasectl retry 2/first
    eventually 90 state 1 succeeded
    eventually 90 state 2 succeeded
}

# start_waiting: workflow 1 waits at step 10 for the file `go`. `journal` is the journal of its
# node.
start_waiting() {
    submit <<'SPEC'
name: waiting
phases:
  only:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    run: |
      for step in $(seq 12); do
        echo "step=$step loss=$((100 - step))"
        if [ $step = 10 ]; then until [ -e "$PHASED_OUT/go" ]; do sleep 0.1; done; fi
      done
    gate: {falling: last(loss) < first(loss), whole: count(loss) == 12}
SPEC
    eventually 60 past 1/only 9
    journal=$(echo "$PHASED_HOME"/runs/1/only/1/journal/n*.jsonl)
}

@test "a journal that is cut during its run is reported at once, and the run ends as usual" {
    phasectl daemon start
    start_waiting
    is_all_recorded() { [ "$(record "SELECT sequence FROM journal WHERE node != 'lead'")" = "$(line_count "$journal")" ]; }
    eventually 30 is_all_recorded
    has_warning() { [ "$(record "SELECT count(*) FROM event WHERE message LIKE '%its journal was cut from % to 0 bytes%'")" = 1 ]; }
    truncate -s 0 "$journal"
    eventually 30 has_warning
    touch "$PHASED_HOME/runs/1/only/out/go"
    eventually 60 state 1 succeeded
    has_warning
}

has_stray_entry() {
    record "SELECT message FROM event" | grep -q 'has entry 999999 in a wrong place'
}

@test "a journal entry with a wrong number is reported, and no later entry is lost" {
    phasectl daemon start
    start_waiting
    echo '{"seq": 999999, "time": 1.5, "type": "metric", "step": 11, "values": {"loss": 1}}' >>"$journal"
    touch "$PHASED_HOME/runs/1/only/out/go"
    eventually 60 state 1 succeeded
    eventually 30 has_stray_entry
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
      until [ -e "$PHASED_OUT/go" ]; do sleep 0.1; done
    gate: {falling: last(loss) < first(loss)}
SPEC
    eventually 60 past 1/only 1
    lead=$(pgrep -f "^[^ ]*phase-worker lead $PHASED_HOME/")
    kill -STOP "$lead" # just before it hears that the nodes are done
    touch "$PHASED_HOME/runs/1/only/out/go"
    run_dir=$PHASED_HOME/runs/1/only/1
    ranks_are_gone() { ! pgrep -f "$run_dir/run.sh"; }
    eventually 30 ranks_are_gone
    kill -KILL "$lead"
    eventually 90 state 1 succeeded
    [ ! -e "$run_dir/outcome.json" ]
    [ "$(grep -c '"done": true' "$run_dir"/journal/n*.jsonl | grep -c ':1$')" = 2 ]
    [ "$(outcomes)" = succeeded ]
}

@test "a job runs once if the controller is killed right after the submission" {
    phasectl daemon start
    workflow=$(training | sed 's/iterations: 150/iterations: 10/' | submit)
    kill -KILL "$(cat "$SANDBOX/pid/slurmctld")"
    "$SRC/etc/sandbox/sandbox" start "$SANDBOX" --nodes 2
    # The controller has forgotten what it had not saved. After five minutes of absence the daemon
    # submits a new job.
    eventually 420 state "$workflow" succeeded
    [ "$(record "SELECT count(*) FROM run WHERE outcome = 'succeeded'")" = 1 ]
    [ "$(line_count "$PHASED_HOME/runs/$workflow/train/out/executed")" = 1 ]
    # If it forgot that the job ran, it started the job again, and drained the node that refused it.
    scontrol update NodeName=n1,n2 State=RESUME || true
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

@test "a person chooses the checkpoint to resume from, and a broken checkpoint is refused" {
    phasectl daemon start
    workflow=$(training | sed 's|gate: .*|gate: {never: count(loss) < 0}|; s|--save-every|--keep 20 --save-every|' |
        submit)
    eventually 120 state "$workflow/train" held
    out=$PHASED_HOME/runs/$workflow/train/out
    run -1 phasectl retry "$workflow/train" --from 77
    [[ $output == *"no whole checkpoint 77; it has 150, 140, 120, "*"start"* ]]
    truncate -s 100 "$out/step_000100.ckpt"
    run -1 phasectl retry "$workflow/train" --from 100
    run -0 phasectl retry "$workflow/train" --from 80
    eventually 120 state "$workflow/train" held
    [ "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" = 80 ]
    same_weights "$workflow"
    run -0 phasectl retry "$workflow/train" --from start
    eventually 120 state "$workflow/train" held
    [ "$(record 'SELECT resume_path IS NULL FROM run WHERE attempt = 3')" = 1 ]
    same_weights "$workflow"
    run -0 phasectl resume "$workflow/train"
    eventually 120 state "$workflow/train" held
    [ "$(record 'SELECT resume_step FROM run WHERE attempt = 4')" = 150 ]
    phasectl cancel "$workflow"
}

# diverging STEP: its loss is NaN from this step on, until a person makes the file `mended`. It
# saves every ten steps, and when it is stopped.
diverging() {
    cat <<SPEC
name: diverging
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    run: |
      step=\${PHASED_RESUME_STEP:-0}; loss=1
      echo "\$step" >>"\$PHASED_OUT/executed"
      trap 'echo \$loss >"\$PHASED_OUT/step_\$step"; exit 0' TERM
      while [ \$step -lt 50 ]; do
        step=\$((step + 1))
        [ \$step -lt $1 ] || [ -e "\$PHASED_OUT/mended" ] || loss=nan
        echo "step=\$step loss=\$loss"
        [ \$((step % 10)) -gt 0 ] || echo \$loss >"\$PHASED_OUT/step_\$step"
        sleep 0.1 & wait \$! || true
      done
    checkpoint: {path: "\$PHASED_OUT/step_{step}", save_time: 5s}
SPEC
}

executed() {
    paste -sd' ' "$PHASED_HOME/runs/1/train/out/executed"
}

@test "a checkpoint that was saved after NaN is suspect, and a run resumes from it only if a person says so" {
    phasectl daemon start
    diverging 25 | submit
    eventually 60 state 1/train held
    [ "$(record 'SELECT suspect_step FROM run')" = 25 ]
    [ "$(record 'SELECT count(*) > 0, min(step) >= 25 FROM checkpoint WHERE suspect')" = '1|1' ]
    [ "$(record 'SELECT checkpoint_step FROM phase')" = 20 ]
    suspect=$(record 'SELECT max(step) FROM checkpoint')
    grep nan "$PHASED_HOME/runs/1/train/out/step_$suspect"
    run -0 phasectl why 1/train
    [[ $output == *"suspect checkpoints: step"*"$suspect: saved after a guard had failed or NaN had come; the last good checkpoint is of step 20"* ]]
    [[ $output == *"phasectl retry 1/train --from 20 "* ]]
    run -0 phasectl status 1/train
    [[ $output == *"suspect"*"$suspect: saved after a guard had failed or NaN had come"* ]]
    run -1 phasectl retry 1/train --from 77
    [[ $output == *"it has $suspect (suspect), "*"20, 10 (steps)"* ]]
    daemon_kill
    phasectl daemon start
    phasectl retry 1/train
    eventually 60 state 1/train held
    [ "$(executed)" = '0 20' ]
    phasectl retry 1/train --from "$suspect"
    eventually 60 state 1/train held
    run -0 phasectl why 1/train
    [[ $output == *"phasectl retry 1/train --from 20 "* ]]
    touch "$PHASED_HOME/runs/1/train/out/mended"
    phasectl retry 1/train
    eventually 60 state 1 succeeded
    [ "$(executed)" = "0 20 $suspect 20" ]
}

@test "a phase without a good checkpoint starts from the beginning, and a warning says so" {
    phasectl daemon start
    diverging 5 | sed 's|^    checkpoint:|    remedies: {nan: {set: {lr: 1}}}\n    params: {lr: 2}\n&|' | submit
    eventually 60 state 1/train held
    [ "$(executed)" = '0 0' ]
    [[ $(record "SELECT group_concat(message) FROM event WHERE type = 'warning' AND run = 2") == \
        *"begins anew: no checkpoint is good; that of step "*" is suspect"*"--from "*"takes it all the same"* ]]
    run -0 phasectl why 1/train
    [[ $output == *"; no checkpoint is good"* && $output == *"run again from the start: no checkpoint is good"* ]]
}

# 300 steps of a tenth of a second. Every tenth step is saved.
saving() {
    cat <<'SPEC'
name: saving
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    run: |
      step=${PHASED_RESUME_STEP:-0}
      trap 'exit 0' TERM
      echo "$step" >>"$PHASED_OUT/executed"
      while [ $step -lt 300 ]; do
        step=$((step + 1)); echo "step=$step loss=1"
        [ $((step % 10)) -gt 0 ] || echo weights >"$PHASED_OUT/step_$step"
        sleep 0.1
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s, keep: 2}
SPEC
}

saved() {
    (cd "$PHASED_HOME/runs/1/train/out" && printf '%s\n' step_*)
}

ran() {
    [ "$(line_count "$PHASED_HOME/runs/1/train/out/executed")" = "$1" ]
}

@test "the next run resumes from a checkpoint that was saved just before its agent was killed" {
    phasectl daemon start
    saving | sed 's|sleep 0.1|if [ $step = 40 ] \&\& mkdir "$PHASED_OUT/killed"; then kill -KILL $PPID; exec sleep 60; fi; &|' |
        submit
    eventually 90 ran 2
    [ "$(tail -n 1 "$PHASED_HOME/runs/1/train/out/executed")" = 40 ]
    [ "$(record 'SELECT unseen FROM checkpoint WHERE run = 1 AND step = 40')" = 1 ]
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 1')" != succeeded ]
    phasectl cancel 1
}

has_saved_twice() {
    [ "$(record "SELECT count(*) FROM checkpoint WHERE run = $1")" -ge 2 ]
}

# The next run waits for nodes. Meanwhile an unseen process of the run before saves once more.
@test "a run resumes from a checkpoint that was saved after its preparation, and the record has it" {
    phasectl daemon start
    saving | submit
    eventually 60 has_saved_twice 1
    phasectl hold 1/train
    eventually 30 state 1/train held
    scontrol update PartitionName=preempt State=DOWN
    phasectl release 1/train
    eventually 30 test -s "$PHASED_HOME/runs/1/train/2/run.json"
    late=$(($(jq .resume.step "$PHASED_HOME/runs/1/train/2/run.json") + 7))
    echo weights >"$PHASED_HOME/runs/1/train/out/step_$late"
    scontrol update PartitionName=preempt State=UP
    eventually 60 ran 2
    [ "$(tail -n 1 "$PHASED_HOME/runs/1/train/out/executed")" = $late ]
    eventually 30 past 1/train $late
    [ "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" = $late ]
    [ "$(record "SELECT unseen FROM checkpoint WHERE run = 1 AND step = $late")" = 1 ]
    phasectl cancel 1
}

@test "keep counts the checkpoints of all runs of a phase" {
    phasectl daemon start
    saving | submit
    for run in 1 2 3; do
        eventually 60 has_saved_twice $run
        phasectl hold 1/train
        eventually 30 state 1/train held
        [ "$(saved | wc -l)" = 2 ]
        [ $run = 3 ] || phasectl release 1/train
    done
    phasectl cancel 1
}
