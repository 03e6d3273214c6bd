"""A tired person who helps waiting workflows: releases, promotes, retries, and finally gives up."""
import time

HELPS_MAX = 10  # of one phase; then the workflow is cancelled, which is a violation


class Person:
    def __init__(self, cluster, log):
        self.cluster, self.log = cluster, log
        self.seen = {}      # phase -> when it was first seen waiting
        self.tries = {}     # phase -> how often a command was given
        self.helps = {}     # phase -> how often a command was accepted
        self.given_up = {}  # workflow -> why

    def look(self, patience=8):
        """Helps each phase that has waited for this many seconds."""
        held = self.cluster.record(
            "SELECT workflow || '/' || name AS address, workflow, hold, reason FROM phase "
            "WHERE state = 'held' OR state = 'failed' AND id NOT IN (SELECT phase FROM member)")
        now = time.monotonic()
        self.seen = {p["address"]: self.seen.get(p["address"], now) for p in held}
        for phase in held:
            address = phase["address"]
            if now - self.seen[address] >= patience and phase["workflow"] not in self.given_up:
                self.help(phase)
                self.seen[address] = now + 2 * self.tries[address]

    def help(self, phase):
        address, hold = phase["address"], phase["hold"]
        count = self.tries[address] = self.tries.get(address, 0) + 1
        if self.helps.get(address, 0) >= HELPS_MAX:
            self.given_up[phase["workflow"]] = f"{address}: {hold}: {phase['reason']}"
            self.cluster.phasectl("cancel", str(phase["workflow"]))
            return
        if hold == "user":
            verbs = ["release", "resume"]
        elif hold == "manual":
            verbs = ["promote"]
        else:
            verbs = ["retry", "retry", "resume", "release"]
        verb = verbs[(count - 1) % len(verbs)]
        done = self.cluster.phasectl(verb, address)
        said = (done.stdout + done.stderr).strip().splitlines()
        if done.returncode == 0:
            self.helps[address] = self.helps.get(address, 0) + 1
        self.log(f"help {count} for {address}, held ({hold}: {phase['reason']}): "
                 f"{verb}: {said[0] if said else ''}")
