"""A trainer as scripts for sbatch start it: it prints its loss, saves, and resumes where it is told."""

import argparse
import os
import signal
import time

PAUSE_S = float(os.environ.get("PAGE_PAUSE_S", 0.02))

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
parser.add_argument("--steps", type=int)
parser.add_argument("--save-every", type=int, default=100)
parser.add_argument("--out")
parser.add_argument("--resume")
given = parser.parse_args()

stops = []
signal.signal(signal.SIGTERM, lambda number, frame: stops.append(number))
begin = int(open(given.resume).read()) if given.resume else 0
for step in range(begin + 1, given.steps + 1):
    time.sleep(PAUSE_S)
    loss = 2.5 / (1 + given.lr * step)
    loops = " step_0=%.4f step_3=%.4f" % (loss, loss / 2) if "PAGE_LOOPS" in os.environ else ""
    print("step=%d loss=%.4f lr=%g%s" % (step, loss, given.lr, loops))
    if step % given.save_every == 0 or stops:
        path = "%s/step_%06d.ckpt" % (given.out, step)
        with open(path + ".part", "w") as file:
            file.write(str(step))
        os.replace(path + ".part", path)
    if stops:
        break
