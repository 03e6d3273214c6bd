#!/usr/bin/env bats
# Runs that hang, on a real Slurm: what comes next, and what a person sees.

load phased

setup_file() {
    sandbox_up
}

teardown_file() {
    sandbox_down
}

setup() {
    home_up
    phasectl daemon start
}

teardown() {
    home_down
}

# A training that saves each step. The first $1 runs hang after three steps.
training() {
    cat <<SPEC
name: hanging
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    hang: 3s
    checkpoint: {path: "\$PHASED_OUT/step_{step}", save_time: 5s}
    progress: {step: step, total: 12}
    run: |
      run=\$(find "\$PHASED_OUT" -name "began_*" | wc -l)
      touch "\$PHASED_OUT/began_\$run"
      echo starting
      for i in 1 2 3; do
        step=\$((\${PHASED_RESUME_STEP:-0} + i))
        echo "step=\$step loss=1"
        echo \$step >"\$PHASED_OUT/step_\$step"
        sleep 0.5
      done
      for i in 1 2 3 4 5; do echo saved; sleep 0.5; done # two looks make a checkpoint whole
      [ \$run -ge $1 ] || exec sleep 1000
SPEC
}

why_says() {
    phasectl why "$1" | grep -qE "$2"
}

@test "the next run after a hang resumes from the newest checkpoint, and why shows what the run did" {
    id=$(training 1 | submit)
    eventually 90 state "$id" succeeded
    [ "$(record "SELECT outcome || ' ' || ifnull(cause, '') || ' ' || resume_step FROM run ORDER BY attempt" | paste -sd,)" = \
        "failed hang -1,succeeded  3" ]
    [ "$(record "SELECT node || ' ' || (silent >= 3) FROM evidence")" = "$(record 'SELECT nodes FROM run LIMIT 1') 1" ]
    why=$(phasectl why "$id/train")
    [[ $why == *"failed: hang"* ]]
    [[ $why == *"no output, metric or checkpoint for "*" s (limit 3 s): on "*" sleep "* ]]
    [[ $why == *"showed nothing for "*" s: sleep "* ]]
    grep -qE '^ +[0-9]+ +S +0% +1 +[0-9]+ +clock_nanosleep.* sleep 1000$' <<<"$why"
}

@test "a phase whose program hangs again and again is held" {
    id=$(training 9 | submit)
    eventually 180 state "$id" held
    [ "$(record "SELECT count(*) FROM run WHERE outcome = 'failed' AND cause = 'hang'")" = 3 ]
    [[ $(phasectl status "$id" --json | gojq -r '.phases[0].reason') == "hang again: no output, metric or checkpoint"* ]]
}

@test "a job that Slurm suspends is not taken for a hanging job" {
    id=$(training 0 | sed 's/^      for .* echo saved.*/      until [ -e "$PHASED_OUT\/go" ]; do sleep 0.5; echo alive; done/' | submit)
    eventually 60 test -e "$PHASED_HOME/runs/$id/train/out/step_3"
    job=$(record 'SELECT slurm_id FROM job')
    scontrol suspend "$job"
    sleep 6 # twice the limit
    scontrol resume "$job"
    touch "$PHASED_HOME/runs/$id/train/out/go"
    eventually 60 state "$id" succeeded
    [ "$(record 'SELECT count(*) FROM run')" = 1 ]
}

@test "why names a straggler while the run goes on" {
    id=$(submit <<'SPEC'
name: slow
phases:
  train:
    resources: {nodes: 2, gpus: h100:1, time: 30m}
    launch: rank
    run: |
      pause=(0.2 1)
      for ((i = 1; ; i++)); do echo "step=$i loss=1"; sleep ${pause[$RANK]}; done
SPEC
)
    eventually 90 why_says "$id/train" '^  warning: n2 is a straggler: .* of what n1 makes'
    [[ $(phasectl status "$id") == *"on n1,n2; warning: n2 is a straggler: "* ]]
    [[ $(phasectl status) == *"  warning: n2 is a straggler: "* ]]
    phasectl cancel "$id"
    eventually 60 state "$id" cancelled
    [[ $(phasectl status "$id") != *warning* ]]
}
