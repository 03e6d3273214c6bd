#!/usr/bin/env bats
# When jobs are submitted: limits.yaml, priorities, turns, `--after`, `--window` and the budget of
# the month.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    phasectl daemon start
}
teardown() {
    [ -n "${BATS_TEST_COMPLETED:-}" ] || scontrol update partitionname=preempt state=up || true
    home_down
}

# The daemon never sees half a file.
limits() {
    echo "$1" >"$PHASED_HOME/limits.new"
    mv "$PHASED_HOME/limits.new" "$PHASED_HOME/limits.yaml"
}

# held_up [SUBMIT-OPTION...]: one phase that runs until the file $PHASED_HOME/go exists.
held_up() {
    submit "$@" <<'SPEC'
name: held-up
price: {per_node_hour: 3600}
phases:
  wait:
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    run: |
      echo "$PHASED_OUT" | cut -d/ -f5 >>"$PHASED_HOME/order"
      until [ -e "$PHASED_HOME/go" ]; do sleep 0.3; done
SPEC
}

reason() { record "SELECT reason FROM job WHERE workflow = $1"; }
# shellcheck disable=SC2053 # a pattern
reason_like() { [[ $(reason "$1") = $2 ]]; }
reason_is() { [ "$(reason "$1")" = "$2" ]; }

@test "limits.yaml limits the jobs in Slurm; the other jobs go by priority, and then in order" {
    limits 'jobs: 1'
    first=$(held_up) second=$(held_up) third=$(held_up --priority 5)
    eventually 60 state "$first/wait" active
    eventually 60 reason_is "$second" 'limits.yaml allows 1 job in Slurm at a time'
    eventually 60 reason_is "$third" 'limits.yaml allows 1 job in Slurm at a time'
    [ "$(squeue -h -o %i | wc -l)" = 1 ]
    [[ $(phasectl status "$second") = *'limits.yaml allows 1 job in Slurm at a time; 1 other run comes before it'* ]]
    [[ $(phasectl why "$third") = *'limits.yaml allows 1 job in Slurm at a time; this run is next'* ]]
    [[ $(phasectl status) = *'not submitted yet: limits.yaml allows 1 job in Slurm at a time'* ]]
    touch "$PHASED_HOME/go"
    for workflow in "$first" "$second" "$third"; do
        eventually 60 state "$workflow" succeeded
    done
    [ "$(paste -sd' ' "$PHASED_HOME/order")" = "$first $third $second" ]
}

@test "a workflow that waits for its turn is cancelled or held at once, and takes no turn" {
    limits 'jobs: 1'
    first=$(held_up) second=$(held_up) third=$(held_up)
    for workflow in "$second" "$third"; do
        eventually 60 reason_is "$workflow" 'limits.yaml allows 1 job in Slurm at a time'
    done
    phasectl cancel "$second"
    phasectl hold "$third"
    eventually 60 state "$second" cancelled
    eventually 60 state "$third/wait" held
    eventually 60 state "$first/wait" active
    phasectl release "$third"
    touch "$PHASED_HOME/go"
    eventually 60 state "$third" succeeded
    [ "$(paste -sd' ' "$PHASED_HOME/order")" = "$first $third" ]
}

@test "a limits.yaml that cannot be read holds back all submissions until it can be read" {
    mkdir "$PHASED_HOME/limits.yaml"
    touch "$PHASED_HOME/go"
    first=$(held_up)
    eventually 60 reason_like "$first" '*limits.yaml: it is a folder'
    rmdir "$PHASED_HOME/limits.yaml"
    eventually 60 state "$first" succeeded
}

@test "limits.yaml also limits GPUs, and a job that can never fit does not delay other jobs" {
    limits 'gpus: 2'
    first=$(held_up) second=$(held_up)
    eventually 60 state "$second/wait" active
    sed 's/h100:1/h100:8/' "$PHASED_HOME/spec.yaml" >"$PHASED_HOME/large.yaml"
    large=$(phasectl submit "$PHASED_HOME/large.yaml" | grep -oE '[0-9]+' | head -n 1)
    third=$(held_up)
    eventually 60 reason_is "$large" 'it asks for 8 GPUs; limits.yaml allows 2'
    run phasectl plan "$PHASED_HOME/large.yaml"
    [[ $output = *'warning: wait: it would never be submitted: it asks for 8 GPUs; limits.yaml allows 2'* ]]
    run phasectl plan "$PHASED_HOME/spec.yaml"
    [[ $output = *'warning: wait: it would not be submitted yet: it needs 1 of the 2 GPUs that limits.yaml allows'* ]]
    eventually 60 reason_is "$third" 'it needs 1 of the 2 GPUs that limits.yaml allows'
    touch "$PHASED_HOME/go"
    eventually 60 state "$third" succeeded
    limits 'gpus: 8'
    eventually 60 state "$large" succeeded
}

@test "a workflow with --after begins when the other workflow has succeeded, even after a retry" {
    first=$(
        submit <<'SPEC'
name: fails
phases:
  once:
    resources: {time: 10m}
    on_fail: fail
    run: "[ -e \"$PHASED_HOME/fixed\" ]"
SPEC
    )
    second=$(held_up --after "$first")
    [[ $(phasectl show "$second") = *"options  --after $first"* ]]
    touch "$PHASED_HOME/go"
    eventually 60 reason_is "$second" \
        "waits for workflow $first (--after), which has failed: retry workflow $first, or cancel workflow $second"
    touch "$PHASED_HOME/fixed"
    phasectl retry "$first"
    eventually 60 state "$second" succeeded
    run phasectl submit --after 999 "$PHASED_HOME/spec.yaml"
    [ "$status" = 1 ]
    [[ $output = *'there is no workflow 999'* ]]
    run phasectl submit --after 0 "$PHASED_HOME/spec.yaml"
    [ "$status" = 2 ]
    [[ $output = *"--after wants a whole number from 1 to "*", not '0'"* ]]
    run phasectl submit --priority +3 "$PHASED_HOME/spec.yaml"
    [ "$status" = 2 ]
    [[ $output = *"--priority wants a whole number from -"*", not '+3'"* ]]
}

@test "a workflow is submitted only inside its --window" {
    read -r hour minute < <(date '+%H %M')
    now=$((10#$hour * 60 + 10#$minute))
    at() { printf '%02d:%02d' $((($1 + 1440) % 1440 / 60)) $((($1 + 1440) % 60)); }
    window=$(at $((now + 120)))-$(at $((now + 180)))
    closed=$(held_up --priority 7 --window "$window")
    [[ $(phasectl show "$closed") = *"options  --priority 7 --window $window"* ]]
    open=$(held_up --window "$(at $((now - 60)))-$(at $((now + 60)))")
    eventually 60 state "$open/wait" active
    eventually 60 reason_is "$closed" "its window opens at $(at $((now + 120)))"
    phasectl cancel "$closed"
    touch "$PHASED_HOME/go"
    eventually 60 state "$open" succeeded
    run phasectl submit --window 8-20 "$PHASED_HOME/spec.yaml"
    [ "$status" = 1 ] && [[ $output = *"'8-20' is not a window of the day, such as 20:00-08:00"* ]]
}

@test "why names the phases that a phase waits for" {
    workflow=$(
        submit --hold <<'SPEC'
name: three
phases:
  a: {resources: {time: 1m}, run: "true"}
  b: {resources: {time: 1m}, run: "true", after: []}
  c: {resources: {time: 1m}, run: "true", after: [a, b]}
SPEC
    )
    [[ $(phasectl why "$workflow/c") = *"$workflow/c begins when a and b have succeeded"* ]]
}

@test "a job that the site does not take yet waits, and plan and why say so" {
    scontrol update partitionname=preempt state=drain
    workflow=$(held_up)
    eventually 60 reason_like "$workflow" 'Slurm does not take the job yet: *'
    run phasectl plan "$PHASED_HOME/spec.yaml"
    [[ $output = *"no start is known: wait: Slurm does not take the job yet: "* ]]
    run phasectl why "$workflow/wait"
    [[ $output = *"$workflow/wait#1: not submitted yet: Slurm does not take the job yet: "* ]]
    touch "$PHASED_HOME/go"
    scontrol update partitionname=preempt state=up
    eventually 60 state "$workflow" succeeded
}

@test "a limits.yaml with a mistake holds back all submissions, and the reason names the place" {
    limits 'jobs: many'
    touch "$PHASED_HOME/go"
    workflow=$(held_up)
    eventually 60 reason_is "$workflow" "$PHASED_HOME/limits.yaml:1:7: jobs: must be a whole number"
    limits 'jobs: 2'
    eventually 60 state "$workflow" succeeded
}

@test "a run has no place in the order while limits.yaml cannot be read, or limits nothing" {
    limits 'jobs: 1'
    first=$(held_up) second=$(held_up) third=$(held_up)
    eventually 60 state "$first/wait" active
    eventually 60 reason_is "$third" 'limits.yaml allows 1 job in Slurm at a time'
    [[ $(phasectl why "$second") = *'; this run is next'* ]]
    limits 'gpus: x'
    eventually 60 reason_like "$second" '*limits.yaml:1:7: gpus: *'
    run phasectl why "$second"
    [[ $output = *"not submitted yet: "*"limits.yaml:1:7: gpus: must be a whole number"* ]]
    [[ $output != *'this run is next'* ]]
    [[ $(phasectl status "$third") != *'comes before it'* ]]
    touch "$PHASED_HOME/go"
    limits 'jobs: 1'
    eventually 90 state "$third" succeeded
}

@test "jobs that wait for the same moment are submitted in their order, the oldest first" {
    limits 'jobs: x'
    for _ in 1 2 3 4 5 6 7 8; do
        last=$(held_up)
    done
    eventually 60 reason_like "$last" '*limits.yaml:1:7: *'
    sleep 5 # several looks at the jobs that wait
    rm "$PHASED_HOME/limits.yaml"
    have_ids() { [ "$(record 'SELECT count(*) FROM job WHERE slurm_id IS NOT NULL')" = 8 ]; }
    eventually 60 have_ids
    [ "$(record 'SELECT workflow FROM job ORDER BY slurm_id' | paste -sd' ')" = '1 2 3 4 5 6 7 8' ]
}

@test "when the month's budget is spent, all phases are held and nothing more is submitted" {
    limits 'month: {usd: 0.5}'
    workflow=$(held_up)
    eventually 90 state "$workflow/wait" held
    [[ $(phasectl status "$workflow/wait" --json | gojq -r .reason) = "held by this month's budget, of which \$"*' of $0.50 is spent' ]]
    run phasectl release "$workflow"
    [ "$status" = 1 ]
    [[ $output = *"cannot release $workflow: this month's budget (limits.yaml) is spent: \$"*" of \$0.50; first raise"* ]]
    rm "$PHASED_HOME/limits.yaml"
    touch "$PHASED_HOME/go"
    phasectl release "$workflow"
    eventually 60 state "$workflow" succeeded
}
