"""A storm's own Slurm and daemon, in its own folder. This file starts and kills them.

Only processes that name this folder's slurm.conf, munge socket or home are touched."""
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

NODES = 4


def run(command, timeout=30, **more):
    """Returns a command's result. A time-out is a failure with that text."""
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                              timeout=timeout, stdin=subprocess.DEVNULL, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer in {timeout} s")


def until(condition, seconds, pause=0.1):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def words_of(pid, file):
    """Returns [] for a process in another root: equal paths are different files there."""
    try:
        if not os.path.samefile(f"/proc/{pid}/root", "/"):
            return []
        return pathlib.Path(f"/proc/{pid}/{file}").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def state_of(pid):
    """Returns Z, T, S, ... or None if the process has ended."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return None


def parent_of(pid):
    try:
        return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def is_stepd(pid):
    return "".join(words_of(pid, "cmdline")[:1]).startswith("slurmstepd: ")


def send(pid, name):
    try:
        os.kill(pid, getattr(signal, f"SIG{name}"))
        return True
    except ProcessLookupError:
        return False


class Process:
    def __init__(self, pid, command, environment):
        self.pid, self.command = pid, command
        program = os.path.basename(command[0])
        self.kind = None
        if program.startswith("slurmstepd"):
            self.kind = "stepd"
        elif program == "phase-worker" and len(command) > 1:
            self.kind = {"node": "agent", "task": "task"}.get(command[1], "lead")
        elif program.startswith("python3") and any(w.endswith("program.py") for w in command):
            self.kind = "rank"
        elif program == "srun":
            self.kind = "srun"
        text = " ".join(command) + " " + " ".join(environment)
        found = re.search(r"/runs/(\d+)/", text)
        self.workflow = int(found[1]) if found else None
        found = re.search(r"slurmstepd: \[(\d+)", command[0])
        self.job = int(found[1]) if found else None

    def __str__(self):
        return f"{self.kind} {self.pid} of workflow {self.workflow}"


class Cluster:
    def __init__(self, folder, source, binaries):
        self.folder, self.source, self.binaries = folder, source, binaries
        self.home, self.slurm = folder / "home", folder / "slurm"
        self.account, self.conf = folder / "account", folder / "slurm/slurm.conf"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM", "PHASED"))}
        self.environment.update(
            SLURM_CONF=str(self.conf), PHASED_HOME=str(self.home),
            PATH=f"{binaries}:{os.environ['PATH']}:/usr/sbin:/sbin")
        self.commands = {}            # of Slurm's daemons, by name
        self.lock = threading.RLock()  # daemons are started one at a time
        self.down = {}                # part -> number of faults that keep it down
        self.ended_by_us = set()      # pids of daemons that the storm ended
        self.crashes = []             # daemons that ended by themselves
        self.memory = 0               # maximum of a daemon, in KiB
        self.pid = None               # of the daemon
        self.mounted = False

    # --- Slurm ---------------------------------------------------------------------------------

    def start(self):
        for part in (self.home, self.account, self.slurm):
            part.mkdir(mode=0o700)
        (self.home / "runs").mkdir(mode=0o700)
        self.sandbox("start", "--nodes", NODES)
        self.learn()
        self.configure()
        self.mount()

    def sandbox(self, verb, *options):
        done = run([self.source / "etc/sandbox/sandbox", verb, self.slurm, *options], 90)
        if done.returncode:
            raise SystemExit(f"storm: {done.stderr.strip()}")

    def configure(self):
        """Slurm writes its own account: ends of jobs, and starts on nodes."""
        script = self.slurm / "prolog"
        script.write_text(f'#!/bin/sh\necho "$(date +%s.%3N) $SLURM_JOB_ID $SLURMD_NODENAME" '
                          f'>>{self.account}/slurm-starts\n')
        script.chmod(0o755)
        text = self.conf.read_text()
        for old, new in (("jobcomp/none", "jobcomp/filetxt"), ("MinJobAge=60", "MinJobAge=120"),
                         ("SlurmdTimeout=30", "SlurmdTimeout=20")):
            text = text.replace(old, new)
        self.conf.write_text(text + f"JobCompLoc={self.account}/slurm-ends\nProlog={script}\n")
        for part in self.parts():
            if part != "munged":
                self.kill_part(part, "TERM")
                until(lambda part=part: not self.part_pid(part), 20)
        for part in self.parts():
            self.start_part(part)
        if not until(self.ready, 60):
            raise SystemExit("storm: the nodes did not become ready")

    def learn(self):
        """The commands that start the parts are read from the running processes."""
        for part in ["munged", "slurmctld"] + self.nodes():
            words = words_of(self.part_pid(part), "cmdline")
            self.commands[part] = [word for word in words if word]

    def nodes(self):
        return [f"n{i + 1}" for i in range(NODES)]

    def parts(self):
        return list(self.commands)

    def part_pid(self, part):
        try:
            pid = int((self.slurm / "pid" / part).read_text())
        except (OSError, ValueError):
            return None
        mine = (str(self.conf), f"--socket={self.slurm}/munge/socket")
        return pid if state_of(pid) not in (None, "Z") and any(
            word in mine for word in words_of(pid, "cmdline")) else None

    def kill_part(self, part, name):
        pid = self.part_pid(part)
        return bool(pid) and send(pid, name)

    def start_part(self, part):
        with self.lock:
            if self.part_pid(part):
                return
            if part == "munged":
                for file in ("socket", "socket.lock"):
                    (self.slurm / "munge" / file).unlink(missing_ok=True)
            run(self.commands[part], env=self.environment)

    def ready(self):
        states = self.call("sinfo", "-h", "-N", "-p", "prod", "-o", "%N %t").stdout.split("\n")
        good = {line.split()[0] for line in states
                if line.endswith((" idle", " mix", " alloc", " comp"))}
        return len(good) == NODES

    def call(self, *command, timeout=20):
        return run(command, timeout, env=self.environment)

    def live_jobs(self):
        """Returns the lines of phased's jobs that Slurm has not ended."""
        listed = self.call("squeue", "-h", "-o", "%A %T %j %R").stdout.splitlines()
        return [line for line in listed if line.split()[2] != "storm"]

    # --- The daemon ----------------------------------------------------------------------------

    def daemon_pid(self):
        try:
            pid = json.loads((self.home / "daemon.json").read_text())["pid"]
        except (OSError, ValueError, KeyError):
            return None
        mine = words_of(pid, "cmdline")
        return pid if state_of(pid) not in (None, "Z") and mine[:1] and \
            os.path.basename(mine[0]) == "phased" and str(self.home) in " ".join(
                mine + words_of(pid, "environ")) else None

    def daemons(self):
        """Returns all daemons of this home, also one that the file no longer names."""
        home = f"PHASED_HOME={self.home}"
        return [int(pid) for pid in os.listdir("/proc") if pid.isdigit()
                and words_of(pid, "cmdline")[:1] and home in words_of(pid, "environ")
                and os.path.basename(words_of(pid, "cmdline")[0]) == "phased"]

    def start_daemon(self, environment=None):
        with self.lock:
            if self.daemon_pid():
                return ""
            done = run(["phasectl", "daemon", "start"], 60,
                       env={**self.environment, **(environment or {})}, cwd=self.folder)
            self.pid = self.daemon_pid() or self.pid
            return "" if done.returncode == 0 else (done.stderr or done.stdout).strip()

    def kill_daemon(self, name):
        pid = self.daemon_pid()
        if pid:
            if name in ("KILL", "TERM"):
                self.ended_by_us.add(pid)
            send(pid, name)
        return pid

    def keep(self):
        """Starts what no fault keeps down, and notes what ended by itself."""
        pid = self.daemon_pid()
        if pid:
            self.pid = pid
            found = re.search(r"VmHWM:\s+(\d+)", " ".join(words_of(pid, "status")))
            self.memory = max(self.memory, int(found[1]) if found else 0)
        elif self.pid and self.pid not in self.ended_by_us and not self.down.get("daemon"):
            self.ended_by_us.add(self.pid)
            self.crashes.append(f"daemon {self.pid} ended by itself: {self.last_words()}")
        for part in self.parts():
            if not self.down.get(part):
                self.start_part(part)
        if not pid and not self.down.get("daemon"):
            said = self.start_daemon()
            if said:
                self.crashes.append(f"the daemon did not start: {said}")

    def last_words(self):
        try:
            lines = (self.home / "phased.log").read_text(errors="replace").splitlines()
        except OSError:
            return "no log"
        telling = [line for line in lines[-60:]
                   if re.search("assert|abort|Sanitizer|mistake", line)]
        return (telling or lines or ["nothing"])[-1]

    def phasectl(self, *words, timeout=20):
        return run(["phasectl", *words], timeout, env=self.environment, cwd=self.folder)

    # --- The record ----------------------------------------------------------------------------

    def record(self, query, **values):
        """Returns rows as dictionaries, or no rows while the record cannot be read."""
        try:
            base = sqlite3.connect(f"file:{self.home}/phased.db?mode=ro", uri=True, timeout=5)
            base.row_factory = sqlite3.Row
            try:
                return [dict(row) for row in base.execute(query, values)]
            finally:
                base.close()
        except sqlite3.Error:
            return []

    def workflow_of(self, job):
        rows = self.record("SELECT workflow FROM job WHERE slurm_id = :job ORDER BY id DESC",
                           job=job)
        return rows[0]["workflow"] if rows else None

    # --- Processes -----------------------------------------------------------------------------

    def processes(self, kind=None):
        mine, parents, found = f"SLURM_CONF={self.conf}", set(), []
        pids = [int(folder[6:]) for folder in glob.glob("/proc/[0-9]*")]
        environments = {pid: words_of(pid, "environ") for pid in pids if pid != os.getpid()}
        for pid, environment in environments.items():
            if mine in environment:
                parents.add(parent_of(pid))
        for pid, environment in environments.items():
            # Since Slurm 24.11 the title of slurmstepd is written over its environment.
            if mine in environment or pid in parents and is_stepd(pid):
                command = [word for word in words_of(pid, "cmdline") if word]
                process = Process(pid, command or ["?"], environment)
                if process.job:
                    process.workflow = self.workflow_of(process.job)
                wanted = process.kind and kind in (None, process.kind)
                if wanted and state_of(pid) not in (None, "Z"):
                    found.append(process)
        return sorted(found, key=lambda process: process.pid)

    # --- The disk of the run folders -----------------------------------------------------------

    def mount(self):
        """Mounts a small disk for the run folders, if this user may mount one."""
        runs = self.home / "runs"
        if os.geteuid() == 0:
            done = run(["mount", "-t", "tmpfs", "-o", "size=96m,mode=0700", "storm", runs])
            self.mounted = done.returncode == 0

    def unmount(self):
        """Unmounts the small disk, and keeps its files."""
        runs, kept = self.home / "runs", self.home / "kept"
        if self.mounted:
            (runs / "ballast").unlink(missing_ok=True)
            shutil.copytree(runs, kept, symlinks=True, ignore_dangling_symlinks=True)
            run(["umount", "-l", runs])
            runs.rmdir()
            kept.rename(runs)
            self.mounted = False

    # --- The end -------------------------------------------------------------------------------

    def stop(self):
        pid = self.daemon_pid()
        if pid:
            self.ended_by_us.add(pid)
        self.phasectl("daemon", "stop")
        for pid in self.daemons():
            send(pid, "KILL")
        self.sandbox("stop")
        for process in self.processes():
            send(process.pid, "KILL")
        self.unmount()
