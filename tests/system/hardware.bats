#!/usr/bin/env bats
# Phases that differ by the GPU that they get, in a cluster with two kinds of nodes: n1 and n3 have
# h100, n2 has h200.

load phased.bash

setup_file() { sandbox_up 3 h100,h200; }
teardown_file() { sandbox_down; }
setup() {
    nodes_settle
    home_up
}
teardown() {
    [ ! -s "$PHASED_HOME/occupied" ] || free_nodes
    home_down
}

# by_gpu GPUS [MEMBERS]: a training that prints its params, and whose gate depends on the GPU.
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

@test "without a driver Slurm names the GPU type; its gate judges, and the record and why name it" {
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

@test "the driver's model counts more than Slurm's type, and by_gpu can also match the memory" {
    local driver=${BIN:-$SRC/build/bin}/../tests/fake/libnvidia-ml.so
    export PHASED_NVML=$driver
    phasectl daemon start
    by_gpu h100:1 | submit
    eventually 60 state 1/train held
    # by_gpu 141GB has params but no gate, so the phase's own gate judges. It allows 32.
    [ "$(executed | cut -d' ' -f2-)" = "256 4" ]
    [ "$(record 'SELECT gpu, by_gpu FROM run')" = "NVIDIA H200|141GB" ]
}

@test "a remedy changes a param of by_gpu, and --set overrides by_gpu" {
    phasectl daemon start
    by_gpu h100:1 'remedies: {large: {set: {batch: batch / 2}, times: 2}}' | submit
    eventually 60 state 1/train succeeded
    [ "$(executed | sed 's/n[13] //g')" = "64 16,32 32" ]
    [ "$(record 'SELECT changes FROM remedy')" = '[{"param":"batch","from":64,"to":32}]' ]
    phasectl submit --set batch=8 "$PHASED_HOME/spec.yaml"
    eventually 60 state 2/train succeeded
    [ "$(cut -d' ' -f2- "$PHASED_HOME/runs/2/train/out/executed")" = "8 128" ]
}

# choice [PHASES]: a training with alternatives of GPUs.
choice() {
    cat <<SPEC
name: choice
price: {h200: 4.5, h100: 2.25}
phases:
  train:
    resources: {nodes: 1, gpus: h200:8 | h100:8, time: 30m}
    preflight: off
    run: |
      echo "\$SLURM_JOB_ID \$SLURM_JOB_NODELIST" >>"\$PHASED_OUT/executed"
      until [ -e "\$PHASED_OUT/../../../../enough" ]; do sleep 0.3; done
      echo step=1 loss=2
    checkpoint: {path: "\$PHASED_OUT/step_{step}.ckpt", save_time: 5s}
${1:-}
SPEC
}

# Takes all GPUs of the nodes until the test ends.
occupy() {
    sbatch -p prod --nodelist "$1" -N "${2:-1}" --gres=gpu:8 --output /dev/null --wrap 'sleep 600' |
        grep -oE '[0-9]+' >>"$PHASED_HOME/occupied"
    eventually 60 is_running "$(tail -n 1 "$PHASED_HOME/occupied")"
}

is_running() {
    [ "$(squeue -h -j "$1" -o %T)" = RUNNING ]
}

free_nodes() {
    xargs scancel <"$PHASED_HOME/occupied"
    : >"$PHASED_HOME/occupied"
}

queue_is() {
    [ "$(squeue -h -o %T | sort | paste -sd' ')" = "$1" ]
}

# starts FILTER: plans now, and prints this of each alternative of the phase `train`.
starts() {
    phasectl plan "$PHASED_HOME/spec.yaml" --json | gojq -c "[.phases[0].alternatives[] | $1]"
}

@test "a plan shows the start for each alternative of GPUs" {
    phasectl daemon start
    choice '  after: {after: train, resources: {gpus: h100:8, time: 2m}, run: echo}' >"$PHASED_HOME/spec.yaml"
    phasectl plan "$PHASED_HOME/spec.yaml" >"$PHASED_HOME/plan"
    grep -E '^train .* h200 at once, h100 at once ' "$PHASED_HOME/plan"
    grep -qx 'START assumes that the job is submitted now, and not after the phases before it' "$PHASED_HOME/plan"
    occupy n2
    # n1 and n3 have h100 GPUs.
    [ "$(starts '[.gpu_type, .start_nodes, .start <= now + 1]')" = '[["h200","n2",false],["h100","n1",true]]' ]
    [ "$(phasectl plan "$PHASED_HOME/spec.yaml" --json | gojq -c '.phases[] | [.start_nodes, .refused]')" = "$(printf '["n1",false]\n["n1",false]')" ]
    sed -i 's/h200:8 | h100:8/h300:8 | h100:8/' "$PHASED_HOME/spec.yaml"
    [ "$(starts .refused)" = '[true,false]' ]
    phasectl plan "$PHASED_HOME/spec.yaml" >"$PHASED_HOME/plan"
    grep -E '^train .* h300 never, h100 at once ' "$PHASED_HOME/plan"
    grep -F 'warning: train: Slurm refuses h300: ' "$PHASED_HOME/plan"
    free_nodes
}

@test "the alternative of GPUs that starts first is used, and the other job is cancelled" {
    phasectl daemon start
    occupy n2
    occupy n1,n3 2
    choice "$(printf '  after: {after: train, resources: {gpus: h100:8, time: 2m}, preflight: off, run: "echo $SLURM_JOB_ID >$PHASED_OUT/job"}')" | submit
    eventually 60 queue_is "PENDING PENDING RUNNING RUNNING"
    [ "$(record 'SELECT gpu_type FROM job ORDER BY id' | paste -sd' ')" = "h200 h100" ]
    scancel "$(tail -n 1 "$PHASED_HOME/occupied")" # n1 and n3
    eventually 60 state 1/train active
    eventually 60 queue_is "RUNNING RUNNING"
    touch "$PHASED_HOME/enough"
    eventually 60 state 1 succeeded
    # Slurm chooses between the two nodes.
    [[ $(executed) == "$(record "SELECT slurm_id FROM job WHERE gpu_type = 'h100'") n"[13] ]]
    eventually 60 record_says 'SELECT gpu_type, state, over FROM job ORDER BY id LIMIT 1' "h200|cancelled|1"
    # The next phase wants the same GPUs, so it goes on in the same job.
    [ "$(cat "$PHASED_HOME/runs/1/after/out/job")" = "$(record "SELECT slurm_id FROM job WHERE gpu_type = 'h100'")" ]
    # All accounts use the price of the GPUs that the job got.
    eventually 60 record_says "SELECT printf('%.3f', total(usd) / total(gpu_hours)) FROM v_run" 2.250
    record_says "SELECT printf('%.3f', total(usd) / total(gpu_hours)) FROM v_cost" 2.250
    [ "$(phasectl status 1 --json | gojq '.phases[] | .cost_usd / .gpu_seconds * 3600 * 1000 | round' | uniq)" = 2250 ]
    free_nodes
}

@test "if both candidates start at once while the daemon is away, only one of them trains" {
    phasectl daemon start
    occupy n1,n2,n3 3
    choice | submit
    eventually 60 queue_is "PENDING PENDING RUNNING"
    daemon_kill
    free_nodes
    eventually 60 test -s "$PHASED_HOME/runs/1/train/out/executed"
    eventually 60 queue_is RUNNING # the one that came second is over
    phasectl daemon start
    eventually 60 state 1/train active
    touch "$PHASED_HOME/enough"
    eventually 60 state 1 succeeded
    [ "$(line_count "$PHASED_HOME/runs/1/train/out/executed")" = 1 ]
    [ "$(record 'SELECT job.slurm_id FROM run JOIN job ON job.id = run.job')" = "$(executed | cut -d' ' -f1)" ]
    eventually 60 record_says 'SELECT count(*) FROM job WHERE over = 0' 0
}

@test "alternatives work even if the cluster lacks one of the GPU types" {
    phasectl daemon start
    touch "$PHASED_HOME/enough"
    choice | sed 's/h200:8/b200:8/' | submit
    eventually 60 state 1 succeeded
    run phasectl why 1/train
    [[ $output == *"Slurm refused the job for GPUs of type b200: "*"; this does not affect the jobs for the other types"* ]]
    [[ $(executed | cut -d' ' -f2) = n[13] ]]
}

@test "cancelling a phase that waits with alternatives cancels both jobs" {
    phasectl daemon start
    occupy n1,n2,n3 3
    choice | submit
    eventually 60 queue_is "PENDING PENDING RUNNING"
    phasectl cancel 1
    eventually 60 state 1 cancelled
    eventually 60 queue_is RUNNING
    free_nodes
}

# A matrix with two members. The resources name the GPUs.
sweep() {
    cat <<SPEC
name: sweep
phases:
  sweep:
    resources: {nodes: 1, gpus: $1, time: 30m}
    linger: 60s
    preflight: off
    matrix: {x: [1, 2]}
    pack: serial
    run: |
      echo "\$x" >>"\$PHASED_OUT/../../executed"
      echo step=1 loss=\$x
    best: {min: last(loss), where: step == 1, reuse: 1d}
SPEC
}

@test "results of members belong to the GPU type that ran them, whatever type was asked for" {
    phasectl daemon start
    sweep 1 | submit
    eventually 60 state 1 succeeded
    local model other=h200
    model=$(record 'SELECT DISTINCT gpu FROM run')
    [ "$model" = h100 ] || other=h100
    sweep "$model:1" | submit
    eventually 60 state 2 succeeded
    [ ! -e "$PHASED_HOME/runs/2/executed" ]
    sweep "$other:1" | submit
    eventually 60 state 3 succeeded
    [ "$(paste -sd, "$PHASED_HOME/runs/3/executed")" = 1,2 ]
    sweep 1 | submit
    eventually 60 state 4 succeeded
    [ ! -e "$PHASED_HOME/runs/4/executed" ]
    [ "$(record "SELECT count(DISTINCT phase.workflow) FROM member
                  JOIN phase ON phase.id = member.reused
                 WHERE member.matrix IN (SELECT id FROM phase WHERE workflow = 4)")" = 1 ]
}
