#!/usr/bin/env bats
# `phasectl rehearse`: a few steps of each phase, and what they say of the real run.

load cli.bash

@test "a rehearsal runs a few steps of each phase, and says what the real run would cost" {
    local id
    run -0 phasectl rehearse "$SRC/etc/workflows/demo.yaml" --steps 10 --set validate.iterations=50000 \
        --set production.iterations=100000 # however fast its steps are, the end is far
    id=$(sed -n 's/^workflow \([0-9]*\) trm-rehearsal$/\1/p' <<<"$output")
    [ "$(grep -Ec '^  checkpoint .* (bytes|[KMG]iB)$' <<<"$output")" = 2 ]
    [ "$(grep -Ec '^  resume +a run resumed from step [0-9]+ and reached step [0-9]+$' <<<"$output")" = 2 ]
    grep -Eq '^  metrics +(.*, )?step_3, ' <<<"$output"
    grep -Eq '^    refinement .* at least 50 .* warned' <<<"$output"
    grep -Eq '^the real workflow: .* of running, \$' <<<"$output"
    [ "${lines[-1]}" = 'all metrics and checkpoints came' ]
    run -0 phasectl why "$id/validate"
    [[ $output =~ "$id/validate#1"\ +succeeded\ +[0-9]+\ kept ]]
    # Each phase made ten steps and five more, and production continues the count of validate. Both
    # were far from their ends.
    phasectl status "$id" --json >status
    gojq -e '[.phases[] | .state] == ["succeeded", "succeeded"]' status
    gojq -e '.phases[0] | .step >= 15 and .step < .total' status
    gojq -e '.phases[1] | .step >= 30 and .step < .total' status
}

@test "a rehearsal names metrics and checkpoints that never came, and goes on to the next phase" {
    workflow 50 | sed 's/falling: .*/bpb: {value: last(val_bpb), at_most: 1}/
        s/^    gate:/    checkpoint: {path: "$PHASED_OUT\/step_{step}"}\n&/' >small.yaml
    run -1 phasectl rehearse small.yaml
    grep -Eq '^  metrics +loss$' <<<"$output"
    grep -Eq '^  MISSING +val_bpb$' <<<"$output"
    grep -Eq '^  checkpoint the program wrote no checkpoint$' <<<"$output"
    grep -q '^second succeeded' <<<"$output"
    [ "${lines[-1]}" = '2 problems' ]
    run -2 phasectl rehearse small.yaml --steps 1001
}

@test "a rehearsal says if a program does not resume from its checkpoint" {
    resuming() {
        cat <<YAML
name: resumes
phases:
  train:
    resources: {gpus: h100:1, time: 5m}
    run: |
      trap 'echo \$step >"\$PHASED_OUT/saved_\$step"; exit 0' TERM
      $1
      for ((step = \${from:-0} + 1; step < 1000; step++)); do echo "step \$step | loss 1"; sleep 0.05; done
    progress: {step: step, total: 1000}
    checkpoint: {path: "\$PHASED_OUT/saved_{step}", save_time: 5s}
YAML
    }
    resuming 'true $PHASED_RESUME' >anew.yaml
    run -1 phasectl rehearse anew.yaml --steps 6
    grep -Eq '^  resume +the run started again at step 1, although there was a checkpoint of step [0-9]+: `run` must read \$PHASED_RESUME$' <<<"$output"
    [ "${lines[-1]}" = '1 problem' ]
    resuming '[ -z "$PHASED_RESUME" ] || { echo "no such key: lr" >&2; exit 3; }' >dies.yaml
    run -1 phasectl rehearse dies.yaml --steps 6
    grep -Eq '^train failed' <<<"$output"
    grep -Eq '^  resume +the run that resumed from step [0-9]+ failed$' <<<"$output"
    # A checkpoint may be a folder. Its size is that of its files.
    resuming 'from=${PHASED_RESUME##*_}' | sed 's/^phases:/price: {per_gpu_hour: 20}\n&\n  prepare: {resources: {cpus: 1, time: 5m}, run: echo}/
        s/echo \$step >\(.*\); exit/mkdir -p \1\/optimizer; head -c 2500000 \/dev\/zero >\1\/optimizer\/rank_0; exit/' >well.yaml
    run -0 phasectl rehearse well.yaml --steps 6
    grep -Eq '^  checkpoint /.*/saved_[0-9]+, 2\.4 MiB$' <<<"$output"
    grep -Eq '^  resume +a run resumed from step ' <<<"$output"
    # CPUs have no price, but the price of the GPUs is still known.
    grep -Eq '^the real workflow: .* of running, <?\$[0-9.]+$' <<<"$output"
}

@test "a rehearsal of a matrix runs its first member, and multiplies the cost by the number of members" {
    cat >matrix.yaml <<'YAML'
name: ladder
phases:
  ladder:
    resources: {gpus: h100:1, time: 5m}
    matrix: {batch: [1, 2, 3, 4000]}
    run: echo "step $batch | speed $batch"; sleep 1
    best: {max: last(speed), where: max(heat) < 9}
YAML
    run -1 phasectl rehearse matrix.yaml # not a word of heat
    grep -Eq '^  MISSING +heat$' <<<"$output"
    grep -q '^ladder succeeded at step 1$' <<<"$output"
    # A little more than one second, four times.
    grep -Eq '^the real workflow: ([4-9]\.[0-9]s|[0-9]{2}s|[0-9]+m[0-9]+s) of running' <<<"$output"
}
