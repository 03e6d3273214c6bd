#!/usr/bin/env bats
# Telemetry with a whole phased: from the scripted drivers of two nodes (tests/fake/nvml.c) to what
# a person, a gate and a monitoring system see.

load phased.bash

setup_file() {
    sandbox_up
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# both_nodes_have_told: both nodes have reported their GPUs and the times of their steps.
both_nodes_have_told() {
    phasectl gpus "$1" --json | gojq -e '(.gpus | length) == 16 and (.paces | length) == 2 and
        ([.gpus[].util | numbers] | length) == 16'
}

# One GPU of sixteen is idle. A node that is seconds ahead counts less and less.
shows_the_gpus() {
    phasectl status "$1" |
        grep -qE '^  GPUs +16 x NVIDIA H200, 72% busy, 73\.4 of 147 GB, 654 W, idle 6% of the time$'
}

scrape() {
    curl -sS --fail -D "$PHASED_HOME/head" --unix-socket "$PHASED_HOME/phased.sock" http://phased/metrics
}

@test "GPUs, step times and MFU of two nodes reach phasectl, the gate and Prometheus" {
    export FAKE_NVML=idle=2,used=70000 FAKE_NVML_n2=util=60
    phasectl daemon start
    workflow=$(submit <<'SPEC'
name: telemetry
phases:
  train:
    resources: {nodes: 2, gpus: 8, time: 10m}
    launch: node
    preflight: off
    mfu: {params: 1.5e9, layers: 48, width: 1600, sequence: 1024}
    run: |
      pause=(0.4 1)
      until [ -e "$PHASED_OUT/enough" ]; do
        echo "step=$((++step)) loss=1 tok_s=400000"
        sleep ${pause[$NODE_RANK]}
      done
    env: {step: 0}
    gate:
      fast: {value: median(mfu), at_least: 20}
      busy: {value: mean(gpu_util), at_least: 90, else: warn}
SPEC
)
    eventually 60 both_nodes_have_told "$workflow"

    gpus=$(phasectl gpus "$workflow/train")
    grep -qE '^n1 +[0-9]+, [0-9hms.]+ ago +[0-9.]+s +8 +85% +0% \(2\) +12% +73\.4/147GB +654W +67C$' <<<"$gpus"
    grep -qE '^n2 +[0-9]+, [0-9hms.]+ ago +[0-9.]+s +8 +60% +60% \(0\) .* 0\.[0-9]+ as fast as n1$' <<<"$gpus"
    [ "$(phasectl gpus "$workflow" --each | grep -c 'NVIDIA H200')" = 16 ]
    eventually 60 shows_the_gpus "$workflow/train"
    status=$(phasectl status "$workflow/train")
    grep -qE '^  a step takes +[0-9.]+ s on n1, [0-9.]+ s on n2$' <<<"$status"
    grep -qE '^  mfu +25\.14$' <<<"$status"

    metrics=$(scrape)
    grep -qix 'content-type: text/plain; version=0.0.4; charset=utf-8.' "$PHASED_HOME/head"
    run="phased_run=\"$workflow/train#1\""
    grep -qxF 'DCGM_FI_DEV_GPU_UTIL{gpu="2",UUID="GPU-20000000",modelName="NVIDIA H200",Hostname="n1",'"$run} 0" <<<"$metrics"
    grep -qxF 'DCGM_FI_DEV_POWER_USAGE{gpu="7",UUID="GPU-70000000",modelName="NVIDIA H200",Hostname="n2",'"$run} 657" <<<"$metrics"
    grep -qxF "phased_metric{name=\"mfu\",$run} 25.14" <<<"$metrics"
    grep -qE "^phased_step_seconds\{Hostname=\"n2\",$run\} [0-9.]+$" <<<"$metrics"

    : >"$PHASED_HOME/runs/$workflow/train/out/enough"
    eventually 60 state "$workflow" succeeded
    [ "$(phasectl gate "$workflow/train" --json | gojq -c '.checks[0] | [.name, .outcome, .value]')" = '["fast","passed",25.14]' ]
    [ "$(record "SELECT node || ' ' || round(idle_percent) FROM v_gpu WHERE number = 2 ORDER BY node" | xargs)" = "n1 100.0 n2 0.0" ]
    [ "$(record 'SELECT node FROM v_pace ORDER BY mean_step_seconds' | xargs)" = "n1 n2" ]
    [ -z "$(scrape | grep -vE '^(#|phased_workflow_|phased_phases)')" ]
}

both_members_have_told() {
    phasectl gpus 1/ladder --json | gojq -es '.[0] | map([.run, ([.gpus[].util | numbers] | length)]) ==
        [["1/ladder.1#1", 2], ["1/ladder.2#1", 2]]'
}

@test "phasectl gpus shows the GPUs of the members of a matrix while they run" {
    phasectl daemon start
    submit <<'SPEC'
name: sweep
phases:
  ladder:
    resources: {nodes: 1, gpus: 2, time: 10m}
    preflight: off
    matrix: {lr: [1, 2, 3]}
    run: |
      if [ "$lr" = 3 ]; then exit 1; fi
      until [ -e "$PHASED_OUT/../../enough" ]; do echo "step=$((++step)) loss=1"; sleep 0.4; done
    env: {step: 0}
SPEC
    eventually 60 both_members_have_told
    run phasectl gpus 1/ladder
    [[ ${lines[0]} == 1/ladder.1#1 && $output == *$'\n'1/ladder.2#1$'\n'* && $output != *ladder.3* ]]
    [ "$(grep -cE '^n[12] .*W ' <<<"$output")" = 2 ]
    [ "$(phasectl gpus 1/ladder --each | grep -c 'NVIDIA H200')" = 4 ]
    touch "$PHASED_HOME/runs/1/enough"
    eventually 60 state 1/ladder.1 succeeded
    eventually 60 state 1/ladder.2 succeeded
    run phasectl gpus 1/ladder
    [[ $status = 1 && $output == *"a matrix has no runs of its own; ask for a member, such as 1/ladder.1"* ]]
}

# As in phased-spec(5). Megatron-LM prints its metrics on the last rank.
@test "the last rank of two nodes prints the metrics, and phased reads them from a file" {
    phasectl daemon start
    cat >"$PHASED_HOME/train.sh" <<'TRAIN'
[ $RANK = $((WORLD_SIZE - 1)) ] || exit 0
echo " iteration       10/      20 | elapsed time per iteration (ms): 123.4 | lm loss: 6.1E+00 |"
sleep 3 # by then, the first node has no rank any more
echo " iteration       20/      20 | elapsed time per iteration (ms): 123.4 | lm loss: 2.5E+00 |"
TRAIN
    cd "$PHASED_HOME"
    workflow=$(submit <<'SPEC'
name: last
phases:
  train:
    resources: {nodes: 2, gpus: 2, time: 10m}
    launch: rank
    preflight: off
    metrics: {file: $PHASED_OUT/metrics.jsonl}
    run: |
      [ $RANK != $((WORLD_SIZE - 1)) ] ||
        exec > >(tee >(phase-worker extract >>$PHASED_OUT/metrics.jsonl)) 2>&1
      exec bash train.sh
    gate: {low: last(lm_loss) == 2.5}
SPEC
)
    eventually 60 state "$workflow" succeeded
    phasectl logs "$workflow/train" --rank all | grep -q 'lm loss: 2.5E+00'
    [ "$(phasectl events "$workflow" | grep -c 'printed no value')" = 0 ]
}
