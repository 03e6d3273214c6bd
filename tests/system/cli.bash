# Shared by tests of phasectl: a sandbox with one node and a daemon for the whole file, and a small
# workflow.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() {
    export FOLDER PHASED_HOME
    FOLDER=$(mktemp -d /tmp/phased-test-XXXXXX)
    PHASED_HOME=$FOLDER/home
    unset SLURM_CONF NO_COLOR
    phasectl sandbox start --nodes 1 >"$FOLDER/sandbox.out"
    phasectl daemon start >"$FOLDER/daemon.out"
}

teardown_file() {
    is_of_test "${FOLDER:-}" || return 0
    phasectl daemon stop
    phasectl sandbox stop
    rm -rf "$FOLDER"
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
}

# Two phases: the first prints ten steps and must bring its loss below a bound. The second reads the
# output of the first.
workflow() {
    cat <<YAML
name: small
price: {per_gpu_hour: 3600}
phases:
  first:
    resources: {gpus: h100:1, time: 5m}
    launch: rank
    params: {steps: 10}
    run: |
      for step in \$(seq \$steps); do
        echo "step \$step | loss \$((100 / step))"
      done
      echo made of \$steps >"\$PHASED_OUT/model"
    progress: {step: step, total: \$steps}
    gate:
      low:     {value: last(loss), at_most: $1, advice: train longer}
      falling: slope(loss) < 0
  second:
    after: first
    resources: {gpus: h100:1, time: 5m}
    run: cat "\$PHASED_IN_first/model"
YAML
}
