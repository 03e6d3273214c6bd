# The full level with the real program for the GPUs. A processor runs its kernels, and stand-ins
# replace CUDA's libraries (tests/fake/cuda.c, cublaslt.c, nccl.c). Faults are found, and waits end.

bats_require_minimum_version 1.5.0

setup() {
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    FAKES=$BIN/../tests/fake
    [ -x "$FAKES/phase-preflight-gpu" ] || skip "built without CUDA"
    export TMPDIR=$DIR PHASED_NVML=$FAKES/libnvidia-ml.so FAKE_NVML= FAKE_CUDA=
    export PHASED_PREFLIGHT_GPU=$FAKES/phase-preflight-gpu
    unset SLURM_GPUS_ON_NODE SLURM_JOB_GPUS CUDA_VISIBLE_DEVICES
    : >"$DIR/kernel.log"
    # The installed thresholds, with sizes that a processor can do in a moment.
    sed 's/^scratch_free_mib:.*/scratch_free_mib: 0/; /^clock_error_ms/d
        s/seconds: [0-9]*/seconds: 60/; s/^start_seconds:.*/start_seconds: 60/; s/mib: [0-9]*}/mib: 1}/; s/elements: [0-9]*/elements: 32/' \
        "$SRC/etc/preflight.yaml" >"$DIR/thresholds.yaml"
}

teardown() {
    rm -rf "$DIR"
}

full() {
    "$BIN/phase-preflight" --thresholds "$DIR/thresholds.yaml" --kernel-log "$DIR/kernel.log" \
        --level full --deadline-ms 60000 --json "$@"
}

# only ROW...: measures nothing but these rows.
only() {
    local row
    for row in hbm matrix copies peers allreduce; do
        [[ " $* " == *" $row "* ]] || sed -i "/^  $row:/d" "$DIR/thresholds.yaml"
    done
}

# row NAME OUTCOME TEXT: the last output has this row.
row() {
    gojq -e --arg n "$1" --arg o "$2" --arg t "$3" \
        '.rows[] | select(.name == $n and .outcome == $o) | select(.text | contains($t))' \
        <<<"$output" >/dev/null || { echo "no row $*"; gojq .rows <<<"$output"; return 1; }
}

# fault SCRIPT ROW OUTCOME TEXT [OPTION...]
fault() {
    local script=$1 name=$2 outcome=$3 text=$4
    shift 4
    FAKE_CUDA=$script run full "$@"
    row "$name" "$outcome" "$text"
    [ "$status" = "$([ "$outcome" = failed ] && echo 1 || echo 3)" ]
}

# figures NAME: the values of this figure in the last output, without duplicates.
figures() {
    gojq -c --arg n "$1" '[.figures[] | select(.name == $n) | .value] | unique' <<<"$output"
}

@test "eight GPUs that compute correctly pass, with all figures" {
    run -0 full --parallel tensor=2,pipeline=2,data=2
    for name in hbm matrix copies peers allreduce; do
        row $name passed ""
    done
    [ "$(gojq -r '.figures[].name' <<<"$output" | sort | uniq -c | xargs)" = "8 allreduce_gbps \
8 device_to_host_gbps 8 hbm_copy_gbps 8 hbm_triad_gbps 8 host_to_device_gbps 8 matrix_tflops \
56 peer_gbps" ]
    [ "$(gojq -r '.figures[] | select(.row == "allreduce") | .of' <<<"$output" | xargs)" = \
        "tensor 0-1 tensor 2-3 tensor 4-5 tensor 6-7 data 0,2 data 1,3 data 4,6 data 5,7" ]
}

@test "figures are bytes and operations divided by the time that the GPU took" {
    # tests/fake/cuda.h says how fast its devices are. The rate of the memory counts the bytes that
    # are read and written.
    run -0 full
    [ "$(figures hbm_copy_gbps) $(figures hbm_triad_gbps)" = "[3000] [3000]" ]
    [ "$(figures matrix_tflops) $(figures peer_gbps)" = "[700] [380]" ]
    [ "$(figures host_to_device_gbps) $(figures device_to_host_gbps)" = "[55] [55]" ]
    # The bus bandwidth as nccl-tests computes it: 275 GB/s times 2 (n - 1) / n.
    [ "$(figures allreduce_gbps)" = "[481.25]" ]
    only allreduce
    run -0 full --parallel tensor=4
    [ "$(figures allreduce_gbps)" = "[275,412.5]" ] # and the data groups of two
}

@test "a slow GPU fails its rows and the groups that it is in" {
    FAKE_CUDA=slow=3 run -1 full --parallel tensor=4,pipeline=2
    row hbm failed "GPU 3: copy 300 GB/s, at least 2333"
    row matrix failed "GPU 3: bf16 70 TFLOP/s, at least 595"
    row copies failed "GPU 3: to the GPU "
    row peers failed "GPU 0 to GPU 3: copy 38 GB/s, at least 335"
    row allreduce failed "tensor 0-3: bus 41 GB/s, at least 185"
    [[ $output != *"GPU 2: copy"* && $output != *"GPU 3 to GPU 0: "* && $output != *"tensor 4-7: "* ]]
}

@test "two GPUs that reach each other only through the host are too slow" {
    only peers
    fault far=5 peers failed "GPU 5 to GPU 0: copy 20 GB/s, at least 335"
    row peers failed "GPU 0 to GPU 5: copy 20 GB/s, at least 335"
    [[ $output != *"GPU 0 to GPU 1: "* ]]
}

@test "a subset of the GPUs is measured without the other GPUs" {
    run -0 full --devices 1,2,5,6
    gojq -e '[.figures[] | select(.row == "peers")] | length == 12' <<<"$output"
    gojq -e '.figures | any(.of == "GPU 1 to GPU 6")' <<<"$output"
}

@test "of more GPUs than the run needs, only the first are measured" {
    only hbm allreduce
    run -0 full --gpus 4 --devices 0,1,2,3,4,5,6,7
    [ "$(gojq -c '[.figures[] | select(.name == "hbm_copy_gbps") | .of]' <<<"$output")" = \
        '["GPU 0","GPU 1","GPU 2","GPU 3"]' ]
    row allreduce passed ""
}

@test "wrong results fail their row, and the row names the GPU" {
    only hbm matrix copies peers
    fault skip=3 hbm failed "GPU 3: copy: 131072 values are wrong"
    fault lazy=3 hbm failed "GPU 3: kernel copy computes a wrong result"
    fault wrong=5 matrix failed "GPU 5: 128 of 128 entries of a product are wrong"
    fault drift=2 matrix failed "GPU 2: the same product came out differently"
    fault flip=6 copies failed "GPU 6: "
    row peers failed "GPU 0 to GPU 6: 1 of 131072 words arrived wrong"
    [[ $output != *"GPU 6 to GPU 0: 1 of"* ]]
}

@test "a wrong sum fails the group of the GPU" {
    only allreduce
    fault sum=6 allreduce failed "tensor 4-7: 1 of 262144 sums are wrong on its rank 2" \
        --parallel tensor=4
    [[ $output != *"tensor 0-3: 1 of"* ]]
}

@test "errors of the hardware fail a row; a missing driver or too little memory gives 'could not tell'" {
    only hbm
    fault error=4 hbm failed "GPU 4: "
    fault lost=4 hbm failed "GPU 4: beginning"
    fault count=7 hbm failed "CUDA finds 7 GPUs, 8 are allocated"
    fault room=4 hbm "could not tell" "GPU 4: no 1 MiB of memory are free"
    fault driver hbm "could not tell" "CUDA finds no GPU"
}

@test "a row gives 'could not tell' if its matrices cannot be multiplied" {
    only matrix
    fault unsupported matrix "could not tell" "setting up a product of matrices: not supported"
    sed -i 's/elements: 32/elements: 30/' "$DIR/thresholds.yaml"
    fault none matrix "could not tell" "a multiple of 8"
}

@test "work that never ends is given up in time, and the row names the GPU" {
    only hbm copies peers matrix
    FAKE_CUDA=hang=1 run -1 full --devices 0,1,2
    row hbm failed "GPU 1: trying the kernels: not done in time"
    row copies failed "GPU 1: from the GPU: not done in time"
    row peers failed "GPU 1: filling memory: not done in time"
    row matrix failed "GPU 1: multiplying matrices: not done in time"
}

@test "a group that does not come together is given up and reported" {
    only allreduce
    fault alone allreduce "could not tell" "all 0-7: joining a group: not done in time"
    fault busy allreduce failed "all 0-7: reducing: not done in time"
    fault leaving allreduce failed "all 0-7: leaving a group: not done in time"
    fault hang=3 allreduce failed "all 0-7: reducing for the first time: not done in time"
    sed -i 's/allreduce: {seconds: 60/allreduce: {seconds: 3/' "$DIR/thresholds.yaml"
    fault hang=1,stuck allreduce failed "all 0-1: reducing for the first time: not done in time" \
        --devices 0,1
}

@test "the starts of CUDA and NCCL do not count for the deadline of a row" {
    only hbm allreduce
    sed -i 's/seconds: 60/seconds: 10/; s/^start_seconds:.*/start_seconds: 100/' "$DIR/thresholds.yaml"
    FAKE_CUDA=start=20 run -0 full --parallel tensor=4
    row hbm passed ""
    row allreduce passed ""
    FAKE_CUDA=start=20,hang=1 run -1 full --devices 0,1 # the deadline of the row still holds
    row hbm failed "GPU 1: trying the kernels: not done in time"
    row allreduce failed "all 0-1: reducing for the first time: not done in time"
}

@test "an error of NCCL fails a node, unless another node may have caused the error" {
    only allreduce
    fault fault=3 allreduce failed "GPU 3: all: reducing: an error of the fake: and its reason"
    fault fault=3,system allreduce failed "GPU 3: all: reducing"
    fault fault=3,remote allreduce "could not tell" "GPU 3: all: reducing: remote error"
    mkdir "$DIR/meeting"
    export FAKE_CUDA=fault=1,system
    full --devices 0,1 --nodes 2 --node 1 --rendezvous "$DIR/meeting" >"$DIR/other" &
    other=$!
    run -3 full --devices 2,3 --nodes 2 --node 0 --rendezvous "$DIR/meeting"
    row allreduce "could not tell" "GPU 3: all: reducing"
    wait $other || [ $? = 3 ]
}

@test "NCCL settings of the user that would make NCCL wait by itself are ignored" {
    only allreduce
    NCCL_COMM_BLOCKING=1 NCCL_COMM_ID=127.0.0.1:1 run -0 full
}

@test "two nodes reduce together, each node reports its own part, and a baseline judges it" {
    only allreduce
    mkdir "$DIR/meeting"
    printf 'models:\n  - match: H200\n    allreduce_gbps: {4 on 2: 400}\n' >"$DIR/baseline.yaml"
    set -- --baseline "$DIR/baseline.yaml" --parallel data=4 --nodes 2 --rendezvous "$DIR/meeting"
    full --devices 0,1 --node 1 "$@" >"$DIR/other" &
    other=$!
    run -0 full --devices 2,3 --node 0 "$@"
    row allreduce passed "data 412 GB/s, at least 360 by the baseline"
    gojq -e '.figures | length == 1 and .[0].of == "data 0-3"' <<<"$output"
    wait $other
    gojq -e '.outcome == "passed"' "$DIR/other"
}

@test "groups within one node do not wait for another node" {
    only allreduce
    run -0 full --devices 2,3 --parallel tensor=2,data=1,pipeline=2 --nodes 2 --node 1 \
        --rendezvous "$DIR/none"
    gojq -e '.figures | length == 1 and .[0].of == "tensor 2-3"' <<<"$output"
}

@test "a node that does not come, or a folder that was used before, fails no node" {
    only allreduce
    mkdir "$DIR/meeting"
    sed -i 's/seconds: 60/seconds: 1/; s/^start_seconds:.*/start_seconds: 1/' "$DIR/thresholds.yaml"
    run -3 full --devices 2,3 --nodes 2 --node 1 --rendezvous "$DIR/meeting"
    row allreduce "could not tell" "in time" || # the words of the program, if it was not too slow
        row allreduce "could not tell" "CUDA or NCCL did not start in 1.0 s, on this node or another"
    CUDA_VISIBLE_DEVICES=2,3 run "$PHASED_PREFLIGHT_GPU" --row allreduce --size 1 --gpus 2 \
        --deadline-ms 1000 --start-ms 500 --groups all:0-3 --nodes 2 --node 1 --rendezvous "$DIR/meeting"
    [[ $output == *"no other node has written it in time"* ]]
    run -3 full --devices 2,3 --nodes 2 --node 0 --rendezvous "$DIR/meeting"
    row allreduce "could not tell" "all 0-3: joining a group: not done in time, here or on another" ||
        row allreduce "could not tell" "CUDA or NCCL did not start in 1.0 s, on this node or another"
    sed -i 's/^start_seconds:.*/start_seconds: 60/' "$DIR/thresholds.yaml"
    : >>"$DIR/meeting/group-0-0" # the node before may have been too slow to write it
    run -3 full --devices 2,3 --nodes 2 --node 0 --rendezvous "$DIR/meeting"
    row allreduce "could not tell" "the folder must be new"
}

# refused REASON OPTION...
refused() {
    run -2 "$PHASED_PREFLIGHT_GPU" --deadline-ms 1 --start-ms 1 "${@:2}"
    [[ $output == "phase-preflight-gpu: $1"* ]]
}

@test "the program names the options that it cannot understand" {
    refused '--row, --size, --deadline-ms, --start-ms and --gpus are needed' --row speed --size 1 --gpus 2
    refused "--size wants a whole number from 1 to 1048576, not '0'" --row hbm --size 0 --gpus 2
    refused '--gpus wants a whole number from 1 to ' --row hbm --size 1 --gpus 99
    refused 'groups 0-9: must be like 0-3' --row hbm --size 1 --gpus 2 --groups 0-9
    refused '--node must be less than --nodes' --row hbm --size 1 --gpus 2 --node 3
    refused "one argument too many: 'extra'" --row hbm --size 1 --gpus 2 extra
}
