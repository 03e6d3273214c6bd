#!/usr/bin/env bats
# phasectl metrics --tensorboard and --trackio: export.py reads the files that they write.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() { sandbox_up 2; }
teardown_file() { sandbox_down; }
setup() {
    home_up
    cd "$PHASED_HOME" || return
}
teardown() {
    home_down
}

# read_back WORD...: the values in a file, a line each: METRIC STEP VALUE TIME.
read_back() {
    python3 -IS "$SRC/tests/system/export.py" "$@"
}

# Two phases. All numbers of the second phase are finite.
two_phases() {
    cat <<'SPEC'
name: curves
phases:
  odd:
    resources: {nodes: 1, gpus: h100:1, time: 5m}
    launch: rank
    nan_ok: true
    run: printf 'step %s\n' '1 | loss nan' '2 | loss inf' '3 | loss -inf' '4 | loss 0.25 | lr 1e-3'
  even:
    extends: odd
    after: odd
    run: echo 'step 300 | loss 2.5'
SPEC
}

odd_values=$'loss 1 nan\nloss 2 inf\nloss 3 -inf\nloss 4 0.25\nlr 4 0.001'

@test "each phase of a workflow has a curve with its values and times, and a second call does not double them" {
    phasectl daemon start
    workflow=$(two_phases | submit)
    eventually 60 state "$workflow" succeeded
    for _ in 1 2; do
        run -0 phasectl metrics "$workflow" --tensorboard events --trackio curves.db
        [ "$output" = "curves-$workflow/odd: 4 steps"$'\n'"curves-$workflow/even: 1 step" ]
        [ "$(read_back events "events/curves-$workflow/odd" | cut -d' ' -f1-3)" = "$odd_values" ]
        [ "$(read_back events "events/curves-$workflow/even" | cut -d' ' -f1-3)" = 'loss 300 2.5' ]
        [ "$(read_back trackio curves.db "curves-$workflow/odd" | cut -d' ' -f1-3)" = "$odd_values" ]
        [ "$(sqlite3 curves.db 'SELECT count(*) FROM metrics')" = 5 ]
        [ "$(find events -type f -size +0 | wc -l)" = 2 ]
    done
    cmp <(read_back events "events/curves-$workflow/odd") <(read_back trackio curves.db "curves-$workflow/odd")
    [ "$(read_back events "events/curves-$workflow/even" | cut -d' ' -f4)" = \
        "$(record "SELECT printf('%.3f', max(time) / 1000.0) FROM metric")" ]

    # One phase, one run, one metric.
    run -0 phasectl metrics "$workflow/odd" "$workflow/odd#1" --name lr --tensorboard fewer
    [ "$output" = "curves-$workflow/odd: 1 step"$'\n'"curves-$workflow/odd#1: 1 step" ]
    [ "$(read_back events "fewer/curves-$workflow/odd#1" | cut -d' ' -f1-3)" = 'lr 4 0.001' ]
    cmp <(read_back events "fewer/curves-$workflow/odd#1") <(read_back events "fewer/curves-$workflow/odd")

    # From the folders of the runs, whose times have more digits, and from the record alone.
    phasectl daemon stop
    run -0 --separate-stderr phasectl metrics "$workflow" --tensorboard folders
    [[ $stderr = *"no daemon is running"* ]]
    [ "$(read_back events "folders/curves-$workflow/odd" | cut -d' ' -f1-3)" = "$odd_values" ]
    mv runs gone
    phasectl metrics "$workflow" --tensorboard alone
    for phase in odd even; do
        cmp <(read_back events "events/curves-$workflow/$phase") <(read_back events "alone/curves-$workflow/$phase")
    done
    run -1 --separate-stderr phasectl metrics "$workflow/last" --tensorboard none
    [[ $stderr = *"no run of $workflow/last is known"* ]]
    rm phased.db
    run -1 --separate-stderr timeout 60 phasectl metrics "$workflow" --tensorboard none --follow
    [[ $stderr = *"no daemon is running"* ]]
}

@test "the database of another program is left as it is" {
    phasectl daemon start
    workflow=$(two_phases | submit)
    eventually 60 state "$workflow" succeeded
    sqlite3 other.db 'CREATE TABLE other (a); INSERT INTO other VALUES (1)'
    before=$(sha256sum other.db)
    run -1 --separate-stderr phasectl metrics "$workflow" --trackio other.db
    [ "$stderr" = 'phasectl: other.db is a file of another program, not of trackio' ]
    [ "$(sha256sum other.db)" = "$before" ]
    run -1 --separate-stderr phasectl metrics "$workflow" --trackio spec.yaml
    [ "$stderr" = 'phasectl: cannot write spec.yaml: file is not a database' ]

    # Rows of other runs stay, and a table of an older trackio is refused.
    phasectl metrics "$workflow" --trackio kept.db
    sqlite3 kept.db "INSERT INTO metrics (run_id, run_name, timestamp, step, metrics) VALUES ('x', 'x', '2026', 1, '{}')"
    phasectl metrics "$workflow" --trackio kept.db
    [ "$(sqlite3 kept.db 'SELECT count(*) FROM metrics')" = 6 ]
    sqlite3 old.db 'CREATE TABLE metrics (id INTEGER PRIMARY KEY, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)'
    run -1 --separate-stderr phasectl metrics "$workflow" --trackio old.db
    [[ $stderr = 'phasectl: cannot write old.db: '*run_id* ]]
}

# 150 steps with a checkpoint every 60. SIGTERM ends a run at once, so its newest steps are lost. The
# first run waits for SIGTERM after step 100.
forgetful() {
    cat <<'SPEC'
name: forgetful
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: rank
    run: |
      trap 'exit 1' TERM
      step=${PHASED_RESUME_STEP:-0}
      while [ $step -lt 150 ]; do
        [ $step != 100 ] || [ -n "${PHASED_RESUME_STEP:-}" ] || { sleep 600 & wait $!; }
        sleep 0.1 & wait $!
        step=$((step + 1))
        echo "step $step | loss $((1000 - step))"
        [ $((step % 60)) != 0 ] || echo >"$PHASED_OUT/step_$step"
      done
    checkpoint: {path: "$PHASED_OUT/step_{step}", save_time: 5s}
SPEC
}

# has_step STEP: whether the follower has written this step into both files.
has_step() {
    read_back events "events/forgetful-$workflow/train" | grep -q "^loss $1 " &&
        read_back trackio curves.db "forgetful-$workflow/train" | grep -q "^loss $1 "
}

@test "a followed curve grows, survives the daemon, and has each step once after a preemption" {
    phasectl daemon start
    workflow=$(forgetful | submit)
    phasectl metrics "$workflow" --tensorboard events --trackio curves.db --follow >follow.out 2>follow.err &
    follower=$!
    eventually 60 has_step 10
    eventually 60 has_step 62
    eventually 60 grep -q "^forgetful-$workflow/train: " follow.out
    [ "$(phasectl status "$workflow" --json | gojq -r .state)" = running ]
    srun -p prod -N 2 --gres=gpu:h100:8 --job-name=preemptor sleep 2
    daemon_kill
    eventually 60 grep -q 'no daemon is running' follow.err
    phasectl daemon start
    eventually 180 state "$workflow" succeeded
    wait "$follower"
    [ "$(record 'SELECT max(attempt) FROM run')" = 2 ]
    [ "$(record 'SELECT r.last_step > n.resume_step AND n.resume_step > 0 FROM run r, run n
                 WHERE r.attempt = 1 AND n.attempt = 2')" = 1 ]
    [ "$(wc -l <follow.err)" = 1 ]
    [ "$(tail -n 1 follow.out)" = "forgetful-$workflow/train: 150 steps" ]

    # Each step once, and times that never go back.
    read_back events "events/forgetful-$workflow/train" >events.out
    cut -d' ' -f1-3 events.out | cmp - <(for step in {1..150}; do echo "loss $step $((1000 - step))"; done)
    read_back trackio curves.db "forgetful-$workflow/train" | cmp - events.out
    phasectl metrics "$workflow" --csv | cmp - <(echo run,step,loss
        for step in {1..150}; do echo "$workflow/train,$step,$((1000 - step))"; done)
    [ "$(phasectl metrics "$workflow/train" --csv --last 1)" = $'run,step,loss\n'"$workflow/train,150,850" ]
    [[ $(phasectl metrics "$workflow" --plot) =~ $workflow/train\ +850$ ]]
    [[ $(phasectl metrics "$workflow/train#1" --csv | tail -n 1) = "$workflow/train#1,"* ]]

    # Followed after its end, nothing changes. A run alone has the steps that were taken back.
    phasectl metrics "$workflow/train" --tensorboard events --follow
    read_back events "events/forgetful-$workflow/train" | cmp - events.out
    [ "$(find "events/forgetful-$workflow/train" -type f -size +0 | wc -l)" = 1 ]
    phasectl metrics "$workflow/train#1" --tensorboard events
    [ "$(read_back events "events/forgetful-$workflow/train#1" | tail -n 1 | cut -d' ' -f2)" = \
        "$(record 'SELECT last_step FROM run WHERE attempt = 1')" ]
}

# has_event STEP: whether a follower has written this step for TensorBoard.
has_event() { read_back events "events/forgetful-$workflow/train" | grep -q "^loss $1 "; }

@test "of two calls that follow the same curve, the earlier ends" {
    phasectl daemon start
    workflow=$(forgetful | submit)
    phasectl metrics "$workflow" --tensorboard events --follow >/dev/null 2>earlier.err &
    earlier=$!
    eventually 60 has_event 10
    phasectl metrics "$workflow/train" --tensorboard events --follow >/dev/null &
    follower=$!
    eventually 60 process_has_ended "$earlier"
    code=0
    wait "$earlier" || code=$?
    [ "$code" = 1 ]
    [[ $(<earlier.err) = "phasectl: another program has emptied events/forgetful-$workflow/train/events.out.tfevents."* ]]
    [ "$(find "events/forgetful-$workflow/train" -type f | wc -l)" -le 4 ]
    eventually 60 has_event 100
    kill -0 "$follower"
}
