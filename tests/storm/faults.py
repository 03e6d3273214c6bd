"""The faults of a storm: a table of kinds, and how each is done and undone.

A fault draws no random number while it happens. Its time, kind, target and length come from the
seed. Each function returns what it did, or None if it found no target.
"""
import glob
import os
import random
import re
import shutil
import socket
import sqlite3
import subprocess
import time

from cluster import send, state_of, until

WAIT_S = 30  # how long a fault waits for a target
# The states of a phase in which it waits for a person's command.
WAITS_FOR = {"release": ("held",), "resume": ("held",), "promote": ("held",),
             "retry": ("held", "failed")}
SHORT_S = 8  # the longest fault of a short storm, so that few faults overlap


class Fault:
    def __init__(self, at, kind, pick, length):
        self.at, self.kind, self.pick, self.length = at, kind, pick, length
        self.time, self.until, self.what = None, None, None
        self.workflows, self.live = [], []  # its targets; those that ran at that time
        self.refused = False                # the last try had no effect
        self.tries = 0                      # failed tries; each has another target
        self.why = "nothing to do it to"    # why it was not tried
        self.pid = None                     # of the process that got the signal


class Faults:
    def __init__(self, cluster, log):
        self.cluster, self.log = cluster, log
        self.over = False
        self.disk_full = 0

    # --- Help ----------------------------------------------------------------------------------

    def choose(self, fault, items):
        items = list(items)
        return items[(int(fault.pick * len(items)) + fault.tries) % len(items)] if items else None

    def wait(self, seconds):
        until(lambda: self.over, seconds)

    def down(self, part, change):
        with self.cluster.lock:
            self.cluster.down[part] = self.cluster.down.get(part, 0) + change

    def jobs(self, states):
        """[(Slurm's id, workflow)] of phased's jobs that Slurm knows in these states."""
        listed = self.cluster.call("squeue", "-h", "-t", states, "-O", "JobID:20,StdOut:200").stdout
        return sorted(set(re.findall(r"^(\d+) .*/runs/(\d+)/", listed, re.MULTILINE)))

    def job(self, fault, states):
        found = self.choose(fault, self.jobs(states))
        if found:
            fault.workflows.append(int(found[1]))
        return found and found[0]

    def slurm(self, fault, *words):
        """Runs the command that does the fault. Commands that undo a fault may fail."""
        done = self.cluster.call(*words)
        fault.refused = done.returncode != 0
        return f"{' '.join(words)} {done.stderr.strip()}".strip()

    def scontrol(self, *words):
        self.cluster.call("scontrol", *words)

    # --- Signals -------------------------------------------------------------------------------

    def signal(self, fault, kind, name):
        """Signals one process of a kind. A stopped process continues later."""
        process = self.choose(fault, self.cluster.processes(kind))
        if not process:
            return None
        fault.workflows += [process.workflow] if process.workflow else []
        fault.pid = process.pid
        send(process.pid, name)
        if name == "STOP":
            self.wait(fault.length)
            send(process.pid, "CONT")
        return f"{name} to {process}"

    def daemon(self, fault, name):
        if not self.cluster.daemon_pid():  # another fault keeps it away
            return None
        self.down("daemon", 1)
        try:
            pid = self.cluster.kill_daemon(name)
            self.wait(fault.length)
            if name == "STOP" and pid:
                send(pid, "CONT")
        finally:
            self.down("daemon", -1)
        return pid and f"{name} to the daemon for {fault.length:.0f} s"

    def daemon_twice(self, locked):
        """Starts a second daemon on the same home. It takes over if the lock is gone."""
        first = self.cluster.daemon_pid()
        if not first:
            return None
        if not locked:
            (self.cluster.home / "phased.lock").unlink(missing_ok=True)
            self.cluster.ended_by_us.add(first)
        second = subprocess.Popen(["phased", "--home", str(self.cluster.home)],
                                  env=self.cluster.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.cluster.ended_by_us.add(second.pid)
        refused = until(lambda: second.poll() is not None, 60 if locked else 5)
        if not refused:
            second.terminate()
            second.wait(20)
        if locked and not refused and state_of(first):
            self.cluster.crashes.append("a second daemon ran beside the first for 60 s")
        how = "with" if locked else "without"
        return f"a second daemon {how} the lock ended with {second.returncode}"

    def connections(self, _):
        """Many clients connect, say nothing and leave. Then the daemon must answer others."""
        pid, crowd = self.cluster.daemon_pid(), []
        if not pid:
            return None
        try:
            for _ in range(300):
                crowd.append(socket.socket(socket.AF_UNIX))
                crowd[-1].settimeout(1)
                crowd[-1].connect(str(self.cluster.home / "phased.sock"))
        except OSError:
            pass
        self.wait(2)
        for one in crowd:
            one.close()
        heard = until(lambda: self.cluster.phasectl("status").returncode == 0, 30, 1)
        if not heard and self.cluster.daemon_pid() == pid and not self.cluster.down.get("daemon"):
            self.cluster.crashes.append(f"the daemon was deaf after {len(crowd)} connections")
        return f"{len(crowd)} connections"

    def part(self, fault, part, name):
        if not self.cluster.part_pid(part):
            return None
        self.down(part, 1)
        try:
            done = self.cluster.kill_part(part, name)
            self.wait(fault.length)
            if name == "STOP":
                self.cluster.kill_part(part, "CONT")
        finally:
            self.down(part, -1)
            self.cluster.start_part(part)
        return done and f"{name} to {part} for {fault.length:.0f} s"

    def node(self, fault, name):
        return self.part(fault, self.choose(fault, self.cluster.nodes()), name)

    # --- Slurm ---------------------------------------------------------------------------------

    def preempt(self, fault):
        nodes = 1 + int(fault.pick * 3)
        said = self.slurm(
            fault, "sbatch", "-p", "prod", "-N", str(nodes), "--gres=gpu:h100:8",
            "--job-name=storm", "--time=5", "-o", "/dev/null",
            f"--wrap=sleep {fault.length / 4:.0f}")
        return f"preempted {nodes} nodes for {fault.length / 4:.0f} s: {said}"

    def requeue(self, fault):
        job = self.job(fault, "running")
        return job and self.slurm(fault, "scontrol", "requeue", job)

    def requeuehold(self, fault):
        job = self.job(fault, "running")
        if not job:
            return None
        said = self.slurm(fault, "scontrol", "requeuehold", job)
        self.wait(fault.length)
        self.scontrol("release", job)
        return said

    def hold_job(self, fault):
        job = self.job(fault, "pending")
        if not job:
            return None
        said = self.slurm(fault, "scontrol", "hold", job)
        self.wait(fault.length)
        self.scontrol("release", job)
        return said

    def suspend(self, fault):
        job = self.job(fault, "running")
        if not job:
            return None
        said = self.slurm(fault, "scontrol", "suspend", job)
        self.wait(fault.length)
        self.scontrol("resume", job)
        return said

    def time_limit(self, fault):
        job = self.job(fault, "running")
        minutes = 1 + int(fault.length / 20)
        return job and self.slurm(fault, "scontrol", "update", f"JobId={job}",
                                  f"TimeLimit={minutes}")

    def scancel(self, fault, states):
        job = self.job(fault, states)
        return job and self.slurm(fault, "scancel", job)

    def node_state(self, fault, state):
        node = self.choose(fault, self.cluster.nodes())
        said = self.slurm(fault, "scontrol", "update", f"NodeName={node}", f"State={state}",
                          "Reason=storm")
        self.wait(fault.length)
        self.scontrol("update", f"NodeName={node}", "State=RESUME")
        return said

    def forget(self, fault, keep):
        """Removes the controller's state, or puts back an older state."""
        state, copy = self.cluster.slurm / "state", self.cluster.slurm / f"state.{fault.at:.0f}"
        self.down("slurmctld", 1)
        try:
            if keep:
                shutil.copytree(state, copy, ignore_dangling_symlinks=True)
                self.wait(fault.length)
            self.cluster.kill_part("slurmctld", "KILL")
            until(lambda: not self.cluster.part_pid("slurmctld"), 10)
            shutil.rmtree(state)
            if keep:
                copy.rename(state)
            else:
                state.mkdir()
        finally:
            self.down("slurmctld", -1)
            self.cluster.start_part("slurmctld")
        return f"the controller's state of {fault.length:.0f} s before" if keep else "no state left"

    # --- Files ---------------------------------------------------------------------------------

    def lock(self, fault, statement):
        """Locks the record, as a backup or a viewer does."""
        base = None
        try:
            base = sqlite3.connect(self.cluster.home / "phased.db", timeout=5, isolation_level=None)
            base.execute(statement)
            base.execute("SELECT count(*) FROM event").fetchall()
            self.wait(min(fault.length, 20))
            base.execute("ROLLBACK")
        except sqlite3.Error as error:
            fault.refused = True
            return f"{statement}: {error}"
        finally:
            if base:
                base.close()
        return f"{statement} for {min(fault.length, 20):.0f} s"

    def damage(self, fault, pattern, how, newest=True):
        """Damages one of the six newest files, because the newest files matter most."""
        def age(path):
            try:
                return -path.stat().st_mtime
            except OSError:
                return 0
        found = sorted(self.cluster.home.glob(f"runs/[0-9]*/{pattern}"), key=age)
        path = self.choose(fault, found[:6] if newest else found)
        if not path:
            return None
        parts = path.relative_to(self.cluster.home / "runs").parts
        fault.workflows.append(int(parts[0]))
        try:
            size = path.stat().st_size
            if how == "remove":
                path.unlink()
            elif how == "truncate":
                os.truncate(path, int(size * fault.pick))
            else:
                with open(path, "r+b") as file:
                    file.seek(int(size * fault.pick))
                    file.write(random.Random(fault.pick).randbytes(40) + b"\n")
        except OSError as error:
            fault.refused = True
            return f"{how} {path}: {error}"
        return f"{how} {path.relative_to(self.cluster.home)}"

    def damage_unseen(self, fault):
        """Cuts the end of a run's journal while the daemon is away."""
        if not self.cluster.daemon_pid():
            return None
        self.down("daemon", 1)
        try:
            self.cluster.kill_daemon("KILL")
            self.wait(fault.length)
            return self.damage(fault, "*/[0-9]*/journal/n*.jsonl", "truncate")
        finally:
            self.down("daemon", -1)

    def full_disk(self, fault):
        if not self.cluster.mounted:
            fault.why = "only root may mount a small disk"
            return None
        ballast = self.cluster.home / "runs/ballast"
        self.disk_full += 1
        try:
            subprocess.run(["dd", "if=/dev/zero", f"of={ballast}", "bs=64k"], capture_output=True,
                           timeout=30, check=False)
            self.wait(min(fault.length, 15))
        finally:
            self.disk_full -= 1
            if not self.disk_full:
                ballast.unlink(missing_ok=True)
        return f"a full disk for {min(fault.length, 15):.0f} s"

    # --- People --------------------------------------------------------------------------------

    def people(self, fault, verb, twice=False):
        """Gives a command to a phase that is not over, if possible to one that waits for it."""
        phases = self.cluster.record(
            "SELECT workflow || '/' || name AS address, workflow, state FROM phase "
            "WHERE state NOT IN ('succeeded', 'cancelled', 'skipped') ORDER BY id")
        waiting = [phase for phase in phases if phase["state"] in WAITS_FOR.get(verb, ())]
        phase = self.choose(fault, waiting or phases)
        if not phase:
            return None
        fault.workflows.append(phase["workflow"])
        said, fault.refused = [], True
        for _ in range(2 if twice else 1):
            done = self.cluster.phasectl(verb, phase["address"])
            fault.refused = fault.refused and done.returncode != 0
            said += (done.stdout + done.stderr).strip().splitlines()[:1]
        if verb == "hold":
            self.wait(fault.length)
            self.cluster.phasectl("release", phase["address"])
        return f"phasectl {verb} {phase['address']}: {'; '.join(said)}"

    def clock(self, fault):
        """Sets the daemon's clock, and later sets it back. Needs libfaketime."""
        library = next(iter(glob.glob("/usr/lib*/*/faketime/libfaketimeMT.so.1")), None)
        if not library:
            fault.why = "there is no libfaketime"
            return None
        offset = ["-1h", "+1h", "+4d", "-10m"][int(fault.pick * 4)]
        clock = self.cluster.folder / "clock"
        clock.write_text("+0\n")
        self.restart_daemon({"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(clock),
                             "FAKETIME_CACHE_DURATION": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"})
        self.wait(fault.length / 2)
        clock.write_text(f"{offset}\n")
        self.wait(fault.length)
        clock.write_text("+0\n")
        self.wait(fault.length / 2)
        self.restart_daemon({})
        return f"the daemon's clock by {offset} for {fault.length:.0f} s"

    def restart_daemon(self, environment):
        self.down("daemon", 1)
        try:
            self.cluster.kill_daemon("TERM")
            until(lambda: not self.cluster.daemon_pid(), 20)
            self.cluster.start_daemon(environment)
        finally:
            self.down("daemon", -1)


# kind: (weight, shortest and longest length in seconds, what it does). A short storm leaves out
# kinds whose repair takes minutes.
KINDS = {
    "daemon kill": (6, 1, 10, lambda f, x: f.daemon(x, "KILL")),
    "daemon term": (3, 1, 10, lambda f, x: f.daemon(x, "TERM")),
    "daemon stop": (3, 3, 30, lambda f, x: f.daemon(x, "STOP")),
    "daemon away": (2, 30, 90, lambda f, x: f.daemon(x, "KILL")),
    "daemon twice": (1, 1, 1, lambda f, x: f.daemon_twice(True)),
    "daemon unlocked": (1, 1, 1, lambda f, x: f.daemon_twice(False)),
    "connections": (1, 1, 1, lambda f, x: f.connections(x)),
    "lead kill": (4, 1, 1, lambda f, x: f.signal(x, "lead", "KILL")),
    "lead term": (2, 1, 1, lambda f, x: f.signal(x, "lead", "TERM")),
    "lead stop": (2, 3, 40, lambda f, x: f.signal(x, "lead", "STOP")),
    "task kill": (3, 1, 1, lambda f, x: f.signal(x, "task", "KILL")),
    "task stop": (1, 3, 40, lambda f, x: f.signal(x, "task", "STOP")),
    "agent kill": (5, 1, 1, lambda f, x: f.signal(x, "agent", "KILL")),
    "agent term": (2, 1, 1, lambda f, x: f.signal(x, "agent", "TERM")),
    "agent stop": (2, 3, 40, lambda f, x: f.signal(x, "agent", "STOP")),
    "srun kill": (2, 1, 1, lambda f, x: f.signal(x, "srun", "KILL")),
    "rank kill": (5, 1, 1, lambda f, x: f.signal(x, "rank", "KILL")),
    "rank term": (3, 1, 1, lambda f, x: f.signal(x, "rank", "TERM")),
    "rank stop": (2, 3, 40, lambda f, x: f.signal(x, "rank", "STOP")),
    "slurmstepd kill": (4, 1, 1, lambda f, x: f.signal(x, "stepd", "KILL")),
    "slurmstepd term": (2, 1, 1, lambda f, x: f.signal(x, "stepd", "TERM")),
    "slurmstepd stop": (2, 3, 30, lambda f, x: f.signal(x, "stepd", "STOP")),
    "slurmd kill": (3, 3, 60, lambda f, x: f.node(x, "KILL")),
    "slurmd term": (2, 3, 20, lambda f, x: f.node(x, "TERM")),
    "slurmd stop": (2, 3, 40, lambda f, x: f.node(x, "STOP")),
    "slurmctld kill": (4, 1, 30, lambda f, x: f.part(x, "slurmctld", "KILL")),
    "slurmctld term": (2, 1, 20, lambda f, x: f.part(x, "slurmctld", "TERM")),
    "slurmctld stop": (2, 3, 30, lambda f, x: f.part(x, "slurmctld", "STOP")),
    "munged kill": (3, 1, 15, lambda f, x: f.part(x, "munged", "KILL")),
    "munged term": (2, 1, 15, lambda f, x: f.part(x, "munged", "TERM")),
    "munged stop": (2, 3, 30, lambda f, x: f.part(x, "munged", "STOP")),
    "preempt": (14, 8, 40, lambda f, x: f.preempt(x)),
    "requeue": (5, 1, 1, lambda f, x: f.requeue(x)),
    "requeuehold": (3, 5, 30, lambda f, x: f.requeuehold(x)),
    "job hold": (2, 5, 30, lambda f, x: f.hold_job(x)),
    "suspend": (3, 3, 30, lambda f, x: f.suspend(x)),
    "time limit": (3, 1, 40, lambda f, x: f.time_limit(x)),
    "scancel": (4, 1, 1, lambda f, x: f.scancel(x, "running")),
    "scancel pending": (3, 1, 1, lambda f, x: f.scancel(x, "pending")),
    "node down": (3, 3, 40, lambda f, x: f.node_state(x, "DOWN")),
    "node drain": (3, 3, 40, lambda f, x: f.node_state(x, "DRAIN")),
    "reader": (2, 2, 20, lambda f, x: f.lock(x, "BEGIN")),
    "writer": (3, 1, 20, lambda f, x: f.lock(x, "BEGIN IMMEDIATE")),
    "checkpoint truncate": (4, 1, 1, lambda f, x: f.damage(x, "*/out/step_*", "truncate")),
    "checkpoint remove": (3, 1, 1, lambda f, x: f.damage(x, "*/out/step_*", "remove")),
    "journal truncate": (3, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/journal/*.jsonl", "truncate")),
    "journal garbage": (3, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/journal/*.jsonl", "garbage")),
    "journal remove": (2, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/journal/*.jsonl", "remove")),
    "journal unseen": (5, 5, 20, lambda f, x: f.damage_unseen(x)),
    "outcome truncate": (2, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/outcome.json", "truncate")),
    "outcome garbage": (1, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/outcome.json", "garbage")),
    "outcome remove": (2, 1, 1, lambda f, x: f.damage(x, "*/[0-9]*/outcome.json", "remove")),
    "full disk": (2, 3, 15, lambda f, x: f.full_disk(x)),
    "clock": (2, 10, 40, lambda f, x: f.clock(x)),
    "person holds": (4, 2, 15, lambda f, x: f.people(x, "hold")),
    "person releases": (3, 1, 1, lambda f, x: f.people(x, "release")),
    "person retries": (4, 1, 1, lambda f, x: f.people(x, "retry")),
    "person retries twice": (2, 1, 1, lambda f, x: f.people(x, "retry", True)),
    "person promotes": (2, 1, 1, lambda f, x: f.people(x, "promote")),
    "person resumes": (3, 1, 1, lambda f, x: f.people(x, "resume")),
    "person cancels": (1, 1, 1, lambda f, x: f.people(x, "cancel", True)),
    "state lost": (1, 1, 1, lambda f, x: f.forget(x, False)),
    "state rolled back": (3, 5, 60, lambda f, x: f.forget(x, True)),
}
# A killed controller may forget a job. phased waits five minutes before it believes that.
SLOW = {"daemon away", "slurmd kill", "slurmctld kill", "state lost", "state rolled back",
        "scancel pending", "node down", "outcome remove", "outcome truncate", "outcome garbage",
        "clock"}


def draw(rng, seconds, every, short, only):
    """Draws faults for these seconds, about one in `every` seconds. Each kind comes once before any
    kind is repeated."""
    kinds = sorted(kind for kind in KINDS if any(word in kind for word in only or [])
                   or not only and not (short and kind in SLOW))
    if not kinds:
        raise SystemExit(f"storm: no kind of fault is called {' or '.join(only)}")
    count = int(seconds / every)
    order = rng.sample(kinds, len(kinds))
    order += rng.choices(kinds, [KINDS[kind][0] for kind in kinds], k=max(count - len(order), 0))
    found = []
    for kind in order[:count]:
        _, shortest, longest, _ = KINDS[kind]
        longest = max(shortest, min(longest, SHORT_S)) if short else longest
        found.append(Fault(rng.uniform(6, seconds), kind, rng.random(),
                           rng.uniform(shortest, longest)))
    return sorted(found, key=lambda fault: fault.at)


def attempt(faults, fault):
    """Tries the fault once. Returns true if it was done."""
    if not fault.refused:
        fault.time = time.time()
    fault.live = sorted({process.workflow for process in faults.cluster.processes("rank")
                         if process.workflow and state_of(process.pid)})
    fault.refused = False
    try:
        fault.what = KINDS[fault.kind][3](faults, fault)
    except OSError as error:
        fault.what, fault.refused = f"could not: {error}", True
    fault.tries += 1 if fault.refused else 0
    return fault.what and not fault.refused


def carry_out(faults, fault):
    """Does the fault. Tries again for WAIT_S, because a fault may find no target at first."""
    until(lambda: faults.over or attempt(faults, fault), WAIT_S, 1)
    fault.until = time.time()
    word = "refused: " if fault.refused else ""
    faults.log(f"{fault.kind}: {word}{fault.what or fault.why}", fault.time)
