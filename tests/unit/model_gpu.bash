# Shared by the tests of phase-model on GPUs, with fake CUDA libraries (tests/fake): the whole program
# and the text of its kernels run on a processor.

bats_require_minimum_version 1.5.0

# Sets PORT to a port on which nothing listens, below the ports that the kernel hands out.
next_port() {
    PORT=$((10000 + (BASHPID * 13 + RANDOM) % 10000))
    while (: <>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do
        PORT=$((PORT + 1))
    done
}

setup() {
    DIR=$(mktemp -d /tmp/phased-test-XXXXXX)
    CHILDREN=()
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    FAKES=$BIN/../tests/fake
    [ -x "$FAKES/phase-model-gpu" ] ||
        skip "built without CUDA or cuDNN, or without the programs of the tests (make check TESTS=)"
    export PHASED_MODEL_GPU=$FAKES/phase-model-gpu CUDA_VISIBLE_DEVICES=0,1 FAKE_CUDA= TMPDIR=$DIR
    unset RANK LOCAL_RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
    next_port
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
        [ $((turns += 1)) -lt 3600 ] || { cat "$2"; return 1; }
        read -rt 0.05 <> <(:) || true
    done
}

# ways FILE: the products by each proposal of cuBLASLt.
ways() { sed -n 's/^ways: //p' "$1"; }

# recognised NAME: whether phased knows the last output as this failure.
recognised() {
    printf '%s\n' "$output" >"$DIR/output"
    PHASED_HOME=$DIR "$BIN/phasectl" failures "$DIR/output" >"$DIR/failure" 2>&1
    cat "$DIR/failure"
    grep -q "$1" "$DIR/failure"
}

# generate OUT [OPTION...]: continues the lines of $DIR/in with the model $DIR/a.
generate() {
    local out=$1
    shift
    "$BIN/phase-model" generate --device cuda --model "$DIR"/a/step_*.ckpt --input "$DIR/in" \
        --output "$DIR/$out" "$@"
}
