#!/usr/bin/env python3
"""The training in the tests of interrupted runs. training.bash runs it.

It learns nothing and costs almost no processor time. Each step sleeps, and each state follows from
the state before it. So two trainings of equal length end with the same checkpoint, byte for byte.
Like phase-model it prints a line for each step, saves on TERM, and resumes from a checkpoint."""
import argparse
import hashlib
import os
import pathlib
import signal
import sys
import time

SIZE = 65536  # bytes of a checkpoint, so that it can be cut


class Training:
    def __init__(self, options):
        self.options = options
        self.step, self.state, self.stop = 0, hashlib.sha256(b"begin").hexdigest(), False
        self.wait_at = None

    def on_term(self, *_):
        self.stop = True

    def contents(self):
        return f"{self.step} {self.state} ".ljust(SIZE - 4, "x") + "end\n"

    def resume(self, path):
        text = path.read_text()
        step, self.state = text.split()[:2]
        self.step = int(step)
        if text != self.contents():
            sys.exit(f"{path} is not a whole checkpoint")
        print(f"resumed at step {self.step} from {path}", flush=True)

    def save(self):
        new = self.options.out / ".new"
        new.write_text(self.contents())
        path = self.options.out / f"step_{self.step:06}.ckpt"
        new.rename(path)
        older = sorted(p for p in self.options.out.glob("step_*.ckpt") if p < path)
        for old in older[:len(older) + 1 - self.options.keep]:
            old.unlink()

    def take_step(self):
        time.sleep(self.options.pace)
        self.step += 1
        self.state = hashlib.sha256(f"{self.state} {self.step}".encode()).hexdigest()
        noise = int(self.state[:4], 16) / 1e7
        loss = 1 + 3 / (1 + self.step / 50) + noise
        print(f"step {self.step}/{self.options.iterations} | loss {loss:.6f}", flush=True)

    def begin(self):
        """Counts the runs in this folder, and finds the step after which this run waits."""
        with open(self.options.out / "runs", "a+", encoding="ascii") as runs:
            runs.write(".")
            number = runs.tell()
        self.wait_at = dict(enumerate(self.options.wait_at, 1)).get(number)

    def run(self):
        while self.step < self.options.iterations and not self.stop:
            self.take_step()
            while self.step == self.wait_at and not self.stop and not (self.options.out / "go").exists():
                time.sleep(0.02)
            if self.step % self.options.save_every == 0:
                self.save()
        self.save()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--resume", default="", help="checkpoint to go on from; empty: none")
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--save-every", type=int, required=True)
    parser.add_argument("--keep", type=int, default=2, help="checkpoints kept")
    parser.add_argument("--pace", type=float, default=0.08, help="seconds a step")
    parser.add_argument("--wait-at", type=int, nargs="*", default=[], metavar="STEP",
                        help="each run waits after its step until it is interrupted, or OUT/go exists; "
                        "later runs wait nowhere")
    options = parser.parse_args()
    training = Training(options)
    signal.signal(signal.SIGTERM, training.on_term)
    os.makedirs(options.out, exist_ok=True)
    training.begin()
    if options.resume:
        training.resume(pathlib.Path(options.resume))
    training.run()


if __name__ == "__main__":
    main()
