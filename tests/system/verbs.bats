#!/usr/bin/env bats
# phasectl: what all verbs share (several addresses, JSON), and the verbs that compare, draw and
# look after a run. One daemon on one sandbox serves all tests.

bats_require_minimum_version 1.5.0

# Two workflows of one phase that prints steps. The first has ended. The second goes on until the
# test removes the file `stay`.
setup_file() {
    export BIN=${BIN:-$BATS_TEST_DIRNAME/../../build/bin}
    export SRC=${SRC:-$BATS_TEST_DIRNAME/../..}
    export FOLDER PHASED_HOME
    FOLDER=$(mktemp -d /tmp/phased-test-XXXXXX)
    PHASED_HOME=$FOLDER/home
    unset SLURM_CONF NO_COLOR
    command -v slurmctld >/dev/null || PATH=$PATH:/usr/sbin
    export PATH=$BIN:$PATH
    cd "$FOLDER" || return
    phasectl sandbox start --nodes 1 >sandbox.out
    phasectl daemon start >daemon.out
    program >steps.yaml
    program | sed 's/steps: 10/steps: 20/' >stay.yaml
    touch stay
    phasectl submit steps.yaml stay.yaml >submitted.out
    phasectl watch 1 >watched.out
    eventually 20 step 2 20
}

teardown_file() {
    phasectl daemon stop
    phasectl sandbox stop
    rm -rf "$FOLDER"
}

setup() {
    cd "$FOLDER" || return
}

program() {
    cat <<YAML
name: steps
price: {per_gpu_hour: 3600}
phases:
  train:
    resources: {gpus: h100:1, time: 5m}
    launch: rank
    preflight: off
    params: {steps: 10}
    run: |
      for step in \$(seq \$steps); do
        echo "step \$step | loss \$((100 / step))"
      done
      while [ \$steps = 20 ] && [ -e $FOLDER/stay ]; do sleep 0.2; done
    progress: {step: step, total: \$steps}
    gate:
      low: {value: last(loss), at_most: 20}
YAML
}

# eventually SECONDS COMMAND...: repeats the command until it succeeds. Fails at the deadline.
eventually() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $deadline ] || return 1
        sleep 0.1
    done
}

# step WORKFLOW N: whether its phase has reached the step.
step() {
    [ "$(phasectl status "$1/train" --json | jq .step)" = "$2" ]
}

# --- What all verbs share ------------------------------------------------------------------------

@test "several addresses are answered one by one, and a wrong one does not stop the others" {
    local verb
    for verb in status why show gate gpus runs cost budget; do
        run -1 --separate-stderr phasectl "$verb" 99 1 98 2
        [ "$(grep -c '^phasectl: no workflow 9[89]$' <<<"$stderr")" = 2 ] || fail "$verb: $stderr"
        phasectl "$verb" 1 >first.out
        [ -s first.out ]
        [ "$(grep -cFf first.out <<<"$output")" -ge "$(wc -l <first.out)" ] || fail "$verb: $output"
    done
    run -0 phasectl cost 1 2
    [ "$(grep -c '^workflow [12]  steps$' <<<"$output")" = 2 ]
    run -0 phasectl budget 1 2 --usd 50
    [[ ${lines[0]} = 'workflow 1  budget: $'*' of $50 '* ]]
    [[ ${lines[1]} = 'workflow 2  budget: $'*' of $50 '* ]]
    run -2 phasectl status 1 seven
    [[ $output != *train* ]]
}

# Prints why a test fails, and fails.
fail() {
    echo "$@"
    return 1
}

@test "every verb that prints has --json" {
    local verb without=
    for verb in $(phasectl --help | awk '/^  [a-z]+ / { print $1 }'); do
        phasectl "$verb" --help | grep -q -- '^ *--json' || without+=" $verb"
    done
    [ "$without" = ' rehearse watch logs' ] || fail "without --json:$without"
}

@test "--json prints JSON, of wrong files too" {
    sed 's/at_most/at_mots/' steps.yaml >wrong.yaml
    printf '#!/bin/bash\n#SBATCH --gres=gpu:h100:1 --time=5\n#SBATCH --job-name=old\ntrue\n' >old.sbatch
    echo 'torch.OutOfMemoryError: CUDA out of memory.' >oom.log
    [ "$(phasectl check steps.yaml --json | jq -c '[.good, .problems, .workflow.name]')" = '[true,[],"steps"]' ]
    run -1 --separate-stderr phasectl check wrong.yaml --json
    [ -z "$stderr" ]
    [ "$(jq -c '[.good, .workflow, .problems[0].line, .problems[0].severity]' <<<"$output")" = '[false,null,16,"error"]' ]
    run -2 phasectl check steps.yaml --json --print
    [ "$(phasectl import old.sbatch --json | jq -r .spec | head -n 1)" = "$(phasectl import old.sbatch 2>/dev/null | head -n 1)" ]
    phasectl plan steps.yaml --json | jq -e .fits
    [ "$(phasectl failures oom.log steps.yaml --json | jq -c '[.[] | .failure.cause]')" = '["oom",null]' ]
    [ "$(phasectl why 1 --json | jq -c '[.phase.address, .gate.decided, .run]')" = '["1/train","passed",null]' ]
    [ "$(phasectl budget 2 --json | jq .workflow)" = 2 ]
    [ "$(phasectl nodes add n1 --json)" = "$(phasectl nodes clear n1 --json)" ]
    [ "$(phasectl daemon start --json | jq .pid)" = "$(phasectl daemon status --json | jq .pid)" ]
    [ "$(phasectl sandbox status --json | jq .running)" = true ]
    PHASED_HOME=$FOLDER/nobody run -3 phasectl sandbox status --json
    [ "$(jq .running <<<"$output")" = false ]
    [ "$(PHASED_HOME=$FOLDER/nobody phasectl daemon stop --json | jq .stopped)" = false ]
    local id
    id=$(phasectl submit --hold steps.yaml --json | jq '.workflows[0].workflow')
    [ "$(phasectl cancel "$id" --json | jq -c .phases)" = "[\"$id/train\"]" ]
}
