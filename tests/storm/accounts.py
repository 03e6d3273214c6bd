"""Reads the three accounts of a storm: those of the record, of Slurm, and of the programs."""
import json
import re
import time

from program import whole_checkpoints


class Start:
    """One process of a rank, from the programs' account."""

    def __init__(self, line):
        self.phase, self.attempt, self.rank = line["phase"], line["attempt"], line["rank"]
        self.pid, self.job, self.node = line["pid"], line["job"], line["node"]
        self.restarts = line["restarts"]
        self.begin = self.end = line["time"]
        self.resumed, self.asked, self.own = line["resumed"], line["asked"], line["own"]
        self.found, self.bad, self.poisoned = line["found"], line["bad"], line["poisoned"]
        self.steps, self.saves, self.lines = [], [], [line]
        self.last, self.state = "start", None

    def add(self, line):
        self.lines.append(line)
        self.end = line["time"]
        if line["what"] == "step":
            self.steps.append((line["time"], line["step"]))
        elif line["what"] == "save":
            self.saves.append((line["time"], line["step"]))
        if line["what"] not in ("end", "save", "unsaved"):
            self.last = line["what"]
        self.state = line.get("state", self.state)

    def __str__(self):
        steps = f"steps {self.steps[0][1]}-{self.steps[-1][1]}" if self.steps else "no step"
        return (f"{self.phase}#{self.attempt} rank {self.rank} job {self.job}.{self.restarts} "
                f"on {self.node} pid {self.pid}: from {self.resumed}, {steps}, {self.last}")


class Found:
    """The accounts, which all checks use."""

    def __init__(self):
        self.starts = []        # ordered by their begin
        self.overlaps = []      # lines that report another living process


def read_lines(path):
    for line in path.read_text(errors="replace").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def programs(folder, found):
    for path in sorted(folder.glob("*.jsonl")):
        by_pid = {}
        for line in read_lines(path):
            if line["what"] == "start":
                by_pid[line["pid"]] = Start(line)
                found.starts.append(by_pid[line["pid"]])
            elif line["pid"] in by_pid:
                by_pid[line["pid"]].add(line)
                if line["what"] == "overlap":
                    found.overlaps.append(line)
    found.starts.sort(key=lambda start: start.begin)


def slurm(folder, cluster, found):
    """Reads the starts on nodes from the prolog, and the ends from the controller."""
    starts, ends = folder / "slurm-starts", folder / "slurm-ends"
    found.slurm_starts, found.slurm_ends = [], []
    for line in starts.read_text().splitlines() if starts.exists() else []:
        words = line.split()
        if len(words) == 3:
            found.slurm_starts.append((float(words[0]), int(words[1]), words[2]))
    for line in ends.read_text(errors="replace").splitlines() if ends.exists() else []:
        end = dict(re.findall(r"(\w+)=(\S*)", line))
        if end.get("JobId", "").isdigit():
            found.slurm_ends.append(end)
    found.slurm_live = cluster.live_jobs()
    found.preemptors = {int(end["JobId"]) for end in found.slurm_ends if end.get("Name") == "storm"}


def record(cluster, found):
    read = cluster.record
    found.workflows = read("SELECT workflow.*, v_workflow.state FROM workflow "
                           "JOIN v_workflow ON v_workflow.workflow = workflow.id ORDER BY id")
    found.phases = {p["address"]: p for p in read(
        "SELECT workflow || '/' || name AS address, * FROM phase")}
    found.runs = read(
        "SELECT run.*, phase.workflow || '/' || phase.name AS address, phase.workflow, "
        "job.slurm_id, job.slurm_id AS job_id "
        "FROM run JOIN phase ON phase.id = run.phase JOIN job ON job.id = run.job "
        "ORDER BY run.id")
    found.jobs = read("SELECT * FROM job ORDER BY id")
    found.events = read(
        "SELECT event.*, phase.workflow || '/' || phase.name AS address, run.attempt FROM event "
        "LEFT JOIN phase ON phase.id = event.phase LEFT JOIN run ON run.id = event.run "
        "ORDER BY event.id")
    found.verdicts = read(
        "SELECT verdict.*, phase.workflow || '/' || phase.name AS address, run.attempt "
        "FROM verdict JOIN run ON run.id = verdict.run JOIN phase ON phase.id = run.phase "
        "WHERE kind = 'gate' ORDER BY verdict.id")
    found.promotions = read(
        "SELECT promotion.*, phase.workflow || '/' || phase.name AS address FROM promotion "
        "JOIN phase ON phase.id = promotion.phase ORDER BY promotion.id")
    found.told = {}  # (address, attempt) -> the steps of its rows
    for row in read("SELECT phase.workflow || '/' || phase.name AS address, run.attempt, step "
                    "FROM metric JOIN metric_name "
                    "ON metric_name.id = metric.name AND metric_name.name = 'loss' "
                    "JOIN run ON run.id = metric.run JOIN phase ON phase.id = run.phase "
                    "ORDER BY step"):
        found.told.setdefault((row["address"], row["attempt"]), []).append(row["step"])
    found.saved = {}  # (address, attempt) -> the steps of its checkpoints
    for row in read("SELECT phase.workflow || '/' || phase.name AS address, run.attempt, step "
                    "FROM checkpoint JOIN run ON run.id = checkpoint.run "
                    "JOIN phase ON phase.id = run.phase ORDER BY step"):
        found.saved.setdefault((row["address"], row["attempt"]), []).append(row["step"])
    found.integrity = [row["integrity_check"] for row in read("PRAGMA integrity_check")]


def checkpoints(cluster, found):
    """Reads the remaining whole checkpoints of each phase, and the runs that began anew after
    earlier runs without a request for it."""
    found.checkpoints, found.by_chance = {}, set()
    for address in found.expected:
        folder = cluster.home / "runs" / address
        found.checkpoints[address] = sorted(whole_checkpoints(folder / "out"))
        for path in folder.glob("[0-9]*/run.json"):
            run = next(read_lines(path), {})
            attempt = int(path.parent.name)
            if attempt > 1 and not run.get("resume") and not run.get("anew"):
                found.by_chance.add((address, attempt))


def gather(storm):
    found = Found()
    cluster = storm.cluster
    found.folder, found.began = storm.folder, storm.began
    found.submitted, found.faults = storm.workflows, storm.faults
    found.expected = {f"{w.id}/{name}": phase for w in storm.workflows if w.id
                      for name, phase in w.phases.items()}
    found.crashes, found.memory = list(cluster.crashes), cluster.memory
    found.given_up, found.helps = dict(storm.person.given_up), dict(storm.person.helps)
    found.left = [str(process) for process in cluster.processes()]
    found.left += [f"daemon {pid}" for pid in cluster.daemons()[1:]]
    found.seed, found.minutes = storm.chosen.seed, storm.chosen.minutes
    found.after = max(0, time.time() - storm.began - 60 * storm.chosen.minutes)
    found.version = cluster.call("scontrol", "--version").stdout.strip() or "no Slurm"
    programs(cluster.account, found)
    slurm(cluster.account, cluster, found)
    record(cluster, found)
    checkpoints(cluster, found)
    return found
