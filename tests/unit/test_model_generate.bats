# phase-model generate as a program: all groups write the same text; stopping, resuming, damage.

bats_require_minimum_version 1.5.0

setup_file() {
    BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    SHARED=$(mktemp -d /tmp/phased-test-XXXXXX)
    export BIN SHARED
    unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
    "$BIN/phase-model" train --out "$SHARED" --iterations 25 --device-batch-size 4 --depth 2 --heads 4 \
        --loops 2 --save-every 0 --eval-every 0 >/dev/null
    {
        sed 's/^ *//' /usr/share/common-licenses/GPL-3 | head -n 17
        printf 'r\xc3\xa9sum\xc3\xa9\n\xff\xfe bytes\nno end'
    } >"$SHARED/lines"
    generate "$SHARED/reference.jsonl" >/dev/null
}
teardown_file() { rm -rf "$SHARED"; }

setup() { DIR=$(mktemp -d /tmp/phased-test-XXXXXX); }
teardown() {
    [ -z "${CHILD:-}" ] || kill -KILL "$CHILD" 2>/dev/null || true
    rm -rf "$DIR"
}

# generate OUTPUT [OPTION...]
generate() {
    local output=$1
    shift
    "$BIN/phase-model" generate --model "$SHARED/step_000025.ckpt" --input "$SHARED/lines" \
        --output "$output" --bytes 16 "$@"
}

# start_long [OPTION...]: starts a longer task in the background, which works on one line at a time
# so that it lasts. Its process is CHILD.
start_long() {
    for _ in $(seq 8); do cat "$SHARED/lines"; echo; done >"$DIR/lines"
    "$BIN/phase-model" generate --model "$SHARED/step_000025.ckpt" --input "$DIR/lines" \
        --output "$DIR/long.jsonl" --bytes 16 --batch-size 1 "$@" >"$DIR/log" 2>&1 &
    CHILD=$!
    until grep -q '^step' "$DIR/log"; do
        kill -0 "$CHILD"
        sleep 0.02
    done
}

refused() {
    local reason=$1
    shift
    run generate "$@"
    [ "$status" -ne 0 ]
    [[ $output == *"$reason"* ]]
}

@test "groups of 1, 2 and 4 processes write the same bytes, with every batch size" {
    local tp batch
    for tp in 1 2 4; do
        for batch in 1 3 64; do
            generate "$DIR/$tp-$batch" --tp $tp --batch-size $batch >/dev/null
            cmp "$SHARED/reference.jsonl" "$DIR/$tp-$batch"
        done
    done
}

@test "heads that share keys and values are divided among 1, 2 and 4 processes without another byte" {
    local tp
    "$BIN/phase-model" train --out "$DIR" --iterations 25 --device-batch-size 4 --heads 8 --kv-heads 4 \
        --hidden 100 --loops 1 --tied 1 --save-every 0 --eval-every 0 >/dev/null
    for tp in 1 2 4; do
        generate "$DIR/$tp" --model "$DIR/step_000025.ckpt" --tp $tp >/dev/null
        cmp "$DIR/1" "$DIR/$tp"
    done
    [ "$(gojq -s 'map(.text | utf8bytelength) | add / length > 8' "$DIR/1")" = true ]
    refused "--tp 8: the model has 8 heads and 4 kv-heads" "$DIR/8" --model "$DIR/step_000025.ckpt" --tp 8
    [ ! -e "$DIR/8" ]
}

@test "drawn text is the same for groups of 1, 2 and 4 processes, for every batch size, and after a kill" {
    local options=(--temperature 0.8 --top-p 0.9 --seed 3) tp batch
    generate "$DIR/drawn" "${options[@]}" >/dev/null
    for tp in 1 2 4; do
        for batch in 1 3 8; do
            generate "$DIR/$tp-$batch" "${options[@]}" --tp $tp --batch-size $batch >/dev/null
            cmp "$DIR/drawn" "$DIR/$tp-$batch"
        done
    done
    start_long "${options[@]}" --tp 2
    kill -KILL "$CHILD"
    wait "$CHILD" || true
    [ "$(wc -l <"$DIR/long.jsonl")" -lt 160 ]
    generate "$DIR/long.jsonl" --input "$DIR/lines" "${options[@]}" --tp 4 --batch-size 32 >/dev/null
    generate "$DIR/whole.jsonl" --input "$DIR/lines" "${options[@]}" --batch-size 64 >/dev/null
    cmp "$DIR/long.jsonl" "$DIR/whole.jsonl"
}

# lines_per_step LOG: prints the last figure of lines/step.
lines_per_step() { sed -nE 's|^step .* lines/step ([0-9.]+)$|\1|p' "$1" | tail -n 1; }

@test "a line that has ended makes room for the next line at once" {
    local long
    long=$(printf 'x%.0s' {1..100})
    for _ in {1..12}; do printf '%s\nx\n' "$long"; done >"$DIR/in"
    generate "$DIR/one" --input "$DIR/in" --bytes 4 --batch-size 1 | tee "$DIR/log"
    [ "$(lines_per_step "$DIR/log")" = 1.00 ]
    generate "$DIR/two" --input "$DIR/in" --bytes 4 --batch-size 2 | tee "$DIR/log"
    awk -v got="$(lines_per_step "$DIR/log")" 'BEGIN { exit !(got > 1.8) }'
    cmp "$DIR/one" "$DIR/two"
}

@test "a prompt of 1300 tokens is read in three steps, beside a short line" {
    { printf 'x%.0s' {1..1300} && echo && echo x; } >"$DIR/in"
    generate "$DIR/both" --input "$DIR/in" --bytes 1 --context 1300 --batch-size 2 | tee "$DIR/log"
    [ "$(lines_per_step "$DIR/log")" = 1.33 ] # two lines in the first step, one in two steps
    generate "$DIR/alone" --input "$DIR/in" --bytes 1 --context 1300 --batch-size 1 --tp 4 >/dev/null
    cmp "$DIR/both" "$DIR/alone"
}

@test "lines that go back to the queue because the cache is full become the same text" {
    local options=(--input "$DIR/in" --bytes 40 --temperature 0.7 --batch-size 8) size
    cut -c1-9 "$SHARED/lines" >"$DIR/in" # each begins with one page, and grows
    generate "$DIR/whole" "${options[@]}" | tee "$DIR/log"
    awk -v got="$(lines_per_step "$DIR/log")" 'BEGIN { exit !(got > 6) }'
    generate "$DIR/small" "${options[@]}" --cache 128 --tp 2 | tee "$DIR/log"
    awk -v got="$(lines_per_step "$DIR/log")" 'BEGIN { exit !(got > 1.5 && got < 5) }'
    cmp "$DIR/whole" "$DIR/small"
    size=$(stat -c %s "$DIR/whole")
    head -c $((size / 3)) "$DIR/whole" >"$DIR/small"
    generate "$DIR/small" "${options[@]}" --cache 200 --batch-size 5 >/dev/null
    cmp "$DIR/whole" "$DIR/small"
    refused "--cache 127: the longest line needs 128" "$DIR/out" --cache 127
    refused "--cache 1: the longest line needs 48" "$DIR/out" --context 30 --bytes 5 --cache 1
}

@test "lines with the same prompt have draws of their own, and another seed draws other text" {
    yes 'The free' | head -n 20 >"$DIR/in"
    generate "$DIR/a" --input "$DIR/in" --temperature 1 >/dev/null
    generate "$DIR/b" --input "$DIR/in" --temperature 1 --seed 2 >/dev/null
    generate "$DIR/greedy" --input "$DIR/in" --top-p 0.5 --seed 2 >/dev/null
    [ "$(gojq -r .text "$DIR/a" | sort -u | wc -l)" -gt 15 ]
    [ "$(gojq -r .text "$DIR/greedy" | sort -u | wc -l)" = 1 ]
    [ "$(cat "$DIR/a" "$DIR/b" | gojq -r .text | sort -u | wc -l)" -gt 30 ]
}

@test "each line is JSON, in the order of the input, with its prompt and some text" {
    [ "$(gojq -c .line "$SHARED/reference.jsonl" | paste -sd' ')" = "$(seq -s' ' 0 19)" ]
    [ "$(gojq -r 'select(.line == 17) | .prompt' "$SHARED/reference.jsonl")" = résumé ]
    [ "$(gojq -r 'select(.line == 18) | .prompt' "$SHARED/reference.jsonl")" = '�� bytes' ]
    [ "$(gojq -r 'select(.line == 19) | .prompt' "$SHARED/reference.jsonl")" = 'no end' ]
    [ "$(gojq -s 'map(.text | utf8bytelength) | add / length > 8' "$SHARED/reference.jsonl")" = true ]
}

@test "a run continues after the last whole line of another group, and the whole output has the same bytes" {
    local size
    size=$(stat -c %s "$SHARED/reference.jsonl")
    for part in 0 1 $((size / 2)) $((size - 1)) "$size"; do
        head -c "$part" "$SHARED/reference.jsonl" >"$DIR/out"
        generate "$DIR/out" --tp 2 --batch-size 7 >"$DIR/log"
        cmp "$SHARED/reference.jsonl" "$DIR/out"
    done
    run -0 generate "$DIR/out"
    [ "${lines[0]}" = "resumed after 20 lines of $DIR/out" ]
}

@test "a signal stops the program after the current lines, and the next run ends like an uninterrupted run" {
    start_long --tp 2
    kill -TERM "$CHILD"
    wait "$CHILD"
    tail -n 1 "$DIR/log" | grep -Eq "^stopped after [0-9]+ of 160 lines"
    [ "$(wc -l <"$DIR/long.jsonl")" -lt 160 ]
    generate "$DIR/long.jsonl" --input "$DIR/lines" --tp 4 --batch-size 64 >/dev/null
    generate "$DIR/whole.jsonl" --input "$DIR/lines" --batch-size 64 >/dev/null
    cmp "$DIR/long.jsonl" "$DIR/whole.jsonl"
}

@test "a killed rank ends the group with a reason, and the output has only whole lines" {
    start_long --tp 4
    kill -STOP "$CHILD" # so that it does not end before a rank is killed
    pkill -KILL -P "$CHILD" -n
    kill -CONT "$CHILD"
    status=0
    wait "$CHILD" || status=$? # in this shell, whose child it is
    [ "$status" -eq 1 ]
    grep -Eq '^phase-model: rank [123] of the group died of signal 9$' "$DIR/log"
    run pgrep -P "$CHILD"
    [ -z "$output" ]
    generate "$DIR/long.jsonl" --input "$DIR/lines" --batch-size 64 | grep -q '^resumed after'
    [ "$(wc -l <"$DIR/long.jsonl")" -eq 160 ]
}

@test "impossible options and inputs are refused with a reason, and the output is left alone" {
    refused "--tp 3: must be a power of two" "$DIR/out" --tp 3
    refused "--tp 8: the model has 4 heads and 4 kv-heads" "$DIR/out" --tp 8
    refused "--model is missing" "$DIR/out" --model ''
    refused "/nowhere" "$DIR/out" --model /nowhere
    refused "not a checkpoint" "$DIR/out" --model "$SHARED/lines"
    refused "/nowhere" "$DIR/out" --input /nowhere
    refused "/nowhere/out" /nowhere/out
    cp -r "$SHARED/step_000025.ckpt" "$DIR/cut"
    truncate -s 5000 "$DIR/cut/rank_0"
    refused "cannot read $DIR/cut" "$DIR/out" --model "$DIR/cut"
    [ ! -e "$DIR/out" ]
    echo 'something else' >"$DIR/out"
    refused "its last line was not made from" "$DIR/out"
    [ "$(cat "$DIR/out")" = 'something else' ]
    printf 'no newline' >"$DIR/out"
    refused "its last line was not made from" "$DIR/out"
    [ "$(cat "$DIR/out")" = 'no newline' ]
    head -n 2 "$SHARED/reference.jsonl" | sed 's/"prompt":"/&x/' >"$DIR/out"
    refused "its last line was not made from" "$DIR/out"
    tail -n 3 "$SHARED/reference.jsonl" >"$DIR/out"
    refused "its last line was not made from" "$DIR/out"
}

@test "--help names every option with its default" {
    run -0 "$BIN/phase-model" generate --help
    [[ $output == *'--bytes N '*'[64]'* ]]
    [ "$(grep -c '^      --' <<<"$output")" -eq 13 ]
}
