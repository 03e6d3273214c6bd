#!/usr/bin/env bats
# phasectl: what all verbs share (several addresses, JSON), and the verbs that compare, draw and
# look after a run.
# One daemon with one sandbox serves all tests.

bats_require_minimum_version 1.5.0
load phased.bash

# Three workflows of one phase that prints steps. The first has ended. The second goes on until the
# last test removes the file `stay`, and prints another step when it finds the file `more`. The
# third waits at step 8,400 until it is stopped, and then resumes from its checkpoint.
setup_file() {
    export FOLDER PHASED_HOME
    FOLDER=$(mktemp -d /tmp/phased-test-XXXXXX)
    PHASED_HOME=$FOLDER/home
    unset SLURM_CONF NO_COLOR
    cd "$FOLDER" || return
    phasectl sandbox start --nodes 1 >sandbox.out
    phasectl daemon start >daemon.out
    program >steps.yaml
    program | sed 's/steps: 10/steps: 20/' >stay.yaml
    resuming >resuming.yaml
    touch stay
    phasectl submit steps.yaml stay.yaml resuming.yaml >submitted.out
    phasectl watch 1 >watched.out
    eventually 60 first_job_has_ended # until then its costs change
    eventually 60 past 2/train 19
}

teardown_file() {
    is_of_test "${FOLDER:-}" || return 0
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
    resources: {gpus: h100:1, time: 1h}
    launch: rank
    preflight: off
    params: {steps: 10}
    run: |
      for step in \$(seq \$steps); do
        echo "step \$step | loss \$((100 / step))"
      done
      while [ \$steps = 20 ] && [ -e $FOLDER/stay ]; do
        [ ! -e $FOLDER/more ] || { rm $FOLDER/more; echo "step 21 | loss 4"; }
        sleep 0.2
      done
    progress: {step: step, total: \$steps}
    gate:
      low: {value: last(loss), at_most: 20}
YAML
}

resuming() {
    cat <<'YAML'
name: resuming
phases:
  train:
    resources: {gpus: h100:1, time: 1h}
    launch: rank
    preflight: off
    checkpoint: {path: "$PHASED_OUT/step-{step}"}
    run: |
      first=8399
      [ -z "$PHASED_RESUME" ] || first=$((${PHASED_RESUME##*-} + 1))
      trap 'echo saved >"$PHASED_OUT/step-$step"; exit 0' TERM
      for step in $(seq $first 8402); do
        echo "step $step | loss 2"
        while [ -z "$PHASED_RESUME" ] && [ $step = 8400 ]; do sleep 0.1; done
      done
    progress: {step: step, total: 8402}
  evaluate:
    after: train
    resources: {gpus: h100:1, time: 1h}
    launch: rank
    preflight: off
    run: echo 'step 1 | score 5'
YAML
}

first_job_has_ended() {
    [ "$(record 'SELECT ended IS NOT NULL FROM job WHERE id = 1')" = 1 ]
}

# --- What all verbs share ------------------------------------------------------------------------

@test "several addresses are answered one by one, and a wrong address does not stop the others" {
    local verb
    for verb in status why show gate gpus runs cost budget; do
        run -1 --separate-stderr phasectl "$verb" 99 1 98 2
        [ "$(grep -c '^phasectl: no workflow 9[89]$' <<<"$stderr")" = 2 ] || fail "$verb: $stderr"
        phasectl "$verb" 1 >first.out
        [ -s first.out ]
        [ "$(grep -cFf first.out <<<"$output")" -ge "$(wc -l <first.out)" ] || fail "$verb: $(cat first.out) | $output"
    done
    run -0 phasectl cost 1 2
    [ "$(grep -c '^workflow [12]  steps$' <<<"$output")" = 2 ]
    run -0 phasectl budget 1 2 --usd 5000
    [[ ${lines[0]} = 'workflow 1  budget: $'*' of $5000 '* ]]
    [[ ${lines[1]} = 'workflow 2  budget: $'*' of $5000 '* ]]
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
        [[ $verb =~ ^(top|attach|mcp)$ ]] || phasectl "$verb" --help | grep -q -- '^ *--json' || without+=" $verb"
    done
    [ -z "$without" ] || fail "without --json:$without"
}

@test "--json prints JSON, even for wrong files" {
    sed 's/at_most/at_mots/' steps.yaml >wrong.yaml
    printf '#!/bin/bash\n#SBATCH --gres=gpu:h100:1 --time=5\n#SBATCH --job-name=old\ntrue\n' >old.sbatch
    echo 'torch.OutOfMemoryError: CUDA out of memory.' >oom.log
    [ "$(phasectl check steps.yaml --json | gojq -c '[.good, .problems, .workflow.name]')" = '[true,[],"steps"]' ]
    run -1 --separate-stderr phasectl check wrong.yaml --json
    [ -z "$stderr" ]
    [ "$(gojq -c '[.good, .workflow, .problems[0].severity]' <<<"$output")" = '[false,null,"error"]' ]
    [ "$(gojq '.problems[0].line' <<<"$output")" = "$(grep -n at_mots wrong.yaml | cut -d: -f1)" ]
    run -2 phasectl check steps.yaml --json --print
    [ "$(phasectl import old.sbatch --json | gojq -r .spec | head -n 1)" = "$(phasectl import old.sbatch 2>/dev/null | head -n 1)" ]
    phasectl plan steps.yaml --json | gojq -e .fits
    [ "$(phasectl failures oom.log steps.yaml --json | gojq -c '[.[] | .failure.cause]')" = '["oom",null]' ]
    [ "$(phasectl why 1 --json | gojq -c '[.phase.address, .gate.decided, .run]')" = '["1/train","passed",null]' ]
    [ "$(phasectl budget 2 --json | gojq .workflow)" = 2 ]
    [ "$(phasectl nodes add n1 --json)" = "$(phasectl nodes clear n1 --json)" ]
    [ "$(phasectl daemon start --json | gojq .pid)" = "$(phasectl daemon status --json | gojq .pid)" ]
    [ "$(phasectl sandbox status --json | gojq .running)" = true ]
    PHASED_HOME=$FOLDER/nobody run -3 phasectl sandbox status --json
    [ "$(gojq .running <<<"$output")" = false ]
    [ "$(PHASED_HOME=$FOLDER/nobody phasectl daemon stop --json | gojq .stopped)" = false ]
    local id
    id=$(phasectl submit --hold steps.yaml --json | gojq '.workflows[0].workflow')
    [ "$(phasectl cancel "$id" --json | gojq -c .phases)" = "[\"$id/train\"]" ]
}

@test "the address of a phase or a run that does not exist is refused" {
    local verb
    for verb in status why show gate gpus runs cost logs metrics events; do
        run -1 --separate-stderr phasectl "$verb" 1/zz
        [ "$stderr" = 'phasectl: no phase 1/zz; workflow 1 has train' ] || fail "$verb: $stderr $output"
        run -1 --separate-stderr phasectl "$verb" 1/train#9
        [[ $stderr = 'phasectl: no run 1/train#9'* ]] || fail "$verb: $stderr $output"
    done
}

@test "rehearse --json prints only the report" {
    [ "$(phasectl rehearse steps.yaml --steps 3 --json | gojq -c '[.problems, .phases[0].phase, .phases[0].lines[0].what, .seconds_known]')" = '[0,"train","metrics",true]' ]
}

# --- Watching ------------------------------------------------------------------------------------

@test "watch prints the checks of a gate only below the decision of their run" {
    local id
    echo 30 >loss
    cat >again.yaml <<YAML
name: again
phases:
  train:
    resources: {gpus: h100:1, time: 1h}
    launch: rank
    preflight: off
    run: echo "step 1 | loss \$(cat $FOLDER/loss)"
    gate: {low: {value: last(loss), at_most: 20}}
YAML
    id=$(phasectl submit again.yaml --json | gojq '.workflows[0].workflow')
    eventually 60 state "$id" held
    echo 10 >loss
    phasectl retry "$id/train"
    eventually 60 state "$id" succeeded
    run -0 phasectl watch "$id"
    [ "$(grep -c '^ *low  *[13]0  *at most 20 ' <<<"$output")" = 1 ]
    grep -A2 'gate passed: 1 check$' <<<"$output" | grep -q '^ *low  *10  *at most 20  .*  passed$'
}

@test "watch prints checkpoints, resumes and promotions, on a terminal too" {
    eventually 60 past 3/train 8399
    phasectl hold 3/train
    eventually 60 state 3/train held
    phasectl release 3
    run -0 phasectl watch 3
    [[ $output = *'  train         checkpoint: step 8400'$'\n'* ]]
    [[ $output = *'  train         run running: on n1 (job '*'); goes on from step 8,400'$'\n'* ]]
    [[ $output = *'  train         promoted without a gate: evaluate '* ]]
    TERM=xterm run -0 script -qec 'phasectl watch 3' /dev/null
    [[ $output = *'checkpoint: step 8400'* ]]
    [[ $output = *'goes on from step 8,400'* ]]
    [[ $output = *'promoted without a gate: evaluate '* ]]
}

@test "watch follows several workflows, and prints events as JSON" {
    run -1 --separate-stderr phasectl watch 1 3/train 99 3/evaluate
    [ "$stderr" = 'phasectl: no workflow 99' ]
    [[ $output = *' earlier events'* ]]
    [[ $output = *'  3/evaluate    '* ]]
    [ "$(grep -c '^workflow [13] (.*) succeeded' <<<"$output")" = 2 ]
    phasectl watch 1 3 --json >events.json
    [ "$(gojq -s 'map(.event) == (map(.event) | sort) and (map(.workflow) | unique == [1, 3])' events.json)" = true ]
    [ "$(gojq -c 'select(.workflow == 1 and .type == "phase") | .to' events.json)" = $'"queued"\n"active"\n"deciding"\n"succeeded"' ]
}

@test "runs shows the runs of a phase, or the one run of an address" {
    [ "$(phasectl runs 3/train --json | gojq -c '[.[].address]')" = '["3/train#2","3/train#1"]' ]
    [ "$(phasectl runs 3/train#1 --json | gojq -c '[.[].address]')" = '["3/train#1"]' ]
    run -0 phasectl runs 3/train#2
    [[ $output = *'3/train#2'* && $output != *'3/train#1'* ]]
}

# --- Logs ----------------------------------------------------------------------------------------

# Replaces the times before the lines by a word.
timeless() {
    sed -E 's/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{12}Z /TIME /'
}

@test "logs prints only the lines that its options ask for" {
    [ "$(phasectl logs 1 | timeless | head -n 2)" = $'TIME step 1 | loss 100\nTIME step 2 | loss 50' ]
    [ "$(phasectl logs 1 --no-time --tail 2)" = $'step 9 | loss 11\nstep 10 | loss 10' ]
    [ "$(phasectl logs 1 --no-time --grep 'loss (100|5)' -n 2)" = $'step 1 | loss 100\nstep 2 | loss 50' ]
    [ "$(phasectl logs 1 --grep '^step 3 ' --since 1h | timeless)" = 'TIME step 3 | loss 33' ]
    [ -z "$(phasectl logs 1 --since 2999-01-01)" ]
    local last
    last=$(phasectl logs 1 --tail 1)
    [ "$(phasectl logs 1 --since "${last%% *}" | tail -n 1)" = "$last" ]
    phasectl events 1 --since "${last%% *}" | gojq -e 'select(.to == "succeeded")'
    [ -z "$(phasectl logs 1 --since 2999-01-01T00:00:00.250Z)" ]
    local wrong
    for wrong in 2026-11-30T19:15:51. 2026-11-30T19:15:51.082 2026-11-30T19:15:51.082Zz; do
        run -2 phasectl logs 1 --since "$wrong"
    done
    [ "$(phasectl logs 1 --no-time --rank all --tail 1)" = '[0] step 10 | loss 10' ]
    [ "$(phasectl logs 1 --json --tail 1 | gojq -c '[.run, .rank, .line, .time > 1e9]')" = '["1/train#1",0,"step 10 | loss 10",true]' ]
    run -2 phasectl logs 1 --since yesterday
    [[ $output = *"--since wants a duration"* ]]
    run -2 phasectl logs 1 --grep '['
    [[ $output = *"'[' is not a regular expression"* ]]
}

@test "logs of several runs begin with the names of the runs" {
    run -1 --separate-stderr phasectl logs 1 99 2 --no-time --tail 1
    [ "$output" = $'==> 1/train#1 <==\nstep 10 | loss 10\n==> 2/train#1 <==\nstep 20 | loss 5' ]
    [ "$stderr" = 'phasectl: no workflow 99' ]
}

@test "logs also reads the files that were set aside when a log was full" {
    local log=$PHASED_HOME/runs/1/train/1/log
    cp "$log/rank-0.log" kept.log
    echo '2020-01-01T00:00:00.000Z the beginning' >"$log/rank-0.first.log"
    echo '2020-01-02T00:00:00.000Z the middle' >"$log/rank-0.previous.log"
    run -0 --separate-stderr phasectl logs 1 --no-time --tail 12
    [[ $output = $'the beginning\nthe middle\nstep 1 '*'loss 10' ]]
    run -0 --separate-stderr phasectl logs 1
    [[ $stderr = *"the log of rank 0 is long: lines between its beginning and its newest part may be missing" ]]
    [ "$(phasectl logs 1 --since 2020-01-02 --no-time | head -n 1)" = 'the middle' ]
    rm "$log/rank-0.first.log" "$log/rank-0.previous.log"
    cmp "$log/rank-0.log" kept.log
}

# --- Metrics -------------------------------------------------------------------------------------

@test "metrics draws the curves of several runs, and prints them as CSV" {
    run -1 --separate-stderr phasectl metrics 1 99 2 --plot
    [ "$stderr" = 'phasectl: no workflow 99' ]
    [ "${lines[0]}" = loss ]
    [[ $output =~ \ +a\ 1/train\ \ 10.*\ +b\ 2/train\ \ 5$ ]]
    [ "$(phasectl metrics 1 2 --csv --name loss | sed -n '1p; 2p; 12p')" = $'run,step,loss\n1/train,1,100\n2/train,1,100' ]
    [ "$(phasectl metrics 1 2 --csv --last 1 --name loss | tail -n +2)" = $'1/train,10,10\n2/train,20,5' ]
    run -2 phasectl metrics 1 --csv --json
    [[ $output = *"exclude each other"* ]]
}

@test "metrics --png uses gnuplot, and says so if gnuplot is missing" {
    run -1 --separate-stderr env PATH="$BIN" "$BIN/phasectl" metrics 1 --png picture.png
    [[ $stderr = "phasectl: --png needs gnuplot, which is not installed"* ]]
    mkdir fake
    printf '#!/bin/sh\necho picture; cat >"$FOLDER/script"\n' >fake/gnuplot
    chmod +x fake/gnuplot
    PATH=$FOLDER/fake:$PATH phasectl metrics 1 2 --png picture.png
    [ "$(cat picture.png)" = picture ]
    [ "$(sed -n '/^plot/p' script)" = "plot \$run_0 using 1:2 with lines title '1/train', \$run_1 using 1:2 with lines title '2/train'" ]
    printf '#!/bin/sh\necho "line 3: no" >&2; exit 1\n' >fake/gnuplot
    PATH=$FOLDER/fake:$PATH run -1 --separate-stderr phasectl metrics 1 --png other.png
    [ "$stderr" = 'phasectl: gnuplot made no picture: line 3: no' ]
    [ ! -e other.png ]
    if command -v gnuplot; then
        phasectl metrics 1 2 --png real.png
        [ "$(head -c 4 real.png | tail -c 3)" = PNG ]
    fi
}

# --- Comparing -----------------------------------------------------------------------------------

@test "diff shows the differences between two submissions, and between their results" {
    run -0 phasectl diff 1 2
    [[ $output =~ PARAM\ +1\ +2$'\n'train\.steps\ +10\ +20$'\n' ]]
    [[ $output =~ phases\.train\.progress\.total\ +10\ +20$'\n' ]]
    [[ $output =~ $'\n'train\ +state\ +succeeded\ +active ]]
    [[ $output != *running* ]]
    [[ $output =~ $'\n'\ +loss\ +10\ +5\ +-50\.0\ %$'\n' ]]
    [[ $output =~ $'\n'\ +cost\ +[\$\<] ]]
    phasectl diff 1/train 3/train >phases.out
    grep -qxE '  - for step in \$\(seq \$steps\); do' phases.out
    grep -qxE 'steps +10 +-' phases.out
    run -0 phasectl diff 3/train#1 3/train#2
    [[ $output = 'the same was submitted'* ]]
    [[ $output =~ outcome\ +held\ +succeeded ]]
    [ "$(phasectl diff 1 2 --json | gojq -c '[.params, .figures.right.train.metrics.loss + 0]')" = '[[{"left":10,"path":"train.steps","right":20}],5]' ]
    run -2 phasectl diff 1 2/train
    [[ $output = *"compare two workflows, two phases or two runs, not 1 and 2/train"* ]]
    run -1 --separate-stderr phasectl diff 1 99
    [ "$stderr" = 'phasectl: no workflow 99' ]
}

# --- Attaching -----------------------------------------------------------------------------------

@test "attach runs a program or a shell beside the ranks" {
    local job
    job=$(phasectl status 2/train --json | gojq .run.job_id)
    # shellcheck disable=SC2016
    run -0 --separate-stderr phasectl attach 2 -- sh -c 'echo "$SLURM_JOB_ID $SLURMD_NODENAME $PWD $PHASED_OUT"'
    [ "$output" = "$job n1 $FOLDER $PHASED_HOME/runs/2/train/out" ]
    run -7 phasectl attach 2/train#1 --node n1 -- sh -c 'exit 7'
    # shellcheck disable=SC2016
    printf '#!/bin/sh\necho "a shell in $SLURM_JOB_ID on $(tty)"\n' >shell
    chmod +x shell
    TERM=xterm script -qec "SHELL=$FOLDER/shell phasectl attach 2/train" /dev/null </dev/null >shell.out
    grep -q "a shell in $job on /dev/" shell.out # the terminal may echo the end of the input before
}

@test "attach says why it cannot attach to a run" {
    local waiting held job
    refused() {
        run -1 --separate-stderr phasectl attach "${@:2}"
        [[ $stderr = "phasectl: $1" ]] || fail "$stderr"
    }
    sed 's/h100:1/h100:8/' steps.yaml >large.yaml
    waiting=$(phasectl submit large.yaml --json | gojq '.workflows[0].workflow')
    held=$(phasectl submit --hold steps.yaml --json | gojq '.workflows[0].workflow')
    refused '1/train#1 has ended (succeeded): attach to a run that is running' 1
    refused '2/train#1 does not run on n9; its nodes are n1' 2 --node n9
    refused 'no workflow 99' 99
    refused "$held/train has no run yet: \`phasectl why $held/train\` says what it waits for" \
        "$held/train"
    in_queue() { [ "$(phasectl status "$1/train" --json | gojq -r .run.job_reason)" = Resources ]; }
    eventually 60 in_queue "$waiting"
    job=$(phasectl status "$waiting/train" --json | gojq .run.job_id)
    refused "$waiting/train#1 waits in the queue of Slurm as job $job (Resources): attach when it runs" "$waiting"
    phasectl cancel "$waiting" "$held"
    run -1 --separate-stderr env PATH="$BIN" SLURM_CONF="$PHASED_HOME/sandbox/slurm.conf" "$BIN/phasectl" attach 2
    [[ $stderr = 'phasectl: cannot run srun: '* ]]
    run -2 phasectl attach 2 9
}

# --- Without the daemon, and the end of the second workflow --------------------------------------

# prints PATTERN COMMAND...: whether the command prints a line that matches.
prints() {
    local pattern=$1
    shift
    "$@" | grep -qE "$pattern"
}

@test "logs and metrics work without a daemon, and during a run" {
    local runs=$PHASED_HOME/runs before
    before=$(phasectl metrics 1)
    phasectl daemon stop
    run -0 --separate-stderr phasectl logs 1 --no-time --tail 1
    [ "$output" = 'step 10 | loss 10' ]
    [ "$stderr" = "phasectl: no daemon is running for $PHASED_HOME; reading the files of runs" ]
    [ "$(phasectl metrics 1/train 2>/dev/null)" = "$before" ]
    mv "$runs/1" "$runs/gone" # the record has the metrics
    [ "$(phasectl metrics 1 2>/dev/null)" = "$before" ]
    run -1 --separate-stderr phasectl logs 1
    [[ $stderr = *"1/train#1 has no logs yet" ]]
    mv "$runs/gone" "$runs/1"
    run -1 --separate-stderr phasectl metrics 99
    [[ $stderr = *"no run of 99 is known" ]]

    touch more # the daemon has not read this step
    eventually 60 prints '^ +21 +4$' phasectl metrics 2 --last 1 --name loss
    rm stay
    phasectl logs 2/train#1 --follow --no-time --tail 1 2>/dev/null >followed.out
    [ "$(tail -n 1 followed.out)" = 'step 21 | loss 4' ]
    phasectl daemon start
    phasectl watch 2
}

@test "logs follows several runs until they end" {
    run -1 --separate-stderr timeout 60 phasectl logs 1 99 2 --follow --no-time --tail 1
    [ "$(sort <<<"$output")" = $'[1/train#1] step 10 | loss 10\n[2/train#1] step 21 | loss 4' ]
}

@test "logs --follow prints the lines of runs that end sooner than it asks for them" {
    local id
    cat >soon.yaml <<YAML
name: soon
phases:
  first:
    resources: {gpus: h100:1, time: 1h}
    launch: rank
    preflight: off
    params: {micro_batch: 8}
    remedies: {oom: {times: 2, set: {micro_batch: micro_batch / 2}, resume: start}}
    run: |
      echo "batch \$micro_batch"
      until [ -e $FOLDER/go ]; do sleep 0.1; done
      [ \$micro_batch = 2 ] || { echo 'torch.OutOfMemoryError: CUDA out of memory.'; exit 1; }
  second: {extends: first, after: first}
YAML
    id=$(phasectl submit soon.yaml --json | gojq '.workflows[0].workflow')
    eventually 60 prints batch phasectl logs "$id"
    phasectl logs "$id/first" --follow --no-time --grep batch >phase.out 2>phase.err 3>&- &
    local of_phase=$!
    phasectl logs "$id" --follow --no-time --grep batch >workflow.out 2>workflow.err 3>&- &
    local of_workflow=$!
    eventually 60 grep batch phase.out
    eventually 60 grep batch workflow.out
    kill -STOP $of_phase $of_workflow # until all runs have ended
    touch go
    eventually 90 state "$id" succeeded
    kill -CONT $of_phase $of_workflow
    wait $of_phase
    wait $of_workflow
    [ "$(cat phase.out)" = $'batch 8\nbatch 4\nbatch 2' ]
    [ "$(cat workflow.out)" = $'batch 8\nbatch 4\nbatch 2\nbatch 8\nbatch 4\nbatch 2' ]
    [ "$(cat phase.err)" = $"phasectl: now $id/first#2"$'\n'"phasectl: now $id/first#3" ]
}
