#!/usr/bin/env bats
# From which checkpoint a run resumes: a person chooses, a suspect checkpoint is left out, and a
# checkpoint that nobody reported is found.

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
    scontrol update PartitionName=preempt State=UP 2>/dev/null || true
    home_down
}

@test "a person chooses the checkpoint to resume from, and a broken checkpoint is refused" {
    phasectl daemon start
    workflow=$(training | sed 's|gate: .*|gate: {never: count(loss) < 0}|; s|--save-every|--keep 20 --save-every|' |
        submit)
    eventually 120 state "$workflow/train" held
    out=$PHASED_HOME/runs/$workflow/train/out
    run -1 phasectl retry "$workflow/train" --from 77
    [[ $output == *"/train has no whole checkpoint of step 77; the others are 150, 140, 120, "*"start"* ]]
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
# saves every ten steps, and when it is stopped. After step 30 it waits until it is stopped.
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
      while [ \$step -lt 50 ] || [ \$loss = nan ]; do
        step=\$((step + 1))
        [ \$step -lt $1 ] || [ -e "\$PHASED_OUT/mended" ] || loss=nan
        echo "step=\$step loss=\$loss"
        [ \$((step % 10)) -gt 0 ] || echo \$loss >"\$PHASED_OUT/step_\$step"
        while sleep 0.1 & wait \$! || true; [ \$step -ge 30 ] && [ \$loss = nan ]; do :; done
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
    [ "$(record 'SELECT outcome, cause FROM run')" = 'failed|nan' ]
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
    [[ $output == *"the others are $suspect (suspect), "*"20, 10, and start"* ]]
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
        *"begins anew: no checkpoint is good; the checkpoint of step "*" is suspect"*"--from "*"uses it anyway"* ]]
    run -0 phasectl why 1/train
    [[ $output == *"; no checkpoint is good"* && $output == *"run again from the start: no checkpoint is good"* ]]
}

# 3000 steps of a tenth of a second, so that a test ends it. Every tenth step is saved.
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
      while [ $step -lt 3000 ]; do
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
    saving | sed 's|sleep 0.1|if [ $step = 40 ] \&\& [ ! -e "$PHASED_OUT/killed" ]; then\
        : >"$PHASED_OUT/killed"; kill -KILL $PPID; exec sleep 60; fi; &|' | submit
    eventually 90 ran 2
    [ "$(tail -n 1 "$PHASED_HOME/runs/1/train/out/executed")" = 40 ]
    [ "$(record 'SELECT unseen FROM checkpoint WHERE run = 1 AND step = 40')" = 1 ]
    [ "$(record "SELECT count(*) FROM event WHERE run = 1 AND type = 'checkpoint' AND step = 40")" = 1 ]
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 1')" != succeeded ]
    phasectl cancel 1
}

# The first run saves its only checkpoint, and is killed before its agent can see the checkpoint twice.
killed_at_first_save() {
    saving | sed 's|sleep 0.1|[ $step != 10 ] \|\| kill -KILL $$; &|'
}

@test "the next run resumes from the only checkpoint, saved just before a rank was killed" {
    phasectl daemon start
    killed_at_first_save | submit
    eventually 60 state 1/train held
    run -0 phasectl retry 1/train
    eventually 60 ran 2
    [ "$(tail -n 1 "$PHASED_HOME/runs/1/train/out/executed")" = 10 ]
    phasectl cancel 1
}

resumed() {
    [ "$(record 'SELECT group_concat(ifnull(resume_step, -1)) FROM run')" = "$1" ]
}

@test "a run that cannot begin from the only checkpoint is followed by a run from the start" {
    phasectl daemon start
    killed_at_first_save | sed 's|^      trap.*|&\n      [ $step = 0 ] \|\| { echo torn; exit 1; }|' | submit
    eventually 60 state 1/train held
    run -0 phasectl retry 1/train
    eventually 60 resumed -1,10,-1
    [ "$(record 'SELECT outcome FROM run WHERE attempt = 2')" = failed ]
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
    eventually 60 state 1/train held
    scontrol update PartitionName=preempt State=DOWN
    phasectl release 1/train
    eventually 60 test -s "$PHASED_HOME/runs/1/train/2/run.json"
    late=$(($(gojq .resume.step "$PHASED_HOME/runs/1/train/2/run.json") + 7))
    echo weights >"$PHASED_HOME/runs/1/train/out/step_$late"
    scontrol update PartitionName=preempt State=UP
    eventually 60 ran 2
    [ "$(tail -n 1 "$PHASED_HOME/runs/1/train/out/executed")" = $late ]
    eventually 60 past 1/train $late
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
        eventually 60 state 1/train held
        [ "$(saved | wc -l)" = 2 ]
        [ $run = 3 ] || phasectl release 1/train
    done
    phasectl cancel 1
}
