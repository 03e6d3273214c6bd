#!/usr/bin/env bats
# The example workflow files, with phase-model in place of their programs. They run to their ends
# with one preemption, and are held if their gates fail. The trainings pause after each step, only to
# leave time for the preemption.

load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$SRC/etc/workflows" || return 1
}
teardown() { home_down; }

# stand_in FILE [PARAM=VALUE...]: submits the file, and prints the number of the workflow.
stand_in() {
    local file=$1 sets=() set
    shift
    for set; do sets+=(--set "$set"); done
    phasectl submit "$file.yaml" --with stand_in "${sets[@]}" 2>/dev/null | sed -n 's/^workflow \([0-9]*\) .*/\1/p'
}

# Whether the newest run of a phase has made steps, and has saved a checkpoint.
is_under_way() {
    phasectl status "$1" --json | gojq -e '.run.state == "running" and .step > 20 and .checkpoint != null'
}

# preempted_once NUMBER PHASE: the workflow is preempted in this phase, resumes from a checkpoint
# and succeeds. Workflows run one at a time, so that each is preempted while it runs, on a fast
# machine too.
preempted_once() {
    eventually 60 is_under_way "$1/$2"
    # Slurm preempts with SIGCONT and SIGTERM. Until then, the training must not come to its end.
    pkill -STOP -f "^phase-model train .*$PHASED_HOME/runs/$1/$2/"
    srun -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor true
    eventually 90 state "$1" succeeded
    [ "$(record "SELECT group_concat(outcome, ' ') FROM run JOIN phase ON phase.id = run.phase
                 WHERE phase.workflow = $1 AND phase.name = '$2'")" = 'preempted succeeded' ]
    [ "$(record "SELECT resume_step > 0 FROM run JOIN phase ON phase.id = run.phase
                 WHERE phase.workflow = $1 AND phase.name = '$2' AND attempt = 2")" = 1 ]
    [ "$(record "SELECT count(*) FROM phase WHERE workflow = $1 AND state <> 'succeeded'")" = 0 ]
}

@test "every example file is good, with each of its variants" {
    local file
    for file in *.yaml; do
        run phasectl check "$file"
        [ "$status" = 0 ]
        [ "$(wc -l <<<"$output")" = 1 ] # and nothing is warned of
    done
}

@test "bd3lm and hdp-diffusion train, are preempted, resume and are evaluated" {
    phasectl daemon start
    [ "$(stand_in bd3lm-h200 MAX_STEPS=200 pace=80)" = 1 ]
    preempted_once 1 train
    # Pace and cost are compared with the baseline in the file.
    [ "$(phasectl gate 1/train --json | gojq -r '[.checks[] | select(.name == "faster" or .name == "saving") | .outcome] | join(" ")')" = 'passed passed' ]
    [ "$(stand_in hdp-diffusion-h200 BATCH_SIZE=2 MAX_STEPS=200 pace=80)" = 2 ]
    preempted_once 2 train
}

@test "latentwire tries quick wins first, and h100-mfu stops at its goal" {
    phasectl daemon start
    [ "$(stand_in latentwire train.samples=1600 train.pace=80)" = 1 ]
    preempted_once 1 train
    [ "$(stand_in h100-mfu target=1.2 max_steps=4000 pace=80)" = 2 ]
    preempted_once 2 train
    [[ "$(phasectl status 2/train --json | gojq -r .runs[0].message)" = "until holds: "* ]]
    [ "$(phasectl status 2/train --json | gojq -r '.step < .total')" = true ]
    # The program prints no samples/s: they are computed from the times of the steps.
    [ "$(record "SELECT count(*) > 0 FROM v_metric WHERE address LIKE '1/train#%' AND name = 'samples_per_s'")" = 1 ]
    # `median(quick_wins.tok_sec)` came from the phase before.
    [ "$(phasectl gate 1/train --json | gojq -r '.checks[] | select(.name == "faster") | .outcome')" = passed ]
}

@test "prompt-distillation generates with TP=4, and trains on the result with DP=8" {
    phasectl daemon start
    [ "$(stand_in prompt-distillation train.iterations=200 pace=80)" = 1 ]
    preempted_once 1 train
    local runs=$PHASED_HOME/runs/1
    [ "$(wc -l <"$runs/generate/out/data.jsonl")" = 24 ]
    # The training text begins with the generated text.
    cmp -n 200 <(gojq -r '.prompt + .text' "$runs/generate/out/data.jsonl") "$runs/convert/out/train.txt"
    [ "$(record "SELECT nodes * gpus_per_node FROM phase WHERE name = 'generate'")" = 4 ]
    [ "$(find "$runs/train/2/log" -name 'rank-*.log' | wc -l)" = 8 ]
}

@test "trm-two-phase validates and is promoted, and its production is preempted and resumes" {
    phasectl daemon start
    [ "$(stand_in trm-two-phase validate.device_batch_size=4 validate.iterations=170 production.iterations=130 \
        production.pace=190)" = 1 ]
    preempted_once 1 production
    [ "$(phasectl status 1 --json | gojq -c .variants)" = '["stand_in"]' ]
    # Derived and real params reach the program with the values of the file.
    [ "$(gojq -c ".spec.params | [.weight_base, .embedding_lr, .total_batch_size] | $as_numbers" \
        "$PHASED_HOME/runs/1/production/1/run.json")" = '[10,0.1,1024]' ]
    grep -q 'loops weighted 0.0009' "$PHASED_HOME/runs/1/production/1/log/rank-0.log"
}

@test "trm-two-phase trains natively: on tokens, with DP=8, and smaller on CPUs" {
    phasectl daemon start
    phasectl submit trm-two-phase.yaml --with native --with small --set device_batch_size=1 --set iterations=70
    eventually 120 state 1 succeeded
    [ "$(record 'SELECT count(*) FROM remedy')" = 0 ]
    [ "$(find "$PHASED_HOME/runs/1/production/1/log" -name 'rank-*.log' | wc -l)" = 8 ]
    # The text is made of tokens, and its bytes are more than those.
    grep -q ' 300 tokens' "$PHASED_HOME/runs/1/prepare/1/log/rank-0.log"
    [ "$(stat -c %s "$PHASED_HOME/runs/1/prepare/out/text")" -gt "$(($(stat -c %s "$PHASED_HOME/runs/1/prepare/out/shard") / 2))" ]
}

@test "hdp-diffusion starts again with the guide's learning rate if the loss does not fall" {
    phasectl daemon start
    [ "$(stand_in hdp-diffusion-h200 train.LR=8 WARMUP_STEPS=1 BATCH_SIZE=2 MAX_STEPS=90)" = 1 ]
    eventually 90 state 1 succeeded
    # Its guard stops the run, or its gate refuses it if the run was too fast for the guard.
    [[ "$(record 'SELECT cause FROM remedy')" = @(learns|falling) ]]
    [ "$(gojq -c "[.spec.params.LR, .resume] | $as_numbers" "$PHASED_HOME/runs/1/train/2/run.json")" = '[0.0003,null]' ]
}

# held_by NUMBER PHASE CHECK: the gate holds this phase because of this check, and no later phase
# began.
held_by() {
    eventually 90 state "$1/$2" held
    [ "$(phasectl status "$1/$2" --json | gojq -r .hold)" = gate ]
    [ "$(phasectl gate "$1/$2" --json | gojq -r ".checks[] | select(.name == \"$3\") | .outcome")" = failed ]
    [ "$(record "SELECT count(*) FROM phase JOIN edge ON edge.phase = phase.id JOIN phase AS b ON b.id = edge.after
                 WHERE b.workflow = $1 AND b.name = '$2' AND phase.attempts > 0")" = 0 ]
}

@test "a failed gate holds each example workflow, after its remedies were tried" {
    phasectl daemon start
    [ "$(stand_in trm-two-phase validate.matrix_lr=0.00002 validate.iterations=60 validate.device_batch_size=2 max_seq_len=16)" = 1 ]
    [ "$(stand_in prompt-distillation shortest=1000)" = 2 ]
    [ "$(stand_in bd3lm-h200 MAX_STEPS=60 nll_goal=0.1)" = 3 ]
    [ "$(stand_in hdp-diffusion-h200 BATCH_SIZE=2 MAX_STEPS=60 nll_goal=0.1)" = 4 ]
    [ "$(stand_in latentwire quick_wins.goal_util=1e9)" = 5 ]
    [ "$(stand_in h100-mfu target=0.5 max_steps=40)" = 6 ]
    held_by 1 validate grad_high
    held_by 2 generate success
    held_by 3 evaluate nll
    held_by 4 evaluate nll
    held_by 5 quick_wins busy
    held_by 6 train target
    # The remedies were tried first, still with the variant over the file.
    [ "$(record 'SELECT count(*) FROM remedy')" = 2 ]
    [[ "$(record "SELECT changes FROM remedy WHERE cause = 'success'")" = *temperature* ]]
    [ "$(gojq -c .spec.run "$PHASED_HOME/runs/2/generate/2/run.json" | grep -c phase-model)" = 1 ]
}
