# phase-model trains on GPUs, with fake CUDA libraries. Losses are compared with those of the CPU, and
# failures are named.

load model_gpu.bash

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
    start 0 log0 FAKE_CUDA=mute=1 -- cuda two 1000 --device-batch-size 1 --collective-timeout 3 \
        --log-every 5
    start 1 log1 FAKE_CUDA=mute=1 -- cuda two 1000 --device-batch-size 1 --collective-timeout 3 \
        --log-every 5
    for rank in 0 1; do
        failed $rank log$rank 'no GPU is behind the others: sum [0-9]+ was not reached in time$'
    done
}

@test "after a failure nothing is asked of CUDA any more, also if aborting hangs" {
    local rank
    for rank in 0 1; do
        start $rank log$rank FAKE_CUDA=mute=1,stuck,cudnn -- cuda two 1000 --device-batch-size 1 \
            --collective-timeout 3 --log-every 5
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
