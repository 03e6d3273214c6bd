#!/usr/bin/env bats
# A cluster with a backup controller, which takes over when the first controller is killed. Both run
# on this machine, each with its own host name and address; that needs root.

load phased.bash
load training.bash

# controller NAME CONF: starts a slurmctld on a host with this name.
controller() {
    (unshare --uts --mount sh -c "mount --bind '$SANDBOX/hosts' /etc/hosts && hostname '$1' &&
        echo \$\$ >'$SANDBOX/pid/$1' && exec slurmctld -D -f '$2'" >"$SANDBOX/log/$1" 2>&1 3>&- &)
}

setup_file() {
    unshare --uts --mount true 2>/dev/null || { skip_all "needs namespaces of its own"; return; }
    sandbox_up 2
    reference_up
    printf '127.0.0.1 localhost first\n127.0.0.2 second\n' >"$SANDBOX/hosts"
    sed -i 's/^SlurmctldHost=.*/SlurmctldHost=first(127.0.0.1)\nSlurmctldHost=second(127.0.0.2)\nSlurmctldTimeout=15/' \
        "$SLURM_CONF"
    sed "s|^SlurmctldPidFile=.*|SlurmctldPidFile=$SANDBOX/pid/backup|" "$SLURM_CONF" >"$SANDBOX/second.conf"
    kill "$(cat "$SANDBOX/pid/slurmctld")"
    eventually 60 controller_is_gone
    controller first "$SLURM_CONF"
    eventually 60 answers first
    controller second "$SANDBOX/second.conf"
    eventually 60 answers second
    scontrol reconfigure # the nodes learn of the second one
}
controller_is_gone() { ! kill -0 "$(cat "$SANDBOX/pid/slurmctld")" 2>/dev/null; }
answers() { scontrol ping | grep -q "at $1 is UP"; }

teardown_file() {
    local name
    [ -n "${SANDBOX-}" ] || return 0 # it was skipped
    for name in first second; do kill -KILL "$(cat "$SANDBOX/pid/$name")" 2>/dev/null || true; done
    sandbox_down
}
setup() {
    skips
    home_up
}
teardown() { home_down; }

# The controller has saved that the job runs: otherwise the backup controller kills the job. The
# controller saves jobs within seconds after one of them has changed.
is_saved() { [ "$SANDBOX/state/job_state" -nt "$SANDBOX/changed" ]; }

@test "when a backup controller takes over, running jobs go on and no submission is lost" {
    PHASED_ABSENCE_S=60 phasectl daemon start # a job that neither controller knows is lost after it
    first=$(training | sed 's/iterations: 150/iterations: 700/' | submit)
    eventually 60 past "$first/train" 5
    touch "$SANDBOX/changed"
    scontrol update JobId="$(head -n 1 "$PHASED_HOME/runs/$first/train/out/executed")" AdminComment=changed
    eventually 60 is_saved
    second=$(training | submit)
    kill -KILL "$(cat "$SANDBOX/pid/first")" # which may or may not have saved the second one
    third=$(training | submit)               # nobody answers
    for workflow in $first $second $third; do
        eventually 240 state "$workflow" succeeded
        [ "$(phasectl runs "$workflow" --json | gojq '[.[] | select(.outcome == "succeeded")] | length')" = 1 ]
        [ -z "$(sort "$PHASED_HOME/runs/$workflow/train/out/executed" | uniq -d)" ] # no job twice
    done
    answers second
    [ "$(line_count "$PHASED_HOME/runs/$first/train/out/executed")" = 1 ]
    same_weights "$second"
    same_weights "$third"
}
