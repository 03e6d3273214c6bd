#!/usr/bin/env bats
# The workflow files that come along, with phase-model in the place of their programs: to their end,
# preempted once on the way; and held by their gates where these fail. The trainings are longer than
# in the files only so that there is time to preempt them.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$SRC/etc/workflows" || return 1
}
teardown() { home_down; }

# stand_in FILE [PARAM=VALUE...]: submits it; prints its number.
stand_in() {
    local file=$1 sets=() set
    shift
    for set; do sets+=(--set "$set"); done
    phasectl submit "$file.yaml" --with stand_in "${sets[@]}" 2>/dev/null | sed -n 's/^workflow \([0-9]*\) .*/\1/p'
}

# Whether the newest run of a phase has made steps, and has saved what it can go on from.
is_under_way() {
    phasectl status "$1" --json | jq -e '.run.state == "running" and .step > 20 and .checkpoint != null'
}

# preempted_once NUMBER PHASE: the workflow is preempted in this phase, goes on from a checkpoint and
# succeeds. One after the other: each is caught while it runs, however fast the machine is.
preempted_once() {
    eventually 60 is_under_way "$1/$2"
    srun -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor true
    eventually 90 state "$1" succeeded
    [ "$(record "SELECT group_concat(outcome, ' ') FROM run JOIN phase ON phase.id = run.phase
                 WHERE phase.workflow = $1 AND phase.name = '$2'")" = 'preempted succeeded' ]
    [ "$(record "SELECT resume_step > 0 FROM run JOIN phase ON phase.id = run.phase
                 WHERE phase.workflow = $1 AND phase.name = '$2' AND attempt = 2")" = 1 ]
    [ "$(record "SELECT count(*) FROM phase WHERE workflow = $1 AND state <> 'succeeded'")" = 0 ]
}

@test "every file is good, with each of its variants" {
    local file
    for file in *.yaml; do
        run phasectl check "$file"
        [ "$status" = 0 ]
        [ "$(wc -l <<<"$output")" = 1 ] # and nothing is warned of
    done
}

@test "bd3lm and hdp-diffusion: trained, preempted, resumed, evaluated" {
    phasectl daemon start
    [ "$(stand_in bd3lm-h200 MAX_STEPS=900)" = 1 ]
    preempted_once 1 train
    # Pace and cost are held against the baseline that the file has.
    [ "$(phasectl gate 1/train --json | jq -r '[.checks[] | select(.name == "faster" or .name == "saving") | .outcome] | join(" ")')" = 'passed passed' ]
    [ "$(stand_in hdp-diffusion-h200 MAX_STEPS=900)" = 2 ]
    preempted_once 2 train
}

@test "latentwire and h100-mfu: quick wins first; no step after the goal" {
    phasectl daemon start
    [ "$(stand_in latentwire train.samples=8000)" = 1 ]
    preempted_once 1 train
    [ "$(stand_in h100-mfu target=2.3 max_steps=4000)" = 2 ]
    preempted_once 2 train
    [[ "$(phasectl status 2/train --json | jq -r .runs[0].message)" = "until holds: "* ]]
    [ "$(phasectl status 2/train --json | jq -r '.step < .total')" = true ]
    # The program prints no samples/s: they come of the pace of its steps.
    [ "$(record "SELECT count(*) > 0 FROM v_metric WHERE address LIKE '1/train#%' AND name = 'samples_per_s'")" = 1 ]
    # What `median(quick_wins.tok_sec)` is compared with came from the phase before.
    [ "$(phasectl gate 1/train --json | jq -r '.checks[] | select(.name == "faster") | .outcome')" = passed ]
}

@test "prompt-distillation: TP=4 writes what DP=8 is trained on" {
    phasectl daemon start
    [ "$(stand_in prompt-distillation train.iterations=800)" = 1 ]
    preempted_once 1 train
    local runs=$PHASED_HOME/runs/1
    [ "$(wc -l <"$runs/generate/out/data.jsonl")" = 24 ]
    # What was generated is the beginning of what was trained on.
    cmp -n 200 <(jq -r '.prompt + .text' "$runs/generate/out/data.jsonl") "$runs/convert/out/train.txt"
    [ "$(record "SELECT nodes * gpus_per_node FROM phase WHERE name = 'generate'")" = 4 ]
    [ "$(find "$runs/train/2/log" -name 'rank-*.log' | wc -l)" = 8 ]
}

@test "trm-two-phase: validated, promoted, and production preempted" {
    phasectl daemon start
    [ "$(stand_in trm-two-phase production.iterations=800)" = 1 ]
    preempted_once 1 production
    [ "$(phasectl status 1 --json | jq -c .variants)" = '["stand_in"]' ]
    # Derived and real params reach the program as they stand in the file.
    [ "$(jq -c ".spec.params | [.weight_base, .embedding_lr, .total_batch_size] | $as_numbers" \
        "$PHASED_HOME/runs/1/production/1/run.json")" = '[10,0.1,2048]' ]
    grep -q 'loops weighted 0.0009' "$PHASED_HOME/runs/1/production/1/log/rank-0.log"
}

@test "hdp-diffusion: a loss that does not fall is begun anew with the guide's learning rate" {
    phasectl daemon start
    [ "$(stand_in hdp-diffusion-h200 train.LR=8 WARMUP_STEPS=1 MAX_STEPS=200)" = 1 ]
    eventually 90 state 1 succeeded
    # Its guard stops it, or its gate refuses it where it was too fast for a guard.
    [[ "$(record 'SELECT cause FROM remedy')" = @(learns|falling) ]]
    [ "$(jq -c "[.spec.params.LR, .resume] | $as_numbers" "$PHASED_HOME/runs/1/train/2/run.json")" = '[0.0003,null]' ]
}

# held_by NUMBER PHASE CHECK: the gate holds this phase because of this check, and nothing after it began.
held_by() {
    eventually 90 state "$1/$2" held
    [ "$(phasectl status "$1/$2" --json | jq -r .hold)" = gate ]
    [ "$(phasectl gate "$1/$2" --json | jq -r ".checks[] | select(.name == \"$3\") | .outcome")" = failed ]
    [ "$(record "SELECT count(*) FROM phase JOIN edge ON edge.phase = phase.id JOIN phase AS b ON b.id = edge.after
                 WHERE b.workflow = $1 AND b.name = '$2' AND phase.attempts > 0")" = 0 ]
}

@test "gates that fail hold each of them, after their remedies" {
    phasectl daemon start
    [ "$(stand_in trm-two-phase validate.matrix_lr=0.00001 validate.iterations=60)" = 1 ]
    [ "$(stand_in prompt-distillation shortest=1000)" = 2 ]
    [ "$(stand_in bd3lm-h200 MAX_STEPS=60 nll_goal=0.1)" = 3 ]
    [ "$(stand_in hdp-diffusion-h200 MAX_STEPS=60 nll_goal=0.1)" = 4 ]
    [ "$(stand_in latentwire quick_wins.goal_util=1e9)" = 5 ]
    [ "$(stand_in h100-mfu target=0.5 max_steps=40)" = 6 ]
    held_by 1 validate grad_high
    held_by 2 generate success
    held_by 3 evaluate nll
    held_by 4 evaluate nll
    held_by 5 quick_wins busy
    held_by 6 train target
    # The remedies were tried first, with the variant still over the file.
    [ "$(record 'SELECT count(*) FROM remedy')" = 2 ]
    [[ "$(record "SELECT changes FROM remedy WHERE cause = 'success'")" = *temperature* ]]
    [ "$(jq -c .spec.run "$PHASED_HOME/runs/2/generate/2/run.json" | grep -c phase-model)" = 1 ]
}
