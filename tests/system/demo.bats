#!/usr/bin/env bats
# The main task: the two phases of the demo train on their own sandbox, with gate and promotion.

bats_require_minimum_version 1.5.0
load phased

setup() {
    home_up
    unset SLURM_CONF
    command -v slurmctld slurmd munged >/dev/null || skip "Slurm's daemons are not installed"
    phasectl sandbox start --pretend >/dev/null
    phasectl daemon start >/dev/null
}

teardown() {
    is_of_test "${PHASED_HOME:-}" || return 0
    export SLURM_CONF=$PHASED_HOME/sandbox/slurm.conf
    phasectl daemon stop >/dev/null
    phasectl sandbox stop >/dev/null
    home_down
}

@test "the demo validates, passes its gate, and goes on to production in the same allocation" {
    # A busy machine may take long to judge the gate.
    sed 's/^    launch: rank .*/&\n    linger: 120s/' "$SRC/etc/workflows/demo.yaml" >"$PHASED_HOME/demo.yaml"
    run -0 --separate-stderr phasectl submit "$PHASED_HOME/demo.yaml" --watch
    [[ $output == *"refinement"*"at least 15"*"passed"* ]]
    [[ $output == *"workflow 1 (trm) succeeded after "* ]]

    # Each phase was one run, and both ran in one Slurm job.
    phasectl runs 1 --json >"$BATS_TEST_TMPDIR/runs"
    [ "$(gojq -r '[.[] | .outcome] | join(" ")' "$BATS_TEST_TMPDIR/runs")" = 'succeeded succeeded' ]
    [ "$(gojq '[.[] | .job_id] | unique | length' "$BATS_TEST_TMPDIR/runs")" = 1 ]
    [ "$(phasectl status 1/validate --json | gojq -r .promoted)" = in_place ]

    # The model that the output names exists, and its training began from the first phase's model.
    run -0 phasectl status 1/production --json
    [ -s "$(gojq -r .checkpoint <<<"$output")/marker" ]
    [ "$(gojq '.step == .total' <<<"$output")" = true ]
    [ "$(gojq '.cost_usd > 0 and .gpu_seconds > 0' <<<"$output")" = true ]
    run -0 phasectl gate 1/validate --json
    [ "$(gojq '[.checks[] | select(.outcome == "passed" and .window.rows > 0)] | length' \
        <<<"$output")" = 5 ]
}

@test "a demo that is too short is held by its gate, and goes on when a person promotes it" {
    run -1 phasectl submit "$SRC/etc/workflows/demo.yaml" --watch --set validate.iterations=20 \
        --set production.iterations=40
    [[ $output == *"1/validate is held: gate failed: "*"refinement"* ]]
    [[ $output == *"train longer, or lower matrix_lr"* ]]
    phasectl promote 1/validate
    run -1 phasectl watch 1 # production is too short for its own gate
    [[ $output == *"1/production is held"* ]]
    [ "$(phasectl status 1/production --json | gojq .step)" = 40 ]
}
