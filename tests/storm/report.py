"""The report of a storm: what happened, how long it took to go on, and each violation with the
three accounts side by side."""
import statistics

from checks import recovery

LINES_MAX = 40  # of each account


def when(found, seconds):
    return f"{seconds - found.began:8.1f}"


def counts(found, violations):
    outcomes, rules = {}, {}
    for violation in violations:
        rules[violation.rule] = rules.get(violation.rule, 0) + 1
    for run in found.runs:
        word = run["outcome"] or run["state"]
        word += f" ({run['cause']})" if run["cause"] else ""
        outcomes[word] = outcomes.get(word, 0) + 1
    states = {}
    for row in found.workflows:
        states[row["state"]] = states.get(row["state"], 0) + 1
    done = [fault for fault in found.faults if fault.what and not fault.refused]
    refused = [fault for fault in found.faults if fault.refused]
    kinds = {fault.kind for fault in done}
    left = {fault.kind: "refused" if fault.refused else fault.why for fault in found.faults
            if fault.kind not in kinds}
    told_left = ", ".join(f"{kind} ({why})" for kind, why in sorted(left.items()))

    def told(words):
        return ", ".join(f"{count} {word}" for word, count in sorted(words.items()))
    return [f"storm      seed {found.seed}, {found.minutes:g} min, and {found.after / 60:.1f} min "
            f"to calm down; {found.version}",
            f"workflows  {len(found.workflows)}: {told(states)}",
            f"runs       {len(found.runs)}: {told(outcomes)}",
            f"starts     {len({(s.phase, s.attempt) for s in found.starts})} by the programs, "
            f"{len({job for _, job, _ in found.slurm_starts} - found.preemptors)} jobs by Slurm",
            f"faults     {len(done)} done, {len(refused)} refused, "
            f"{len(found.faults) - len(done) - len(refused)} found nothing to be done to",
            f"done       {len(kinds)} kinds: {', '.join(sorted(kinds))}",
            f"not done   {told_left or 'none'}",
            f"helps      {sum(found.helps.values())} by a person, at {len(found.helps)} phases",
            f"daemon     {found.memory / 1024:.1f} MiB at most",
            f"violations {len(violations)}{': ' * bool(rules)}{told(rules)}"]


def row(kind, count, gaps):
    times = f" {statistics.median(gaps):8.1f} {max(gaps):8.1f}" if gaps else ""
    return f"{kind:22} {count:6} {len(gaps):8}{times}"


def times(found):
    """How often each kind of fault came, how many workflows it held up, and for how long."""
    table = recovery(found)
    yield (f"{'fault':22} {'count':>6} {'held up':>8} {'median':>8} {'max':>8}   "
           "seconds until a new step")
    for kind, (count, gaps) in sorted(table.items()):
        yield row(kind, count, gaps)
    yield row("all", sum(count for count, _ in table.values()),
              [gap for _, gaps in table.values() for gap in gaps])


def by_record(found, workflow):
    for event in found.events:
        if event["workflow"] == workflow:
            about = (event["address"] or "") + (f"#{event['attempt']}" if event["attempt"] else "")
            moved = f"{event['from_state']} -> {event['to_state']}" if event["from_state"] else ""
            yield (f"{when(found, event['time'] / 1000)} {about} {event['type']} {moved} "
                   f"{event['message'] or ''}")


def by_slurm(found, workflow):
    known = {job["slurm_id"] for job in found.jobs if job["workflow"] == workflow}
    for time, job, node in found.slurm_starts:
        if job in known:
            yield f"{when(found, time)} job {job} started on {node}"
    for end in found.slurm_ends:
        if int(end["JobId"]) in known:
            yield (f"{'':8} job {end['JobId']} ended {end.get('JobState')}: "
                   f"{end.get('StartTime')} to {end.get('EndTime')} on {end.get('NodeList')}")


def by_programs(found, workflow):
    for start in found.starts:
        if start.phase.startswith(f"{workflow}/"):
            yield f"{when(found, start.begin)} to {when(found, start.end).strip()} {start}"


def by_storm(found, workflow):
    for fault in found.faults:
        if fault.what and workflow in (fault.workflows or fault.live):
            yield f"{when(found, fault.time)} {fault.kind}: {fault.what}"


def sides(found, workflow):
    shape = next((w.shape for w in found.submitted if w.id == workflow), "?")
    yield f"=== workflow {workflow} ({shape}); seed {found.seed}"
    for title, lines in (("the storm", by_storm), ("the record", by_record), ("Slurm", by_slurm),
                         ("the programs", by_programs)):
        yield f"--- {title}"
        told = list(lines(found, workflow))
        yield from told[-LINES_MAX:]
    yield (f"--- logs: {found.folder}/home/phased.log, {found.folder}/home/runs/{workflow}, "
           f"{found.folder}/slurm/log, {found.folder}/storm.log")


def text(found, violations):
    """What a note needs. The violations come last, because a log may be cut at its beginning."""
    lines = []
    for workflow in sorted({v.workflow for v in violations if v.workflow}):
        lines += list(sides(found, workflow)) + [""]
    lines += list(times(found)) + [""] + counts(found, violations)
    for violation in violations:
        where = f"workflow {violation.workflow}: " if violation.workflow else ""
        lines.append(f"VIOLATION {where}{violation}")
    if violations:
        lines.append(f"all of it lies in {found.folder}")
    return "\n".join(lines)
