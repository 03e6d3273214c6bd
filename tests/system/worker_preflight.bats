#!/usr/bin/env bats
# Preflight in a run, without Slurm and with a scripted driver (tests/fake/nvml.c).

load worker/helpers.bash

setup() {
    worker_setup
    fake_driver=${BIN:-$source_dir/build/bin}/../tests/fake/libnvidia-ml.so
    export PHASED_NVML=$fake_driver FAKE_NVML= TMPDIR=$home
    unset "${!FAKE_NVML_@}" CUDA_VISIBLE_DEVICES
}
teardown() { worker_teardown; }

# quick_run NUMBER NODES [MORE]: each rank writes down the name of its node.
quick_run() {
    local spec="{\"preflight\": \"quick\", \"resources\": {\"nodes\": $2, \"gpus\": 8}, \"launch\": \"node\",
        \"run\": $(script "echo \$SLURMD_NODENAME >>$home/executed")}"
    new_run "$1" "$(gojq -c ". + ${3:-{\}}" <<<"$spec")"
}

preflight_of() {
    journal "$1" "$2" 'select(.type == "preflight") | "\(.level) \(.outcome): \(.reason)"'
}

@test "if all nodes pass, the ranks start and every row is reported" {
    quick_run 1 2
    start_lead 1 2
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(sort "$home/executed" | xargs)" = "n1 n2" ]
    [ "$(preflight_of 1 n1)" = "quick passed: " ]
    [ "$(journal 1 n2 'select(.type == "preflight").rows[] | select(.name == "gpus") | .text')" = "8 work" ]
    [ -z "$(journal 1 lead 'select(.type == "warning")')" ]
}

@test "a node that fails ends the run before a rank has started on any node" {
    quick_run 1 3
    FAKE_NVML_n2=count=7 start_lead 1 3
    await_lead 1
    [ ! -e "$home/executed" ]
    [ "$(outcome 1 '.outcome + " " + .cause + " " + .node')" = "failed preflight n2" ]
    [ "$(outcome 1 .message)" = "n2: gpus: 7 GPUs work, 8 are allocated" ]
    [ "$(outcome 1 '.finals | keys | join(" ")')" = "n1 n2 n3" ]
    [ "$(preflight_of 1 n3)" = "quick passed: " ]
    [ "$(journal 1 lead 'select(.type == "stopping").why')" = preflight ]
}

@test "all nodes that fail are named" {
    quick_run 1 3
    FAKE_NVML_n1=ecc=5 FAKE_NVML_n3=action=6 start_lead 1 3
    await_lead 1
    [ "$(outcome 1 '.node | split(",") | sort | join(",")')" = "n1,n3" ]
    [[ $(outcome 1 .message) == "2 nodes: n"*"GPU 5: 5 uncorrected errors"* ]]
}

@test "a preflight that only observes reports a fault, and the run goes on" {
    quick_run 1 2 '{"preflight_observe": true}'
    FAKE_NVML_n2=lost=3 start_lead 1 2
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 lead 'select(.type == "warning").message')" = \
        "n2 failed preflight, which is only observed: gpus: GPU 3: GPU is lost; 7 GPUs work, 8 are allocated" ]
    [ "$(journal 1 n2 'select(.type == "preflight") | .outcome + " \(.observe)"')" = "failed true" ]
}

@test "if no node can be judged, the run goes on with one warning" {
    quick_run 1 3
    PHASED_NVML=/nonexistent.so start_lead 1 3
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [[ $(journal 1 lead 'select(.type == "warning").message') == \
        "preflight could not tell whether 3 nodes are fit: n"*": gpus: /nonexistent.so: cannot be loaded; n"* ]]
    [ "$(journal 1 n1 'select(.type == "warning")')" = "" ]
}

@test "a wrong GPU model fails the node if Slurm's type names a model" {
    quick_run 1 1 '{"resources": {"nodes": 1, "gpus": 8, "gpu_type": "h100"}}'
    start_lead 1
    await_lead 1
    [[ $(outcome 1 .message) == "n1: model: GPU 0 is a NVIDIA H200, not H100; GPU 1 is"* ]]
    quick_run 2 1 '{"resources": {"nodes": 1, "gpus": 8, "gpu_type": "hopper"}}'
    start_lead 2
    await_lead
    [ "$(outcome 2 .outcome)" = succeeded ]
    # The first of the alternatives is named, but the job may have got another.
    quick_run 3 1 '{"resources": {"nodes": 1, "gpus": 8, "gpu_type": "h100",
        "alternatives": [{"gpus": 8, "gpu_type": "h100"}, {"gpus": 8, "gpu_type": "h200"}]}}'
    start_lead 3
    await_lead
    [ "$(preflight_of 3 n1)" = "quick passed: " ]
}

@test "the full level measures in the groups of the run" {
    cat >"$home/gpu" <<'STUB'
#!/bin/bash
row=$2
echo "$*" >>"$FAKE_HOME/asked-$row"
for gpu in 0 1 2 3 4 5 6 7; do
    case $row in
    hbm) printf '%s\n' "hbm_copy_gbps $gpu 0 3100" "hbm_triad_gbps $gpu 0 3000" ;;
    matrix) echo "matrix_tflops $gpu 0 700" ;;
    copies) printf '%s\n' "host_to_device_gbps $gpu 0 ${SLOW:-55}" "device_to_host_gbps $gpu 0 54" ;;
    peers) for to in 0 1 2 3 4 5 6 7; do [ $to = $gpu ] || echo "peer_gbps $gpu $to 380"; done ;;
    esac
done
[ $row = allreduce ] && printf '%s\n' 'allreduce_gbps 0 0 470' 'allreduce_gbps 0 1 460' \
    'allreduce_gbps 1 0 400' 'allreduce_gbps 1 1 400' 'allreduce_gbps 1 2 400' 'allreduce_gbps 1 3 400'
echo end
STUB
    chmod +x "$home/gpu"
    export PHASED_PREFLIGHT_GPU=$home/gpu
    quick_run 1 1 '{"preflight": "full", "parallel": {"tensor": 4, "pipeline": 1, "data": 2}}'
    start_lead 1
    await_lead
    [ "$(preflight_of 1 n1)" = "full passed: " ]
    [[ $(journal 1 n1 'select(.type == "preflight").rows[] | select(.name == "allreduce") | .text') == *"tensor 460 GB/s"* ]]
    [[ $(cat "$home/asked-allreduce") == *"0-3"*"4-7"* || $(cat "$home/asked-allreduce") == *"0,1,2,3"* ]]
    quick_run 2 1 '{"preflight": "full", "parallel": {"tensor": 4, "pipeline": 1, "data": 2}}'
    SLOW=9 start_lead 2
    await_lead 1
    [[ $(outcome 2 .message) == "n1: copies: GPU 0: to the GPU 9 GB/s, at least"* ]]
    # The stages of a pipeline do not reduce, and neither do separate groups.
    rm "$home/asked-allreduce"
    quick_run 3 1 '{"preflight": "full", "parallel": {"tensor": 1, "pipeline": 8, "data": 1}}'
    start_lead 3
    await_lead
    quick_run 4 1 '{"preflight": "full", "launch": "group", "parallel": {"tensor": 1, "pipeline": 2, "data": 4}}'
    start_lead 4
    await_lead
    for run in 3 4; do
        [ "$(preflight_of $run n1)" = "full passed: " ]
        [ "$(journal $run n1 'select(.type == "preflight").rows[] | select(.name == "allreduce") | .text')" = \
            "no GPU has a partner" ]
    done
    [ ! -e "$home/asked-allreduce" ]
    quick_run 5 1 '{"preflight": "full", "launch": "group", "parallel": {"tensor": 4, "pipeline": 1, "data": 2}}'
    start_lead 5
    await_lead
    [[ $(cat "$home/asked-allreduce") == *" --groups tensor:0-3/4-7 "* ]]
}

# The GPUs of the stand-in reduce 275 GB/s: that is 412 GB/s of the bus in groups of 4.
two_nodes_reduce() {
    fakes=${fake_driver%/*}
    [ -x "$fakes/phase-preflight-gpu" ] || skip "built without CUDA"
    export PHASED_PREFLIGHT_GPU=$fakes/phase-preflight-gpu
    export PHASED_PREFLIGHT_THRESHOLDS=$home/thresholds.yaml
    export PHASED_PREFLIGHT_BASELINE=$home/baseline.yaml
    printf '%s\n' 'memory_used_mib: 512' 'scratch_free_mib: 0' 'baseline_percent: 10' \
        'measure: {allreduce: {seconds: 50, mib: 1}}' models: '  - match: H200' \
        '    allreduce_gbps: {4: 400}' >"$home/thresholds.yaml"
    printf '%s\n' models: '  - match: H200' '    allreduce_gbps: {4 on 2: 400}' >"$home/baseline.yaml"
    quick_run 1 2 '{"preflight": "full", "parallel": {"tensor": 4, "pipeline": 1, "data": 4}}'
}

@test "two nodes that reduce together meet, and a baseline judges them" {
    two_nodes_reduce
    start_lead 1 2
    await_lead
    for node in n1 n2; do
        [ "$(preflight_of 1 $node)" = "full passed: " ]
        [ "$(journal 1 $node 'select(.type == "preflight").rows[] | select(.name == "allreduce") | .text')" = \
            "tensor 412 GB/s, at least 400; data 412 GB/s, at least 360 by the baseline" ]
    done
    quick_run 2 2 '{"preflight": "full", "parallel": {"tensor": 4, "pipeline": 1, "data": 4}}'
    FAKE_CUDA=sum=3 start_lead 2 2
    await_lead 1
    [[ $(outcome 2 .message) == "2 nodes: n"*": allreduce: tensor 0-3: 1 of 262144 sums are wrong on its rank 3"* ]]
}

# Makes a folder with phase-worker, and with this phase-preflight beside it.
own_preflight() {
    mkdir "$home/bin"
    cp "$worker" "$home/bin/phase-worker"
    { echo '#!/bin/bash'; cat; } >"$home/bin/phase-preflight"
    chmod +x "$home/bin/phase-preflight"
    worker=$home/bin/phase-worker
}

@test "a node that had memory of an earlier run at its first try meets the other node" {
    two_nodes_reduce
    own_preflight <<STUB
if [ "\$SLURMD_NODENAME" = n2 ] && [ ! -e $home/tried ]; then
    touch $home/tried
    export FAKE_NVML=memory=2,process=3
fi
exec ${worker%/*}/phase-preflight "\$@"
STUB
    start_lead 1 2
    await_lead
    [ -e "$home/tried" ]
    for node in n1 n2; do
        [ "$(preflight_of 1 $node)" = "full passed: " ]
        [ "$(journal 1 $node 'select(.type == "preflight").rows[] | select(.name == "allreduce") | .text')" = \
            "tensor 412 GB/s, at least 400; data 412 GB/s, at least 360 by the baseline" ]
    done
}

@test "preflight checks again if memory and processes of an earlier run are still there" {
    own_preflight <<STUB
echo >>$home/tries
[ \$(wc -l <$home/tries) = 1 ] && export FAKE_NVML=memory=2,process=3
exec ${worker%/*}/phase-preflight "\$@"
STUB
    quick_run 1 1
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(wc -l <"$home/tries")" = 2 ]
    [ "$(preflight_of 1 n1)" = "quick passed: " ]
}

# two_checkpoints COMMANDS: a run that does this between its two checkpoints. They have different
# sizes, so the second is not whole just because it is like the first.
two_checkpoints() {
    new_run 1 "{\"preflight\": \"quick\", \"resources\": {\"nodes\": 1, \"gpus\": 8}, \"launch\": \"node\",
        \"checkpoint\": {\"path\": \"\$PHASED_OUT/c_{step}\", \"stop_signal\": \"TERM\", \"save_time_s\": 5, \"keep\": 0},
        \"env\": {\"PHASED_NVML\": \"$fake_driver\"},
        \"run\": $(script "head -c 100 /dev/zero >\$PHASED_OUT/c_1
            until grep -qs '\"checkpoint\"' $home/phase/1/journal/n1.jsonl; do sleep .1; done
            $1
            head -c 50 /dev/zero >\$PHASED_OUT/c_2")}"
}

# The run has succeeded, both checkpoints are known, and no last seconds are told, as for a run that
# was cut off.
has_ended_well() {
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(journal 1 n1 'select(.type == "checkpoint") | .step' | xargs)" = "1 2" ]
    [ -z "$(journal 1 n1 'select(.type == "sample" and .seconds == 1)')" ]
}

@test "a process that the preflight has left behind does not spoil the last checkpoint of the run" {
    own_preflight <<STUB
(
    exec </dev/null >/dev/null 2>&1
    echo \$BASHPID >$home/left
    until [ -e $home/die ]; do sleep .1; done
    kill -KILL \$BASHPID
) &
until [ -s $home/left ]; do sleep .01; done
exec ${worker%/*}/phase-preflight "\$@"
STUB
    # A process that nobody has reaped still gets signals.
    two_checkpoints "touch $home/die; while kill -0 \$(cat $home/left); do sleep .1; done"
    start_lead 1
    await_lead
    has_ended_well
}

@test "a process of the preflight that never ends neither keeps the run nor spoils its last checkpoint" {
    own_preflight <<STUB
sleep 1234 </dev/null >/dev/null 2>&1 &
echo \$! >$home/left
until [ -e $home/traced ]; do sleep .01; done
exec ${worker%/*}/phase-preflight "\$@"
STUB
    two_checkpoints true
    start_lead 1
    await test -s "$home/left"
    # The parent of a process cannot reap it as long as another process traces it.
    python3 -c 'import ctypes, pathlib, signal, sys
if ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), None, None) == 0: # PTRACE_SEIZE
    pathlib.Path(sys.argv[2]).touch()
    signal.pause()' "$(cat "$home/left")" "$home/traced" 3>&- &
    tracer=$!
    await eval '[ -e "$home/traced" ] || process_has_ended "$tracer"'
    [ -e "$home/traced" ] || skip "no process may be traced here"
    await_lead
    kill "$tracer"
    has_ended_well
}

@test "a preflight that breaks does not fail the node" {
    own_preflight <<<'exit 2'
    quick_run 1 1
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(preflight_of 1 n1)" = "quick could not tell: phase-preflight ended with exit code 2 and without a report" ]
    rm "$home/bin/phase-preflight"
    quick_run 2 1
    start_lead 2
    await_lead
    [ "$(preflight_of 2 n1)" = "quick could not tell: could not start $home/bin/phase-preflight: No such file or directory" ]
}

@test "a preflight that hangs is killed at its deadline, with all processes that it started" {
    own_preflight <<<'sleep 1234 & sleep 1234'
    quick_run 1 1
    start_lead 1
    await_lead
    [ "$(outcome 1 .outcome)" = succeeded ]
    [ "$(preflight_of 1 n1)" = "quick could not tell: phase-preflight gave no answer within 30 s" ]
    no_process_names "$home/bin/phase-preflight"
}

@test "a stop during a preflight ends the run" {
    own_preflight <<<"touch $home/began; sleep 1234"
    start_daemon
    quick_run 1 2
    start_lead 1 2
    await test -e "$home/began"
    command_lead 1 1 '{"verb": "stop", "why": "cancelled"}'
    await_lead 1
    [ "$(outcome 1 .outcome)" = cancelled ]
    [ ! -e "$home/executed" ]
    no_process_names "$home/bin/phase-preflight"
}

@test "the loss of an agent during a preflight ends the run, even if srun leaves the other agents alone" {
    own_preflight <<<"touch $home/began-\$SLURMD_NODENAME; sleep 1234"
    export FAKE_SRUN_LEAVES_TASKS=1
    quick_run 1 2
    start_lead 1 2
    await test -e "$home/began-n1" -a -e "$home/began-n2"
    kill -KILL "$(pgrep -f "^[^ ]*/phase-worker node $job\$" | head -n 1)"
    await_lead 1
    [ "$(outcome 1 '[.outcome, .cause]')" = '["failed","node_fail"]' ]
    [ ! -e "$home/executed" ]
    no_process_names "$home/bin/phase-preflight"
}

@test "a lead that dies during a preflight leaves no process behind" {
    own_preflight <<<"touch $home/began; sleep 1234"
    quick_run 1 2
    start_lead 1 2
    await test -e "$home/began"
    kill -KILL "$lead"
    await no_process_names "$home/bin/phase-preflight"
    await no_process_names "$job"
}
