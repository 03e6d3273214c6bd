#!/usr/bin/env bats
# python/phased.py: alone, and in a trainer that is stopped and goes on.

bats_require_minimum_version 1.5.0
load phased.bash

setup_file() {
    sandbox_up 1
}
teardown_file() { sandbox_down; }
setup() {
    home_up
    export PYTHONPATH=$SRC/python PYTHONDONTWRITEBYTECODE=1
}
teardown() { home_down; }

# told STATEMENTS: what they would tell the agent, as JSON lines.
told() {
    : >"$PHASED_HOME/channel"
    PHASED_CHANNEL=$PHASED_HOME/channel PHASED_STOP_SIGNAL=TERM python3 -c "import phased, os, signal
$1" && cat "$PHASED_HOME/channel"
}

@test "what is told is what phase-worker tells" {
    touch "$PHASED_HOME/step_7"
    told "phased.metric(3, loss=0.5, Grad_Norm=float('nan')); phased.metric(lr=float('-inf'))
phased.checkpoint('$PHASED_HOME/step_7', 7)" >"$PHASED_HOME/ours"
    export PHASED_CHANNEL=$PHASED_HOME/theirs
    phase-worker metric step=3 loss=0.5 Grad_Norm=nan
    phase-worker metric lr=-inf
    phase-worker checkpoint "$PHASED_HOME/step_7" --step 7
    diff <(jq -cS . "$PHASED_HOME/ours") <(jq -cS . "$PHASED_CHANNEL")
    [ "$(wc -l <"$PHASED_HOME/ours")" = 3 ]
}

@test "what cannot be meant is refused where it is said" {
    for call in 'metric(1)' 'metric(-1, loss=1)' 'metric(1.5, loss=1)' 'metric(1, **{"a b": 1})' \
        'metric(1, **{"x" * 129: 1})' 'metric(1, loss="many")' 'metric(1, loss=None)' 'checkpoint("/nowhere", 1)' \
        'metric(**{"x%d" % i: i / 3 for i in range(4000)})'; do
        run told "phased.$call"
        [ "$status" = 1 ]
        [[ "${lines[-1]}" =~ ^(ValueError|TypeError|FileNotFoundError) ]]
        [ ! -s "$PHASED_HOME/channel" ]
    done
}

@test "a trainer runs without phased, and survives a channel that cannot be written" {
    env -u PHASED_CHANNEL python3 -c 'import phased
phased.metric(1, loss=1); assert not phased.should_stop(); assert phased.resume_path() is phased.resume_step() is None'
    run --separate-stderr env PHASED_CHANNEL=/nowhere/channel python3 -c 'import phased
phased.metric(1, loss=1); phased.metric(2, loss=1); print("on")'
    [ "$status" = 0 ]
    [ "$output" = on ]
    [ "$stderr" = 'phased: cannot write /nowhere/channel: No such file or directory' ]
}

@test "the stop signal is noted, and a handler of before is still called" {
    run told 'os.kill(os.getpid(), signal.SIGTERM); print(phased.should_stop())'
    [ "$output" = True ]
    run env PHASED_STOP_SIGNAL=USR1 python3 -c 'import os, signal
signal.signal(signal.SIGUSR1, lambda number, frame: print("mine"))
import phased
print(phased.should_stop()); os.kill(os.getpid(), signal.SIGUSR1); print(phased.should_stop())'
    [ "$(paste -sd' ' <<<"$output")" = 'False mine True' ]
    # Python's own handler of SIGINT would raise KeyboardInterrupt in the middle of a step.
    run env PHASED_STOP_SIGNAL=INT python3 -c 'import os, signal
import phased
os.kill(os.getpid(), signal.SIGINT); print(phased.should_stop())'
    [ "$output" = True ]
}

@test "a trainer that is held saves at a boundary and goes on at the next step" {
    cat >"$PHASED_HOME/trainer.py" <<'TRAINER'
import os
import sys
import time

import phased

total = int(sys.argv[1])
start = int(open(phased.resume_path()).read()) if phased.resume_path() else 0
assert start == (phased.resume_step() or 0)
for step in range(start + 1, total + 1):
    with open(os.environ["PHASED_OUT"] + "/steps", "a") as steps:
        steps.write("%d\n" % step)
    phased.metric(step, loss=1 / step)
    if phased.should_stop() or step == total:
        path = "%s/saved_%d" % (os.environ["PHASED_OUT"], step)
        with open(path, "w") as file:
            file.write(str(step))
        phased.checkpoint(path, step)
        break
    if step == 5 and not phased.resume_path():
        while not phased.should_stop():
            time.sleep(0.05)
TRAINER
    phasectl daemon start
    workflow=$(submit <<SPEC
name: python
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    params: {steps: 8}
    run: exec python3 $PHASED_HOME/trainer.py \$steps
    progress: {step: step, total: \$steps}
    checkpoint: {path: "\$PHASED_OUT/saved_{step}", stop_signal: USR1}
    gate: {all: last(loss) == 1 / 8 and count(loss) == 8}
SPEC
    )
    eventually 60 test -s "$PHASED_HOME/runs/$workflow/train/out/steps"
    waits() { [ "$(line_count "$PHASED_HOME/runs/$workflow/train/out/steps")" = 5 ]; }
    eventually 30 waits
    phasectl hold "$workflow"
    eventually 60 state "$workflow" held
    phasectl resume "$workflow/train"
    eventually 60 state "$workflow" succeeded
    [ "$(paste -sd' ' "$PHASED_HOME/runs/$workflow/train/out/steps")" = '1 2 3 4 5 6 7 8' ]
}
