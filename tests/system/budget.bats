#!/usr/bin/env bats
# Plans, which say the cost beforehand; budgets, which warn, hold after a checkpoint and can be
# raised; and what `phasectl cost` shows.

load phased.bash
load training.bash

setup_file() {
    sandbox_up 2
    reference_up
}
teardown_file() { sandbox_down; }
setup() { home_up; }
teardown() { home_down; }

# priced BUDGET [STEP...]: a training that costs $1 a second. It saves every 20 steps, and ends by
# itself. Its runs wait after the steps.
priced() {
    training "${@:2}" | sed "s/^name:.*/&\nprice: {per_node_hour: 3600}\nbudget: $1/; s/iterations: 150/iterations: 20000/"
}

@test "a budget warns at 80 % and holds at 100 % after a checkpoint; with a larger budget the phase goes on" {
    phasectl daemon start
    workflow=$(priced '{usd: 1000}' | submit)
    eventually 60 warned_by_status
    budget=$(spent '. + 4 | floor')
    phasectl budget "$workflow" --usd "$budget"
    eventually 90 state "$workflow/train" held
    [[ $(phasectl status "$workflow/train" --json | gojq -r .reason) = 'held by its budget, of which $'*" of \$$budget is spent" ]]
    [ "$(record 'SELECT count(*) FROM checkpoint')" -gt 0 ]
    [ "$(record 'SELECT outcome FROM run')" = cancelled ]

    run phasectl release "$workflow" # the budget is as it was
    [ "$status" = 1 ]
    [[ $output = *"cannot release $workflow: its budget is spent: "*"; first phasectl budget $workflow --usd N"* ]]
    phasectl status "$workflow" | grep -E "^  phasectl budget $workflow --usd N +give the workflow a larger budget first$"
    [ "$(record 'SELECT count(*) FROM run WHERE started IS NOT NULL')" = 1 ]

    # A held phase spends nothing. So the part that is spent stays between 80 % and 100 %.
    eventually 60 record_says 'SELECT ended IS NOT NULL FROM job' 1
    phasectl budget "$workflow" --usd "$(spent '. / 0.9')"
    eventually 60 warned_by_event

    [[ $(phasectl budget "$workflow" --usd 1234567 --gpu-hours 1000) = 'budget: $'*' of $1234567 (0 %), 0.'*' of 1000 GPU hours (0 %)'$'\n'"$workflow/train is still held: phasectl release $workflow/train" ]]
    phasectl release "$workflow"
    eventually 60 goes_on
    eventually 60 foretold_by_status
    [ "$(phasectl status "$workflow" --json |
        gojq '(.projected_cost_usd > .cost_usd and .budget.usd == 1234567) and .phases[0].projected_cost_usd == .projected_cost_usd and
            .phases[0].projected_gpu_seconds == .projected_gpu_seconds and .projected_gpu_seconds > .gpu_seconds')" = true ]
    phasectl cancel "$workflow"
    eventually 60 state "$workflow" cancelled
}

# At this pace the workflow will cost more than its budget.
warned_by_status() {
    phasectl status "$workflow" | grep -qE '^warning: at this pace \$[0-9.]+ when the active runs end, of a budget of \$1000$'
}

warned_by_event() {
    record "SELECT message FROM event WHERE type = 'warning'" |
        grep -E '^(89|90) % of the budget is spent: \$[0-9.]+ of \$[0-9.]+$'
}

# spent FILTER: the dollars of the workflow through this filter of gojq.
spent() {
    phasectl status "$workflow" --json | gojq ".cost_usd | $1"
}

foretold_by_status() {
    phasectl status "$workflow" | grep -qE '^at this pace \$[0-9.]+ and [0-9.]+ GPU hours when the active runs end, of a budget of \$1234567 and 1000 GPU hours$' &&
        phasectl status "$workflow/train" | grep -qE '^ *cost at its end +\$[0-9]' &&
        phasectl status "$workflow/train" | grep -qE '^ *GPU time at its end +[0-9]' &&
        phasectl status "$workflow/train" | grep -qE '^ *time left +[0-9]'
}

goes_on() {
    [ "$(record 'SELECT count(*) FROM run WHERE resume_step > 0 AND last_step > resume_step')" = 1 ]
}

@test "costs are split by outcome, and the parts add up to the total" {
    phasectl daemon start
    workflow=$(priced '{gpu_hours: 48}' 60 |
        sed 's/iterations: 20000/iterations: 150/; s/^price:.*/&\nexpect: {usd: [1, 2]}/; s/launch: rank/&\n    expect: {hours: 100}/; s/save-every 20/save-every 1000/' |
        submit)
    eventually 60 past "$workflow/train" 45 # all of which is lost
    pkill -KILL -f "training.py.*$PHASED_HOME"
    eventually 60 state "$workflow/train" held
    phasectl retry "$workflow"
    eventually 60 state "$workflow" succeeded
    causes=$(phasectl cost "$workflow" --json | gojq -r '[.costs[].cause] | sort | join(" ")')
    [[ $causes = *failed*useful* ]]
    [[ $(phasectl cost "$workflow") =~ budget:\ 0\.[0-9]+\ of\ 48\ GPU\ hours ]]
    [[ $(phasectl cost "$workflow" --month "$(date +%Y-%m)") != *budget* ]] # it is for the whole workflow
    # The cost is shown beside the expected cost: a second costs $1, so it was more than $2.
    [[ $(phasectl cost) =~ $workflow\ +recovery\ .*\$1\ to\ \$2\ +[0-9]+\ % ]]
    phasectl cost "$workflow" | grep -E '^train +[0-9.ms]+ +100 hours +0 %$'
    phasectl cost "$workflow" | grep -E '^total +\$[0-9.]+ +\$1 to \$2 +[0-9]{3,} %$'
    # Nothing is counted twice: the runs and the waiting make up the allocations.
    [ "$(record "SELECT abs((SELECT sum(usd) FROM v_cost WHERE cause <> 'waiting') - (SELECT sum(usd) FROM v_run)) < 0.01")" = 1 ]
    [ "$(phasectl cost --month 1999-12)" = 'nothing has run' ]
    # An older phased took a budget in dollars for a workflow without a price.
    sqlite3 -cmd '.timeout 10000' "$PHASED_HOME/phased.db" \
        "UPDATE phase SET usd_per_node_hour = NULL; UPDATE workflow SET budget = '{\"usd\": 40, \"hours\": 5}'"
    [[ $(phasectl budget "$workflow") = 'budget: $40 (the cost is unknown), 0.'*' of 5 hours ('[0-9]' %)' ]]
}

# planned FIELD: of the phase `train` in the plan of the last submitted file.
planned() {
    phasectl plan "$PHASED_HOME/spec.yaml" --json | gojq -r ".phases[0].$1"
}

@test "a plan says where a workflow fits, when it starts and what it costs, and records nothing" {
    nodes_settle
    phasectl daemon start
    priced '{usd: 100}' |
        sed 's/20000/40/; s/^price:.*/&\nexpect: {usd: [50, 98]}/; s/launch: rank/&\n    expect: {usd: [0.1, 0.2]}/' \
            >"$PHASED_HOME/spec.yaml"
    phasectl plan "$PHASED_HOME/spec.yaml" >"$PHASED_HOME/plan"
    grep -E '^train +h100:1 +preempt \(2 of 2 idle\) +at once +30m00s a job +\$1800.00 a job +\$0.10 to \$0.20$' "$PHASED_HOME/plan"
    grep -E '^the sum is unknown: phases with a checkpoint may need several jobs \(expected: \$50 to \$98\)' "$PHASED_HOME/plan"
    grep 'warning: train: partition preempt: .* get 5 s (GraceTime), and saving may take 10 s' "$PHASED_HOME/plan"
    grep -F 'warning: it may cost $1800.00, and its budget is $100' "$PHASED_HOME/plan"
    [ "$(record 'SELECT count(*) FROM workflow')" = 0 ]
    [ -z "$(squeue -h)" ]

    workflow=$(phasectl submit "$PHASED_HOME/spec.yaml" | grep -oE '[0-9]+' | head -n 1)
    eventually 60 state "$workflow" succeeded
    [ "$(planned similar)" = 1 ]
    [ "$(planned 'seconds | . > 0 and . < 1800')" = true ]
    [[ $(planned 'dangers[]') = *'similar runs took $'*', more than the $0.10 to $0.20 that are expected'* ]]

    # A phase without a cost leaves the sum known.
    sed 's/^phases:.*/&\n  fetch: {resources: {cpus: 1, time: 5m}, run: "true"}/' "$PHASED_HOME/spec.yaml" >"$PHASED_HOME/free.yaml"
    [ "$(phasectl plan "$PHASED_HOME/free.yaml" --json | gojq '.cost_usd > 0')" = true ]

    sed -i 's/h100:1/h200:8/' "$PHASED_HOME/spec.yaml"
    run phasectl plan "$PHASED_HOME/spec.yaml"
    [ "$status" = 1 ]
    [[ $output = *'error: train: no partition has nodes with 8 h200'* ]]
    [[ $output = *'error: Slurm refuses train: '* ]]

    # A message for several phases is printed once, with their names.
    cat >"$PHASED_HOME/spec.yaml" <<'SPEC'
name: nowhere
slurm: {partition: gone}
phases:
  a: {resources: {cpus: 1, time: 1h}, run: echo}
  b: {resources: {cpus: 2, time: 1h}, run: echo}
  c: {resources: {cpus: 1, time: 1h}, slurm: {partition: prod}, run: echo}
  d: {resources: {cpus: 1, time: 1h}, run: echo}
  e: {resources: {cpus: 1, time: 1h}, run: echo}
SPEC
    run phasectl plan "$PHASED_HOME/spec.yaml"
    [ "$status" = 1 ]
    [ "$(grep -c '^error: ' <<<"$output")" = 2 ]
    [[ $output = *'error: a, b, d and 1 more: there is no partition gone; it fits partition '* ]]

    sed -i 's/^phases:/phasse:/' "$PHASED_HOME/spec.yaml"
    run phasectl plan "$PHASED_HOME/spec.yaml"
    [ "$status" = 1 ]
    [[ $output = *'spec.yaml:'*'phasse'* ]]
}

@test "a wrong budget is refused" {
    phasectl daemon start
    workflow=$(training | submit --hold)
    run phasectl budget "$workflow" --usd 0
    [ "$status" = 2 ]
    run phasectl budget "$workflow/train" --usd 5
    [ "$status" = 2 ]
    run curl -s --unix-socket "$PHASED_HOME/phased.sock" -d '{"euro": 5}' "http://phased/v1/workflows/$workflow/budget"
    [[ $output == *'usd, gpu_hours and hours must be numbers above 0'* ]]
    run phasectl budget "$workflow" --usd 5
    [ "$status" = 1 ]
    [[ $output = *"workflow $workflow has no price, so phased cannot count its dollars: give a budget in GPU hours or hours instead" ]]
    run phasectl budget 999 --usd 5
    [ "$status" = 1 ]
}

# spends_at_most SECONDS: the workflows have cost at most this much GPU time.
spends_at_most() {
    phasectl cost --json | gojq -e --argjson most "$1" '[.costs[].gpu_seconds] | add <= $most'
}

@test "setting the clock neither bills a run nor holds it by its budget" {
    local library=(/usr/lib*/*/faketime/libfaketimeMT.so.1)
    [ -e "${library[0]}" ] || skip "there is no libfaketime"
    echo +0 >"$PHASED_HOME/clock"
    env LD_PRELOAD="${library[0]}" FAKETIME_TIMESTAMP_FILE="$PHASED_HOME/clock" \
        FAKETIME_CACHE_DURATION=1 FAKETIME_DONT_FAKE_MONOTONIC=1 NO_FAKE_STAT=1 phasectl daemon start
    clock_was_set() { [ "$(grep -c 'the clock was set' "$PHASED_HOME/phased.log")" = "$1" ]; }
    local times=0 set_to workflow step
    for set_to in +4d +0; do # the second run begins while the clock is four days ahead
        workflow=$(training | sed 's/^name:.*/&\nbudget: {gpu_hours: 2}/; s/iterations: 150/iterations: 5000/' | submit)
        eventually 60 past "$workflow/train" 1
        echo "$set_to" >"$PHASED_HOME/clock"
        times=$((times + 1))
        eventually 60 clock_was_set "$times"
        step=$(phasectl status "$workflow/train" --json | gojq .step)
        eventually 60 past "$workflow/train" "$((step + 100))" # the budget was looked at meanwhile
        phasectl cancel "$workflow"
        eventually 60 state "$workflow" cancelled
    done
    spends_at_most 3600 # not the four days
    [ "$(record "SELECT count(*) FROM run WHERE ended - started BETWEEN 5000 AND 3600000")" = 2 ]
}
