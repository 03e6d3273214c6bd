#!/usr/bin/env bats
# A phase that fills its disk with checkpoints is held, and goes on when a person has made room.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 1; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() {
    umount -l "$PHASED_HOME/runs" 2>/dev/null || true
    home_down
}

# Each run saves up to three checkpoints of 1 MiB, as far as step 5, and waits for the end.
filling() {
    cat <<'SPEC'
name: filling
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    run: |
      step=${PHASED_RESUME_STEP:-0} last=$((${PHASED_RESUME_STEP:-0} + 3))
      while [ $step -lt $last ] && [ $step -lt 5 ]; do
        step=$((step + 1)); echo "step=$step loss=1"
        head -c 1M /dev/zero >"$PHASED_OUT/new"
        mv "$PHASED_OUT/new" "$PHASED_OUT/step_$step"
      done
      [ $step -ge 5 ] || exec sleep 1000
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s}
SPEC
}

@test "a phase is held before its checkpoints fill the disk, and a release goes on after room was made" {
    mkdir -p "$PHASED_HOME/runs"
    mount -t tmpfs -o size=4m,mode=0700 none "$PHASED_HOME/runs" || skip "mounting is not allowed here"
    phasectl daemon start
    filling | submit
    out=$PHASED_HOME/runs/1/train/out
    eventually 120 state 1/train held
    [[ $(phasectl status 1) == *'no room for the next checkpoint: '*' free, 1.0 MB for each checkpoint; delete old checkpoints (1 has 1.0 MB, '*'phasectl release 1/train'* ]]
    command=$(record "SELECT message FROM event WHERE type = 'warning' AND message LIKE '%: rm -r %'" | sed 's/.*: rm/rm/')
    [ "$command" = "rm -r '$out/step_1'" ]
    bash -c "$command"
    rm "$out/step_2"
    phasectl release 1/train
    eventually 120 state 1 succeeded
    [ "$(record 'SELECT resume_step FROM run WHERE attempt = 2')" = 3 ]
    [ -e "$out/step_5" ]
}
