"""What must be true after a storm. Each check compares the accounts and reports what it finds."""
import math

from workflows import mean_loss

MEMORY_MAX_KIB = 200 * 1024
OVER = ("succeeded", "cancelled", "skipped")
# Faults that end processes without a chance to save, whatever their target is.
HARD = ("lead kill", "lead stop", "task", "agent", "srun", "rank kill", "rank stop",
        "slurmstepd kill", "slurmstepd stop", "slurmd", "node down", "state", "suspend", "munged",
        "slurmctld", "full disk")
# Faults that kill an agent before it has read the last lines of its ranks.
DEAF = ("agent kill", "task kill", "lead kill", "srun", "slurmstepd kill", "slurmd", "node down",
        "state", "requeue", "scancel")
FORGOTTEN = 60  # seconds until nodes end the steps of a job that a controller without state forgot
LOOKS = 6  # seconds for an agent to look twice for checkpoints, with a margin


class Violation:
    def __init__(self, rule, workflow, text):
        self.rule, self.workflow, self.text = rule, workflow, text

    def __str__(self):
        return f"{self.rule}: {self.text}"


def workflow_of(address):
    return int(address.partition("/")[0])


def starts_of(found, address, rank=0):
    return [s for s in found.starts if s.phase == address and s.rank == rank]


def faults_between(found, workflow, begin, end, kinds=None):
    """Returns the faults in this time, at this workflow or at everything."""
    return [f for f in found.faults if f.what and f.time <= end and (f.until or f.time) >= begin
            and (not f.workflows or workflow in f.workflows)
            and (kinds is None or f.kind.startswith(kinds))]


def signals_to(found, start, kind):
    """Returns the storm's signals of this kind to this rank. On a busy machine, a rank tells its
    begin seconds late, and a killed rank tells nothing. No other rank gets its pid that soon."""
    return [f for f in found.faults if f.kind == kind and f.what and f.pid == start.pid
            and start.begin - 30 <= f.time <= start.end + 30]


def ended_early(found, start):
    """Whether a TERM of the storm made this rank save and exit. Under sbatch, too, a program that
    then exits with 0 has succeeded, because it cannot be told from a program that is done."""
    return start.last == "stopped" and any(
        f.time <= start.end for f in signals_to(found, start, "rank term"))


def steps_due(found, address, expected):
    """Returns how many steps a succeeded phase must have made: all steps, or those until the
    storm's TERM to rank 0 of the succeeded run."""
    succeeded = {run["attempt"] for run in found.runs
                 if run["address"] == address and run["outcome"] == "succeeded"}
    last = [start for start in starts_of(found, address) if start.attempt in succeeded][-1:]
    if last and last[0].steps and ended_early(found, last[0]):
        return last[0].steps[-1][1]
    return expected.steps


def once(found):
    """Ranks of different runs of one phase are never alive at the same time."""
    for line in found.overlaps:
        yield Violation("two at once", workflow_of(line["phase"]),
                        f"{line['phase']}#{line['attempt']} rank {line['rank']} began on "
                        f"{line['node']} while {line['other']} was alive")
    last = {}
    for start in found.starts:
        before = last.get(start.phase)
        if before and before.attempt != start.attempt and start.begin < before.end:
            yield Violation("two at once", workflow_of(start.phase),
                            f"{start} began {before.end - start.begin:.1f} s "
                            f"before the end of {before}")
        if not before or start.end > before.end:
            last[start.phase] = start


def agree(found):
    """Each start in the programs' account is a run of the record and a job of Slurm, and the
    reverse."""
    runs = {(run["address"], run["attempt"]): run for run in found.runs}
    # slurmd skips the prolog of a job if an earlier launch of the job failed before its prolog, for
    # example without munge. Then the controller still tells on which nodes the job ended.
    in_slurm = {job for _, job, _ in found.slurm_starts} | {
        int(end["JobId"]) for end in found.slurm_ends if end.get("NodeList") not in (None, "(null)")}
    seen = {}
    for start in found.starts:
        key = (start.phase, start.attempt, start.rank)
        if key in seen:
            yield Violation("started twice", workflow_of(start.phase),
                            f"{start}; before it {seen[key]}")
        seen[key] = start
        run = runs.get(key[:2])
        if not run:
            yield Violation("unknown start", workflow_of(start.phase),
                            f"{start}: the record has no such run")
        elif run["job_id"] != start.job:
            yield Violation("unknown start", run["workflow"],
                            f"{start}: the record says job {run['job_id']}")
        elif run["ended"] and not has_another_time(found, start):
            longer = start.end - run["ended"] / 1000
            allowed = 20 if lost_a_part(found, start, run["ended"] / 1000) else 3
            if longer > allowed and not was_mute(found, start, run["ended"] / 1000):
                yield Violation("ran after its end", run["workflow"],
                                f"{start} went on for {longer:.0f} s after the record's end of it "
                                f"({run['outcome']}: {run['message']})")
    for key, run in runs.items():
        begun = run["started"] and run["last_step"] > max(run["resume_step"], 0)
        if (begun or run["outcome"] == "succeeded") and (*key, 0) not in seen:
            yield Violation("unknown run", run["workflow"],
                            f"{key[0]}#{key[1]} made steps by the record, and no program "
                            "tells of it")
        if run["started"] and run["job_id"] not in in_slurm:
            yield Violation("unknown run", run["workflow"],
                            f"{key[0]}#{key[1]}: Slurm has never started job {run['job_id']}")


def was_mute(found, start, ended):
    """Whether the agent was stopped then, alone or with its job. If it is killed later, the record
    ends the run at its last sign of life. Under proctrack/linuxproc a resumed job stays stopped if
    its task was killed meanwhile."""
    return faults_between(found, workflow_of(start.phase), ended - 1, ended + 1,
                          ("agent stop", "suspend"))


def lost_a_part(found, start, ended):
    """Whether the lead, an agent or srun was killed just before, or a node set DOWN, which makes Slurm
    kill srun: the run ends then. A rank lives until its agent, or the heir of its agent, has stopped
    it. The next run waits for that."""
    return faults_between(found, workflow_of(start.phase), ended - 8, ended + 1,
                          ("node down", "lead kill", "agent kill", "task kill", "slurmstepd kill",
                           "srun kill"))


def has_another_time(found, start):
    """Whether the daemon's clock was set, or the end of a journal was lost: then the record ends a
    killed run at its last entry that is left."""
    return faults_between(found, workflow_of(start.phase), start.begin, start.end,
                          ("clock", "journal"))


def jobs(found):
    """The record knows all of our jobs, and no job is left."""
    known = {job["slurm_id"] for job in found.jobs}
    for job in sorted({job for _, job, _ in found.slurm_starts} - known - found.preemptors):
        yield Violation("unknown job", None, f"Slurm has started job {job}; the record has no such")
    for line in found.slurm_live:
        yield Violation("left in Slurm", None, line)
    for process in found.left:
        yield Violation("left over", None, process)


def resumes(found):
    """Each run resumes from the newest whole good checkpoint that existed when it began."""
    for address, expected in found.expected.items():
        if expected.own or not expected.save:
            continue
        before, behind = None, set()
        for start in starts_of(found, address):
            # If a run goes back for a good reason, such as a retry that begins anew, the steps
            # ahead no longer count for later runs, until one of them saves them again.
            behind -= {step for _, step in before.saves} if before else set()
            good = [step for step in start.found if step not in start.bad and step not in behind]
            newest = max(good, default=0)
            if start.poisoned:
                yield Violation("resumed from a bad one", workflow_of(address),
                                f"{start}; there were {start.found}, bad {start.bad}")
            elif start.resumed != newest and not may_go_back(found, start, before, good):
                yield Violation("went back", workflow_of(address),
                                f"{start}; there were {start.found}, bad {start.bad}; "
                                f"before it {before}")
            elif start.last != "refused":  # a run that began without a checkpoint
                behind |= {step for step in good if step > start.resumed}
            before = start


def may_go_back(found, start, before, good):
    """Whether a checkpoint was damaged or its run died on resume, or a person or a gate decided
    it."""
    if start.last == "refused":
        return True  # it was damaged; the next run resumes from the checkpoint before it
    if before is None:
        return False
    if before.last == "done" or ended_early(found, before):
        return True  # a gate has judged it, or its account was damaged: it begins anew
    was_unseen = not found.saved.get((start.phase, before.attempt))
    ranks = [s for s in found.starts if (s.phase, s.attempt) == (before.phase, before.attempt)]
    was_killed = lost_a_part(found, before, before.end) or (
        was_unseen and any(signals_to(found, rank, "rank kill") for rank in ranks))
    if not good[:-1] and was_killed:
        return True  # a killed writer may have left it torn, and nothing can be compared with it
    if faults_between(found, workflow_of(start.phase), before.end - 10, start.begin, "checkpoint"):
        return start.resumed in good or start.asked is not None or not good[:-1]
    between = [run for run in found.runs if run["address"] == start.phase
               and before.attempt <= run["attempt"] < start.attempt]
    died = not before.steps or any(run["last_step"] <= run["resume_step"] for run in between)
    return died and (start.resumed in good or not good[:-1])


def ends(found):
    """Every workflow ends, and each waiting phase has a reason."""
    rows = {row["id"]: row for row in found.workflows}
    by_us = {w for f in found.faults if f.kind == "person cancels" and not f.refused
             for w in f.workflows}
    for workflow in found.submitted:
        row = rows.get(workflow.id)
        if not row:
            yield Violation("not taken", None, f"{workflow}: {workflow.refused or 'lost'}")
        elif workflow.id in found.given_up:
            yield Violation("given up", workflow.id, f"{workflow}: {found.given_up[workflow.id]}")
        elif row["ended"] is None:
            where = [f"{p['address']} {p['state']}: {p['reason']}" for p in found.phases.values()
                     if p["workflow"] == workflow.id and p["state"] not in OVER]
            yield Violation("stuck", workflow.id, f"{workflow}: {'; '.join(where)}")
        elif row["state"] != "succeeded" and workflow.id not in by_us:
            yield Violation("did not succeed", workflow.id, f"{workflow} has ended {row['state']}")
    for event in found.events:
        if event["type"] == "phase" and event["to_state"] == "held" and not event["message"]:
            yield Violation("held without a reason", event["workflow"], event["address"])


def gates(found):
    """A gate has passed on complete data, so its values are those of the programs' account."""
    for address, expected in found.expected.items():
        phase = found.phases.get(address)
        if not phase or phase["state"] != "succeeded" or phase["overridden"] or not expected.gate:
            continue
        verdicts, due = {}, steps_due(found, address, expected)
        for verdict in found.verdicts:
            if verdict["address"] == address:
                verdicts[verdict["name"]] = verdict
        steps = verdicts.get("all", {}).get("value")
        mean = verdicts.get("mean", {}).get("value", math.nan)
        read = {step for _, _, rows in led(found, address) for step in rows if step <= due}
        missing = set(range(1, due + 1)) - read
        if steps != len(read) or not unread(found, address, missing):
            yield Violation("partial data", phase["workflow"],
                            f"{address} was passed on {steps} of {due} steps, without "
                            f"{sorted(missing)[:8]}")
        elif read and not math.isclose(mean, mean_loss(read), rel_tol=1e-9):
            yield Violation("wrong value", phase["workflow"],
                            f"{address}: mean(loss) {mean} should be {mean_loss(read)}")


def led(found, address):
    """For the starts that led to the last one, newest first: (start, the step from which the next
    start resumed, the rows until there)."""
    newest, starts = math.inf, [s for s in starts_of(found, address) if s.last != "refused"]
    while starts:
        start = starts.pop()
        rows = found.told.get((address, start.attempt), [])
        yield start, newest, [step for step in rows if step <= newest]
        if not start.resumed:
            break
        newest = min(start.resumed, newest)
        while any(goes_on_from(start, s) for s in starts) and not goes_on_from(start, starts[-1]):
            starts.pop()  # nothing resumed from it


def goes_on_from(start, before):
    """Whether the start before saved the checkpoint of this start, or resumed from it, too."""
    return before.resumed == start.resumed or any(step == start.resumed for _, step in before.saves)


def unread(found, address, missing):
    """Whether an agent was killed before it can have read these lines, so that the daemon may call
    the data complete without them."""
    lineage = list(led(found, address))
    saved = [found.saved.get((address, start.attempt), []) for start, _, _ in lineage]
    for i, (start, newest, _) in enumerate(lineage):
        times = [time for time, step in start.steps if step in missing and step <= newest]
        if times and (newest == math.inf or lacks([rows for _, _, rows in lineage], saved, i,
                                                  newest)):
            return False  # nothing is known after the rows of the last run
        if not all(faults_between(found, workflow_of(address), time - 1, time + 2, DEAF) or
                   faults_between(found, workflow_of(address), time - FORGOTTEN, time, ("state",))
                   for time in times):
            return False
        missing = missing - {step for _, step in start.steps if step <= newest}
    return not missing


def lacks(rows, saved, run, newest):
    """The rule of store_metrics_lack(): the rows before the checkpoint from which the next run
    resumed must not end more than their interval and a tenth of the steps before it. `rows` and
    `saved` are those of each run, newest first. Nothing is judged if no run has an interval, or has
    a checkpoint between its rows."""
    intervals = [after - before for told in rows for before, after in zip(told, told[1:])]
    counts_alike = any(told and told[0] <= step <= told[-1]
                       for told, steps in zip(rows, saved) for step in steps)
    if not intervals or not counts_alike:
        return False
    until = [step for told in rows[run:] for step in told]
    if not until:
        return newest > max(intervals) and min(sum(rows, [])) <= newest + max(intervals)
    untold = newest - max(until)
    return untold > max(intervals) and untold > (newest - min(until)) // 10


def done(found):
    """A succeeded phase has made all its steps, or those until a TERM that ended its rank, and has
    the state of an undisturbed training."""
    for address, expected in found.expected.items():
        phase = found.phases.get(address)
        if not phase or phase["state"] != "succeeded" or phase["overridden"]:
            continue
        starts, due = starts_of(found, address), steps_due(found, address, expected)
        made = {step for start in starts for _, step in start.steps}
        finals = [start.state for start in starts if start.last == "done"
                  or due < expected.steps and ended_early(found, start)]
        if set(range(1, due + 1)) - made or not finals:
            yield Violation("not done", phase["workflow"],
                            f"{address} made {len(made)} of {due} steps")
        elif finals[-1] != expected.final(due):
            yield Violation("another state", phase["workflow"],
                            f"{address} ended with {finals[-1]}")


def keeps(found):
    """No checkpoint that `keep` promises is removed, and no more are left than it allows."""
    for address, expected in found.expected.items():
        if not expected.keep:
            continue
        keep, phase = max(expected.keep, 2), found.phases.get(address)
        starts, promised = starts_of(found, address), []
        for start in starts:
            yield from removed(found, address, promised, start.found, f"at the begin of {start}")
            if start.last != "refused":
                promised = promise(promised, start, keep)
        left = found.checkpoints[address]
        yield from removed(found, address, promised, left, "in the end")
        excused = excess(found, address, starts)
        if phase and phase["state"] == "succeeded" and len(promised) >= keep and \
                len(set(left) - excused) > keep + 1:
            yield Violation("kept too many", phase["workflow"],
                            f"{address}: {left} with keep: {expected.keep}, of which {promised} "
                            f"are promised and {sorted(excused)} are excused")


def promise(promised, start, keep):
    """The steps that must exist after this start: the newest `keep` good ones that lead to it. A
    bad checkpoint may take a place before it is known to be bad, but never that of the last good
    one."""
    promised = [step for step in promised if step <= start.resumed]
    bad = {line["step"] for line in start.lines if line["what"] == "save" and line["bad"]}
    for _, step in start.saves:
        good = sorted({*promised, step} - bad)
        places = sorted({*promised, step})[-keep:]
        promised = [step for step in good if step in places] or good[-1:]
    return promised


def removed(found, address, promised, there, when):
    """The missing steps, except those that the storm has damaged."""
    gone = sorted(set(promised) - set(there) - damaged(found, address))
    if gone:
        yield Violation("removed", workflow_of(address),
                        f"{address}: {gone} of {promised} were gone {when}; there were {there}")


def damaged(found, address):
    """The steps of this phase whose checkpoints the storm has cut or removed."""
    ends = (f.what.rpartition("/out/step_") for f in found.faults
            if f.what and f.kind.startswith("checkpoint"))
    return {int(step) for head, _, step in ends
            if head.endswith(f" runs/{address}") and step.isdigit()}


def excess(found, address, starts):
    """The checkpoints that may be left beyond `keep`: bad ones, those that no agent saw become
    whole, those of a run that began anew without a request, and those that a damaged journal no
    longer has."""
    workflow, excused = workflow_of(address), set()
    for start in starts:
        mine = {step for _, step in start.saves}
        excused -= mine
        excused |= {line["step"] for line in start.lines if line["what"] == "save" and line["bad"]}
        excused |= {step for time, step in start.saves if not seen(found, start, time)}
        if (address, start.attempt) in found.by_chance:
            excused |= set(start.found)
        elif faults_between(found, workflow, start.begin, math.inf, "journal"):
            excused |= mine
    return excused


def seen(found, start, time):
    """Whether the agent has seen what was saved then. It looks every two seconds, twice at each
    checkpoint, and at the end."""
    has_ended = start.last in ("stopped", "done")
    return (has_ended or start.end > time + LOOKS) and not faults_between(
        found, workflow_of(start.phase), time - 1,
        min(time + LOOKS, start.end + 3 if has_ended else math.inf), HARD + DEAF)


def saves(found):
    """A run that phased or Slurm stops with a grace saves before it ends."""
    runs = {(run["address"], run["attempt"]): run for run in found.runs}
    for start in found.starts:
        run = runs.get((start.phase, start.attempt))
        expected = found.expected.get(start.phase)
        if not run or not expected or not expected.save or start.rank != 0:
            continue
        if run["outcome"] not in ("preempted", "timed_out", "cancelled"):
            continue
        if start.last not in ("stopped", "done", "refused") and not faults_between(
                found, run["workflow"], start.end - 30, start.end + 3, HARD):
            yield Violation("killed instead of saving", run["workflow"],
                            f"{start}; {run['outcome']}: {run['message']}")


def one_end(found):
    """No run ends twice or continues after its end."""
    ended = {}
    for event in found.events:
        if event["type"] == "run" and event["run"]:
            if event["run"] in ended:
                yield Violation("ended twice", event["workflow"],
                                f"{event['address']}#{event['attempt']}: {event['from_state']} -> "
                                f"{event['to_state']} after {ended[event['run']]}")
            if event["to_state"] == "ended":
                ended[event["run"]] = event["message"]


def daemon(found):
    for crash in found.crashes:
        yield Violation("daemon", None, crash)
    if found.memory > MEMORY_MAX_KIB:
        yield Violation("memory", None, f"the daemon had {found.memory} KiB")
    if found.integrity != ["ok"]:
        yield Violation("record", None, f"integrity_check: {found.integrity[:3]}")


CHECKS = (once, agree, jobs, resumes, ends, gates, done, keeps, saves, one_end, daemon)


def all_of(found):
    """At most three violations of a rule by a workflow, because the others follow from the first
    ones."""
    violations, counts = [], {}
    for violation in (violation for check in CHECKS for violation in check(found)):
        key = (violation.rule, violation.workflow)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= 3:
            violations.append(violation)
    return violations


def recovery(found):
    """For each kind of fault: how often it was, and for each workflow how long it was held up.

    A time without a new step counts for one fault, the nearest to its begin."""
    progress = {}
    for start in found.starts:
        if start.rank == 0:
            for time, step in start.steps:
                times = progress.setdefault(workflow_of(start.phase), {})
                times.setdefault((start.phase, step), time)
    table, nearest = {}, {}
    for fault in found.faults:
        if not fault.what:
            continue
        table.setdefault(fault.kind, [0, []])[0] += 1
        for workflow in fault.workflows or fault.live:
            times = sorted(progress.get(workflow, {}).values())
            for now, after in zip(times, times[1:]):
                if abs(now - fault.time - 7) <= 8 and after - now > 2 and after > fault.time:
                    gap = (abs(now - fault.time), fault.kind, after - fault.time)
                    nearest[workflow, now] = min(gap, nearest.get((workflow, now), gap))
                    break
    for _, kind, seconds in nearest.values():
        table[kind][1].append(seconds)
    return table
