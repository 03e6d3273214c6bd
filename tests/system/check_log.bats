#!/usr/bin/env bats
# `phasectl check --log`: what would have been read from earlier logs, and how it would have been
# judged. Needs no daemon and no Slurm.

setup() {
    i=0
    SRC=${SRC:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
    PATH=${BIN:-$SRC/build/bin}:$PATH
    work=$(mktemp -d)
    for step in $(seq 1 100); do
        echo "step=$step loss=$((300 - step)).5 gnorm=$((step % 50))"
    done >"$work/plain.log"
    while read -r line; do
        printf '2026-01-31T10:%02d:00.000Z %s\n' "$((i++ / 2))" "$line"
    done <"$work/plain.log" >"$work/timed.log"
}
teardown() { rm -rf "$work"; }

workflow() {
    cat >"$work/w.yaml" <<SPEC
name: tried
phases:
  validate:
    resources: {time: 1h}
    run: ./train
    guards: {calm: {value: max(gnorm), ${1:-below: 100}}}
    gate:
      falling: {value: slope(loss), below: 0}
      late: {value: count(loss), over: 10m, at_least: 19}
  production:
    after: validate
    resources: {time: 1h}
    run: ./train
    gate: {better: {condition: last(loss) <= last(validate.loss)}, known: {condition: accuracy > 1}}
SPEC
}

@test "metrics, guards and gate are shown, by the times that logs of phased have" {
    workflow
    run phasectl check "$work/w.yaml" --log validate="$work/timed.log"
    [ "$status" = 0 ]
    [[ $output == *'100 lines, 100 rows of metrics, 49m'* ]]
    [[ $output =~ 'loss'\ +'100'\ +'1'\ +'100'\ +'299.5'\ +'200.5' ]]
    [[ $output == *'its 1 guard would not have stopped it'* ]]
    [[ $output == *'its gate would have passed'* ]]
    [[ $output =~ 'late'\ +'20'\ +'at least 19' ]]
}

@test "a guard that would have stopped the run tells the step" {
    workflow 'below: 30'
    run phasectl check "$work/w.yaml" --log validate="$work/plain.log"
    [[ $output == *'at step 30 the run would have been stopped: guard failed: calm'* ]]
    [[ $output == *'no times, so that all seems to have come at once'* ]]
}

@test "a gate that compares reads the other phase's log; what never came is told" {
    workflow
    run phasectl check "$work/w.yaml" --log validate="$work/plain.log" --log production="$work/plain.log"
    [ "$status" = 0 ]
    [[ $output =~ better\ .*passed ]]
    [[ $output == *'known cannot be judged: accuracy never came'* ]]
    [[ $output == *'its gate would have failed'* ]]
}

@test "logs that are no logs, and phases that are none, are refused" {
    workflow
    run phasectl check "$work/w.yaml" --log nothing="$work/plain.log"
    [ "$status" = 1 ] && [[ $output == *'there is no such phase'* ]]
    run phasectl check "$work/w.yaml" --log validate
    [ "$status" = 1 ] && [[ $output == *"--log wants PHASE=FILE, not 'validate'"* ]]
    run phasectl check "$work/w.yaml" --log validate="$work/absent"
    [ "$status" = 1 ] && [[ $output == *'absent: No such file or directory'* ]]
    head -c 100000 /dev/urandom >"$work/noise"
    phasectl check "$work/w.yaml" --log validate="$work/noise"
}

@test "speed and MFU are made of what is printed, as they are when it runs" {
    for step in $(seq 1 30); do
        echo "Step $step: loss=4.1, tokens/sec=100000, MFU=31.5%"
    done >"$work/speed.log"
    cat >"$work/w.yaml" <<SPEC
name: tried
phases:
  train:
    resources: {gpus: h100:1, time: 1h}
    run: ./train
    mfu: {params: 454e6, layers: 24, width: 1024, sequence: 1024}
    gate: {tokens: {value: median(tokens_per_s), at_least: 5e4}, mfu: {value: median(mfu), below: 31}}
SPEC
    run phasectl check "$work/w.yaml" --log train="$work/speed.log"
    [ "$status" = 0 ]
    [[ $output =~ 'tokens_per_s'\ +30\ +1\ +30\ +'1e+05' || $output =~ 'tokens_per_s'\ +30\ +1\ +30\ +100000 ]]
    [[ $output =~ 'mfu_printed'\ +30\ +1\ +30\ +31.5 ]]
    # 100000 x (6 x 454M + 12 x 24 x 1024 x 1024) of 989 TFLOPS
    [[ $output =~ 'mfu'\ +30.6\ +'below 31' ]]
    [[ $output == *'its gate would have passed'* ]]
}
