#!/usr/bin/env python3
"""The training that a storm runs. It writes the third account.

It only counts: each state follows from the state before it, so two trainings of equal length end in
the same state. It prints metrics, saves checkpoints that say whether they are whole, saves on TERM,
and writes a line of its account at every start, step and end."""
import argparse
import fcntl
import json
import os
import pathlib
import signal
import sys
import time
import zlib

PADDING = 4096  # bytes after the state, so that a checkpoint can be cut


def next_state(state, step):
    return zlib.crc32(f"{state} {step}".encode())


def loss_of(state):
    return 1 + state % 1000 / 1000


def read_checkpoint(path):
    """Returns (step, state, poisoned), or None if the file is not whole."""
    try:
        words = path.read_text().split()
        if words[4:] != ["end"] or len(words[3]) != PADDING:
            return None
        return int(words[0]), int(words[1]), words[2] == "poisoned"
    except (OSError, ValueError, IndexError):
        return None


def whole_checkpoints(folder):
    found = {}
    for path in folder.glob("step_*"):
        checkpoint = read_checkpoint(path)
        if checkpoint:
            found[checkpoint[0]] = checkpoint
    return found


class Account:
    """The account of a rank: one file for each rank of a phase. Each line is one write."""

    def __init__(self, folder, address, rank):
        phase, _, attempt = address.partition("#")
        self.same = {"phase": phase, "attempt": int(attempt), "rank": rank, "pid": os.getpid(),
                     "job": int(os.environ.get("SLURM_JOB_ID", 0)),
                     "restarts": int(os.environ.get("SLURM_RESTART_COUNT", 0)),
                     "node": os.environ.get("SLURMD_NODENAME")}
        name = f"{phase.replace('/', '-')}-{rank}"
        self.file = os.open(folder / f"{name}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.alive = os.open(folder / f"{name}.alive", os.O_RDWR | os.O_CREAT, 0o600)

    def tell(self, what, **more):
        line = {"time": time.time(), "what": what, **self.same, **more}
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def claim(self):
        """The kernel holds the lock as long as this process lives, so two at once are always
        noticed."""
        try:
            fcntl.flock(self.alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.tell("overlap", other=os.pread(self.alive, 200, 0).decode())
            return
        os.ftruncate(self.alive, 0)
        os.pwrite(self.alive, f"#{self.same['attempt']} job {self.same['job']} "
                  f"pid {self.same['pid']}".encode(), 0)


class Training:
    def __init__(self, options):
        self.options = options
        self.out = pathlib.Path(os.environ["PHASED_OUT"])
        self.rank = int(os.environ.get("SLURM_PROCID" if options.srun else "RANK")
                        or os.environ.get("NODE_RANK") or 0)
        self.account = Account(options.account, os.environ["PHASED_ADDRESS"], self.rank)
        self.step, self.state, self.stop = 0, 0, False
        self.poisoned = False
        signal.signal(signal.SIGTERM, self.on_stop)

    def on_stop(self, *_):
        self.stop = True

    def resume(self):
        found = whole_checkpoints(self.out)
        path = os.environ.get("PHASED_RESUME", "")
        checkpoint, asked = None, None
        if self.options.own:
            checkpoint = found[max(found)] if found else None
        elif path:
            asked = int(path.rpartition("_")[2])
            checkpoint = read_checkpoint(pathlib.Path(path))
        if checkpoint:
            self.step, self.state, self.poisoned = checkpoint
        self.account.tell("start", resumed=self.step, asked=asked, own=self.options.own,
                          found=sorted(found), bad=sorted(s for s in found if found[s][2]),
                          poisoned=self.poisoned)
        self.account.claim()
        if asked is not None and not checkpoint:
            self.account.tell("refused", path=path)
            sys.exit(f"{path} is not a whole checkpoint")

    def save(self):
        if not self.options.save or self.rank != 0:
            return
        word = "poisoned" if self.poisoned else "good"
        path = self.out / f"step_{self.step}"
        new = self.out / ".new"
        try:
            with open(new, "w") as file:
                file.write(f"{self.step} {self.state} {word} {'x' * PADDING} end\n")
                file.flush()
                os.fsync(file.fileno())
            new.rename(path)
            self.account.tell("save", step=self.step, bad=self.poisoned)
        except OSError as error:
            self.account.tell("unsaved", step=self.step, error=str(error))

    def tried(self):
        """Returns how often this phase was started before. A deliberate failure happens only a few
        times."""
        marks = self.options.account / f"{self.account.same['phase'].replace('/', '-')}.tries"
        with open(marks, "a+") as file:
            file.seek(0)
            count = len(file.read())
            file.write("x")
        return count

    def misbehave(self, fault, step):
        """Fails on purpose: `exit@30x2` fails at step 30, in the first two runs that reach it."""
        if not fault or self.rank != 0:
            return
        kind, _, rest = fault.partition("@")
        at, _, times = rest.partition("x")
        if step == int(at) and self.tried() < int(times):
            self.account.tell("misbehaved", kind=kind, step=step)
            if kind == "exit":
                sys.exit(3)
            self.poisoned = True

    def run(self):
        self.resume()
        while self.step < self.options.steps:
            time.sleep(self.options.pace)
            self.step += 1
            self.misbehave(self.options.fault, self.step)
            self.state = next_state(self.state, self.step)
            self.account.tell("step", step=self.step)
            if self.rank == 0:
                loss = "nan" if self.poisoned else f"{loss_of(self.state):.6f}"
                print(f"step={self.step} loss={loss}", flush=True)
            if self.options.save and self.step % self.options.save == 0:
                self.save()
            if self.stop and self.step < self.options.steps:
                self.save()
                self.account.tell("stopped", step=self.step, state=self.state)
                sys.exit(0 if self.options.save else 143)
        if self.rank == 0:
            (self.out / "final").write_text(f"{self.state}\n")
        self.account.tell("done", step=self.step, state=self.state)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--account", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--pace", type=float, required=True, help="seconds a step")
    parser.add_argument("--save", type=int, default=0, help="a checkpoint after so many steps")
    parser.add_argument("--own", action="store_true", help="finds its checkpoint by itself")
    parser.add_argument("--srun", action="store_true", help="is a task of a job step of its own")
    parser.add_argument("--fault", default="")
    training = Training(parser.parse_args())
    try:
        training.run()
    except BaseException as error:
        training.account.tell("end", error=repr(error))
        raise


if __name__ == "__main__":
    main()
