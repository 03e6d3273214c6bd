# The kernels of phase-model beside the CPU, with fake CUDA libraries and on a GPU; and how fast they
# are: `phase-model bench` and the benchmark of a GPU.

load model_gpu.bash
load hurry.bash

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
