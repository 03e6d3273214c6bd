#!/usr/bin/env bats
# python/phased.py: alone, and in a trainer that is stopped and resumes.

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

# told STATEMENTS: the JSON lines that these statements send to the agent.
told() {
    : >"$PHASED_HOME/channel"
    PHASED_CHANNEL=$PHASED_HOME/channel PHASED_STOP_SIGNAL=TERM python3 -c "import phased, os, signal
$1" && cat "$PHASED_HOME/channel"
}

@test "phased.py sends the same metrics and checkpoints as phase-worker" {
    touch "$PHASED_HOME/step_7"
    told "phased.metric(3, loss=0.5, Grad_Norm=float('nan')); phased.metric(lr=float('-inf'))
phased.checkpoint('$PHASED_HOME/step_7', 7)" >"$PHASED_HOME/ours"
    export PHASED_CHANNEL=$PHASED_HOME/theirs
    phase-worker metric step=3 loss=0.5 Grad_Norm=nan
    phase-worker metric lr=-inf
    phase-worker checkpoint "$PHASED_HOME/step_7" --step 7
    diff <(gojq -c . "$PHASED_HOME/ours") <(gojq -c . "$PHASED_CHANNEL")
    [ "$(grep -c . "$PHASED_HOME/ours")" = 3 ]
}

@test "a message after one that a full disk has cut is whole" {
    touch "$PHASED_HOME/step_7"
    export PHASED_CHANNEL=$PHASED_HOME/channel
    printf '{"metric":{"val' >"$PHASED_CHANNEL"
    python3 -c "import phased; phased.checkpoint('$PHASED_HOME/step_7', 7)"
    printf '{"metric":{"val' >>"$PHASED_CHANNEL"
    phase-worker checkpoint "$PHASED_HOME/step_7" --step 7
    [ "$(grep -c '^{"checkpoint":.*}$' "$PHASED_CHANNEL")" = 2 ]
}

@test "a wrong metric or checkpoint is refused in the call that gives it" {
    for call in 'metric(1)' 'metric(-1, loss=1)' 'metric(1.5, loss=1)' 'metric(1, **{"a b": 1})' \
        'metric(1, **{"x" * 129: 1})' 'metric(1, loss="many")' 'metric(1, loss=None)' 'checkpoint("/nowhere", 1)' \
        'metric(**{"x%d" % i: i / 3 for i in range(4000)})'; do
        run told "phased.$call"
        [ "$status" = 1 ]
        [[ "${lines[-1]}" =~ ^(ValueError|TypeError|FileNotFoundError) ]]
        [ ! -s "$PHASED_HOME/channel" ]
    done
    touch "$PHASED_HOME/"$'step\377_7'
    for path in "b'$PHASED_HOME/step\\xff_7'" "'$PHASED_HOME/step\\udcff_7'"; do
        run told "phased.checkpoint($path, 7)"
        [ "$status" = 1 ]
        [[ "${lines[-1]}" = "ValueError: the path of the checkpoint is not UTF-8: "* ]]
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

@test "phased.py notes the stop signal, and still calls a handler that was installed before" {
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

@test "a metric can be a tensor of one element, a decimal or a fraction, and a step any whole number" {
    run -0 told '
import decimal, fractions
class Scalar:                                  # as those of numpy and torch are
    def __init__(self, value): self.value = value
    def item(self): return self.value
class Tensor(Scalar):                          # of several elements
    def item(self): raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
phased.metric(True, a=Scalar(0.5), b=decimal.Decimal("0.25"), c=fractions.Fraction(1, 8), d=2**70)
phased.metric(fractions.Fraction(2), loss=Scalar(float("nan")))
phased.metric(2**53 - 1, loss=1)
for step in (float("nan"), float("inf"), 2**53, "3", [], Scalar(1)):
    try: phased.metric(step, loss=1)
    except ValueError as error: assert str(error).startswith("a step must be a whole number "), error
    else: assert False, step
for value in (Tensor(0), 10**400, 1j, None, [1], object()):
    try: phased.metric(1, grad_norm=value)
    except ValueError as error: assert str(error).startswith("grad_norm is not a number: "), error
    else: assert False, value'
    gojq -sc '. == [{metric: {values: {a: 0.5, b: 0.25, c: 0.125, d: 1180591620717411303424}, step: 1}},
        {metric: {values: {loss: "nan"}, step: 2}}, {metric: {values: {loss: 1}, step: 9007199254740991}}]' "$PHASED_HOME/channel" | grep -qx true
}

@test "threads and processes send whole lines, and helper processes can be terminated" {
    run -0 timeout 60 bash -c "PHASED_CHANNEL=$PHASED_HOME/channel PHASED_STOP_SIGNAL=TERM python3 <<'PYTHON'
import multiprocessing, os, signal, threading, time
import phased

def tell(name):
    for step in range(200):
        phased.metric(step, **{name: step / 3})

def rank(ready, said):
    phased.should_stop()  # from here on it saves by itself
    ready.set()
    while not phased.should_stop():
        time.sleep(0.01)
    said.set()

threads = [threading.Thread(target=tell, args=('t%d' % i,)) for i in range(4)]
for thread in threads:
    thread.start()
context = multiprocessing.get_context('fork')
with context.Pool(3) as pool:  # its end is a SIGTERM
    pool.map(tell, ['p0', 'p1', 'p2'])
for thread in threads:
    thread.join()
ready, said = context.Event(), context.Event()
child = context.Process(target=rank, args=(ready, said))
child.start()
ready.wait()
child.terminate()
child.join()
assert said.is_set() and child.exitcode == 0
os.kill(os.getpid(), signal.SIGTERM)
assert phased.should_stop()
PYTHON"
    [ "$(gojq -s length "$PHASED_HOME/channel")" = 1400 ]
}

@test "helper processes that are started anew can be terminated, and another stop signal leaves them alone" {
    cat >"$PHASED_HOME/trainer.py" <<'TRAINER'
import multiprocessing, os, signal, sys, time
import phased

def work(_):
    if stop_signal == signal.SIGUSR1:
        os.kill(os.getpid(), stop_signal)  # as the stop of the run does
    return os.getpid()

def helper(ready):
    ready.set()
    time.sleep(1000)

def rank(ready, said):
    phased.should_stop()  # from here on it saves by itself
    ready.set()
    while not phased.should_stop():
        time.sleep(0.01)
    said.set()

stop_signal = getattr(signal, "SIG" + os.environ["PHASED_STOP_SIGNAL"])
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(2) as pool:  # its end is a SIGTERM
        assert os.getpid() not in pool.map(work, range(2))
    ready, said = context.Event(), context.Event()
    child = context.Process(target=helper, args=(ready,))
    child.start()
    ready.wait()
    child.terminate()
    child.join()
    assert child.exitcode == -signal.SIGTERM, child.exitcode
    ready.clear()
    child = context.Process(target=rank, args=(ready, said))
    child.start()
    ready.wait()
    os.kill(child.pid, stop_signal)
    child.join()
    assert said.is_set() and child.exitcode == 0, child.exitcode
    os.kill(os.getpid(), stop_signal)
    assert phased.should_stop()
TRAINER
    for method in spawn forkserver; do
        for signal in TERM USR1; do
            PHASED_STOP_SIGNAL=$signal run timeout -s KILL 60 python3 "$PHASED_HOME/trainer.py" $method # TERM would only stop it
            [ "$status" = 0 ] || { echo "$method $signal: $status $output"; false; }
        done
    done
}

@test "a stop signal that comes while a process is forked ends that process" {
    run -0 timeout 60 env PHASED_CHANNEL="$PHASED_HOME/channel" PHASED_STOP_SIGNAL=TERM python3 -c '
import os, signal, time
os.register_at_fork(after_in_child=lambda: os.kill(os.getpid(), signal.SIGTERM)) # at the first moment
import phased
child = os.fork()
if child == 0:
    time.sleep(30)
    os._exit(0)
_, status = os.waitpid(child, 0)
assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGTERM, status
assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, [])'
}

@test "phased.py parses as Python 3.8" {
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read(), feature_version=(3, 8))' "$SRC/python/phased.py"
}

@test "a trainer that is held saves after a step and goes on with the next step" {
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
    eventually 60 waits
    phasectl hold "$workflow"
    eventually 60 state "$workflow" held
    phasectl resume "$workflow/train"
    eventually 60 state "$workflow" succeeded
    [ "$(paste -sd' ' "$PHASED_HOME/runs/$workflow/train/out/steps")" = '1 2 3 4 5 6 7 8' ]
}

# mirrored STATEMENTS: runs them with the stand-ins of W&B and MLflow.
mirrored() {
    export TRACKING=$PHASED_HOME/tracking
    mkdir -p "$TRACKING"
    run --separate-stderr timeout 60 env PYTHONPATH="$PYTHONPATH:$SRC/tests/system/tracking" python3 -c "import phased, time
$1"
}

@test "a mirror gets each metric, and a service that fails or hangs costs one message and five seconds" {
    mirrored 'assert phased.mirror("wandb", project="p").id is None; assert phased.mirror("mlflow", experiment="e").info.run_id
phased.metric(3, loss=0.5, lr=float("nan")); phased.metric(2, loss=0.25); phased.metric(acc=0.75)'
    [ "$status" = 0 ]
    [ -z "$stderr" ]
    diff <(gojq -c 'select(.call == "log") | .data' "$TRACKING/wandb") - <<'LOGS'
{"loss":0.5,"lr":"nan","step":3}
{"loss":0.25,"step":2}
{"acc":0.75,"step":2}
LOGS
    [ "$(gojq -r 'select(.call == "log") | "\(.name)@\(.step)"' "$TRACKING/mlflow" | paste -sd' ')" = 'loss@3 lr@3 loss@2 acc@2' ]

    touch "$TRACKING/broken"
    mirrored 'phased.mirror("wandb"); phased.metric(1, loss=1); phased.metric(2, loss=1); print("on")'
    [ "$status $output" = '0 on' ]
    diff - <(echo "$stderr") <<'SAID'
phased: wandb does not take a metric: the network is down; the training goes on
phased: 2 calls of metric() did not reach wandb
SAID
    touch "$TRACKING/hangs"
    mirrored 'phased.mirror("wandb"); begun = time.time()
for step in range(10010): phased.metric(step, loss=1)
assert time.time() - begun < 30'
    [ "$status" = 0 ]
    diff - <(echo "$stderr") <<'SAID'
phased: wandb does not keep up; the training goes on
phased: 10010 calls of metric() did not reach wandb
SAID
    mirrored 'run = phased.mirror("wandb"); phased.metric(1, loss=1); begun = time.time()
run.finish(); assert 4 < time.time() - begun < 60; print("on")'
    [ "$status $output" = '0 on' ]
    [ "$stderr" = 'phased: 1 calls of metric() did not reach wandb' ]
}

@test "without the library, and in other ranks, mirror() returns None, and a run is found by its experiment" {
    run --separate-stderr python3 -c 'import phased
print(phased.mirror("wandb"), phased.mirror("mlflow", experiment="e")); phased.metric(1, loss=1)'
    [ "$status $output" = '0 None None' ]
    [ "${stderr_lines[0]}" = "phased: metrics are not mirrored to wandb: No module named 'wandb'" ]
    [ "${#stderr_lines[@]}" = 2 ]
    for rank in RANK=1 DP_RANK=1 SLURM_PROCID=1 OMPI_COMM_WORLD_RANK=1 PMI_RANK=1; do
        declare -x "$rank"
        mirrored 'print(phased.mirror("wandb", project="p"))'
        unset "${rank%=*}"
        [ "$status $output$stderr" = '0 None' ]
        [ ! -e "$TRACKING/wandb" ]
    done
    # torchrun may give the first rank to the second task of Slurm.
    RANK=0 LOCAL_RANK='' SLURM_PROCID=1 mirrored 'assert phased.mirror("wandb", project="p")'
    [ "$status" = 0 ]
    RANK=0 LOCAL_RANK=0 NODE_RANK=1 mirrored 'assert phased.mirror("wandb", project="p")'
    [ "$status" = 0 ]
    RANK=2 LOCAL_RANK=0 NODE_RANK=0 mirrored 'assert phased.mirror("wandb", project="p") is None'
    [ "$status" = 0 ]
    for again in 1 2; do
        PHASED_PHASE_ID=0123456789abcdef mirrored 'print(phased.mirror("mlflow", experiment_id="7").info.run_id)'
        [ "$output" = 00000000000000000000000000000001 ]
    done
    mirrored 'phased.mirror("tensorboard")'
    [ "$status" = 1 ]
}

@test "what waits for a mirror is sent when W&B's run is finished, and when a forked process ends" {
    export TRACKING=$PHASED_HOME/tracking
    mkdir "$TRACKING"
    touch "$TRACKING/slow"
    mirrored 'run = phased.mirror("wandb")
for step in range(20): phased.metric(step, loss=1)
run.finish(exit_code=3)
phased.metric(20, loss=1)'
    [ "$status $stderr" = '0 ' ]
    [ "$(gojq -r '.call' "$TRACKING/wandb" | uniq -c | xargs)" = '1 init 2 define_metric 20 log 1 finish' ]
    [ "$(gojq 'select(.call == "finish") | .exit_code' "$TRACKING/wandb")" = 3 ]

    for method in fork forkserver spawn; do
        rm "$TRACKING/wandb"
        cat >"$PHASED_HOME/trainer.py" <<TRAINER
import multiprocessing
import phased

def train():
    phased.mirror("wandb")
    for step in range(20):
        phased.metric(step, loss=1)

if __name__ == "__main__":
    child = multiprocessing.get_context("$method").Process(target=train)
    child.start()
    child.join()
TRAINER
        run -0 timeout 60 env PYTHONPATH="$PYTHONPATH:$SRC/tests/system/tracking" python3 "$PHASED_HOME/trainer.py"
        [ -z "$output" ]
        [ "$(grep -c '"call": "log"' "$TRACKING/wandb")" = 20 ]
    done
}

@test "a second mirror() to a library returns the first run, and a finished run can be followed by another" {
    mirrored 'first = phased.mirror("wandb")
assert phased.mirror("wandb") is first
run = phased.mirror("mlflow"); assert phased.mirror("mlflow") is run
phased.metric(1, loss=1); first.finish()
second = phased.mirror("wandb"); assert second is not first
phased.metric(2, loss=1)'
    [ "$status $stderr" = '0 ' ]
    [ "$(gojq -r 'select(.call == "log") | .data.step' "$TRACKING/wandb" | paste -sd' ')" = '1 2' ]
    [ "$(gojq -r 'select(.call == "log") | .step' "$TRACKING/mlflow" | paste -sd' ')" = '1 2' ]
}

@test "the limits of a mirror are not those of the trainer, and the trainer's own limits stay" {
    mirrored 'import os; phased.mirror("wandb"); phased.mirror("mlflow")
assert not [name for name in os.environ if name.startswith("MLFLOW_HTTP_")]'
    [ "$status $stderr" = '0 ' ]
    MLFLOW_HTTP_REQUEST_TIMEOUT=7 WANDB_INIT_TIMEOUT=7 mirrored 'import os; phased.mirror("wandb"); phased.mirror("mlflow")
assert os.environ["MLFLOW_HTTP_REQUEST_TIMEOUT"] == "7"'
    [ "$status $stderr" = '0 ' ]
    touch "$TRACKING/old"
    mirrored 'phased.mirror("wandb"); phased.mirror("wandb")'
    [ "$status $stderr" = '0 ' ]
    diff <(gojq -c 'select(.call == "init") | .settings' "$TRACKING/wandb") - <<'SETTINGS'
{"finish_timeout":60,"init_timeout":60}
{"finish_timeout":60}
{"init_timeout":60}
SETTINGS
    [ "$(gojq -r 'select(.call == "start_run") | .timeout' "$TRACKING/mlflow" | paste -sd' ')" = '10 7' ]
}

@test "the runs of a phase are one run of W&B and of MLflow, although a job is requeued and steps are repeated" {
    mkdir "$PHASED_HOME/tracking"
    cat >"$PHASED_HOME/trainer.py" <<'TRAINER'
import os
import time

import phased

wandb = phased.mirror("wandb", project="p")
mlflow = phased.mirror("mlflow", experiment="e")
start = phased.resume_step() or 0
for step in range(start + 1, 7):
    phased.metric(step, loss=1 / step)
    if step == 3:
        path = "%s/saved_%d" % (os.environ["PHASED_OUT"], step)
        open(path, "w").close()
        phased.checkpoint(path, step)
    while step == 5 and not start:  # saved at 3, logged up to 5: now the job is requeued
        time.sleep(0.05)
TRAINER
    phasectl daemon start
    workflow=$(submit <<SPEC
name: mirrors
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    env: {TRACKING: $PHASED_HOME/tracking, WANDB_RUN_ID: \$PHASED_PHASE_ID, PYTHONPATH: "$PYTHONPATH:$SRC/tests/system/tracking"}
    run: |
      echo "\$PHASED_PHASE_ID \$WANDB_RUN_ID" >>"\$PHASED_OUT/ids"
      exec python3 $PHASED_HOME/trainer.py
    checkpoint: {path: "\$PHASED_OUT/saved_{step}"}
SPEC
    )
    logged() { [ "$(grep -c '"call": "log"' "$PHASED_HOME/tracking/$1")" = "$2" ]; }
    eventually 60 logged wandb 5
    eventually 60 logged mlflow 5
    knows_checkpoint() { [ "$(record "SELECT checkpoint_step FROM phase")" = 3 ]; }
    eventually 60 knows_checkpoint
    scontrol requeue "$(record 'SELECT slurm_id FROM job')"
    eventually 120 state "$workflow" succeeded
    ids=$(sort -u "$PHASED_HOME/runs/$workflow/train/out/ids")
    [[ "$ids" =~ ^([0-9a-f]{16})\ ([0-9a-f]{16})$ ]]
    id=${BASH_REMATCH[1]}
    [ "$id" = "${BASH_REMATCH[2]}" ]
    diff <(gojq -c 'select(.call == "init") | del(.settings)' "$PHASED_HOME/tracking/wandb") - <<CALLS
{"call":"init","id":"phased-$id","name":"$workflow/train","project":"p","resume":"allow"}
{"call":"init","id":"phased-$id","name":"$workflow/train","project":"p","resume":"allow"}
CALLS
    [ "$(gojq -r 'select(.call == "log") | .data.step' "$PHASED_HOME/tracking/wandb" | paste -sd' ')" = '1 2 3 4 5 4 5 6' ]
    [ "$(gojq -r 'select(.call == "log") | .step' "$PHASED_HOME/tracking/mlflow" | paste -sd' ')" = '1 2 3 4 5 4 5 6' ]
    [ "$(gojq -r 'select(.call == "log") | .run_id' "$PHASED_HOME/tracking/mlflow" | sort -u | wc -l)" = 1 ]
    [ "$(gojq -r 'select(.call == "create_run") | .tags["phased.run"]' "$PHASED_HOME/tracking/mlflow")" = "$id" ]
}
