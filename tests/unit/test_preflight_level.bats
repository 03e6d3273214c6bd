# The full level of phase-preflight, with a scripted driver, and a script in place of the program
# for the GPUs: what is started, waited for, judged, recorded and compared.

bats_require_minimum_version 1.5.0
load ../system/process.bash

setup() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    export DIR TMPDIR=$DIR PHASED_NVML=$BIN/../tests/fake/libnvidia-ml.so FAKE_NVML=
    export PHASED_PREFLIGHT_GPU=$DIR/gpu
    unset SLURM_GPUS_ON_NODE SLURM_JOB_GPUS CUDA_VISIBLE_DEVICES
    : >"$DIR/kernel.log"
    sed 's/^scratch_free_mib:.*/scratch_free_mib: 0/; /^clock_error_ms/d' \
        "$SRC/etc/preflight.yaml" >"$DIR/thresholds.yaml"
    # Prints the figures of eight healthy GPUs and two groups, after the commands in $DIR/ROW.
    cat >"$DIR/gpu" <<'EOF'
#!/bin/bash
row=$2
printf '%s\n' "$*" "$CUDA_DEVICE_ORDER" "$CUDA_VISIBLE_DEVICES" >"$DIR/asked-$row"
echo $$ >"$DIR/pid-$row"
echo ready
[ -f "$DIR/$row" ] && . "$DIR/$row"
for gpu in 0 1 2 3 4 5 6 7; do
    case $row in
    hbm) printf '%s\n' "hbm_copy_gbps $gpu 0 3100" "hbm_triad_gbps $gpu 0 3000" ;;
    matrix) echo "matrix_tflops $gpu 0 700" ;;
    copies) printf '%s\n' "host_to_device_gbps $gpu 0 55" "device_to_host_gbps $gpu 0 54" ;;
    peers) for to in 0 1 2 3 4 5 6 7; do [ $to = $gpu ] || echo "peer_gbps $gpu $to 380"; done ;;
    esac
done
[ $row = allreduce ] && printf '%s\n' 'allreduce_gbps 0 0 470' 'allreduce_gbps 0 1 460'
echo end
EOF
    chmod +x "$DIR/gpu"
}

teardown() {
    rm -rf "$DIR"
}

full() {
    "$BIN/phase-preflight" --thresholds "$DIR/thresholds.yaml" --kernel-log "$DIR/kernel.log" \
        --level full --deadline-ms 60000 --parallel tensor=4,pipeline=2 --json "$@"
}

# row NAME OUTCOME TEXT: the last output has this row.
row() {
    gojq -e --arg n "$1" --arg o "$2" --arg t "$3" \
        '.rows[] | select(.name == $n and .outcome == $o) | select(.text | contains($t))' \
        <<<"$output" >/dev/null || { echo "no row $*"; echo "$output"; return 1; }
}

@test "good figures pass, and each is shown beside the figure that it must reach" {
    run -0 full
    row hbm passed "copy 3100 GB/s, at least 2333; triad 3000 GB/s, at least 2333"
    row matrix passed "bf16 700 TFLOP/s, at least 595"
    row copies passed "to the GPU 55 GB/s, at least 48; from the GPU 54 GB/s, at least 48"
    row peers passed "copy 380 GB/s, at least 335"
    row allreduce passed "tensor 460 GB/s, at least 185"
    [ "$(gojq -r '.level, .outcome' <<<"$output" | xargs)" = "full passed" ]
    gojq -e '.figures | any(. == {"row": "peers", "name": "peer_gbps", "of": "GPU 7 to GPU 0",
        "value": 380, "least": 335})' <<<"$output"
    [ "$(gojq '[.figures[] | select(.row == "peers")] | length' <<<"$output")" = 56 ]
    [ "$(gojq -r '.figures[] | select(.name == "allreduce_gbps") | .of' <<<"$output" | xargs)" = \
        "tensor 0-3 tensor 4-7" ]
}

@test "each row runs in its own process, with the allocated GPUs by UUID and the groups of the run" {
    run -3 full --devices 2,3 --parallel tensor=2
    for row in hbm matrix copies peers allreduce; do
        [[ $(sed -n 1p "$DIR/asked-$row") == "--row $row --size "*" --groups tensor:0-1 --nodes 1 --node 0"* ]]
        [[ $(sed -n '2,3p' "$DIR/asked-$row" | xargs) == "PCI_BUS_ID GPU-2"*,GPU-3* ]]
    done
}

@test "of more GPUs than the run needs, only the first are measured" {
    run full --gpus 4 --devices 0,1,2,3,4,5,6,7 --parallel tensor=4,pipeline=1
    [[ $(sed -n 1p "$DIR/asked-hbm") == *" --gpus 4 --groups tensor:0-3 "* ]]
    [ "$(sed -n 3p "$DIR/asked-hbm")" = GPU-00000000,GPU-10000000,GPU-20000000,GPU-30000000 ]
}

@test "a low figure fails its row, and the row names the GPU" {
    echo 'echo "hbm_copy_gbps 5 0 1200"' >"$DIR/hbm"
    run -1 full
    row hbm failed "GPU 5: copy 1200 GB/s, at least 2333"
    row matrix passed ""
}

@test "wrong values fail a row, however good its figures are" {
    echo 'echo "wrong 3 4 17 of 33554432 words differ"' >"$DIR/peers"
    run -1 full
    row peers failed "GPU 3 to GPU 4: 17 of 33554432 words differ"
}

@test "a row without an answer ends at its deadline, and the other rows still count" {
    sed -i 's/hbm: {seconds: 8/hbm: {seconds: 1/' "$DIR/thresholds.yaml"
    echo 'exec >/dev/null; exec tail -f /dev/null' >"$DIR/matrix"
    echo 'trap "" TERM; exec tail -f /dev/null' >"$DIR/hbm"
    sed -i 's/matrix: {seconds: 15/matrix: {seconds: 3/' "$DIR/thresholds.yaml"
    run -1 full
    row hbm failed "no answer in 1.0 s"
    row matrix failed "the measuring process does not end"
    row peers passed ""
    pid=$(cat "$DIR/pid-hbm")
    for ((i = 0; i < 100; i++)); do # killed, and at most waiting to be reaped
        process_has_ended "$pid" && return 0
        sleep 0.1
    done
    false
}

@test "a start has a deadline of its own, and a late start fails no node" {
    sed -i 's/hbm: {seconds: 8/hbm: {seconds: 2/; s/matrix: {seconds: 15/matrix: {seconds: 2/
        s/copies: {seconds: 8/copies: {seconds: 2/; s/^start_seconds:.*/start_seconds: 8/' "$DIR/thresholds.yaml"
    echo 'echo start; sleep 2.3; echo ready' >"$DIR/hbm" # longer than the row, and in time
    echo 'echo start; exec tail -f /dev/null' >"$DIR/matrix"
    # Both starts are in time, and the row has used its own time before and after the second one.
    echo 'sleep 1; echo start; sleep 0.5; echo ready; exec tail -f /dev/null' >"$DIR/copies"
    run -1 full
    row hbm passed ""
    row matrix "could not tell" "CUDA or NCCL did not start in 8.0 s"
    row copies failed "no answer in 2.0 s"
    row peers passed ""
}

@test "a group over several nodes that gives no answer fails no node" {
    sed -i 's/allreduce: {seconds: 17/allreduce: {seconds: 1/' "$DIR/thresholds.yaml"
    echo 'exec tail -f /dev/null' >"$DIR/allreduce"
    run -3 full --parallel data=16 --nodes 2 --node 1 --rendezvous "$DIR"
    row allreduce "could not tell" "no answer in 1.0 s, from this node or another"
    [[ $(cat "$DIR/asked-allreduce") == *"--groups data:0-15 --nodes 2 --node 1 --rendezvous $DIR"* ]]
}

@test "a program that dies fails its row; a program that is missing or cannot load does not" {
    echo 'kill -SEGV $$' >"$DIR/matrix"
    run -1 full
    row matrix failed "ended early by signal 11"
    echo 'exit 127' >"$DIR/matrix"
    run -3 full
    row matrix "could not tell" "is missing (built without CUDA), or a library of CUDA is missing"
    echo 'exit 2' >"$DIR/matrix"
    run -3 full
    row matrix "could not tell" "ended early with exit code 2"
    PHASED_PREFLIGHT_GPU=/nonexistent run -3 full
    row hbm "could not tell" "/nonexistent is missing (built without CUDA)"
    [ "$(gojq -r .outcome <<<"$output")" = "could not tell" ]
}

@test "a line that a library prints is not taken for a figure" {
    echo 'echo "NCCL version 2.28"; echo; yes | head -c 5000; echo; echo noise >&2' >"$DIR/allreduce"
    run -0 full
    row allreduce passed "tensor 460 GB/s"
    [[ $output != *noise* ]]
}

@test "a row gives 'could not tell' if figures are missing, or if the model has no thresholds" {
    echo 'echo "matrix_tflops 0 0 700"; echo end; exit' >"$DIR/matrix"
    run -3 full
    row matrix "could not tell" "7 of 8 figures were not measured"
    rm "$DIR/matrix"
    sed -i '/matrix_tflops/d' "$DIR/thresholds.yaml"
    run -3 full
    row matrix "could not tell" "bf16 700 TFLOP/s, no threshold and no baseline"
}

@test "without a GPU no measurement is started, and no row passes" {
    PHASED_NVML=/nonexistent.so run -3 full
    for row in hbm matrix copies peers allreduce; do
        row $row "could not tell" "no GPU"
    done
    [ ! -e "$DIR/asked-hbm" ]
}

@test "nothing is measured after another row failed, because another job may use the GPUs" {
    FAKE_NVML=process=4 run -1 full
    row hbm "could not tell" "another row failed"
    [ ! -e "$DIR/asked-hbm" ]
}

@test "a single GPU passes the rows that need a partner" {
    run -0 full --devices 0 --parallel tensor=1
    row peers passed "no GPU has a partner"
    row allreduce passed "no GPU has a partner"
    [ ! -e "$DIR/asked-peers" ]
}

@test "a row that the thresholds leave out is neither measured nor judged" {
    sed -i '/^  peers:/d' "$DIR/thresholds.yaml"
    run -0 full
    [ "$(gojq '[.rows[] | select(.name == "peers")] | length' <<<"$output")" = 0 ]
    [ ! -e "$DIR/asked-peers" ]
}

@test "a site records the figures of a good node, and other nodes are compared with them" {
    run -0 full --record "$DIR/baseline.yaml"
    grep -q "match: NVIDIA H200" "$DIR/baseline.yaml"
    grep -q "hbm_copy_gbps: 3100" "$DIR/baseline.yaml"
    grep -q "^      4: 460" "$DIR/baseline.yaml"
    run -0 full --baseline "$DIR/baseline.yaml"
    row hbm passed "copy 3100 GB/s, at least 2790 by the baseline"
    echo 'echo "hbm_copy_gbps 5 0 2700"' >"$DIR/hbm"
    run -1 full --baseline "$DIR/baseline.yaml"
    row hbm failed "GPU 5: copy 2700 GB/s, at least 2790 by the baseline"
    run -0 full
    export PHASED_PREFLIGHT_BASELINE=$DIR/baseline.yaml
    run -1 full
    run -0 "$BIN/phase-preflight" --thresholds "$DIR/thresholds.yaml" --kernel-log "$DIR/kernel.log"
    PHASED_PREFLIGHT_THRESHOLDS=/nonexistent run -2 "$BIN/phase-preflight"
}

@test "no baseline is recorded for a node that failed or could not be measured" {
    echo 'echo "hbm_copy_gbps 5 0 1200"' >"$DIR/hbm"
    run --separate-stderr -1 full --record "$DIR/baseline.yaml"
    [[ $stderr == *"nothing is recorded: a row failed"* ]]
    PHASED_NVML=/nonexistent.so run --separate-stderr -3 full --record "$DIR/baseline.yaml"
    [[ $stderr == *"nothing is recorded: nothing was measured"* ]]
    [ ! -e "$DIR/baseline.yaml" ]
    rm "$DIR/hbm"
    run --separate-stderr -3 full --record "$DIR/none/baseline.yaml"
    [[ $stderr == *"$DIR/none"* ]]
}

@test "wrong use is refused with the reason" {
    run -2 "$BIN/phase-preflight" --baseline x
    [[ $output == *"--baseline needs --level full"* ]]
    run -2 full --parallel tensor=3
    [[ $output == *"tensor 3 x pipeline 1 x data 2 are not the 8 GPUs"* ]]
    run -2 full --groups 0-3
    [[ $output == *"--parallel cannot be used with --groups"* ]]
    run -2 full --nodes 2
    [[ $output == *"--nodes needs --rendezvous"* ]]
    run -2 full --nodes 2 --node 2 --rendezvous /tmp
    [[ $output == *"--node must be less than --nodes"* ]]
    run -2 full --baseline /nonexistent
    [[ $output == *"/nonexistent"* ]]
    printf 'measure:\n  speed: {seconds: 1, mib: 1}\n  hbm: {seconds: 1}\nmodels:\n  - match: A\n    allreduce_gbps: {1: 5, 8 of 2: 5}\n' \
        >"$DIR/thresholds.yaml"
    run -2 full
    [[ $output == *"thresholds.yaml:2:3: measure.speed: unknown row"* ]]
    [[ $output == *"measure.hbm: a row needs \`seconds\` and \`mib\`"* ]]
    [[ $output == *"must be a size of groups"*"must be a size of groups"* ]]
}
