"""What page.py prepare submits: the workflows that the checks of the page look at."""
import json
import os
import re
import subprocess
import sys
import tempfile

from page_browser import wait_for

READY_S = 300  # nine workflows begin at once

TWO = """
name: two
price: {per_node_hour: 98}
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    progress: {step: step, total: 300}
    run: |
      for i in $(seq 1 300); do echo "step=$i loss=$(( 900 - i )).5 speed=$(( i % 7 )).25"; done
      echo "the last <b>line</b> of first"
    gate:
      low:   {value: last(loss), at_most: 700}
      quick: {value: mean(speed), over: 70 steps, at_least: 1, else: warn}
      falls: last(loss) < first(loss)
      under: last(loss) < 650
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    preflight: off
    run: echo step=1 loss=2
"""

HELD = """
name: held
phases:
  first:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    run: echo step=1 loss=4; echo step=2 loss=5
    gate: {falls: {value: last(loss), below: 1, advice: "<i>train</i> longer"}}
  second:
    after: first
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    launch: node
    preflight: off
    run: echo step=1 loss=3
    gate: {falls: {value: last(loss), below: 1}}
"""

AGAIN = """
name: again
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt", save_time: 1s}
    run: |
      for i in $(seq $(( ${PHASED_RESUME_STEP:-0} + 1 )) 80); do
        echo "step=$i loss=$(( 100 - i ))"
        [ $i -ne 20 ] || echo saved >"$PHASED_OUT/step_20.ckpt"
        sleep 0.1
      done
      [ -n "${PHASED_RESUME_STEP-}" ] || { sleep 600 & wait $!; } # until it is held
"""

LONG = """
name: long
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    run: awk 'BEGIN { for (i = 1; i <= 6000; i++) print "step=" i " loss=" i * 7919 % 1000 }'
"""

STEER = """
name: steer
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    run: i=0; while sleep 0.2; do i=$((i + 1)); echo step=$i loss=$i; done
    gate:
      high:   {value: last(loss), at_least: 1000000, else: warn}
      higher: {value: last(loss), at_least: 2000000}
"""

SWEEP = """
name: sweep
phases:
  ladder:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    matrix: {width: [16, 64, 32]}
    run: for i in 1 2 3 4 5; do echo step=$i loss=$(( 100 - width - i )); done
    best: {min: last(loss)}
"""

NEAR = """
name: near
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    checkpoint: {path: "$PHASED_OUT/step_{step}.ckpt"}
    run: |
      step=$(( ${PHASED_RESUME_STEP:-0} + 2 ))
      echo "step=$(( step - 1 )) loss=$(( 9 - step ))"
      echo "step=$step loss=$(( 8 - step ))"
      echo saved >"$PHASED_OUT/step_$step.ckpt"
    gate: {low: {value: last(loss), below: 5}}
"""

LIVE = """
name: live
phases:
  ladder:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    matrix: {width: [16, 64, 32]}
    run: for i in 1 2 3 4 5; do echo step=$i loss=$(( 100 - width - i )); done; sleep 1800
    best: {min: mean(loss)}
  evaluation_on_the_held_out_set:
    after: ladder
    resources: {nodes: 1, gpus: h100:1, time: 10m}
    preflight: off
    run: echo step=1 loss=3
"""

SPENT = """
name: spent
budget: {gpu_hours: 0.0001}
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    run: sleep 1800 & wait $!
"""


STRANGE = """
name: strange
phases:
  train:
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    launch: node
    preflight: off
    nan_ok: true
    run: for i in 1 2 3 4 5; do echo "step=$i loss=4.$i"; done; echo step=6 loss=nan
  ladder:
    after: train
    resources: {nodes: 1, gpus: h100:1, time: 30m}
    preflight: off
    nan_ok: true
    matrix: {width: [16, 64, 32]}
    run: echo step=1 loss=$width; [ $width != 64 ] || echo step=2 loss=nan
    best: {min: first(loss)}
"""


def phasectl(*words):
    return subprocess.run(['phasectl', *words], check=True, capture_output=True, text=True).stdout


def status(address):
    return json.loads(phasectl('status', address, '--json'))


def submit(folder, name, spec):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(spec)
    return re.search(r'workflow (\d+)', phasectl('submit', path))[1]


def come_to(address, state):
    if not wait_for(lambda: status(address)['state'] == state, READY_S):
        sys.exit(f"{address} is {status(address)['state']}, not {state}")


def prepare():
    with tempfile.TemporaryDirectory() as folder:
        again = submit(folder, 'again.yaml', AGAIN)
        two = submit(folder, 'two.yaml', TWO)
        sweep = submit(folder, 'sweep.yaml', SWEEP)
        long = submit(folder, 'long.yaml', LONG)
        held = submit(folder, '<b>held<b>.yaml', HELD)
        near = submit(folder, 'near.yaml', NEAR)
        live = submit(folder, 'live.yaml', LIVE)
        submit(folder, 'steer.yaml', STEER)
        strange = submit(folder, 'strange.yaml', STRANGE)
        spent = submit(folder, 'spent.yaml', SPENT)
        stage = lambda: status(f'{again}/train')
        if not wait_for(lambda: stage()['checkpoint_step'] == 20 and stage()['step'] >= 30, READY_S):
            sys.exit('again/train does not come to step 30 with a checkpoint of step 20')
        phasectl('hold', f'{again}/train')
        come_to(f'{again}/train', 'held')
        phasectl('release', f'{again}/train')
        for workflow in (held, near, spent):
            come_to(workflow, 'held')
        for workflow in (two, sweep, long, strange, again):
            come_to(workflow, 'succeeded')
        if not wait_for(lambda: all(phase['step'] == 5 for phase in status(f'{live}/ladder')['members']), READY_S):
            sys.exit('the members of live/ladder do not come to step 5')
