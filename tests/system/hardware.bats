#!/usr/bin/env bats
# Phases that differ by the GPU they get, in a cluster of two kinds of nodes: n1 and n3 have h100, n2
# has h200.

load phased.bash

setup_file() { sandbox_up 3 h100,h200; }
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# by_gpu GPUS [MEMBERS]: a training that tells its params and what its gate makes of them.
by_gpu() {
    cat <<SPEC
name: hardware
phases:
  train:
    resources: {nodes: 1, gpus: $1, time: 30m}
    preflight: off
    params: {batch: 32, accum: =1024 / batch}
    by_gpu:
      h100: {params: {batch: 64}}
      141GB: {params: {batch: 256}}
      h200: {params: {batch: 128}, gate: {large: {value: last(loss), at_most: 200}}}
    run: |
      echo "\$SLURM_JOB_NODELIST \$batch \$accum" >>"\$PHASED_OUT/executed"
      echo step=1 loss=\$batch
    gate: {large: {value: last(loss), at_most: 32}}
    ${2:-}
SPEC
}

executed() {
    paste -sd, "$PHASED_HOME/runs/1/train/out/executed"
}

@test "without a driver Slurm tells the GPU; its gate judges, and the record and why name it" {
    phasectl daemon start
    by_gpu h200:1 | submit
    eventually 60 state 1 succeeded
    [ "$(executed)" = "n2 128 8" ]
    [ "$(record 'SELECT gpu, by_gpu FROM run')" = "h200|h200" ]
    run phasectl why 1/train
    [[ $output == *"1/train#1: by_gpu h200 (h200)"* ]]
    run phasectl status 1/train
    [[ $output == *"by GPU "*"h200 (h200)"* ]]
}

@test "the driver is believed before Slurm, and memory counts like a model" {
    local driver=${BIN:-$SRC/build/bin}/../tests/fake/libnvidia-ml.so
    export PHASED_NVML=$driver
    phasectl daemon start
    by_gpu h100:1 | submit
    eventually 60 state 1/train held
    # Of its params the gate of the phase itself, which allows 32.
    [ "$(executed | cut -d' ' -f2-)" = "256 4" ]
    [ "$(record 'SELECT gpu, by_gpu FROM run')" = "NVIDIA H200|141GB" ]
}

@test "a remedy changes what the GPU was given, and --set goes over it" {
    phasectl daemon start
    by_gpu h100:1 'remedies: {large: {set: {batch: batch / 2}, times: 2}}' | submit
    eventually 60 state 1/train succeeded
    [ "$(executed)" = "n1 64 16,n1 32 32" ]
    [ "$(record 'SELECT changes FROM remedy')" = '[{"param":"batch","from":64,"to":32}]' ]
    phasectl submit --set batch=8 "$PHASED_HOME/spec.yaml"
    eventually 60 state 2/train succeeded
    [ "$(cut -d' ' -f2- "$PHASED_HOME/runs/2/train/out/executed")" = "8 128" ]
}
