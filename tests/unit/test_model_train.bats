# phase-model as a program: resuming, stopping, ranks, damage, options. The model is small, so that
# each run takes a fraction of a second.

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
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    next_port
    unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
    CHILDREN=()
}

teardown() {
    local child
    for child in "${CHILDREN[@]}"; do
        kill -KILL "$child" 2>/dev/null || true
    done
    rm -rf "$DIR"
}

# train OUT ITERATIONS [OPTION...]
train() {
    local out=$1 iterations=$2
    shift 2
    "$BIN/phase-model" train --width 32 --device-batch-size 4 --sequence-length 32 --eval-every 0 \
        --out "$DIR/$out" --iterations "$iterations" "$@"
}

# ranks N OUT ITERATIONS [OPTION...]: trains with N processes, and fails if one of them fails.
ranks() {
    local size=$1 rank failed=0 children=()
    shift
    for ((rank = 0; rank < size; rank++)); do
        RANK=$rank WORLD_SIZE=$size MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT train "$@" 3>&- &
        children+=($!)
    done
    for rank in "${children[@]}"; do
        wait "$rank" || failed=1
    done
    next_port
    return $failed
}

# start NAME [VARIABLE=VALUE...] -- OUT ITERATIONS [OPTION...]: trains in the background and prints
# into log.NAME. The process is the last entry of CHILDREN.
start() {
    local name=$1 variables=()
    shift
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    local out=$1 iterations=$2
    shift 2
    env "${variables[@]}" "$BIN/phase-model" train --width 32 --device-batch-size 4 \
        --sequence-length 32 --eval-every 0 --out "$DIR/$out" --iterations "$iterations" "$@" \
        >"$DIR/log.$name" 2>&1 3>&- &
    CHILDREN+=($!)
}

# wait_for FILE PATTERN
wait_for() {
    local deadline=$((SECONDS + 180))
    until grep -q "$2" "$DIR/$1" 2>/dev/null; do
        [ $SECONDS -lt $deadline ] || { cat "$DIR/$1"; return 1; }
        read -rt 0.02 <> <(:) || true
    done
}

# losses OUTPUT: the loss of each step.
losses() {
    sed -n 's/^step .* | loss \([0-9.]*\) .*/\1/p' <<<"$1"
}

# near A B: two columns of the same length, whose numbers differ by at most 1 in 10,000.
near() {
    paste <(echo "$1") <(echo "$2") | awk '
        { if (NF != 2 || $1 - $2 > 1e-4 * $1 || $2 - $1 > 1e-4 * $1) { print; bad = 1 } }
        END { exit bad || NR == 0 }'
}

@test "ten steps and then ten more end in the same bytes as twenty steps" {
    train whole 20
    train first 10
    train second 20 --resume "$DIR/first/step_000010.ckpt"
    diff -r "$DIR/whole/step_000020.ckpt" "$DIR/second/step_000020.ckpt"
}

@test "two ranks that resume end in the same bytes as two ranks that train without a break" {
    ranks 2 whole 20
    ranks 2 first 10
    ranks 2 second 20 --resume "$DIR/first/step_000010.ckpt"
    diff -r "$DIR/whole/step_000020.ckpt" "$DIR/second/step_000020.ckpt"
}

@test "another seed ends in other bytes" {
    train one 5
    train other 5 --seed 2
    run -1 diff -r "$DIR/one/step_000005.ckpt" "$DIR/other/step_000005.ckpt"
}

@test "an empty --resume starts from the beginning" {
    run -0 train out 3 --resume ''
    [[ $output == *'step 1/3 | '* ]]
}

@test "a resumed run continues the count of steps" {
    train out 10
    run -0 train out 12 --resume "$DIR/out/step_000010.ckpt" --preset extreme
    [[ $output == *'resumed at step 10 from '* ]]
    [[ $output != *'step 10/12 | '* ]]
    [[ $output == *'step 11/12 | '* ]]
    [[ $output == *"finished at step 12: model $DIR/out/step_000012.ckpt"* ]]
}

@test "a node may have more processes than GPUs on CPUs" {
    LOCAL_RANK=64 train a 1 --device cpu
}

@test "each step prints one line with all figures" {
    run -0 train out 7 --eval-every 5
    number='-?[0-9]+(\.[0-9]+)?'
    line="^step [0-9]+/7 \| loss $number( \| step_[0-3] $number){4} \| grad_norm $number"
    line+=" \| lr $number \| dt ${number}ms \| tok/sec [0-9]+ \| mem 0\.0[0-9]*[1-9][0-9]*GiB"
    line+="( \| val_loss $number)?$"
    [ "$(grep -cE "$line" <<<"$output")" = 7 ]
    [ "$(grep -c 'val_loss' <<<"$output")" = 1 ]
}

@test "two ranks learn the same as one rank with batches twice as large" {
    two=$(ranks 2 two 10)
    one=$(train one 10 --device-batch-size 8)
    near "$(losses "$two")" "$(losses "$one")"
}

@test "1, 2 and 8 ranks follow the same curve of losses with the same rows in each step" {
    one=$(train one 12 --device-batch-size 8 --depth 2)
    two=$(ranks 2 two 12 --device-batch-size 4 --depth 2)
    eight=$(ranks 8 eight 12 --device-batch-size 1 --depth 2)
    near "$(losses "$one")" "$(losses "$two")"
    near "$(losses "$one")" "$(losses "$eight")"
}

@test "another number of ranks goes on from a checkpoint, whose parts of the optimizer come from all ranks" {
    ranks 4 four 10 --device-batch-size 2
    whole=$(train whole 20 --device-batch-size 8)
    two=$(ranks 2 two 20 --device-batch-size 4 --resume "$DIR/four/step_000010.ckpt")
    one=$(train one 20 --device-batch-size 8 --resume "$DIR/four/step_000010.ckpt")
    near "$(losses "$whole" | tail -n 10)" "$(losses "$two")"
    near "$(losses "$whole" | tail -n 10)" "$(losses "$one")"
    four=$(ranks 4 wide 30 --device-batch-size 2 --resume "$DIR/two/step_000020.ckpt")
    one=$(train one 30 --device-batch-size 8 --resume "$DIR/one/step_000020.ckpt")
    near "$(losses "$one")" "$(losses "$four")"
    [ "$(ls "$DIR/wide/step_000030.ckpt")" = $'marker\nrank_0\nrank_1\nrank_2\nrank_3' ]
}

@test "a checkpoint that rank 0 cannot write during the training ends no rank" {
    mkdir "$DIR/out"
    : >"$DIR/out/step_000005.ckpt"
    run -0 ranks 3 out 10 --save-every 5
    [[ $output == *'phase-model: no checkpoint of step 5: '* ]]
    [ -s "$DIR/out/step_000010.ckpt/marker" ]
}

@test "two batches that are added up learn the same as one batch twice as large" {
    two=$(train two 10 --grad-accum 2)
    one=$(train one 10 --device-batch-size 8)
    near "$(losses "$two")" "$(losses "$one")"
}

@test "a stop signal ends the run after a step with a checkpoint, and resuming from it gives the same bytes" {
    for signal in TERM USR1 USR2; do
        start "$signal" -- "$signal" 1000000
        wait_for "log.$signal" '^step 3/'
        kill -"$signal" "${CHILDREN[-1]}"
        wait "${CHILDREN[-1]}"
        step=$(sed -n 's/^stopped at step \([0-9]*\): checkpoint .*/\1/p' "$DIR/log.$signal")
        path=$(sed -n 's/^stopped at step [0-9]*: checkpoint //p' "$DIR/log.$signal")
        [ -s "$path/marker" ]
        grep -q "^step $step/" "$DIR/log.$signal"
        run -1 grep "^step $((step + 1))/" "$DIR/log.$signal"
    done
    train on $((step + 3)) --resume "$path"
    train whole $((step + 3))
    diff -r "$DIR"/on/step_*"$((step + 3)).ckpt" "$DIR"/whole/step_*"$((step + 3)).ckpt"
}

@test "a stop signal to one rank stops all ranks at the same step" {
    for rank in 0 1; do
        start $rank RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT -- out 1000000
    done
    wait_for log.0 '^step 3/'
    kill -TERM "${CHILDREN[1]}"
    wait "${CHILDREN[0]}"
    wait "${CHILDREN[1]}"
    grep -q '^stopped at step [0-9]*: checkpoint ' "$DIR/log.0"
}

@test "a stop signal ends a rank that waits for the other ranks" {
    start alone RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT -- out 10
    # The program installs its signal handlers before it makes the folder.
    deadline=$((SECONDS + 180))
    until [ -d "$DIR/out" ]; do [ $SECONDS -lt $deadline ]; done
    kill -TERM "${CHILDREN[0]}"
    wait "${CHILDREN[0]}"
    grep -q '^stopped before the first step$' "$DIR/log.alone"
}

@test "ranks that survive a killed rank fail, and rank 0 names the killed rank" {
    for rank in 0 1 2 3; do
        start $rank RANK=$rank WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$PORT -- out 1000000
    done
    wait_for log.0 '^step 3/'
    kill -KILL "${CHILDREN[3]}"
    for rank in 0 1 2; do
        status=0
        wait "${CHILDREN[rank]}" || status=$?
        [ $status = 1 ]
    done
    [[ $(tail -n 1 "$DIR/log.0") == 'phase-model: rank 3 is gone'* ]]
}

@test "--keep 3 keeps the three newest checkpoints" {
    train out 50 --save-every 10 --keep 3
    run -0 ls "$DIR/out"
    [ "$output" = $'step_000030.ckpt\nstep_000040.ckpt\nstep_000050.ckpt' ]
}

@test "a checkpoint that cannot be written during the training does not end the training" {
    mkdir "$DIR/out"
    : >"$DIR/out/step_000005.ckpt"
    run -0 train out 10 --save-every 5
    [[ $output == *'phase-model: no checkpoint of step 5: '* ]]
    [ -s "$DIR/out/step_000010.ckpt/marker" ]
}

@test "what killed ranks have left of a checkpoint is removed, and is not a part of the next one" {
    train out 5
    mkdir "$DIR/out/step_000010.ckpt.tmp"
    : >"$DIR/out/step_000010.ckpt.tmp/rank_3"
    run -1 train again 10 --resume "$DIR/out/step_000010.ckpt.tmp"
    [[ $output == *'not a checkpoint: it is not a folder with a marker' ]]
    ranks 2 out 10 --device-batch-size 2 --resume "$DIR/out/step_000005.ckpt"
    [ "$(ls "$DIR/out")" = $'step_000005.ckpt\nstep_000010.ckpt' ]
    [ "$(ls "$DIR/out/step_000010.ckpt")" = $'marker\nrank_0\nrank_1' ]
}

@test "a training that diverges keeps the checkpoint that it has begun" {
    run -1 train out 400 --matrix-lr 10 --embedding-lr 10 --grad-clip 0 --weight-decay 1 --save-every 1
    [[ $output == *'phase-model: the gradient of step '*' is not finite' ]]
    last=$(sed -n 's/^step \([0-9]*\)\/.*/\1/p' <<<"$output" | tail -n 1)
    [ -s "$DIR/out/$(printf 'step_%06d.ckpt' $((last - 1)))/marker" ]
}

@test "a last checkpoint that cannot be written fails the run" {
    mkdir "$DIR/out"
    : >"$DIR/out/step_000005.ckpt"
    run -1 train out 5
    [[ $output == *'phase-model: no checkpoint of step 5: cannot replace '* ]]
}

@test "a checkpoint that is damaged or does not fit the options is refused" {
    train out 2
    good=$DIR/out/step_000002.ckpt
    cp -r "$good" "$DIR/short"
    truncate -s 5000 "$DIR/short/rank_0"
    cp -r "$good" "$DIR/altered"
    printf x | dd of="$DIR/altered/rank_0" bs=1 seek=5000 conv=notrunc status=none
    cp -r "$good" "$DIR/unmarked"
    rm "$DIR/unmarked/marker"
    head -c 20000 /usr/share/common-licenses/GPL-2 >"$DIR/text"
    refused() {
        local reason=$1
        shift
        run -1 train again 4 "$@"
        [[ $output == "phase-model: cannot "@(read|resume from)" "*": "*"$reason"* ]]
        [ ${#lines[@]} = 1 ]
    }
    refused 'instead of' --resume "$DIR/short"
    refused 'the digest of rank_0 is wrong' --resume "$DIR/altered"
    refused 'not a checkpoint' --resume "$DIR/unmarked"
    refused 'not a checkpoint' --resume "$DIR/text"
    refused 'it has depth=1, not 2' --resume "$good" --depth 2
    refused 'it has seed=1, not 2' --resume "$good" --seed 2
    refused 'another text' --resume "$good" --data "$DIR/text"
    run -1 train again 4 --resume "$DIR/nothing"
    [[ $output == *"cannot read $DIR/nothing: No such file or directory" ]]
}

@test "a training without a file needs no file, and trains on what the command text prints" {
    "$BIN/phase-model" text >"$DIR/text"
    train own 3
    train same 3 --data "$DIR/text"
    cmp "$DIR"/own/step_000003.ckpt/rank_0 "$DIR"/same/step_000003.ckpt/rank_0
    "$BIN/phase-model" text --bytes 5000 >"$DIR/text"
    [ "$(stat -c %s "$DIR/text")" = 5000 ]
    run -1 train again 4 --resume "$DIR/own/step_000003.ckpt" --data "$DIR/text"
    [[ $output == *"it was trained on another text than $DIR/text" ]]
    run -1 train again 4 --sequence-length 60000
    [[ $output == "phase-model: cannot train on the text of phase-model: 32768 bytes, "* ]]
    run -1 bash -c '"$0" text >/dev/full' "$BIN/phase-model"
    [[ $output == *'No space left on device'* ]]
}

@test "a training that diverges ends with an error and no checkpoint" {
    run -1 train out 400 --matrix-lr 10 --embedding-lr 10 --grad-clip 0 --weight-decay 1 --save-every 0
    [[ $output == *'phase-model: the gradient of step '*' is not finite' ]]
    [ -z "$(ls "$DIR/out")" ]
}

@test "a wrong option gives one clear line" {
    cannot_train() {
        run -1 "$BIN/phase-model" train "$@"
        [ ${#lines[@]} = 1 ]
    }
    bad_value() {
        run -2 "$BIN/phase-model" train "$@"
        [ ${#lines[@]} = 2 ]
        [ "${lines[1]}" = "Try 'phase-model train --help'." ]
    }
    usage() {
        run -2 "$BIN/phase-model" "$@"
        [[ $output == *'usage: phase-model '* ]]
    }
    bad_value --iterations 0
    [[ ${lines[0]} == "phase-model train: --iterations wants a whole number from 1 to 1000000000000, not '0'" ]]
    bad_value --iterations 1.5
    bad_value --iterations ''
    bad_value --iterations=12x
    bad_value --matrix-lr nan
    bad_value --heads 5
    bad_value --preset lazy
    bad_value --model huge
    bad_value --precision fp4
    bad_value --heads 4 --kv-heads 3
    cannot_train --tokens 255
    bad_value --out ''
    cannot_train --data /nowhere
    cannot_train --data / --out "$DIR/out"
    cannot_train --data /dev/null --out "$DIR/out"
    bad_value --widht 32
    [[ ${lines[0]} == "phase-model train: unknown option '--widht'; did you mean --width?" ]]
    bad_value --width
    bad_value 32
    usage
    usage tarin
}

@test "a checkpoint of another kind of model is refused by the option that differs" {
    train out 2 --tied 1 --heads 4 --kv-heads 2
    good=$DIR/out/step_000002.ckpt
    for option in 'tied 0' 'kv-heads 1' 'hidden 64' 'tokens 304'; do
        run -1 train again 4 --tied 1 --heads 4 --kv-heads 2 --resume "$good" --${option% *} ${option#* }
        [[ $output == *"it has ${option% *}="*", not ${option#* }" ]]
    done
    run -0 train again 4 --tied 1 --heads 4 --kv-heads 2 --resume "$good"
    printf '\001' | dd of="$good/marker" bs=1 seek=8 conv=notrunc status=none
    run -1 train again 4 --tied 1 --heads 4 --kv-heads 2 --resume "$good"
    [[ $output == *'it is a checkpoint of version 1, and this program reads version 3' ]]
}

@test "the other options replace what --model sets" {
    run -0 "$BIN/phase-model" train --model 124m --width 32 --depth 2 --heads 4 --tokens 256 --sequence-length 32 \
        --device-batch-size 2 --iterations 2 --eval-every 0 --out "$DIR"
    # 256 x 32 tokens, a norm of 32, and 2 blocks of 2 x 32 + 4 x 32 x 32 + 3 x 32 x 128.
    [[ ${lines[0]} == 'training 41120 parameters on 1 rank, 2 rows of 32 tokens a step'* ]]
    [[ ${lines[3]} == *' | step_0 '*' | lr 0.00012 | '* && ${lines[3]} != *step_1* ]]
}

@test "--help names every option with its default" {
    run -0 "$BIN/phase-model" train --help
    [[ $output == *'--weight-decay X '*'[0.01]'* ]]
    [ "$(grep -c '^      --' <<<"$output")" -ge 20 ]
}

@test "the params that a remedy may set are printed with the values that the run uses" {
    train out 2 --matrix-lr 0.003 --weight-base 7 >"$DIR/log"
    run "$BIN/phase-worker" extract <"$DIR/log"
    [ "${lines[0]}" = '{"device_batch_size": 4, "iterations": 2, "matrix_lr": 0.003, "weight_base": 7}' ]
}

@test "bench prints each part beside its limit, the whole step, and decoding beside the bytes that it reads" {
    find_hurry
    run -0 "${HURRY[@]}" "$BIN/phase-model" bench --device cpu --width 64 --heads 4 --kv-heads 2 --hidden 64 \
        --loops 3 --device-batch-size 1 --sequence-length 256
    [[ ${lines[0]} =~ ^'a large product: '[0-9.e-]+' TFLOPS; a sum of large arrays: ' ]]
    row='^.{26} +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ %  (operations|bytes)$'
    [ "$(grep -cE "$row" <<<"$output")" = 29 ]
    [[ ${lines[-3]} =~ ^[0-9]+' tokens/s, '[0-9.e-]+' TFLOPS: '[0-9.]+' % of the large product'$ ]]
    [[ ${lines[-2]} == 'decoding, 1 line '* && ${lines[-1]} == 'decoding, 32 lines '* ]]
    # 3 loops with 24576 weights, and a head of 64 x 256; in each loop 256 keys and values of 32 numbers.
    awk '/^a large product/ { rate = 1e6 * $4; moved = 1e3 * $(NF - 1) } # in a microsecond
        /^decoding, / {
            work = $2 * (2 * (3 * 24576 + 64 * 256) + 3 * 4 * 256 * 64) / rate
            amount = 4 * (3 * 24576 + 64 * 256 + $2 * 3 * 2 * 256 * 32) / moved
            limit = work > amount ? work : amount
            if ($6 - limit > 0.1 + 0.01 * limit || limit - $6 > 0.1 + 0.01 * limit || $7 <= 0) bad = 1
            seen++
        }
        END { exit bad || seen != 2 }' <<<"$output"
}
