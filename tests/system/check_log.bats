#!/usr/bin/env bats
# `phasectl check --log`: what phased would have read from old logs, and how it would have judged
# them. The tests need no daemon and no Slurm.

bats_require_minimum_version 1.5.0

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

@test "check --log shows metrics, guards and the gate, by the times that logs of phased have" {
    workflow
    run phasectl check "$work/w.yaml" --log validate="$work/timed.log"
    [ "$status" = 0 ]
    [[ $output == *'100 lines, 100 rows of metrics, 49m'* ]]
    [[ $output =~ 'loss'\ +'100'\ +'1'\ +'100'\ +'299.5'\ +'200.5' ]]
    [[ $output == *'its 1 guard would not have stopped it'* ]]
    [[ $output == *'its gate would have passed'* ]]
    [[ $output =~ 'late'\ +'20'\ +'at least 19' ]]
}

@test "check --log names the step at which a guard would have stopped the run" {
    workflow 'below: 30'
    run phasectl check "$work/w.yaml" --log validate="$work/plain.log"
    [[ $output == *'at step 30 the run would have been stopped: guard failed: calm'* ]]
    [[ $output == *'the log has no times, so all lines seem to come at once'* ]]
}

@test "a gate that compares phases reads the other phase's log, and metrics that never came are named" {
    workflow
    run phasectl check "$work/w.yaml" --log validate="$work/plain.log" --log production="$work/plain.log"
    [ "$status" = 0 ]
    [[ $output =~ better\ .*passed ]]
    [[ $output == *'known cannot be judged: accuracy never came'* ]]
    [[ $output == *'its gate would have failed'* ]]
}

@test "a phase that does not exist and a log that cannot be read are refused" {
    workflow
    run phasectl check "$work/w.yaml" --log nothing="$work/plain.log"
    [ "$status" = 1 ]
    [[ $output == *'there is no such phase'* ]]
    run phasectl check "$work/w.yaml" --log validate
    [ "$status" = 1 ]
    [[ $output == *"--log wants PHASE=FILE, not 'validate'"* ]]
    run phasectl check "$work/w.yaml" --log validate="$work/absent"
    [ "$status" = 1 ]
    [[ $output == *'absent: No such file or directory'* ]]
    head -c 100000 /dev/urandom >"$work/noise"
    phasectl check "$work/w.yaml" --log validate="$work/noise"
}

@test "a log in any form is read: CRLF, colours, a progress bar, a last line without a newline" {
    workflow
    tried() { phasectl check "$work/w.yaml" --log validate="$1" | sed -n 's/^  loss  *\([0-9]*\) .* \([0-9.]*\)$/\1 \2/p'; }
    printf 'step 1 | loss 4.5\r\nstep 2 | loss 4.25\r\n' >"$work/crlf"
    [ "$(tried "$work/crlf")" = '2 4.25' ]
    printf '\033[32mINFO\033[0m step=1 loss=\033[1m4.5\033[0m\n' >"$work/ansi"
    [ "$(tried "$work/ansi")" = '1 4.5' ]
    printf 'Epoch 0:  10%%|# | 10/100 [00:01<00:09, 9.9it/s, loss=4.5]\rEpoch 0: 100%%|##| 100/100 [00:10<00:00, 9.9it/s, loss=3.1]\n' >"$work/tqdm"
    [ "$(tried "$work/tqdm")" = '2 3.1' ]
    echo 'step=1 loss=4' >"$work/large"
    truncate -s 300M "$work/large" # NULs, in one line
    printf '\nstep=2 loss=3' >>"$work/large"
    (ulimit -d 200000 && [ "$(tried "$work/large")" = "2 3" ])
}

@test "check --log names metrics that never came, and logs in which it recognised nothing" {
    workflow
    sed 's/gnorm/grad_norm/; s/loss=/loss: ~/' "$work/plain.log" >"$work/other.log"
    sed -i 's/max(gnorm)/max(grad_nrm)/' "$work/w.yaml"
    run -0 phasectl check "$work/w.yaml" --log validate="$work/other.log"
    [[ $output == *'never came: grad_nrm (did you mean grad_norm?)'* ]]
    echo 'nothing to see' >"$work/mute"
    run -0 phasectl check "$work/w.yaml" --log validate="$work/mute"
    [[ $output == *"no metric was recognised in lines such as 'nothing to see'"*'`metrics: {pattern: ...}`'* ]]
    gzip -k "$work/plain.log"
    run -1 phasectl check "$work/w.yaml" --log validate="$work/plain.log.gz"
    [[ $output == *'plain.log.gz is compressed (zcat reads it): pipe the text into --log validate=/dev/stdin'* ]]
    zcat "$work/plain.log.gz" | phasectl check "$work/w.yaml" --log validate=/dev/stdin | grep -q '100 rows'
}

@test "check --log and extract say that a log has too many names, and read those of checks" {
    for i in $(seq 1100); do echo "layer${i}_weight: 7"; done >"$work/layers.log"
    echo "step=5 loss=2 gnorm=3 other=1" >>"$work/layers.log"
    workflow
    run phasectl check "$work/w.yaml" --log validate="$work/layers.log"
    said="more than 1000 names of metrics; later names are left out, first 'layer1001_weight'"
    [[ $output == *"$said"* ]]
    [[ $output != *"never came"* ]]
    run --separate-stderr phase-worker extract <"$work/layers.log"
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    [[ $stderr == "phase-worker extract: "*"first 'layer1001_weight'"* ]]
    [ "${lines[-1]}" = '{"step": 5, "loss": 2}' ]
}

@test "speed and MFU are computed from the log in the same way as during a run" {
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

# Prints like nanochat's base_train: nanochat STEPS LOSS-OF-LOOP-0 LOSS-OF-THE-LAST.
nanochat() {
    awk -v steps="$1" -v first="$2" -v last="$3" 'BEGIN {
        for (step = 0; step < steps; step++) {
            loss = 10 - step / steps
            printf "step %05d/%05d (%.2f%%) | loss: %.6f | final: %.4f step_0: %.4f step_2: %.4f step_4: %.4f step_6: %.4f |" \
                " grad norm: 1.0%d | lrm: 1.00 | dt: %.2fms | tok/sec: 655,360 | mfu: 31.20 | total time: 0.10m\n",
                step, steps, 100 * step / steps, loss, loss * last, loss * first,
                loss * (first * 2 + last) / 3, loss * (first + last * 2) / 3, loss * last, step % 10,
                step ? 800 : 30000
        }
    }'
}

@test "the gate and guards of trm-two-phase judge the output of its program" {
    cd "$SRC/etc/workflows"
    nanochat 400 1 0.8 >"$work/good.log"
    run phasectl check trm-two-phase.yaml --log validate="$work/good.log"
    [ "$status" = 0 ]
    [[ $output == *'would not have stopped it'* ]]
    [[ $output =~ refinement\ +20\ +'at least 15'.*passed ]]
    # A slow first step alone is not a reason to say that nothing was compiled.
    [[ $output != *compiled* ]]
    nanochat 400 0.8 1 >"$work/inverted.log"
    run phasectl check trm-two-phase.yaml --log validate="$work/inverted.log"
    [[ $output == *'the run would have been stopped: guard failed: refines does not hold'* ]]
    sed 's/dt: 30000.00ms/dt: 800.00ms/' "$work/good.log" >"$work/slow.log"
    run phasectl check trm-two-phase.yaml --log validate="$work/slow.log"
    [[ $output == *'torch.compile is not at work'* ]]
}

@test "the gate and guards of h100-mfu judge the output of its program" {
    cd "$SRC/etc/workflows"
    for step in $(seq 50 50 2000); do
        echo "Step $step: loss=4.0, lr=3.00e-05, tokens/sec=260000, MFU=31.2%"
        [ $((step % 500)) = 0 ] || continue
        echo "✅ Val loss: $((5 - step / 500)).9 | Perplexity: 145.14"
    done >"$work/mfu.log"
    run phasectl check h100-mfu.yaml --log train="$work/mfu.log"
    [ "$status" = 0 ]
    [[ $output =~ target\ +1.9\ +'at most 3.0781'.*passed ]]
    [[ $output =~ gain\ +4\ +'at least 4'.*passed ]]
    [[ $output =~ mfu\ +79.5 ]]                    # by its size; 31.2 is what it says itself
    [[ $output =~ converges.*'<= 3.5'.*warned ]] # 3.9 at step 1000
}

@test "check finds syntax errors in scripts, and paths that do not exist, and names their places" {
    cat >"$work/p.yaml" <<SPEC
name: probed
variants:
  broken: {phases: {pre: {run: "for"}}}
phases:
  pre:
    resources: {time: 1h}
    workdir: $work/none
    run: |
      shopt -s extglob
      ls !(*.log)
  train:
    resources: {gpus: 2, time: 1h}
    launch: group
    parallel: {tensor: 1}
    shard: {input: $work}
    join: "echo 'x"
    run: |

      for x in 1 2; do
        echo
      fi
    slurm: {deadline: 2020-01-31}
SPEC
    run --separate-stderr phasectl check "$work/p.yaml"
    [ "$status" = 1 ]
    # shellcheck disable=SC2154 # run --separate-stderr sets it
    diff <(echo "$stderr") - <<SAID
$work/p.yaml:7:14: warning: phases.pre.workdir: $work/none: does not exist on this machine
$work/p.yaml:15:20: warning: phases.train.shard.input: $work: is a folder on this machine
$work/p.yaml:16:12: phases.train.join: bash, in line 1 of the script: unexpected EOF while looking for matching \`''
$work/p.yaml:21:7: phases.train.run: bash: syntax error near unexpected token \`fi'
$work/p.yaml:22:23: phases.train.slurm.deadline: is in the past, so Slurm would refuse the job
phasectl: $work/p.yaml has 3 problems
SAID
    sed -i -e '/join:/d; /deadline:/d' -e 's/^      fi/      done/' "$work/p.yaml"
    run --separate-stderr phasectl check "$work/p.yaml"
    [ "$status" = 1 ]
    [[ $stderr == *"p.yaml:3:33: variants.broken.phases.pre.run: bash, in line 1 of the script: syntax error"*"(with variant broken)"* ]]
}
