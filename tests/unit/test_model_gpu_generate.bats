# phase-model generates on GPUs and groups of them, with fake CUDA libraries.

load model_gpu.bash

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
