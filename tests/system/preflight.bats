#!/usr/bin/env bats
# Preflight with a whole phased: a node that is not fit is left out, and the run goes on elsewhere.
# The driver is scripted (tests/fake/nvml.c).

load phased.bash

setup_file() {
    sandbox_up 3
    export PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so
}
teardown_file() { sandbox_down; }
setup() {
    nodes_settle
    home_up
}
teardown() { home_down; }

# trainer NODES [MORE]: its ranks write down the names of their nodes.
trainer() {
    cat <<SPEC
name: trainer
phases:
  a:
    resources: {nodes: $1, gpus: 8, time: 10m}
    launch: node
    run: echo "\$SLURMD_NODENAME" >>"\$PHASED_OUT/nodes"; echo step=1 loss=2
    ${2:-}
SPEC
}

runs_are() {
    [ "$(record "SELECT group_concat(attempt || ' ' || outcome || ifnull(' ' || cause, ''), ', ') FROM run")" = "$1" ]
}

@test "a node with a broken GPU is left out, and the next run succeeds on other nodes" {
    export FAKE_NVML_n1=count=7 # the first that Slurm takes
    phasectl daemon start
    workflow=$(trainer 2 | submit)
    eventually 90 state "$workflow" succeeded
    runs_are '1 failed preflight, 2 succeeded'
    [ "$(sort "$PHASED_HOME/runs/$workflow/a/out/nodes" | xargs)" = "n2 n3" ]
    [ "$(record 'SELECT node || cause || message FROM v_node')" = \
        'n1preflightn1: gpus: 1 of the devices 0,1,2,3,4,5,6,7 not found' ]
    [ "$(record "SELECT node || outcome FROM v_preflight ORDER BY run, node" | xargs)" = \
        "n1failed n2passed n2passed n3passed" ]

    [[ $(phasectl nodes) == *"n1 "*preflight*"$workflow/a#1"*"gpus: 1 of the devices"* ]]
    [[ $(phasectl runs "$workflow") == *"failed: preflight"* ]]
    run phasectl why "$workflow/a#1"
    [[ $output == *"n1 failed preflight: gpus: 1 of the devices 0,1,2,3,4,5,6,7 not found; left out until "[0-9]*:[0-9]* ]]
}

@test "a run that only observes its preflight goes on, and a warning names the fault" {
    export FAKE_NVML=ecc=5
    phasectl daemon start
    workflow=$(trainer 1 'preflight: {observe: true}' | submit)
    eventually 60 state "$workflow" succeeded
    runs_are '1 succeeded'
    [ "$(record 'SELECT count(*) FROM v_node')" = 0 ]
    [ "$(record "SELECT message FROM event WHERE type = 'warning'")" = \
        'n1 failed preflight, which is only observed: ecc: GPU 5: 5 uncorrected errors, at most 0' ]
    [[ $(phasectl why "$workflow/a#1") == *"n1 failed preflight, which is only observed: ecc: GPU 5"* ]]
}

@test "nodes that preflight cannot judge are used, and one warning names them" {
    export PHASED_NVML=/nonexistent.so
    phasectl daemon start
    workflow=$(trainer 3 | submit)
    eventually 60 state "$workflow" succeeded
    runs_are '1 succeeded'
    [ "$(record 'SELECT count(*) FROM preflight')" = 3 ]
    [[ $(record "SELECT message FROM event WHERE type = 'warning'") == \
        'preflight could not tell whether 3 nodes are fit: n'*': gpus: /nonexistent.so: cannot be loaded; n'*'; n'* ]]
}

@test "a driver that does not answer makes its node a broken node" {
    export FAKE_NVML_n1=hang
    phasectl daemon start
    workflow=$(trainer 1 | submit)
    eventually 120 state "$workflow" succeeded
    runs_are '1 failed preflight, 2 succeeded'
    [ "$(cat "$PHASED_HOME/runs/$workflow/a/out/nodes")" = n2 ]
    [ "$(record 'SELECT node || message FROM v_node')" = \
        'n1n1: gpus: driver: no answer in time' ]
}

@test "preflight: off checks nothing" {
    export FAKE_NVML=count=0
    phasectl daemon start
    workflow=$(trainer 1 'preflight: off' | submit)
    eventually 60 state "$workflow" succeeded
    [ "$(record 'SELECT count(*) FROM preflight')" = 0 ]
    [ "$(record "SELECT count(*) FROM event WHERE type = 'warning'")" = 0 ]
}

@test "preflight: full measures all nodes, and finds the node with a slow GPU" {
    fake=$BIN/../tests/fake/phase-preflight-gpu
    [ -x "$fake" ] || skip "built without CUDA"
    export PHASED_PREFLIGHT_GPU=$SANDBOX/gpu
    export PHASED_PREFLIGHT_THRESHOLDS=$SANDBOX/thresholds.yaml
    export PHASED_PREFLIGHT_BASELINE=$SANDBOX/baseline.yaml
    cat >"$PHASED_PREFLIGHT_GPU" <<GPU
#!/bin/bash
[ "\$SLURMD_NODENAME" = n1 ] && export FAKE_CUDA=slow=3
exec "$fake" "\$@"
GPU
    chmod +x "$PHASED_PREFLIGHT_GPU"
    sed 's/mib: [0-9]*}/mib: 1}/; s/elements: [0-9]*/elements: 32/; s/^scratch_free_mib.*//' \
        "$SRC/etc/preflight.yaml" >"$PHASED_PREFLIGHT_THRESHOLDS"
    echo 'scratch_free_mib: 0' >>"$PHASED_PREFLIGHT_THRESHOLDS"
    printf '%s\n' models: '  - match: H200' '    allreduce_gbps: {4 on 2: 400}' \
        >"$PHASED_PREFLIGHT_BASELINE"
    phasectl daemon start
    workflow=$(trainer 2 $'preflight: {level: full, observe: true}
    parallel: {tensor: 4, data: 4}' | submit)
    eventually 90 state "$workflow" succeeded
    [ "$(record "SELECT node || ' ' || level || ' ' || outcome FROM v_preflight ORDER BY node")" = \
        $'n1 full failed\nn2 full passed' ]
    [[ $(record "SELECT message FROM event WHERE type = 'warning'") == \
        "n1 failed preflight, which is only observed: hbm: GPU 3: copy 300 GB/s, at least 2333"* ]]
}

# drained REASON: n1 is drained for this reason.
drained() {
    [[ $(sinfo -h -N -n n1 -p prod -o '%T %E') == drain*" $1" ]]
}

# queued JOB: the job waits, and may begin by itself.
queued() {
    [[ $(squeue -h -n "$1" -o '%T %r') == "PENDING "* && $(squeue -h -n "$1" -o %r) != *[Hh]eld* ]]
}

# A change of slurm.conf reaches a node after some time.
has_prolog() {
    srun -Q -w n1 true
    [ -e "$SANDBOX/asked" ]
}

@test "the Prolog drains a broken node with the reason, and jobs begin on other nodes" {
    cat >"$SANDBOX/prolog" <<PROLOG
#!/bin/bash
export PATH=$PATH SLURM_CONF=$SLURM_CONF PHASED_NVML=$PHASED_NVML FAKE_NVML_n1=ecc=5
touch "$SANDBOX/asked"
exec "$SRC/etc/prolog/preflight"
PROLOG
    chmod +x "$SANDBOX/prolog"
    cp "$SLURM_CONF" "$SANDBOX/slurm.conf.kept"
    printf '%s\n' "Prolog=$SANDBOX/prolog" PrologFlags=Alloc >>"$SLURM_CONF"
    sed -i 's/^SchedulerParameters=/&nohold_on_prolog_fail,/' "$SLURM_CONF"
    scontrol reconfigure
    eventually 60 has_prolog
    # On a good GPU of n1, on all GPUs of n1 including the broken GPU, and on a good node.
    for which in "n1 1" "n1 8" "n2 8"; do
        sbatch -Q -w "${which% *}" --gpus-per-node="${which#* }" -J "${which/ /-}" \
            -o /dev/null --wrap "touch $SANDBOX/ran-${which/ /-}"
    done
    eventually 60 drained "preflight: ecc failed GPU 5: 5 uncorrected errors, at most 0"
    eventually 60 test -e "$SANDBOX/ran-n2-8"
    [ -e "$SANDBOX/ran-n1-1" ]
    [ ! -e "$SANDBOX/ran-n1-8" ]
    eventually 60 queued n1-8
    scancel -n n1-8
    mv "$SANDBOX/slurm.conf.kept" "$SLURM_CONF"
    scontrol reconfigure
    eventually 60 nodes_resume n1
}
