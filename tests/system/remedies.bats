#!/usr/bin/env bats
# Failures that are answered by other params: what the next run gets, where it runs and where it
# resumes; that no remedy is used too often; and that a daemon which dies meanwhile works it out
# again.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# needs_less REMEDIES [GPUS]: a training that fits with a micro-batch of 8 or a tp of 4.
needs_less() {
    cat <<SPEC
name: remedy
phases:
  train:
    resources: {nodes: 1, gpus: ${2:-h100:1}, time: 30m}
    params: {micro_batch: 32, grad_accum: =64 / micro_batch, tp: 1}
    preflight: off
    run: |
      echo "\$SLURM_JOB_ID \$micro_batch \$grad_accum \$tp" >>"\$PHASED_OUT/executed"
      if [ \$micro_batch -gt 8 ] && [ \$tp -lt 4 ]; then
        echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.' >&2
        exit 1
      fi
      echo step=1 loss=2
    checkpoint: {path: "\$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
    remedies: $1
  after:
    after: train
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    params: {batch: =train.micro_batch}
    run: echo "\$batch" >"\$PHASED_OUT/batch"
SPEC
}

# What each execution got, without its job.
given() {
    cut -d' ' -f2- "$PHASED_HOME/runs/1/train/out/executed" | paste -sd,
}

jobs_of_train() {
    cut -d' ' -f1 "$PHASED_HOME/runs/1/train/out/executed" | uniq | wc -l
}

daemon_is_gone() {
    ! daemon_pid
}

@test "an oom remedy halves the micro-batch until it fits, in the same allocation" {
    phasectl daemon start
    needs_less '{oom: {set: {micro_batch: micro_batch / 2}, times: 3}}' | submit
    eventually 90 state 1 succeeded
    [ "$(given)" = '32 2 1,16 4 1,8 8 1' ]
    [ "$(jobs_of_train)" = 1 ]
    [ "$(record 'SELECT cause, number, times, changes FROM remedy ORDER BY id' | paste -sd' ')" = \
        'oom|1|3|[{"param":"micro_batch","from":32,"to":16}] oom|2|3|[{"param":"micro_batch","from":16,"to":8}]' ]
    # A phase that refers to the param gets the changed value.
    [ "$(cat "$PHASED_HOME/runs/1/after/out/batch")" = 8 ]
    # The run prints nothing of its params.
    [[ $(record "SELECT run || ' ' || message FROM event WHERE message LIKE '%remedy set%'") == \
        "3 n"[12]": a remedy set micro_batch to 8, but nothing in the run's output shows micro_batch (the program could print micro_batch=8)" ]]
    run phasectl why 1/train
    [[ $output == *": a remedy set micro_batch to 8, but nothing"* ]]
    [[ $output == *"1/train#1: oom → micro_batch 32 → 16 (remedy oom 1 of 3)"* ]]
    [[ $output == *"1/train#2: oom → micro_batch 16 → 8 (remedy oom 2 of 3)"* ]]
    run phasectl runs 1/train
    [[ $output == *"micro_batch 16 → 8 (remedy oom 2 of 3)"* ]]
}

@test "when a remedy is used up, the next remedy is used, and then a person is asked" {
    phasectl daemon start
    needs_less '{oom: [{set: {micro_batch: micro_batch / 2}}, {set: {micro_batch: 10}}]}' | submit
    eventually 90 state 1/train held
    [ "$(given)" = '32 2 1,16 4 1,10 6.4 1' ]
    [[ $(phasectl status 1/train --json | gojq -r .reason) == *"its remedies are used up"* ]]
    phasectl retry 1/train
    eventually 60 state 1/train held
    [ "$(given)" = '32 2 1,16 4 1,10 6.4 1,10 6.4 1' ]
}

@test "a warning says if the output of a run contradicts the param that a remedy has set" {
    phasectl daemon start
    submit <<'SPEC'
name: deaf
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    params: {micro_batch: 32, lr: 0.1}
    preflight: off
    run: |
      echo "micro_batch: 32, lr: $lr"
      [ $micro_batch = 16 ] || { echo 'torch.OutOfMemoryError: CUDA out of memory.' >&2; exit 1; }
    remedies: {oom: {set: {micro_batch: 16, lr: lr / 2}}}
SPEC
    eventually 60 state 1 succeeded
    [[ $(record "SELECT run || ' ' || message FROM event WHERE type = 'warning'") == \
        "2 n"[12]": a remedy set micro_batch to 16, but the run reports 32" ]]
}

@test "a remedy that needs more GPUs submits a new job" {
    phasectl daemon start
    needs_less '{oom: {set: {tp: tp * 2}, times: 4}}' 'h100:$tp' | submit
    eventually 90 state 1 succeeded
    [ "$(given)" = '32 2 1,32 2 2,32 2 4' ]
    [ "$(record "SELECT job.gpus_per_node FROM job JOIN run ON run.job = job.id JOIN phase ON phase.id = run.phase
                 WHERE phase.name = 'train' ORDER BY run.id" | paste -sd' ')" = '1 2 4' ]
}

@test "a remedy for a failed check of the gate lets the phase train for longer" {
    phasectl daemon start
    submit <<'SPEC'
name: gate
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    params: {iterations: 10}
    run: |
      from=${PHASED_RESUME_STEP:-0}
      echo "$from $iterations" >>"$PHASED_OUT/executed"
      for i in $(seq $((from + 1)) $iterations); do echo step=$i loss=$((100 - i)); done
      echo $iterations >"$PHASED_OUT/step_$iterations.ckpt"
    progress: {total: $iterations}
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
    gate: {low: {value: last(loss), at_most: 80}}
    remedies: {low: {set: {iterations: iterations + 10}, times: 5}}
SPEC
    eventually 90 state 1 succeeded
    [ "$(paste -sd, "$PHASED_HOME/runs/1/train/out/executed")" = '0 10,10 20' ]
    [ "$(record 'SELECT total FROM phase')" = 20.0 ]
}

# The example file: a training that is out of memory twice and then diverges, and a training with
# the wrong preset.
@test "the example uses a smaller batch, a lower learning rate from an earlier checkpoint, and another preset" {
    phasectl daemon start
    phasectl submit "$SRC/etc/workflows/remedies.yaml" --set train.iterations=40
    eventually 240 state 1 succeeded
    # Jansson before 2.15 prints 17 digits.
    [ "$(record 'SELECT cause, number, resume, changes FROM remedy ORDER BY id LIMIT 3' | sed -E 's/0{10,}1//g' | paste -sd' ')" = \
        'oom|1|checkpoint|[{"param":"micro_batch","from":4,"to":2},{"param":"accumulation","from":1,"to":2}] oom|2|checkpoint|[{"param":"micro_batch","from":2,"to":1},{"param":"accumulation","from":2,"to":4}] blow_up|1|previous|[{"param":"lr","from":0.32,"to":0.04}]' ]
    # The newest checkpoint of the diverged run is suspect, and the one before may be suspect too.
    # The next run resumes from the newest checkpoint that is not suspect.
    [ "$(record 'SELECT suspect FROM checkpoint WHERE run = 3 ORDER BY step DESC LIMIT 1')" = 1 ]
    [ "$(record 'SELECT resume_step FROM run WHERE attempt = 4 ORDER BY id LIMIT 1')" = \
        "$(record 'SELECT max(step) FROM checkpoint WHERE run = 3 AND NOT suspect')" ]
    [ "$(record "SELECT cause, resume, changes FROM remedy WHERE cause = 'refinement'")" = \
        'refinement|start|[{"param":"preset","from":"aggressive","to":"extreme"}]' ]
    run phasectl why 1/train
    [[ $output == *"1/train#3: guard → lr 0.32 → 0.04, from the checkpoint before (remedy blow_up 1 of 3)"* ]]
}

# recorded_step STEP: whether the record has a checkpoint of this step.
recorded_step() {
    [ "$(record "SELECT count(*) FROM checkpoint WHERE step = $1")" = 1 ]
}

@test "a phase that a remedy starts from the beginning never resumes from an older checkpoint" {
    phasectl daemon start
    submit <<'SPEC'
name: anew
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    params: {lr: 0.4}
    run: |
      echo "${PHASED_RESUME_STEP:-start} $lr" >>"$PHASED_OUT/executed"
      runs=$(wc -l <"$PHASED_OUT/executed")
      case $runs in
      1) for i in 20 40; do echo $i >"$PHASED_OUT/step_$i.ckpt"; sleep 3; done
         echo step=41 grad=50; exec sleep 600;;
      2) echo 50 >"$PHASED_OUT/step_50.ckpt"; echo step=51 loss=1; until [ -e "$PHASED_OUT/seen" ]; do sleep 0.3; done
         rm "$PHASED_OUT/step_50.ckpt"; exit 1;;
      *) echo step=300 loss=1;;
      esac
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt", save_time: 10s}
    guards: {cap: {value: max(grad), at_most: 20}}
    remedies:
      cap: {set: {lr: lr / 2}, resume: start}
      exit: {set: {lr: lr / 2}}
SPEC
    eventually 60 recorded_step 50
    touch "$PHASED_HOME/runs/1/train/out/seen"
    eventually 90 state 1 succeeded
    # The checkpoint of the second run is gone. No run resumes from an older checkpoint, though it
    # is still there.
    [ "$(paste -sd, "$PHASED_HOME/runs/1/train/out/executed")" = 'start 0.4,start 0.2,start 0.1' ]
    [ "$(record 'SELECT step FROM checkpoint ORDER BY step' | paste -sd' ')" = '20 40 50' ]
}

# crash_at POINT: the daemon dies once at this point of a workflow with a remedy.
crash_at() {
    PHASED_CRASH=$1 phasectl daemon start
    needs_less '{oom: {set: {micro_batch: micro_batch / 4}, times: 2}}' | submit
    eventually 60 daemon_is_gone
    phasectl daemon start
    eventually 90 state 1 succeeded
    [ "$(given)" = '32 2 1,8 8 1' ]
    [ "$(record 'SELECT count(*) FROM remedy')" = 1 ]
    [ "$(record "SELECT remedies FROM phase WHERE name = 'train'" | gojq -r '.[0].used')" = 1 ]
}

@test "a daemon that is killed before a remedy is worked out works it out after its next start" { crash_at remedy:1:before; }
@test "a daemon that is killed after a remedy was worked out works it out again" { crash_at remedy:1:after; }

@test "a remedy resumes from the last checkpoint before a guard failed" {
    phasectl daemon start
    submit <<'SPEC'
name: spike
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    params: {lr: 2}
    run: |
      step=${PHASED_RESUME_STEP:-0}
      echo "$step $lr" >>"$PHASED_OUT/executed"
      trap 'echo >"$PHASED_OUT/step_$step"; exit 0' TERM
      while [ $step -lt 50 ]; do
        step=$((step + 1)); loss=1
        [ $step -le 25 ] || [ $lr = 1 ] || loss=9
        echo "step=$step loss=$loss"
        [ $((step % 5)) -gt 0 ] || echo >"$PHASED_OUT/step_$step"
        sleep 0.1 & wait $! || true
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s}
    guards: {spike: {value: mean(loss), over: 10 steps, at_most: 5}}
    remedies: {spike: {set: {lr: lr / 2}, resume: checkpoint}}
SPEC
    eventually 90 state 1 succeeded
    # At step 30 five of ten steps are bad, and the guard still holds.
    [ "$(record 'SELECT suspect_step FROM run WHERE attempt = 1')" = 31 ]
    [ "$(paste -sd, "$PHASED_HOME/runs/1/train/out/executed")" = '0 2,30 1' ]
}
