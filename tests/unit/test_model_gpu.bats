# phase-model on GPUs, with fake CUDA libraries (tests/fake): the whole program and the text of its
# kernels run on a processor. Losses are compared with those of the CPU, and failures are named.

bats_require_minimum_version 1.5.0
load hurry.bash

# Sets PORT to a port on which nothing listens, below the ports that the kernel hands out.
next_port() {
    PORT=$((10000 + (BASHPID * 13 + RANDOM) % 10000))
    while (: <>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do
        PORT=$((PORT + 1))
    done
}

setup() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    FAKES=$BIN/../tests/fake
    [ -x "$FAKES/phase-model-gpu" ] ||
        skip "built without CUDA or cuDNN, or without the programs of the tests (make check TESTS=)"
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    export PHASED_MODEL_GPU=$FAKES/phase-model-gpu CUDA_VISIBLE_DEVICES=0,1 FAKE_CUDA= TMPDIR=$DIR
    unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
    next_port
    CHILDREN=()
}

teardown() {
    local child
    for child in "${CHILDREN[@]}"; do
        pkill -KILL -P "$child" || true # the program, which may stand still
        kill -KILL "$child" 2>/dev/null || true
    done
    rm -rf "$DIR"
}

# train DEVICE OUT ITERATIONS [OPTION...]
train() {
    local device=$1 out=$2 iterations=$3
    shift 3
    "$BIN/phase-model" train --device "$device" --width 32 --heads 2 --kv-heads 1 --loops 2 \
        --sequence-length 24 --eval-every 0 --out "$DIR/$out" --iterations "$iterations" "$@"
}

# losses FILE: prints loss, step_0, step_1 and grad_norm of each step.
losses() {
    sed -nE 's/^step .* loss ([0-9.]+) .*step_0 ([0-9.]+) .*step_1 ([0-9.]+) .*grad_norm ([0-9.]+) .*/\1 \2 \3 \4/p' "$1"
}

# near BOUND FILE FILE: whether all figures are equal but for BOUND, relative.
near() {
    paste <(losses "$2") <(losses "$3") | awk -v bound="$1" '
        NF != 8 { exit bad = 1 }
        { for (i = 1; i <= 4; i++) if ($i - $(i + 4) > bound * $i || $(i + 4) - $i > bound * $i) bad = 1 }
        bad { print; exit }
        END { exit bad || !NR }'
}

# start RANK NAME VARIABLE=VALUE... -- train's arguments: one of two ranks, in the background. It is
# the last entry of CHILDREN.
start() {
    local rank=$1 name=$2 variables=()
    shift 2
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    (
        export "${variables[@]}" RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 \
            MASTER_PORT=$PORT
        train "$@" >"$DIR/log.$name" 2>&1 3>&-
    ) 3>&- &
    CHILDREN+=($!)
}

# failed INDEX NAME PATTERN: waits for the rank at this index of CHILDREN. It has failed, and the last
# line of its log begins with the pattern.
failed() {
    local status=0
    wait "${CHILDREN[$1]}" || status=$?
    [ "$status" = 1 ]
    cat "$DIR/log.$2"
    tail -n 1 "$DIR/log.$2" | grep -E "^phase-model: $3"
}

# await PATTERN FILE
await() {
    local turns=0
    until grep -qE "$1" "$2" 2>/dev/null; do
        [ $((turns += 1)) -lt 1200 ] || { cat "$2"; return 1; }
        read -rt 0.05 <> <(:) || true
    done
}

@test "the losses on a GPU are those of the CPU, but for the rounding" {
    train cuda gpu 4 --device-batch-size 3 --grad-accum 2 >"$DIR/gpu.log" 2>"$DIR/gpu.err"
    train cpu cpu 4 --device-batch-size 3 --grad-accum 2 >"$DIR/cpu.log"
    near 0.01 "$DIR/gpu.log" "$DIR/cpu.log"
    train cuda gpu 3 --device-batch-size 1 --tokens 301 >"$DIR/log.gpu"
    train cpu cpu 3 --device-batch-size 1 --tokens 301 >"$DIR/log.cpu"
    near 0.01 "$DIR/log.gpu" "$DIR/log.cpu"
    [ "$(grep -c 'attention uses slow kernels of its own' "$DIR/gpu.err")" = 1 ]
}

@test "attention by cuDNN has the losses of the CPU, also where queries share keys" {
    local heads
    for heads in 1 2; do
        FAKE_CUDA=cudnn train cuda gpu 3 --device-batch-size 2 --kv-heads $heads \
            >"$DIR/gpu.log" 2>"$DIR/gpu.err"
        train cpu cpu 3 --device-batch-size 2 --kv-heads $heads >"$DIR/cpu.log"
        near 0.01 "$DIR/gpu.log" "$DIR/cpu.log"
        run -1 grep 'slow kernels' "$DIR/gpu.err"
    done
    FAKE_CUDA=cudnn=2 train cuda gpu 3 --device-batch-size 2 --kv-heads 2 >"$DIR/gpu.log" \
        2>"$DIR/gpu.err"
    near 0.01 "$DIR/gpu.log" "$DIR/cpu.log"
    grep 'attention uses slow kernels of its own: cuDNN: running a graph: ' "$DIR/gpu.err"
    FAKE_CUDA=cudnn=3 train cuda gpu 3 --device-batch-size 2 --kv-heads 2 >"$DIR/gpu.log" \
        2>"$DIR/gpu.err"
    near 0.01 "$DIR/gpu.log" "$DIR/cpu.log"
    [ "$(grep -c 'attention is planned again: cuDNN: running a graph: ' "$DIR/gpu.err")" = 1 ]
    run -1 grep 'slow kernels' "$DIR/gpu.err"
}

@test "a cuDNN before 9.15.1 computes attention only for sequences that are a multiple of 128, and none before 9.11" {
    local why='attention uses slow kernels of its own: cuDNN 9.15.0 wants a sequence that is a multiple of 128'
    FAKE_CUDA=cudnn,version=91500 train cuda gpu 2 --device-batch-size 1 >"$DIR/gpu.log" 2>"$DIR/gpu.err"
    [ "$(grep -c "$why" "$DIR/gpu.err")" = 1 ]
    FAKE_CUDA=cudnn,version=91501 train cuda gpu 2 --device-batch-size 1 >/dev/null 2>"$DIR/gpu.err"
    run -1 grep 'slow kernels' "$DIR/gpu.err"
    FAKE_CUDA=cudnn,version=91500 train cuda gpu 1 --device-batch-size 1 --sequence-length 128 \
        >/dev/null 2>"$DIR/gpu.err"
    run -1 grep 'slow kernels' "$DIR/gpu.err"
    FAKE_CUDA=cudnn,version=91002 train cuda gpu 1 --device-batch-size 1 --sequence-length 128 \
        >/dev/null 2>"$DIR/gpu.err"
    grep 'slow kernels of its own: cuDNN 9.10.2 is too old: use 9.11 or later$' "$DIR/gpu.err"
}

# waits NAME...: how often each rank waited for its GPU.
waits() {
    (cd "$DIR" && sed -n 's/^waits: //p' "${@/#/log.}")
}

@test "a step that prints nothing waits for no GPU" {
    local steps
    for steps in 2 3; do # the host may be 4 batches ahead
        FAKE_CUDA=waits train cuda a $steps --device-batch-size 1 --log-every $steps \
            >"$DIR/log.one$steps" 2>&1
        start 0 first$steps FAKE_CUDA=waits -- cuda a $steps --device-batch-size 1 --log-every $steps
        start 1 second$steps FAKE_CUDA=waits -- cuda a $steps --device-batch-size 1 \
            --log-every $steps
        wait "${CHILDREN[-1]}" "${CHILDREN[-2]}"
    done
    [ "$(waits one2 first2 second2 | wc -l)" = 3 ]
    [ "$(waits one2 first2 second2)" = "$(waits one3 first3 second3)" ]
}

# The checkpoints of all steps go through the same pinned memory.
@test "after the first step a training asks for no memory of the GPU and for no pinned memory" {
    local steps
    for steps in 1 6; do
        FAKE_CUDA=allocations,cudnn train cuda a $steps --device-batch-size 1 --save-every 1 \
            >"$DIR/log.one$steps" 2>&1
        start 0 first$steps FAKE_CUDA=allocations -- cuda a $steps --device-batch-size 1 --save-every 1
        start 1 second$steps FAKE_CUDA=allocations -- cuda a $steps --device-batch-size 1 --save-every 1
        wait "${CHILDREN[-1]}" "${CHILDREN[-2]}"
    done
    told() { (cd "$DIR" && sed -n 's/^allocations: //p' log.one$1 log.first$1 log.second$1); }
    [ "$(told 1 | grep -c '^[1-9]')" = 3 ]
    [ "$(told 1)" = "$(told 6)" ]
}

# The last batch of an evaluation has another size. A line of generation begins where another ends.
@test "evaluations and more lines ask for no more memory of the GPU" {
    export FAKE_CUDA=allocations,cudnn
    local count
    train cuda a 1 >/dev/null
    for count in 1 4; do
        train cuda b $count --device-batch-size 24 --eval-every 1 2>&1 |
            sed -n 's/^allocations: //p' >>"$DIR/trained"
        seq $((count * 5)) >"$DIR/in"
        generate out$count --bytes 12 --batch-size 4 2>&1 |
            sed -n 's/^allocations: //p' >>"$DIR/generated"
    done
    cat "$DIR/trained" "$DIR/generated"
    [ "$(wc -l <"$DIR/out4")" = 20 ]
    [ "$(uniq -c "$DIR/trained" | grep -cE '^ +2 [1-9]')" = 1 ]
    [ "$(uniq -c "$DIR/generated" | grep -cE '^ +2 [1-9]')" = 1 ]
}

@test "a step launches a sum for each bucket and the norm, and gathers all weights at once" {
    local steps depth=2
    for steps in 2 4; do
        start 0 first$steps FAKE_CUDA=groups -- cuda a $steps --device-batch-size 1 --depth $depth
        start 1 second$steps FAKE_CUDA=groups -- cuda a $steps --device-batch-size 1 --depth $depth
        wait "${CHILDREN[-1]}" "${CHILDREN[-2]}"
    done
    (cd "$DIR" && sed -n 's/^groups: //p' log.{first,second}{2,4}) >"$DIR/groups"
    cat "$DIR/groups"
    # Buckets: the gains, the embedding with the head, and each block.
    awk -v depth=$depth '{ count[NR] = $1 }
        END { exit NR != 4 || count[2] - count[1] != 2 * (depth + 4) || count[4] - count[3] != 2 * (depth + 4) }' \
        "$DIR/groups"
}

# ways FILE: the products by each proposal of cuBLASLt.
ways() { sed -n 's/^ways: //p' "$1"; }

@test "large products are made in the fastest of four ways, and others in the first way" {
    local steps first
    for steps in 2 4; do
        FAKE_CUDA=ways train cuda a $steps --device-batch-size 22 >"$DIR/gpu.$steps" 2>"$DIR/log.$steps"
        FAKE_CUDA=ways train cuda b $steps --device-batch-size 2 >/dev/null 2>"$DIR/log.small.$steps"
    done
    cat "$DIR"/log.*
    # Steps after the measurement use the first way (the gradients of weights have 32 rows) and the third.
    read -r -a first < <(ways "$DIR/log.2")
    ways "$DIR/log.4" | awk -v one="${first[1]}" -v two="${first[2]}" -v three="${first[3]}" \
        '$2 != one || $4 != three || !(one > 0) || !($3 > two) { exit 1 }'
    ways "$DIR/log.small.4" | grep -E '^[0-9]+ 0 0 0$'
    train cpu c 4 --device-batch-size 22 >"$DIR/cpu.4"
    near 0.01 "$DIR/gpu.4" "$DIR/cpu.4"
}

@test "with factors of 8 bits the losses stay near those of floats, and weights are cast after each update" {
    local options=(4 --device-batch-size 2 --grad-accum 2)
    train cuda gpu "${options[@]}" --precision fp8 >"$DIR/gpu.log"
    train cuda bf16 "${options[@]}" >"$DIR/bf16.log"
    train cpu cpu "${options[@]}" >"$DIR/cpu.log"
    near 0.03 "$DIR/gpu.log" "$DIR/cpu.log"
    run ! cmp <(losses "$DIR/gpu.log") <(losses "$DIR/bf16.log")
    start 0 first FAKE= -- cuda two 4 --device-batch-size 2 --precision fp8
    start 1 second FAKE= -- cuda two 4 --device-batch-size 2 --precision fp8
    wait "${CHILDREN[0]}" "${CHILDREN[1]}"
    train cpu one 4 --device-batch-size 4 >"$DIR/one.log"
    near 0.03 "$DIR/log.first" "$DIR/one.log"
}

@test "a host that is far ahead waits for its GPU, and each copy arrives" {
    train cuda gpu 2 --device-batch-size 1 --grad-accum 40 >"$DIR/log.gpu"
    train cpu cpu 2 --device-batch-size 1 --grad-accum 40 >"$DIR/log.cpu"
    near 0.01 "$DIR/log.gpu" "$DIR/log.cpu"
}

@test "the MFU is that of the GPU's model, and its formula is named" {
    train cuda a 2 --device-batch-size 1 >"$DIR/log"
    grep -F 'percent of 989 TFLOPS, dense bf16, of 1 NVIDIA H100 80GB HBM3' "$DIR/log"
    # 6 * 2 loops * (qkv 32 x 64 + out 32 x 32 + up and down 3 x 32 x 128 + head 32 x 256) + 12 * 2 * 32 * 24
    grep -F "a token takes 0.0003011 GFLOP" "$DIR/log"
    grep -qE '^step 2/2 .* tok/sec [0-9]+ \| mfu [0-9.]+ \| mem 0\.04[0-9]GiB$' "$DIR/log"
}

@test "two GPUs have the losses of one with the same rows, and one goes on from their checkpoint" {
    export NCCL_COMM_BLOCKING=1 # is forgotten: it would make the ranks join without a deadline
    train cuda one 3 --device-batch-size 2 >"$DIR/one.log"
    start 0 first FAKE= -- cuda two 3 --device-batch-size 1
    start 1 second FAKE= -- cuda two 3 --device-batch-size 1
    wait "${CHILDREN[0]}" "${CHILDREN[1]}"
    near 0.0001 "$DIR/one.log" "$DIR/log.first"
    train cuda one 6 --device-batch-size 2 --resume "$DIR/one/step_000003.ckpt" >"$DIR/log.one"
    train cuda two 6 --device-batch-size 2 --resume "$DIR/two/step_000003.ckpt" >"$DIR/log.two"
    near 0.01 "$DIR/log.one" "$DIR/log.two"
}

@test "a checkpoint of a GPU goes on on a CPU, and the other way round" {
    train cuda a 2 --device-batch-size 1 >"$DIR/log.a"
    train cpu a 3 --device-batch-size 1 --resume "$DIR/a/step_000002.ckpt" >"$DIR/log.b"
    train cuda a 4 --device-batch-size 1 --resume "$DIR/a/step_000003.ckpt" >"$DIR/log.c"
    train cpu cpu 4 --device-batch-size 1 >"$DIR/log.whole"
    cat "$DIR"/log.[abc] >"$DIR/log.parts"
    near 0.01 "$DIR/log.parts" "$DIR/log.whole"
}

@test "without pinned memory for a copy of the state, the training waits and saves the same" {
    local room
    for room in 2 1000; do # the ring of kernels_put() takes 2 MiB
        FAKE_CUDA=pinned=$room train cuda $room 4 --device-batch-size 1 --save-every 2 \
            >"$DIR/log.$room" 2>&1
    done
    [ "$(grep -c 'the training waits while checkpoints are written' "$DIR/log.2")" = 1 ]
    run -1 grep 'the training waits' "$DIR/log.1000"
    diff -r "$DIR/2" "$DIR/1000"
}

@test "a rank that dies is named, and the other ends soon" {
    start 0 first FAKE= -- cuda two 100000 --device-batch-size 1 --log-every 50
    start 1 second FAKE= -- cuda two 100000 --device-batch-size 1 --log-every 50
    await '^step 50/' "$DIR/log.first"
    pkill -KILL -P "${CHILDREN[1]}" || kill -KILL "${CHILDREN[1]}"
    failed 0 first 'rank 1 is gone'
}

@test "a rank that stands still is named after the timeout" {
    start 0 first FAKE= -- cuda two 100000 --device-batch-size 1 --collective-timeout 10 \
        --log-every 50
    start 1 second FAKE= -- cuda two 100000 --device-batch-size 1 --collective-timeout 10 \
        --log-every 50
    await '^step 50/' "$DIR/log.first"
    pkill -STOP -P "${CHILDREN[1]}" || kill -STOP "${CHILDREN[1]}"
    failed 0 first '.*rank 1'
}

@test "a sum that never ends ends the training after the timeout" {
    local rank
    start 0 log0 FAKE_CUDA=mute=1 -- cuda two 1000 --device-batch-size 1 --collective-timeout 1 \
        --log-every 5
    start 1 log1 FAKE_CUDA=mute=1 -- cuda two 1000 --device-batch-size 1 --collective-timeout 1 \
        --log-every 5
    for rank in 0 1; do
        failed $rank log$rank 'no GPU is behind the others: sum [0-9]+ was not reached in time$'
    done
}

@test "after a failure nothing is asked of CUDA any more, also if aborting hangs" {
    local rank
    for rank in 0 1; do
        start $rank log$rank FAKE_CUDA=mute=1,stuck,cudnn -- cuda two 1000 --device-batch-size 1 \
            --collective-timeout 1 --log-every 5
    done
    for rank in 0 1; do
        failed $rank log$rank 'no GPU is behind the others: sum [0-9]+ was not reached in time$'
    done
    train cuda a 1 --device-batch-size 1 --kv-heads 2
    printf 'The free\n' >"$DIR/in"
    run -1 env FAKE_CUDA=hang=1,stuck "$BIN/phase-model" generate --device cuda --tp 2 \
        --model "$DIR/a/step_000001.ckpt" --input "$DIR/in" --output "$DIR/out"
    echo "$output"
    [[ $output == *"phase-model: rank 1: GPU 1: computing: not done in time"* ]]
    [[ $output != *"would hang"* ]]
}

@test "all ranks name the rank whose GPU hangs while all hosts answer" {
    local hung rank behind
    for hung in 0 1; do
        behind="the GPU of rank $hung \\($(uname -n)\\) is behind the others"
        for rank in 0 1; do
            start $rank $hung$rank FAKE_CUDA=hang=$hung,after=5000 -- cuda two 1000 \
                --device-batch-size 1 --log-every 5
        done
        for rank in 0 1; do
            failed $((hung * 2 + rank)) $hung$rank "$behind: sum [0-9]+ was not reached in time$"
        done
        grep '^step 5/' "$DIR/log.${hung}0"
    done
}

@test "text does not depend on the number of GPUs, and not on the size of the cache" {
    train cuda a 2 --device-batch-size 1 --kv-heads 2 --tokens 304 # shares of 192 and 112 tokens
    printf 'The free\nsoftware\n' >"$DIR/in"
    local tensor
    for tensor in 1 2; do
        "$BIN/phase-model" generate --device cuda --model "$DIR/a/step_000002.ckpt" --input "$DIR/in" \
            --output "$DIR/out.$tensor" --tp $tensor --bytes 10 --cache $((tensor == 1 ? 64 : 32))
        "$BIN/phase-model" generate --device cuda --model "$DIR/a/step_000002.ckpt" --input "$DIR/in" \
            --output "$DIR/drawn.$tensor" --tp $tensor --bytes 10 --temperature 1 --top-p 0.9
    done # each line needs two pages of 16 tokens; a cache of 32 sends the second line back
    [ "$(wc -l <"$DIR/out.1")" = 2 ]
    cmp "$DIR/out.1" "$DIR/out.2"
    cmp "$DIR/drawn.1" "$DIR/drawn.2"
    ! cmp "$DIR/out.1" "$DIR/drawn.1"
}

# generate OUT [OPTION...]: continues the lines of $DIR/in with the model $DIR/a.
generate() {
    local out=$1
    shift
    "$BIN/phase-model" generate --device cuda --model "$DIR"/a/step_*.ckpt --input "$DIR/in" \
        --output "$DIR/$out" "$@"
}

@test "each GPU of a group has its share of the weights once, in 2 bytes" {
    local tensor
    # 64 * 16 blocks * (qkv 3 * 64 + out 64 + up and down 3 * 1024) weights in shares, 2 * 64 * 256 others
    local shared=$((64 * 16 * 3328)) memory=()
    "$BIN/phase-model" train --device cpu --width 64 --heads 4 --depth 16 --hidden 1024 --loops 1 \
        --sequence-length 16 --eval-every 0 --out "$DIR/a" --iterations 20 --device-batch-size 1 >"$DIR/log"
    printf 'The free\n' >"$DIR/in"
    for tensor in 1 2 4; do
        FAKE_CUDA=memory CUDA_VISIBLE_DEVICES=0,1,2,3 generate out.$tensor --bytes 8 --context 8 \
            --batch-size 1 --tp $tensor 2>"$DIR/log"
        cat "$DIR/log"
        memory[tensor]=$(sed -n 's/^memory: //p' "$DIR/log")
        cmp "$DIR/out.1" "$DIR/out.$tensor"
    done
    ((memory[1] < 2 * shared + (48 << 20))) # 32 MiB are the workspace of cuBLASLt
    # A row has 3 * 1024 numbers in the MLP, which are shared, too.
    ((memory[1] - memory[2] >= 2 * (shared + 448 * 3 * 1024) / 2))
    ((memory[2] - memory[4] >= 2 * (shared + 448 * 3 * 1024) / 4))
}

@test "steps with the same number of lines become one graph, which is launched again and again" {
    local log
    train cuda a 2 --device-batch-size 1 --kv-heads 2
    printf '%s\n' {1..6} >"$DIR/in"
    generate plain --bytes 12 --batch-size 4
    FAKE_CUDA=graphs generate one --bytes 12 --batch-size 4 2>"$DIR/log"
    FAKE_CUDA=graphs generate two --bytes 12 --batch-size 4 --tp 2 2>"$DIR/log.two"
    cmp "$DIR/plain" "$DIR/one"
    cmp "$DIR/plain" "$DIR/two"
    cat "$DIR/log" "$DIR/log.two"
    for log in log log.two; do # of rank 0: the other ranks tell nothing
        sed -nE 's/^graphs: ([0-9]+) captured, ([0-9]+) launched$/\1 \2/p' "$DIR/$log" |
            awk '$1 < 1 || $1 > 4 || $2 < 5 * $1 { bad = 1 } END { exit bad || NR != 1 }'
    done
}

@test "without CUDA graphs the text is the same, and the reason is told once" {
    train cuda a 2 --device-batch-size 1
    printf '%s\n' {1..6} >"$DIR/in"
    generate plain --bytes 8 --batch-size 4
    FAKE_CUDA=bare,graphs generate bare --bytes 8 --batch-size 4 2>"$DIR/log"
    cmp "$DIR/plain" "$DIR/bare"
    cat "$DIR/log"
    grep -q '^graphs: 1 captured, 0 launched' "$DIR/log"
    [ "$(grep -c 'works without CUDA graphs: GPU 0: capturing: ' "$DIR/log")" = 1 ]
}

# recognised NAME: whether phased knows the last output as this failure.
recognised() {
    printf '%s\n' "$output" >"$DIR/output"
    PHASED_HOME=$DIR "$BIN/phasectl" failures "$DIR/output" >"$DIR/failure" 2>&1
    cat "$DIR/failure"
    grep -q "$1" "$DIR/failure"
}

@test "a group of GPUs names the rank that dies, fails or hangs" {
    local status=0
    train cuda a 2 --device-batch-size 1 --kv-heads 2
    yes 'The free' | head -n 2000 >"$DIR/in"
    run -1 env FAKE_CUDA=room=1 "$BIN/phase-model" generate --device cuda --tp 2 \
        --model "$DIR/a/step_000002.ckpt" --input "$DIR/in" --output "$DIR/out"
    [[ $output == *"phase-model: rank 1: GPU 1 has no 32 MiB of free memory"* ]]
    [[ ${lines[-1]} == "phase-model: rank 1 is gone"* ]]
    recognised cuda_oom
    run -1 env FAKE_CUDA=error=1 "$BIN/phase-model" generate --device cuda --tp 2 \
        --model "$DIR/a/step_000002.ckpt" --input "$DIR/in" --output "$DIR/out"
    [[ $output == *"phase-model: rank 1: GPU 1: computing: an error of the fake"* ]]
    [[ ${lines[-1]} == "phase-model: rank 1 is gone"* ]]
    run -1 env FAKE_CUDA=hang=1 "$BIN/phase-model" generate --device cuda --tp 2 \
        --model "$DIR/a/step_000002.ckpt" --input "$DIR/in" --output "$DIR/out"
    [[ $output == *"phase-model: rank 1: GPU 1: computing: not done in time"* ]]
    "$BIN/phase-model" generate --device cuda --tp 2 --model "$DIR/a/step_000002.ckpt" \
        --input "$DIR/in" --output "$DIR/out" >"$DIR/log" 2>&1 3>&- &
    CHILDREN+=($!)
    await '^step ' "$DIR/log"
    pkill -KILL -P "${CHILDREN[0]}" -n
    wait "${CHILDREN[0]}" || status=$?
    cat "$DIR/log"
    [ "$status" = 1 ]
    [ "$(tail -n 1 "$DIR/log")" = "phase-model: rank 1 of the group died of signal 9" ]
}

# refused MESSAGE COMMAND...
refused() {
    local message=$1
    shift
    run -1 "$@"
    echo "$output"
    [[ ${lines[-1]} == "phase-model: "*"$message"* ]]
}

@test "what a GPU cannot do is refused early" {
    run -2 train cuda a 1 --width 36 --heads 2
    [[ $output == *"phase-model train: a GPU needs a width that is a multiple of 8, not 36"* ]]
    run -2 train cuda a 1 --heads 4
    [[ $output == *"phase-model train: a GPU needs a head width that is a multiple of 16, not 8"* ]]
    train cpu model 1 --device-batch-size 1 --width 64 --heads 4 --kv-heads 4 --hidden 48
    printf 'The free\n' >"$DIR/in"
    refused '--tp 4: for the share of each rank a GPU needs a hidden width that is a multiple of 8, not 12' \
        "$BIN/phase-model" generate --device cuda --tp 4 --model "$DIR/model/step_000001.ckpt" \
        --input "$DIR/in" --output "$DIR/out"
    refused "GPU 0 has no 32 MiB of free memory" env FAKE_CUDA=room=0 "$BIN/phase-model" train \
        --device cuda --out "$DIR/a"
    recognised cuda_oom
    refused "GPU 0: making 2 MiB of pinned memory: out of memory" env FAKE_CUDA=pinned=1 \
        "$BIN/phase-model" train --device cuda --out "$DIR/a"
    recognised host_alloc
    refused "GPU 0 is too old" env FAKE_CUDA=old=0 "$BIN/phase-model" train --device cuda \
        --out "$DIR/a"
    refused "there is no GPU 5: 2 are visible" env LOCAL_RANK=5 "$BIN/phase-model" train \
        --device cuda --out "$DIR/a"
    recognised no_gpu
    refused "LOCAL_RANK is 'x'" env LOCAL_RANK=x "$BIN/phase-model" train --device cuda --out "$DIR/a"
    refused "--precision fp8: a CPU computes in floats" train cpu a 1 --precision fp8
    refused "not supported" env FAKE_CUDA=unsupported "$BIN/phase-model" train --device cuda \
        --out "$DIR/a"
    refused "an error of the fake" env FAKE_CUDA=error=0 "$BIN/phase-model" train --device cuda \
        --out "$DIR/a"
}

@test "a GPU that hangs ends the training" {
    refused "GPU 0: computing: not done in time" env FAKE_CUDA=hang=0 "$BIN/phase-model" train \
        --device cuda --out "$DIR/a"
}

@test "a GPU that is missing is said, and auto does without" {
    refused "no GPU can be used: there is no NVIDIA driver" env FAKE_CUDA=driver \
        "$BIN/phase-model" train --device cuda --out "$DIR/a"
    refused "no GPU can be used: an error of the fake" env FAKE_CUDA=driver=12040 \
        "$BIN/phase-model" train --device cuda --out "$DIR/a"
    PHASED_MODEL_GPU=/nonexistent refused "/nonexistent is missing (built without CUDA)" \
        train cuda a 1
    run -2 train tpu a 1
    [[ ${lines[0]} == *"--device tpu: use auto, cpu or cuda" ]]
    PHASED_MODEL_GPU=/nonexistent train auto a 1 --device-batch-size 1
    CUDA_VISIBLE_DEVICES='' train auto a 1 --device-batch-size 1
}

@test "auto takes a GPU that is there, if the program for GPUs starts" {
    mkdir "$DIR/dev"
    : >"$DIR/dev/nvidia0"
    export PHASED_DEV=$DIR/dev
    run -0 train auto a 1 --device-batch-size 1
    [[ $output == *"attention uses slow kernels"* ]]
    printf '#!/bin/sh\nexit 127\n' >"$DIR/broken"
    chmod +x "$DIR/broken"
    PHASED_MODEL_GPU=$DIR/broken run -0 train auto a 1 --device-batch-size 1
    [ "${lines[0]}" = "phase-model: computes on the CPU, because $DIR/broken does not start" ]
    [[ $output == *'step 1/1 | '* ]]
}

@test "the program with NVIDIA's libraries starts, and misses a GPU" {
    [ -x "$BIN/phase-model-gpu" ] || skip "built without CUDA or cuDNN"
    unset PHASED_MODEL_GPU CUDA_VISIBLE_DEVICES
    CUDA_VISIBLE_DEVICES='' refused "no GPU can be used" train cuda a 1
}

# compare FILE FILE [BOUND]: whether all results are those of the second file, but for the rounding:
# numbers to BOUND (2 in 100), floats to 1 in 10,000, relative to themselves and to all results of a
# kernel.
compare() {
    [ "$(wc -l <"$1")" = "$(wc -l <"$2")" ]
    paste -d ' ' "$1" "$2" | awk -v numbers="${3:-0.02}" '
        FNR == NR { squares[$2] += $6 * $6; count[$2]++; next }
        {
            size = $6 < 0 ? -$6 : $6
            error = $3 < $6 ? $6 - $3 : $3 - $6
            bound = ($1 == "number" ? numbers : 0.0001) * (size + sqrt(squares[$2] / count[$2]))
            if ($1 != $4 || $2 != $5 || !(error <= bound)) { print; bad++ }
        }
        bad == 5 { exit }
        END { exit bad > 0 || FNR < 1000 }' /dev/stdin <(paste -d ' ' "$1" "$2")
}

@test "every kernel computes what the CPU computes, with fake libraries" {
    "$BIN/../tests/unit/model_dump" small >"$DIR/cpu"
    local script
    for script in '' cudnn split; do # sums in parts are sums of floats, too
        FAKE_CUDA=$script "$BIN/../tests/unit/model_dump_fake" small >"$DIR/gpu"
        compare "$DIR/gpu" "$DIR/cpu"
    done
}

@test "products of more rows than a step of generation are measured, and are those of the CPU" {
    "$BIN/../tests/unit/model_dump" products >"$DIR/cpu"
    FAKE_CUDA=ways "$BIN/../tests/unit/model_dump_fake" products >"$DIR/gpu" 2>"$DIR/log"
    compare "$DIR/gpu" "$DIR/cpu"
    ways "$DIR/log" | grep -E '^12 12 15 12$' # three products: each way four times, then the third
    FAKE_CUDA=ways,void "$BIN/../tests/unit/model_dump_fake" products >"$DIR/gpu" 2>"$DIR/log"
    compare "$DIR/gpu" "$DIR/cpu"
    ways "$DIR/log" | grep -E '^0 12 15 12$'
}

@test "products with factors of 8 bits are near those of floats" {
    "$BIN/../tests/unit/model_dump" fp8 >"$DIR/cpu"
    "$BIN/../tests/unit/model_dump_fake" fp8 >"$DIR/gpu"
    compare "$DIR/gpu" "$DIR/cpu" 0.25
    run ! compare "$DIR/gpu" "$DIR/cpu" # 8 bits are not 16 bits
}

@test "every kernel computes on a GPU what the CPU computes" {
    unset CUDA_VISIBLE_DEVICES
    local part
    for part in small products attention fp8; do
        "$BIN/../tests/unit/model_dump_gpu" $part >"$DIR/gpu" 2>"$DIR/err" || cat "$DIR/err"
        grep -q 'no GPU can be used' "$DIR/err" && skip "there is no GPU"
        grep -q 'too old for products of fp8' "$DIR/err" && continue
        "$BIN/../tests/unit/model_dump" $part >"$DIR/cpu"
        compare "$DIR/gpu" "$DIR/cpu" $([ $part != fp8 ] || echo 0.25)
    done
}

# alone: trains and generates by NCCL on one GPU, and compares the losses with those without NCCL.
alone() {
    unset PHASED_MODEL_NCCL
    train cuda without 3 --device-batch-size 2 --kv-heads 2 >"$DIR/log.without"
    export PHASED_MODEL_NCCL=1
    train cuda a 3 --device-batch-size 2 --kv-heads 2 >"$DIR/log.with" 2>"$DIR/err.with"
    near 0.001 "$DIR/log.with" "$DIR/log.without"
    printf '%s\n' {1..6} >"$DIR/in"
    generate out --bytes 12 --batch-size 4 2>"$DIR/err.generate"
    [ "$(wc -l <"$DIR/out")" = 6 ]
}

@test "a single rank goes through NCCL if the environment asks for it" {
    export FAKE_CUDA=groups
    alone
    cat "$DIR"/err.*
    for log in err.with err.generate; do
        [ "$(sed -n 's/^groups: //p' "$DIR/$log")" -gt 10 ]
    done
    unset PHASED_MODEL_NCCL
    generate plain --bytes 12 --batch-size 4 2>"$DIR/err"
    grep -x 'groups: 0' "$DIR/err"
}

@test "a single rank goes through NCCL on a GPU" {
    [ -x "$BIN/phase-model-gpu" ] || skip "built without CUDA or cuDNN"
    unset CUDA_VISIBLE_DEVICES PHASED_MODEL_GPU
    train cuda first 1 >"$DIR/log" 2>&1 || cat "$DIR/log"
    grep -q 'no GPU can be used' "$DIR/log" && skip "there is no GPU"
    alone
}

@test "bench with factors of 8 bits measures products of 8 and of 16 bits, each beside its own rate" {
    find_hurry
    run -0 "${HURRY[@]}" "$BIN/phase-model" bench --device cuda --precision fp8 --width 32 --heads 2 --kv-heads 1 \
        --loops 1 --sequence-length 16 --device-batch-size 1
    echo "$output"
    # 16 rows, and 32 x 64 weights for queries, keys and values, of 1 byte or of 2. The gradients of
    # weights are floats, which are read and written. Equal factors in a row are multiplied only once
    # if they have 16 bits, so the fake makes these products much faster. A step that decodes reads
    # 15360 weights of the block, 8192 of the head, and keys and values of 16 tokens for each line, all
    # of 16 bits.
    awk '
        function expect(work, rate, amount) {
            limit = work / rate > amount / moved ? work / rate : amount / moved
            if ($(NF - 3) - limit > 0.1 + 0.01 * limit || limit - $(NF - 3) > 0.1 + 0.01 * limit) bad = 1
            seen++
        }
        /^a large product: / { rate16 = 1e6 * $4; moved = 1e3 * $(NF - 1) } # in a microsecond
        /^a large product of fp8: / { rate8 = 1e6 * $6 }
        /^queries, keys/ { part = 3 }
        part == 1 { expect(65536, rate16, 2 * 1536 + 8 * 2048) }
        part > 1 { expect(65536, rate8, 2 * 1536 + 2048) }
        part { part-- }
        /^decoding, / { expect($2 * (2 * 23552 + 4 * 16 * 32), rate16, 2 * (23552 + $2 * 2 * 16 * 16)) }
        END { exit bad || seen != 5 }' <<<"$output"
}

# stand_ins: programs in place of PyTorch and nvidia-smi in $DIR/bin, for the benchmark of a GPU.
stand_ins() {
    mkdir "$DIR/bin"
    printf '#!/bin/sh\necho "%s tokens/s, of no PyTorch"\n' "$1" >"$DIR/bin/python"
    printf '#!/bin/sh\ncase $* in *name*) echo "a GPU" ;; *) echo "1500, 600.5, 99" ;; esac\n' \
        >"$DIR/bin/nvidia-smi"
    cat >"$DIR/bin/phase-model"
    chmod +x "$DIR"/bin/*
}

# benchmark MODEL...
benchmark() {
    PATH=$DIR/bin:$PATH PYTHON=$DIR/bin/python BIN=$DIR/bin CUDA_VISIBLE_DEVICES=0 \
        "$BATS_TEST_DIRNAME/../bench/gpu" "$@" 2>&1
}

@test "the benchmark of a GPU compares phase-model with PyTorch, and prints each part of a step" {
    find_hurry
    stand_ins 1 <<<"#!/bin/sh
exec ${HURRY[*]@Q} '$BIN/phase-model' \"\$@\" --width 16 --heads 1 --sequence-length 8 --loops 1"
    benchmark tiny >"$DIR/log" || [ $? = 1 ] # the goal of decoding
    cat "$DIR/log"
    grep -E '^train_tiny [0-9]+ tokens/s torch.compile 1 [0-9.]+$' "$DIR/log"
    grep -E '^mfu_tiny [0-9.]+ % torch.compile [0-9.]+ [0-9.]+$' "$DIR/log"
    grep -E '^# a step ' "$DIR/log"
    grep -E '^# mfu [0-9.]+ % of 989 TFLOPS, dense bf16, of a NVIDIA H100' "$DIR/log"
    grep -E '^goal train_tiny met [0-9.]+ at least 1.1 of PyTorch' "$DIR/log"
    # On a CPU, operations may be the limit of decoding. Then the bandwidth says nothing.
    grep -E '^goal decode_tiny (met|missed) ([0-9.]+|unknown) at least 60 % of the bandwidth' "$DIR/log"
    grep -x '# at rest: a GPU' "$DIR/log"
    [ "$(grep -cE '^# (phase-model|PyTorch) tiny: 1500 MHz, 60[01] W on average of [0-9]+ s$' "$DIR/log")" = 2 ]
    [ "$(cd "$DIR" && ls)" = $'bin\nlog' ]
}

@test "the benchmark of a GPU says for each goal whether it is met, and profiles the kernels" {
    stand_ins 1000 <<'EOF'
#!/bin/sh
[ $1 = train ] && echo "step 60/60 | loss 1 | tok/sec $RATE${MFU:+ | mfu $MFU}"
[ $1 = bench ] && echo "decoding, 1 line                1.0       51.7          4.4     $DECODE %  ${LIMIT:-bytes}"
exit 0
EOF
    cat >"$DIR/bin/nsys" <<'EOF'
#!/bin/sh
[ $1 = stats ] && echo "the kernels of ${7##*/}" && exit
shift 4
exec "$@" >/dev/null
EOF
    chmod +x "$DIR/bin/nsys"
    export RATE=1100 MFU=45.00 DECODE=60.0
    run -0 benchmark 124m
    [ "$(grep -c '^goal .* met ' <<<"$output")" = 3 ]
    [[ $output == *'goal train_124m met 1.10 at least 1.1 of PyTorch with torch.compile'* ]]
    [[ $output == *'goal mfu_124m met 45.00 at least 45 % of the dense peak'* ]]
    [[ $output == *'# the kernels of profile.nsys-rep'* ]]
    RATE=1090 MFU=56.99 DECODE=59.9 run -1 benchmark 1.5b
    [[ $output == *'goal train_1.5b missed 1.09 at least 1.1'* ]]
    [[ $output == *'goal mfu_1.5b missed 56.99 at least 57 %'* ]]
    [[ $output == *'goal decode_1.5b missed 59.9 at least 60 %'* ]]
    MFU='' LIMIT=operations run -1 benchmark 350m # an unknown GPU, and a limit that is not a bandwidth
    [[ $output == *'goal mfu_350m missed unknown at least 50 %'* ]]
    [[ $output == *'goal decode_350m missed unknown at least 60 %'* ]]
}
