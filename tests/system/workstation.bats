#!/usr/bin/env bats
# phased on a machine with GPUs and without Slurm: two commands, and a workflow runs on the GPUs. The
# driver is scripted (tests/fake/nvml.c).

bats_require_minimum_version 1.5.0

load phased.bash

setup() {
    home_up
    unset SLURM_CONF
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so PHASED_DEV=$PHASED_HOME/dev FAKE_NVML=count=2
    export PHASED_SITE_PLACES= # not those of the machine that runs the tests
    mkdir "$PHASED_DEV"
    ln -s /dev/null "$PHASED_DEV/nvidia0"
    ln -s /dev/null "$PHASED_DEV/nvidia1"
}

teardown() {
    is_of_test "${PHASED_HOME:-}" || return 0
    phasectl daemon stop >/dev/null 2>&1 || true
    phasectl sandbox stop >/dev/null
    home_down
}

# Both phases run at the same time, and each waits for the other.
pair() {
    cat <<'SPEC'
name: pair
defaults:
  resources: {gpus: h200:1, cpus_per_gpu: 1, time: 10m}
  launch: node
  run: |
    echo "$CUDA_VISIBLE_DEVICES $CUDA_DEVICE_ORDER" >"$(dirname "$PHASED_OUT")/../seen-$PHASED_PHASE"
    until [ "$(ls "$(dirname "$PHASED_OUT")/../"seen-* | wc -l)" = 2 ]; do sleep 0.1; done
    echo step=1 loss=2
phases:
  a: {}
  b: {}
SPEC
}

@test "sandbox start and daemon start make the GPUs of a workstation a cluster" {
    [ "$(nproc)" -ge 2 ] || skip "two jobs need two processors"
    run -0 phasectl sandbox start
    [[ "${lines[0]}" = "sandbox: real GPUs: "*" gpu:h200:2" ]]
    [ "$(phasectl sandbox status --json | gojq -c '[.running, .pretend]')" = '[true,false]' ]
    phasectl daemon start
    workflow=$(pair | submit)
    eventually 60 state "$workflow" succeeded
    [ "$(cat "$PHASED_HOME/runs/$workflow"/seen-* | sort)" = $'0 PCI_BUS_ID\n1 PCI_BUS_ID' ]
    # Each run examined its own GPU before it began.
    [ "$(record "SELECT group_concat(DISTINCT outcome) FROM preflight")" = passed ]
}

@test "sandbox start --pretend and --nodes make pretend nodes on a machine with GPUs" {
    phasectl sandbox start --pretend
    [ "$(phasectl sandbox status --json | gojq .pretend)" = true ]
    [ "$(SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf sinfo -h -p prod -o '%D %G')" = "4 gpu:h100:8" ]
    phasectl sandbox stop
    phasectl sandbox start --nodes 1
    [ "$(SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf sinfo -h -p prod -o '%D %G')" = "1 gpu:h100:8" ]
    run -2 phasectl sandbox stop --pretend
    [[ "$output" = *"--pretend is only for start"* ]]
}
